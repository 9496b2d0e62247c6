"""An experiment's file as text: TOML, and the line of each key, so that mistakes have a place.

`tomllib` does not say where keys stand. A scanner walks through text that it has accepted, so that it need not judge
it: it skips strings, comments and numbers, and keeps the line of each key and of each element of an array.
"""

import difflib
import json
import math
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from orbandit._checks import shown as quoted
from orbandit._checks import unknown_name
from orbandit.errors import SpecError

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys and indices that lead to a value, as in ("problem", 0, "space", "dim")."""

BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{1,2})?'  # a string may end with up to two quotes of its own
    r"|'''.*?'''(?:'{1,2})?"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
LONG_INTEGER = re.compile(rf"#[^\n]*|{STRING.pattern}|(?P<digits>(?<![\w.])[0-9][0-9_]{{500,}}(?![\w.]))", re.DOTALL)
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
DOT = re.compile(r"[ \t]*\.[ \t]*")
SCALAR = re.compile(r"[^,\]}\n#]*")

LARGEST_INTEGER = 2**63 - 1
"""As TOML has it, which promises 64 bits."""
DEEPEST = 50
"""Most keys that lead to a value."""
MOST_NAMES = 8
"""Most names that are offered of a module."""


@dataclass(frozen=True)
class Mistake:
    """Something wrong at a path of keys."""

    path: KeyPath
    text: str


def load(path: Path) -> tuple[dict[str, Any], "Lines"]:
    """Return the content of a TOML file, and its lines."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise SpecError(f"{path} is missing; name the TOML file of an experiment.") from error
    except OSError as error:
        raise SpecError(f"{path} cannot be read ({error.strerror}); name the TOML file of an experiment.") from error
    try:
        text = raw.decode("utf-8-sig")
        return tomllib.loads(text), Lines(text)
    except UnicodeDecodeError as error:
        line, message = raw.count(b"\n", 0, error.start) + 1, "the file must be text in UTF-8, but this line is not."
    except tomllib.TOMLDecodeError as error:
        where = re.search(r" \(at (line (\d+), column \d+|end of document)\)$", str(error))
        line = int(where[2]) if where and where[2] else raw.count(b"\n") + 1
        message = f"this is not TOML: {error}."
    except ValueError:  # the one thing that `tomllib` leaves to Python
        line, message = _line_of_long_integer(text), f"integers must lie within +-{LARGEST_INTEGER:,}."
    except RecursionError:
        line, message = 1, "the file is nested too deeply."
    raise SpecError(f"{path}, line {line}: {message}")


def _line_of_long_integer(text: str) -> int:
    """Return the line of the first integer that is too long for Python to read."""
    for token in LONG_INTEGER.finditer(text):
        if token["digits"] and len(token["digits"].replace("_", "")) > sys.get_int_max_str_digits():
            return text.count("\n", 0, token.start()) + 1
    return 1


def located(path: Path, lines: "Lines", mistakes: Iterable[Mistake]) -> SpecError:
    """Return the error that tells all mistakes, in the order of their lines."""
    mistakes = tuple(mistakes)
    placed = sorted({(lines.line(mistake.path), " ".join(mistake.text.splitlines())) for mistake in mistakes})
    return SpecError("\n".join(f"{path}, line {line}: {text}" for line, text in placed), mistakes)


def odd_values(value: object, path: KeyPath) -> Iterator[Mistake]:
    """Yield the values of TOML that no parameter can take: dates, infinity, NaN, huge integers and deep nests."""
    if len(path) > DEEPEST:
        yield Mistake(path, f"values must be nested at most {DEEPEST} deep.")
    elif isinstance(value, Mapping | list):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from odd_values(item, (*path, key))
    elif isinstance(value, float) and not math.isfinite(value):
        yield Mistake(path, f"numbers must be finite, but got {value}.")
    elif isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        yield Mistake(path, f"integers must lie within +-{LARGEST_INTEGER:,}, but got {quoted(value)}.")
    elif not isinstance(value, bool | int | float | str):
        yield Mistake(path, f"dates and times are no values of parameters, but got {value}.")


def unknown_key(key: str, owner: str, known: Mapping[str, Any] | list[str]) -> str:
    """Return what to say of a key that nothing has."""
    return str(unknown_name("key", key, known, owner=owner))


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the public names that are nearest to one, and how many others there are."""
    public = [one for one in known if not one.startswith("_")]
    near = difflib.get_close_matches(name, public, MOST_NAMES, cutoff=0.0)
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
        self._text = text.replace("\r\n", "\n")
        self._found: dict[KeyPath, int] = {}
        self._sizes: dict[KeyPath, int] = {}
        self._place, self._line, self._counted = 0, 1, 0
        self._scan()

    def line(self, path: KeyPath) -> int:
        """Return the line of a key, or of the nearest enclosing one that is found; the first line if none is."""
        while path and path not in self._found:
            path = path[:-1]
        return self._found.get(path, 1)

    @property
    def paths(self) -> frozenset[KeyPath]:
        """The paths whose lines are known."""
        return frozenset(self._found)

    def _scan(self) -> None:
        table: KeyPath = ()
        while self._skip(BLANK) and self._place < len(self._text):
            before = self._place
            if self._text.startswith("[", self._place):
                table = self._header()
            else:
                self._pair(table)
            if self._place == before:  # nothing that TOML knows; better no line than no end
                return

    def _header(self) -> KeyPath:
        """Read [a.b] or [[a.b]], and return the path of the table that it opens."""
        many = self._text.startswith("[[", self._place)
        line = self._here()
        self._place += 2 if many else 1
        path: KeyPath = ()
        keys = self._keys()
        for i, key in enumerate(keys):
            path = (*path, key)
            if many and i == len(keys) - 1:
                self._sizes[path] = self._sizes.get(path, 0) + 1
            self._found.setdefault(path, line)
            if path in self._sizes:  # a name of an array means its last table
                path = (*path, self._sizes[path] - 1)
        self._found.setdefault(path, line)
        self._skip(BLANK)
        self._place += 2 if many else 1
        return path

    def _pair(self, table: KeyPath) -> None:
        """Read `a.b = value`."""
        line = self._here()
        path = table
        for key in self._keys():
            path = (*path, key)
            self._found.setdefault(path, line)
        self._skip(BLANK)
        if self._text.startswith("=", self._place):
            self._place += 1
            self._skip(BLANK)
            self._value(path)

    def _keys(self) -> list[str]:
        """Read a key, which dots may divide."""
        keys: list[str] = []
        self._skip(BLANK)
        while True:
            token = STRING.match(self._text, self._place) or BARE_KEY.match(self._text, self._place)
            if not token:
                return keys
            self._place = token.end()
            word = token.group()
            keys.append(tomllib.loads(f"key = {word}")["key"] if word[0] in "\"'" else word)
            dot = DOT.match(self._text, self._place)
            if not dot:
                return keys
            self._place = dot.end()

    def _value(self, path: KeyPath) -> None:
        string = STRING.match(self._text, self._place)
        if string:
            self._place = string.end()
        elif self._text.startswith("[", self._place):
            self._items(path, "]")
        elif self._text.startswith("{", self._place):
            self._items(path, "}")
        else:
            self._skip(SCALAR)

    def _items(self, path: KeyPath, end: str) -> None:
        """Read an array or an inline table."""
        self._place += 1
        index = 0
        while self._skip(BLANK) and self._place < len(self._text):
            if self._text[self._place] == end:
                self._place += 1
                return
            before = self._place
            if self._text[self._place] == ",":
                self._place += 1
            elif end == "}":
                self._pair(path)
            else:
                self._found[(*path, index)] = self._here()
                self._value((*path, index))
                index += 1
            if self._place == before:
                return

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self._text, self._place)
        self._place = found.end() if found else self._place
        return True

    def _here(self) -> int:
        """Return the line of the current place, which only moves forward."""
        self._line += self._text.count("\n", self._counted, self._place)
        self._counted = self._place
        return self._line
