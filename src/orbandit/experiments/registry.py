"""Registry of the classes for experiment files: spaces, groups, noises, problems and agents.

A table names its class, and gives the constructor's parameters as keys:

    space = { class = "Box", low = 0.0, high = 1.0, dim = 3 }
    space = { class = "Polytope.regular", name = "icosahedron" }
    space = { class = "Product", parts = [{ class = "Ball", dim = 2 }, { class = "Ball", dim = 2 }] }
    group = { class = "SignFlips", dim = 2, center = [0.5, 0.5] }

The string "none" stands for None where that is allowed, "module:function" for a function, and
"module:Class" for a class of the user's own; an agent may be any callable that makes one. Paths of
data files are relative to the folder of the experiment's file.
"""

import importlib
import inspect
import json
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, Self, Union, get_args, get_origin

import numpy.typing as npt

from orbandit import agents, groups, problems, spaces
from orbandit._checks import as_count, described, unknown_name
from orbandit.agents.maker import CALL, plays_indices
from orbandit.errors import InputError, Mistake, OrbanditError, SpecError
from orbandit.experiments.toml_lines import KeyPath, nearest, shown, unknown_key

BASES: dict[str, type] = {
    "space": spaces.Space,
    "group": groups.Group,
    "noise": problems.Noise,
    "problem": problems.Problem,
    "agent": agents.Agent,
}
"""What classes of each kind derive from; the user's own agents need not."""

HOMES = {"space": spaces, "group": groups, "noise": problems, "problem": problems, "agent": agents}
TOLD = {"space": "[[problem]]", "horizon": "`horizons`", "seed": "`seeds`"}
"""Arguments of agents that the experiment sets, and where."""
OFFERED = ("lipschitz", "reward_range")
"""Arguments of agents that come from the problem unless their table has them."""
FAMILY = "LowerBoundFamily"
"""Problems in the plural: a table has the index of one besides."""
ARRAY = frozenset(get_args(npt.ArrayLike))
PLAIN = (bool, int, float, str)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a constructor, as a table can give it."""

    name: str
    type: str
    default: str | None = None
    """As shown; None if it must be given."""
    kind: str | None = None
    """Of the object that a table stands for, such as "space"."""
    nullable: bool = False
    variadic: bool = False
    reference: Literal["function", "path"] | None = None
    """What a string stands for, if not for itself."""

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" + (f" = {self.default}" if self.default else "")


@dataclass(frozen=True)
class Entry:
    """A class that can be named."""

    kind: str
    name: str
    make: Callable[..., Any]
    signature: inspect.Signature
    parameters: tuple[Parameter, ...]
    is_open: bool = False
    """Whether the constructor takes keys of any name."""

    @property
    def short(self) -> str:
        """The name without its module."""
        return self.name.rpartition(":")[2]

    def takes_all(self) -> bool:
        """Whether it can be called like an agent; a class must name its `space` and `group` so."""
        try:
            bound = self.signature.bind_partial("space", "group", **dict.fromkeys(["horizon", *OFFERED, "seed"]))
        except TypeError:
            return False
        names = (bound.arguments.get("space"), bound.arguments.get("group"))
        return names == ("space", "group") or not isinstance(self.make, type)


def rows() -> list[tuple[str, str, str]]:
    """Return kind, name and parameters of all that can be named, kind by kind.

    Examples
    --------
    >>> [row for row in rows() if row[1] == "Ball"]
    [('space', 'Ball', 'dim: int, radius: float = 1.0, center: array | none = none')]
    """
    entries = (entry for kind in BASES for _, entry in sorted(_known(kind).items()))
    return [(entry.kind, entry.name, ", ".join(map(str, entry.parameters))) for entry in entries]


def find(kind: str, name: str, folder: Path | None = None) -> Entry:
    """Return the class of a kind by its name, or the user's own by "module:Class"; `folder` may hold its module."""
    if ":" in name:
        return _entry(kind, name, _own(kind, name, folder))
    if name in _known(kind):
        return _known(kind)[name]
    for other in BASES:
        if other != kind and name in _known(other):
            raise InputError(f"{name} is a {other}, not a {kind}; known: {', '.join(sorted(_known(kind)))}.")
    if kind == "agent" and name in agents.__all__ and plays_indices(getattr(agents, name)):
        raise InputError(
            f"{name} plays indices 0, 1, ..., not points of a space; name another agent, such as UniformMesh."
        )
    error = unknown_name(kind, name, sorted(_known(kind)))
    raise InputError(f'{error} Name a class of your own as "module:Class".')


def build(kind: str, table: Mapping[str, Any], folder: Path | None = None) -> Any:
    """Make the object that a table describes.

    Parameters
    ----------
    kind : str
        "space", "group", "noise" or "problem".
    table : mapping
        The name of the class as "class", and its parameters.
    folder : Path, optional
        Where data files and modules of the user's own may lie.

    Examples
    --------
    >>> build("group", {"class": "SignFlips", "dim": 2, "center": [0.5, 0.5]})
    SignFlips(2).centered([0.5, 0.5])
    >>> build("space", {"class": "Ball", "dim": 2, "raduis": 2.0})
    Traceback (most recent call last):
    orbandit.errors.SpecError: unknown key 'raduis' of space Ball. Did you mean 'radius'? Known: dim, radius, center.
    """
    mistakes: list[Mistake] = []
    made = construct(kind, table, (), folder, mistakes)
    if mistakes:
        raise SpecError(mistakes)
    return made


def construct(kind: str, table: object, path: KeyPath, folder: Path | None, mistakes: list[Mistake]) -> Any:
    """Make the object of the table at `path`, or add to `mistakes` and return None."""
    if not isinstance(table, Mapping) or not isinstance(table.get("class"), str):
        known = ", ".join(sorted(_known(kind)))
        text = f'a {kind} is a table such as {{ class = "..." }}, but got {shown(table)}; classes: {known}.'
        mistakes.append(Mistake(path, text))
        return None
    try:
        entry = find(kind, table["class"], folder)
    except OrbanditError as error:
        mistakes.append(Mistake((*path, "class"), str(error)))
        return None
    given = {key: value for key, value in table.items() if key != "class"}
    values = convert(entry, given, path, folder, mistakes)
    if values is None:
        return None
    try:
        made = call(entry, values)
        if not isinstance(made, BASES[kind]):
            raise InputError(f"`class` must make a {BASES[kind].__name__}, but made {shown(made)}.")
        return made
    except Exception as error:  # a class of the user's own may raise anything
        mistakes.append(Mistake(blamed(error, table, path), f"{kind} {entry.short}: {said(error)}"))
        return None


def convert(
    entry: Entry, given: Mapping[str, Any], path: KeyPath, folder: Path | None, mistakes: list[Mistake]
) -> dict[str, Any] | None:
    """Return the values of parameters that a table's keys stand for, or add to `mistakes` and return None."""
    before, owner = len(mistakes), f"{entry.kind} {entry.short}"
    known = {parameter.name: parameter for parameter in entry.parameters}
    values: dict[str, Any] = {}
    for key, value in given.items():
        if key in known:
            values[key] = _value(known[key], value, (*path, key), folder, mistakes)
        elif entry.kind == "agent" and key in TOLD:
            text = f"the key {key!r} of {owner} is not the agent's to set; {TOLD[key]} sets it."
            mistakes.append(Mistake((*path, key), text))
        elif entry.is_open:
            values[key] = value
        else:
            mistakes.append(Mistake((*path, key), unknown_key(key, owner, known)))
    for parameter in entry.parameters:
        if parameter.default is None and parameter.name not in given:
            mistakes.append(Mistake(path, f"missing key {parameter.name!r} of {owner}, which needs {parameter}."))
    return values if len(mistakes) == before else None


def call(entry: Entry, values: Mapping[str, Any]) -> Any:
    """Call a constructor with values by name, some of which may have to go by place."""
    arguments: dict[str, Any] = {}
    rest = dict(values)
    center = None if "center" in entry.signature.parameters else rest.pop("center", None)
    for name, parameter in entry.signature.parameters.items():
        if name in rest:
            value = rest.pop(name)
            arguments[name] = tuple(value) if parameter.kind is parameter.VAR_POSITIONAL else value
        elif parameter.kind is parameter.VAR_KEYWORD:
            arguments[name] = rest
        elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL:
            arguments[name] = None  # which it may be, or it would have been missed
    bound = inspect.BoundArguments(entry.signature, arguments)
    made = entry.make(*bound.args, **bound.kwargs)
    return made if center is None else made.centered(center)


def said(error: Exception) -> str:
    """Return the message of an error, with its kind if it is not this package's."""
    return str(error) if isinstance(error, OrbanditError) else described(error)


def blamed(error: Exception, table: Mapping[str, Any], path: KeyPath) -> KeyPath:
    """Return the path of the key that an error names as its field, or that of the table."""
    field = error.field if isinstance(error, OrbanditError) else None
    return (*path, field) if field is not None and field in table else path


def imported(reference: str, folder: Path | None) -> Any:
    """Import what "module:name" refers to; the module may lie in `folder`, which stays on Python's path.

    It stays so that modules can be imported late and by other processes. Installed modules take
    precedence, and a module of the folder that another one hides is refused.
    """
    name, _, attribute = reference.partition(":")
    if folder is not None and str(folder.resolve()) not in sys.path:
        sys.path.append(str(folder.resolve()))
        importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(name)
    except Exception as error:  # the module's own code may raise anything
        raise InputError(f"cannot import {name!r}, of {reference!r}: {said(error)}.") from error
    top = name.partition(".")[0]
    home = getattr(sys.modules[top], "__file__", None)
    if folder is not None and home is not None:
        own = [place for place in (folder / f"{top}.py", folder / top / "__init__.py") if place.exists()]
        if own and not any(place.resolve() == Path(home).resolve() for place in own):
            raise InputError(f"{own[0]} is hidden by another module {top!r}, {home}; give yours another name.")
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise unknown_name(f"name in module {name!r}:", part, nearest(part, vars(found)))
        found = getattr(found, part)
    return found


def _value(parameter: Parameter, value: Any, path: KeyPath, folder: Path | None, mistakes: list[Mistake]) -> Any:
    """Return what a key's value stands for."""
    if parameter.variadic:
        if not isinstance(value, list):
            text = f"`{parameter.name}` must be a list of {parameter.kind or 'value'}s, but got {shown(value)}."
            mistakes.append(Mistake(path, text))
            return None
        one = replace(parameter, variadic=False)
        return [_value(one, item, (*path, i), folder, mistakes) for i, item in enumerate(value)]
    if parameter.nullable and value == "none":
        return None
    if parameter.kind is not None:
        return construct(parameter.kind, value, path, folder, mistakes)
    if parameter.reference == "function" and isinstance(value, str):
        try:
            return imported(value, folder)
        except OrbanditError as error:
            mistakes.append(Mistake(path, str(error)))
            return None
    if parameter.reference == "path" and isinstance(value, str):
        return str((folder or Path()) / value)
    return value


@cache
def _known(kind: str) -> dict[str, Entry]:
    """Return the classes of a kind by name."""
    known = {name: _entry(kind, name, make) for name, make in _public(kind)}
    if kind == "problem":
        family = _entry(kind, FAMILY, problems.LowerBoundFamily)
        index = inspect.Parameter("instance", inspect.Parameter.KEYWORD_ONLY, default=0, annotation=int)
        signature = family.signature.replace(parameters=[*family.signature.parameters.values(), index])
        known[FAMILY] = _described(kind, FAMILY, _hard_instance, signature)
    return known


def _public(kind: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    home, base = HOMES[kind], BASES[kind]
    for name in home.__all__:
        made = getattr(home, name)
        if not (isinstance(made, type) and issubclass(made, base)) or inspect.isabstract(made):
            continue
        if plays_indices(made):
            continue
        yield name, made
        for other, value in vars(made).items():  # other ways to make one
            if isinstance(value, classmethod) and not other.startswith("_"):
                maker = getattr(made, other)
                if inspect.signature(maker).return_annotation is Self:
                    yield f"{name}.{other}", maker


def _hard_instance(*args: Any, instance: int, **kwargs: Any) -> problems.Problem:
    index = as_count(instance, "instance", minimum=0)
    return problems.LowerBoundFamily(*args, **kwargs).instance(index)


def _own(kind: str, name: str, folder: Path | None) -> Callable[..., Any]:
    made: Callable[..., Any] = imported(name, folder)
    cls = made.func if kind == "agent" and isinstance(made, partial) else made
    if not isinstance(cls, type):
        if kind == "agent" and callable(cls):
            return made
        raise InputError(f"{name!r} must be a class, but is {shown(made)}.")
    if kind == "agent" and plays_indices(cls):
        raise InputError(f"{name!r} plays indices 0, 1, ..., not points of a space.")
    if kind == "agent" and not (hasattr(cls, "ask") and hasattr(cls, "tell")):
        raise InputError(f"{name!r} must have the methods `ask` and `tell`, as agents do.")
    if kind != "agent" and not issubclass(cls, BASES[kind]):
        raise InputError(f"{name!r} must be a subclass of {HOMES[kind].__name__}.{BASES[kind].__name__}.")
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(getattr(cls, "__abstractmethods__", ())))
        raise InputError(f"{name!r} is abstract; define {missing}.")
    return made


def _entry(kind: str, name: str, make: Callable[..., Any]) -> Entry:
    try:
        signature = inspect.signature(make, eval_str=True)
    except NameError:  # annotations that are known to type checkers only
        signature = inspect.signature(make)
    except (TypeError, ValueError) as error:
        raise InputError(f"the parameters of {name!r} cannot be read: {error}.") from error
    entry = _described(kind, name, make, signature)
    if kind == "agent" and not isinstance(make, type) and not entry.takes_all():
        raise InputError(f"{name!r} must be a class, or a callable {CALL}, but is {shown(make)}.")
    return entry


def _described(kind: str, name: str, make: Callable[..., Any], signature: inspect.Signature) -> Entry:
    raw = signature.parameters
    found = [_parameter(one) for one in raw.values() if one.kind is not one.VAR_KEYWORD]
    if kind == "agent":
        group = Parameter("group", "bool", "true")
        found = [group, *(one for one in found if one.name not in TOLD and one.name != "group")]
        found = [replace(one, default="the problem's") if one.name in OFFERED else one for one in found]
    if kind == "group" and "center" not in raw:
        found.append(Parameter("center", "array | none", "none", nullable=True))
    is_open = any(one.kind is one.VAR_KEYWORD for one in raw.values())
    return Entry(kind, name, make, signature, tuple(found), is_open)


def _parameter(raw: inspect.Parameter) -> Parameter:
    members = _members(raw.annotation)
    classes = [member for member in members if isinstance(member, type)]
    kind = next((k for k, base in BASES.items() if any(issubclass(one, base) for one in classes)), None)
    if kind is None and raw.annotation is raw.empty and raw.name in BASES:
        kind = raw.name
    nullable = type(None) in members or raw.default is None
    reference: Literal["function", "path"] | None = None
    if any(get_origin(member) is Callable or member is Callable for member in members):
        reference = "function"
    elif any((get_origin(member) or member) is os.PathLike for member in members):
        reference = "path"
    default = None if raw.default is raw.empty else shown(raw.default)
    if default is None and nullable:
        default = "none"
    variadic = raw.kind is raw.VAR_POSITIONAL
    return Parameter(raw.name, _shown_type(raw), default, kind, nullable, variadic, reference)


def _members(annotation: Any) -> tuple[Any, ...]:
    """Return the alternatives of a type."""
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _shown_type(raw: inspect.Parameter) -> str:
    """Return a type as the writer of a table sees it."""
    members = _members(raw.annotation)
    words: list[str] = []
    if set(members) >= ARRAY:
        words = ["str", "array"] if isinstance(raw.default, str) else ["array"]
        members = tuple(member for member in members if member not in ARRAY)
    words += [word for word in map(_word, members) if word]
    text = " | ".join(dict.fromkeys(words)) or "any"
    return f"[{text}, ...]" if raw.kind is raw.VAR_POSITIONAL else text


def _word(member: Any) -> str:
    """Return the word for a type without alternatives; none for what cannot be written in a table."""
    origin = get_origin(member) or member
    if origin is Literal:
        return " | ".join(json.dumps(value) for value in get_args(member))
    if origin is tuple:
        return f"[{', '.join(map(_word, get_args(member)))}]"
    if origin in (Callable, os.PathLike):
        return '"module:function"' if origin is Callable else "path"
    if member is type(None):
        return "none"
    if isinstance(member, type) and member not in PLAIN:
        return next((kind for kind, base in BASES.items() if issubclass(member, base)), "")
    return member.__name__ if member in PLAIN else ""
