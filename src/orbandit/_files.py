"""Atomic writes: a file is complete or absent."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def in_one_step(target: Path, *, replace: bool = True) -> Iterator[Path]:
    """Yield a temporary path that replaces the target at the end, atomically.

    After an exception the old file is unchanged. Without `replace`, an existing target raises a
    FileExistsError, also one that is made meanwhile.
    """
    if not replace and os.path.lexists(target):
        raise _there(target)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if not replace:
            try:
                os.link(temporary, target)  # which, unlike a rename, never replaces
                return
            except FileExistsError:
                raise _there(target) from None
            except OSError:  # a file system without links
                target.open("xb").close()
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _there(target: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(target))
