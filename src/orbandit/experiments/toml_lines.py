"""An experiment's file as text: TOML, the keys it may have, and the line of each, so that mistakes have a place.

`tomllib` does not say where keys stand. A scanner walks through text that it has accepted, so that it need not judge
it: it skips strings, comments and numbers, and keeps the line of each key and of each element of an array.
"""

import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

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
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
DOT = re.compile(r"[ \t]*\.[ \t]*")
SCALAR = re.compile(r"[^,\]}\n#]*")

MOST_SEEDS = 1_000_000
MOST_PER_DECADE = 1_000
LONGEST = 10**12
"""Largest horizon."""
LARGEST = 2**63 - 1
"""Largest seed, for the sake of databases."""
DEEPEST = 50
"""Most keys that lead to a value."""


@dataclass(frozen=True)
class Mistake:
    """Something wrong at a path of keys."""

    path: KeyPath
    text: str


def _different(values: list[int]) -> list[int]:
    seen: set[int] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"must all be different, but {value} is there twice")
        seen.add(value)
    return values


def _seeds(value: object) -> object:
    """Take a number of runs for the seeds 0, 1, ...; leave all else to the schema."""
    if type(value) is not int:
        return value
    if not 1 <= value <= MOST_SEEDS:
        raise ValueError(f"must be from 1 to {MOST_SEEDS:,} runs, or a list of seeds")
    return list(range(value))


def _checkpoints(value: object, as_list: ValidatorFunctionWrapHandler) -> object:
    """Take a number for itself, and all else for a list; a union would put its branches into the paths of mistakes."""
    if type(value) is not int:
        return as_list(value)
    if not 1 <= value <= MOST_PER_DECADE:
        raise ValueError(f"must be from 1 to {MOST_PER_DECADE:,} rounds in each factor of ten, or a list of rounds")
    return value


Rounds: TypeAlias = Annotated[
    list[Annotated[int, Field(ge=1, le=LONGEST)]], Field(min_length=1), AfterValidator(_different)
]


class _Table(BaseModel):
    """A [[problem]] or an [[agent]], whose further keys are its class's."""

    model_config = ConfigDict(strict=True, extra="allow")
    class_: str = Field(alias="class", min_length=1)
    name: str | None = Field(default=None, min_length=1)


class Schema(BaseModel):
    """The keys of a file."""

    model_config = ConfigDict(strict=True, extra="forbid")
    name: str = Field(default="", min_length=1)
    horizons: Rounds
    seeds: Annotated[
        list[Annotated[int, Field(ge=0, le=LARGEST)]],
        Field(min_length=1),
        AfterValidator(_different),
        BeforeValidator(_seeds),
    ] = Field(default_factory=lambda: list(range(10)))
    checkpoints: Annotated[Rounds, WrapValidator(_checkpoints)] | None = None
    problem: list[_Table] = Field(min_length=1)
    agent: list[_Table] = Field(min_length=1)


def load(path: Path) -> tuple[dict[str, Any], "Lines"]:
    """Return the content of a TOML file, and its lines."""
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
        return tomllib.loads(text), Lines(text)
    except UnicodeDecodeError as error:
        line, message = raw.count(b"\n", 0, error.start) + 1, "the file must be text in UTF-8, but this line is not."
    except tomllib.TOMLDecodeError as error:
        where = re.search(r" \(at (line (\d+), column \d+|end of document)\)$", str(error))
        line = int(where[2]) if where and where[2] else raw.count(b"\n") + 1
        message = f"this is not TOML: {error}."
    except RecursionError:
        line, message = 1, "the file is nested too deeply."
    raise SpecError(f"{path}, line {line}: {message}")


def check(data: dict[str, Any]) -> tuple[Schema | None, list[Mistake]]:
    """Return the content of a file checked against the schema, or its mistakes."""
    try:
        return Schema.model_validate(data), []
    except ValidationError as error:
        found = error.errors()
        return None, [_schema_mistake(item["type"], item["loc"], item["msg"], item["input"]) for item in found]


def located(path: Path, lines: "Lines", mistakes: Iterable[Mistake]) -> SpecError:
    """Return the error that tells all mistakes, in the order of their lines."""
    mistakes = tuple(mistakes)
    placed = sorted({(lines.line(mistake.path), " ".join(mistake.text.splitlines())) for mistake in mistakes})
    return SpecError("\n".join(f"{path}, line {line}: {text}" for line, text in placed), mistakes)


def odd_values(value: object, path: KeyPath) -> Iterator[Mistake]:
    """Yield the values of TOML that no parameter can take: dates, infinity, NaN, and what is nested without end."""
    if len(path) > DEEPEST:
        yield Mistake(path, f"values must be nested at most {DEEPEST} deep.")
    elif isinstance(value, Mapping | list):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from odd_values(item, (*path, key))
    elif isinstance(value, float) and not math.isfinite(value):
        yield Mistake(path, f"numbers must be finite, but got {value}.")
    elif not isinstance(value, bool | int | float | str):
        yield Mistake(path, f"dates and times are no values of parameters, but got {value}.")


def unknown_key(key: str, owner: str, known: Mapping[str, Any] | list[str]) -> str:
    """Return what to say of a key that nothing has."""
    text = str(unknown_name("key", key, known))
    return text.replace(f"{key!r}.", f"{key!r} of {owner}.", 1)


def shown(value: Any) -> str:
    """Return a value as it is written in a table, shortened."""
    try:
        text = "none" if value is None else json.dumps(value)
    except TypeError:
        text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _schema_mistake(kind: str, path: KeyPath, text: str, given: object) -> Mistake:
    """Say in this package's words what the schema misses."""
    owner = "an experiment" if len(path) < 2 else f"[[{path[0]}]]"
    if kind == "extra_forbidden":
        return Mistake(path, unknown_key(str(path[-1]), owner, list(Schema.model_fields)))
    if kind == "missing":
        what = f"[[{path[0]}]]" if path in (("problem",), ("agent",)) else f"key {path[-1]!r}"
        return Mistake(path, f"missing {what} of {owner}.")
    rule = re.sub(r"^Value error, |^(Input|List|String) should", lambda found: "must" if found[1] else "", text)
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    hint = f" Write [[{path[0]}]] in double brackets." if len(path) == 1 and isinstance(given, dict) else ""
    return Mistake(path, f"`{name}` {rule}, but got {shown(given)}.{hint}")


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
