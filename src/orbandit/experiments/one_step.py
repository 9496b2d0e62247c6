"""Files that are there whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orbandit.errors import StoreError


@contextmanager
def in_one_step(target: Path, if_there: str | None) -> Iterator[Path]:
    """Yield a temporary path that becomes `target` at the end; unless `if_there` is None, it must be new."""
    there = StoreError(f"{target} is there already; {if_there}.")
    if not target.parent.is_dir():
        raise StoreError(f"{target.parent} is no folder; make it first.")
    if if_there and os.path.lexists(target):
        raise there
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if if_there:
            try:
                os.link(temporary, target)  # which, unlike a rename, never replaces
                return
            except FileExistsError:
                raise there from None
            except OSError:  # a file system without links
                target.open("xb").close()
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
