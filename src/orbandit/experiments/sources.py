"""Sources: checksums of the user's own code and data that a table names, as part of a run's key.

They are of the file of each module that is named as "module:attribute", not of what that imports in
turn, and of each data file that is named by a path.
"""

import hashlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from orbandit.errors import InputError, OrbanditError
from orbandit.experiments import registry

_imported: WeakKeyDictionary[ModuleType, str] = WeakKeyDictionary()
"""The checksums of modules at their first use, which are what this process plays."""


def sources_of(
    kind: str, table: Mapping[str, Any], folder: Path, known: dict[Path, str] | None = None
) -> dict[str, str]:
    """Return the SHA-256 of each source that a table names, by its name there.

    Parameters
    ----------
    kind : str
        "space", "group", "noise", "problem" or "agent".
    table : mapping
        The name of the class as "class", and its parameters. Missing files are left to
        `registry.build` to refuse.
    folder : Path
        Where data files and modules of the user's own may lie.
    known : dict, optional
        Checksums that were computed before, by path; new ones are added.

    Raises
    ------
    InputError
        If a module was changed since it was imported: this process would play what the file no
        longer says.

    Examples
    --------
    >>> table = {"class": "Function", "function": "json:dumps", "space": {"class": "Ball", "dim": 2}}
    >>> [(name, len(checksum)) for name, checksum in sources_of("problem", table, Path()).items()]
    [('json:dumps', 64)]
    """
    known = {} if known is None else known
    found = {}
    for name, path in _named(kind, table, folder):
        checksum = _of_module(name, known) if path is None else _of_file(path, known)
        if checksum:
            found[name] = checksum
    return found


def _named(kind: str, table: object, folder: Path) -> Iterator[tuple[str, Path | None]]:
    """Yield the references of a table, with the path of each that is a data file."""
    if not isinstance(table, Mapping) or not isinstance(table.get("class"), str):
        return
    try:
        entry = registry.find(kind, table["class"], folder)
    except OrbanditError:
        return
    if ":" in entry.name:
        yield entry.name, None
    for parameter in entry.parameters:
        value = table.get(parameter.name)
        for one in value if parameter.variadic and isinstance(value, list) else [value]:
            if parameter.kind is not None:
                yield from _named(parameter.kind, one, folder)
            elif parameter.reference == "function" and isinstance(one, str) and ":" in one:
                yield one, None
            elif parameter.reference == "path" and isinstance(one, str) and (folder / one).is_file():
                yield one, folder / one


def _of_module(reference: str, known: dict[Path, str]) -> str:
    """Return the checksum of a module's file; none of one that has no file, or was not imported."""
    module = sys.modules.get(reference.partition(":")[0])
    home = getattr(module, "__file__", None)
    if module is None or home is None:
        return ""
    now = _of_file(Path(home), known)
    if _imported.setdefault(module, now) != now:
        raise InputError(f"{home} was changed since it was imported; start Python, or the workers of a cluster, again.")
    return now


def _of_file(path: Path, known: dict[Path, str]) -> str:
    if path not in known:
        try:
            with path.open("rb") as file:
                known[path] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return ""
    return known[path]
