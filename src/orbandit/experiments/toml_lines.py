"""An experiment's file as text: TOML, and the line of each key, so that mistakes have a place.

`tomllib` does not report the lines of keys. `Lines` scans the tokens of a text that `tomllib` has
accepted, and keeps the line of each key and of each element of an array.
"""

import difflib
import json
import math
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from orbandit._checks import shown as quoted
from orbandit._checks import unknown_name
from orbandit.errors import Mistake, SpecError

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys and indices that lead to a value, as in ("problem", 0, "space", "dim")."""

STRING = (
    r'"""(?:[^\\]|\\.)*?"""(?:"{1,2})?'  # a string may end with up to two quotes of its own
    r"|'''.*?'''(?:'{1,2})?"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
)
TOKEN = re.compile(rf"(?P<blank>[ \t]+|#[^\n]*)|{STRING}|[\[\]{{}},=.\n]|[^\s\[\]{{}},=.#\"']+", re.DOTALL)
VALUE_ENDS = (",", "]", "}", "\n")
CLOSING = "'''\"\"\"\0"
"""What closes a string of several lines, and is no TOML after anything."""

MAX_INTEGER = 2**63 - 1
"""As TOML has it, which promises 64 bits."""
MAX_DEPTH = 50
"""Most keys that lead to a value."""
MAX_NAMES_OFFERED = 8
"""Most names that are offered of a module."""


def load(path: Path) -> tuple[dict[str, Any], "Lines"]:
    """Return the content of a TOML file, and its lines."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise SpecError([Mistake((), f"{path} is missing; name the TOML file of an experiment.")]) from error
    except OSError as error:
        text = f"{path} cannot be read ({error.strerror}); name the TOML file of an experiment."
        raise SpecError([Mistake((), text)]) from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, message = raw.count(b"\n", 0, error.start) + 1, "the file must be text in UTF-8, but this line is not."
        raise SpecError([Mistake((), message, line)], path) from error
    try:
        return tomllib.loads(text), Lines(text)
    except tomllib.TOMLDecodeError as error:
        line, message = _failing_line(text, error), f"this is not TOML: {error}."
    except ValueError as error:  # the one thing that `tomllib` leaves to Python
        line, message = _failing_line(text, error), f"integers must lie within +-{MAX_INTEGER:,}."
    except RecursionError:
        line, message = 1, "the file is nested too deeply."
    raise SpecError([Mistake((), message, line)], path)


def _failing_line(text: str, failure: ValueError) -> int:
    """Return the line that makes the text fail: the first with which it does so in the same way, or else the last."""
    lines = text.split("\n")

    def fails(part: str) -> bool:
        try:
            tomllib.loads(part)
        except ValueError as error:
            return (type(error), error.args) == (type(failure), failure.args)
        return False

    if not fails(f"{text}{CLOSING}"):  # something is not closed, and the end is where it is missed
        return len(lines)
    return bisect_left(range(len(lines)), True, lo=1, key=lambda count: fails("\n".join([*lines[:count], ""])))


def located(path: Path, lines: "Lines", mistakes: Iterable[Mistake]) -> SpecError:
    """Return the error that tells all mistakes with their lines."""
    return SpecError([replace(mistake, line=lines.line(mistake.path)) for mistake in mistakes], path)


def odd_values(value: object, path: KeyPath) -> Iterator[Mistake]:
    """Yield the values of TOML that no parameter can take: dates, infinity, NaN, huge integers and deep nests."""
    if len(path) > MAX_DEPTH:
        yield Mistake(path, f"values must be nested at most {MAX_DEPTH} deep.")
    elif isinstance(value, Mapping | list):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from odd_values(item, (*path, key))
    elif isinstance(value, float) and not math.isfinite(value):
        yield Mistake(path, f"numbers must be finite, but got {value}.")
    elif isinstance(value, int) and abs(value) > MAX_INTEGER:
        yield Mistake(path, f"integers must lie within +-{MAX_INTEGER:,}, but got {quoted(value)}.")
    elif not isinstance(value, bool | int | float | str):
        yield Mistake(path, f"dates and times are no values of parameters, but got {value}.")


def unknown_key(key: str, owner: str, known: Mapping[str, Any] | list[str]) -> str:
    """Return the message for an unknown key."""
    return str(unknown_name("key", key, known, owner=owner))


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the public names that are nearest to one, and how many others there are."""
    public = [one for one in known if not one.startswith("_")]
    near = difflib.get_close_matches(name, public, MAX_NAMES_OFFERED, cutoff=0.0)
    return near if len(near) == len(public) else [*near, f"and {len(public) - len(near):,} more"]


def shown(value: Any) -> str:
    """Return a value as it is written in a table, shortened."""
    try:
        text = "none" if value is None else json.dumps(value)
    except (TypeError, ValueError):  # no value of JSON, or an integer that is too long to be written
        text = quoted(value)
    return text if len(text) <= 80 else text[:77] + "..."


class Lines:
    r"""The lines of the keys of a TOML text.

    Parameters
    ----------
    text : str
        Text that `tomllib.loads` accepts.

    Examples
    --------
    >>> lines = Lines('seeds = 3\n[[problem]]\nspace = { class = "Box", dim = 2 }\n')
    >>> lines.line(("seeds",)), lines.line(("problem", 0)), lines.line(("problem", 0, "space", "class"))
    (1, 2, 3)
    >>> lines.line(("problem", 0, "peak", 1))  # not there: the nearest table that is
    2
    """

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text.replace("\r\n", "\n")))
        self._next = 0
        self._found: dict[KeyPath, int] = {}
        self._sizes: dict[KeyPath, int] = {}
        table: KeyPath = ()
        while self._next < len(self._tokens):
            if self._skip("\n"):
                continue
            if self._skip("["):
                table = self._header()
            else:
                self._pair(table)

    def line(self, path: KeyPath) -> int:
        """Return the line of a key, or of the nearest enclosing one that is found; the first line if none is."""
        while path and path not in self._found:
            path = path[:-1]
        return self._found.get(path, 1)

    @property
    def paths(self) -> frozenset[KeyPath]:
        """The paths whose lines are known."""
        return frozenset(self._found)

    def _header(self) -> KeyPath:
        """Read [a.b] or [[a.b]], the first bracket of which was read, and return the path of the table it opens."""
        is_many = self._skip("[")
        path: KeyPath = ()
        line, keys = self._line(), self._keys()
        for place, key in enumerate(keys, 1):
            path = (*path, key)
            if is_many and place == len(keys):
                self._sizes[path] = self._sizes.get(path, 0) + 1
            self._found.setdefault(path, line)
            if path in self._sizes:  # a name of an array means its last table
                path = (*path, self._sizes[path] - 1)
        self._found.setdefault(path, line)
        self._next += 2 if is_many else 1
        return path

    def _pair(self, table: KeyPath) -> None:
        """Read `a.b = value`."""
        path, line = table, self._line()
        for key in self._keys():
            path = (*path, key)
            self._found.setdefault(path, line)
        self._skip("=")
        self._value(path)

    def _keys(self) -> list[str]:
        """Read a key, which dots may divide."""
        keys: list[str] = []
        while not keys or self._skip("."):
            word = self._take()
            keys.append(tomllib.loads(f"key = {word}")["key"] if word[0] in "\"'" else word)
        return keys

    def _value(self, path: KeyPath) -> None:
        """Read a value; one that is no list and no table is as long as nothing ends it."""
        if self._skip("["):
            self._items(path, "]")
        elif self._skip("{"):
            self._items(path, "}")
        else:
            while self._next < len(self._tokens) and self._tokens[self._next][0] not in VALUE_ENDS:
                self._next += 1

    def _items(self, path: KeyPath, end: str) -> None:
        """Read an array or an inline table, whose first bracket was read."""
        index = 0
        while not self._skip(end):
            if self._skip(",") or self._skip("\n"):
                continue
            if end == "}":
                self._pair(path)
            else:
                self._found[(*path, index)] = self._line()
                self._value((*path, index))
                index += 1

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1][0]

    def _skip(self, word: str) -> bool:
        """Read the next token if it is this one, and tell whether it is."""
        is_next = self._next < len(self._tokens) and self._tokens[self._next][0] == word
        self._next += is_next
        return is_next

    def _line(self) -> int:
        return self._tokens[self._next][1]


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yield strings, marks and words, each with the line where it begins."""
    line = 1
    for token in TOKEN.finditer(text):
        if token["blank"] is None:
            yield token.group(), line
        line += token.group().count("\n")
