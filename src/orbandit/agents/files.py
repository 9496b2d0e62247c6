"""Agents in files: a zip of plain NumPy arrays and one JSON header, readable by `numpy.load`, never a pickle.

Files may be untrusted. Nothing in them is executed: classes are looked up among this package's own,
arrays hold numbers only and are no larger than the file, and the reader checks their values. Spaces
and groups are made only if they are within the limits of size of agents.
"""

import inspect
import io
import json
import math
import operator
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orbandit import groups, spaces
from orbandit._checks import shown
from orbandit._files import in_one_step
from orbandit.agents.sizes import MAX_DESCRIBED, check_recipe, numbers_of
from orbandit.errors import InputError
from orbandit.meshes import Mesh

FORMAT = "orbandit agent"
VERSION = 1

Arrays = dict[str, npt.NDArray[Any]]

HOMES: dict[str, tuple[Any, type]] = {"space": (spaces, spaces.Space), "group": (groups, groups.Group)}
"""Where the classes named in a file are looked up."""


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    """Write a file atomically: readers see the old one or the new one; a crash leaves the old."""
    target = Path(path)
    packed = dict(arrays)
    marked = {"format": FORMAT, "version": VERSION, **_packed(header, packed)}
    packed["header"] = np.frombuffer(json.dumps(marked).encode(), dtype=np.uint8)
    with in_one_step(target) as temporary, temporary.open("xb") as file:
        np.savez(file, **packed)  # type: ignore[arg-type]


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file that `write` made."""
    data = Path(path).read_bytes()
    try:
        arrays = _arrays(data)
        header = json.loads(bytes(arrays.pop("header")))
        if header.pop("format") != FORMAT:
            raise ValueError("its header names another format")
        version = header.pop("version")
        if not isinstance(version, int) or version < 1:
            raise ValueError(f"version {version!r}")
    except Exception as error:  # a damaged zip may raise nearly anything
        raise InputError(f"{os.fspath(path)} is not a whole file saved by an agent ({error}).") from error
    if version > VERSION:
        raise InputError(
            f"{os.fspath(path)} has version {version}, but this orbandit reads up to {VERSION}; upgrade orbandit."
        )
    try:
        maker = _Maker(arrays)
        made = {key: maker.unpacked(value) for key, value in header.items()}
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError, RecursionError) as error:
        raise InputError(f"{os.fspath(path)} describes an agent that cannot be made ({error!r}).") from error
    return made, arrays


def stream_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a generator."""
    return dict(rng.bit_generator.state)


def stream(state: dict[str, Any]) -> np.random.Generator:
    """Return a generator with a state that `stream_state` returned."""
    bits: Any = np.random.PCG64(0)
    bits.state = {
        "bit_generator": "PCG64",
        "state": {name: operator.index(state["state"][name]) % 2**128 for name in ("state", "inc")},
        "has_uint32": operator.index(state["has_uint32"]) % 2,
        "uinteger": operator.index(state["uinteger"]) % 2**32,
    }
    return np.random.Generator(bits)


def _arrays(data: bytes) -> Arrays:
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            if info.compress_type != zipfile.ZIP_STORED or info.file_size > len(data):
                raise ValueError(f"its part {info.filename!r} is compressed or longer than the file")
            arrays[info.filename.removesuffix(".npy")] = _array(archive.read(info))
    return arrays


def _array(data: bytes) -> npt.NDArray[Any]:
    """Read a .npy file; check that its length fits its shape before memory is allocated."""
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array of another version of NumPy's format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in "biuf" or math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise ValueError(f"an array of type {dtype} and shape {shape} in {len(data)} bytes")
    flat = np.frombuffer(data, dtype, offset=file.tell())
    return flat.reshape(shape, order="F" if fortran else "C").copy()


def _packed(value: Any, arrays: Arrays) -> Any:
    """Return `value` as JSON can hold it, with arrays put aside under a name."""
    if isinstance(value, np.ndarray):
        name = f"header.{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: _packed(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(item, arrays) for item in value]
    if isinstance(value, Mesh):
        parts = {"points": value.points, "delta": value.delta, "space": value.space, "group": value.group}
        return {"mesh": _packed(parts, arrays)}
    if isinstance(value, spaces.Space | groups.Group):
        kind = "space" if isinstance(value, spaces.Space) else "group"
        if value.recipe is None or not _is_known(kind, type(value).__name__, type(value)):
            raise InputError(
                f"only spaces and groups of this package, made of plain values, can be saved, but got {shown(value)}."
            )
        args, kwargs = value.recipe
        recipe = {"name": type(value).__name__, "args": args, "kwargs": kwargs}
        if isinstance(value, groups.Group):
            recipe["center"] = value.center
        return {kind: _packed(recipe, arrays)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(f"an agent with {shown(value)} among its arguments cannot be saved.")


class _Maker:
    """Undoes `_packed`, if all spaces and groups together are within the limits of one agent."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays, self._numbers = arrays, 0

    def unpacked(self, value: Any) -> Any:
        """Return what was packed; tuples come back as lists."""
        if isinstance(value, list):
            return [self.unpacked(item) for item in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"array"}:
            return self._arrays.pop(value["array"])
        items = {key: self.unpacked(item) for key, item in value.items()}
        if set(items) == {"mesh"}:
            return Mesh(**items["mesh"])
        for kind in HOMES:
            if set(items) == {kind}:
                return self._made(kind, **items[kind])
        return items

    def _made(self, kind: str, name: str, args: list[Any], kwargs: dict[str, Any], center: Any = None) -> Any:
        """Make a space or a group by its name, which must be one of this package's."""
        home, _ = HOMES[kind]
        maker: Any = getattr(home, name, None)
        if not _is_known(kind, name, maker):
            raise ValueError(f"{name!r} is no {kind} of this package")
        given = inspect.signature(maker.__init__).bind(None, *args, **kwargs)
        check_recipe(maker, given.arguments)
        made = maker(*given.args[1:], **given.kwargs)
        made.recipe = (tuple(args), kwargs)  # as it was saved, though the limit may be lower
        self._numbers += numbers_of(made)
        if self._numbers > MAX_DESCRIBED:
            raise ValueError("spaces and groups that are too large together")
        if kind == "group" and not np.array_equal(made.center, center):
            return made.centered(center)
        return made


def _is_known(kind: str, name: str, maker: object) -> bool:
    home, base = HOMES[kind]
    return name in home.__all__ and getattr(home, name) is maker and isinstance(maker, type) and issubclass(maker, base)
