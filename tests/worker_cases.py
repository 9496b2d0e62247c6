"""Functions that tests send to other processes; what happened there is written to files of a folder."""

import os
import signal
import uuid
from pathlib import Path

import numpy as np

PEAK = np.array([0.2, 0.5, 0.8])


class LocalError(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def value(x):
    return 1.0 - float(np.linalg.norm(np.sort(x) - PEAK))


def count(folder, name):
    """Return the number of this call among all, whichever process makes them."""
    own = uuid.uuid4().hex
    with open(Path(folder) / name, "a") as file:
        file.write(f"{own}\n")
    return (Path(folder) / name).read_text().splitlines().index(own) + 1


def dies_at(number, folder, x):
    """Kill the process of one call, by its number."""
    if count(folder, "calls") == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return value(x)


def dies_always(folder, x):
    count(folder, "calls")
    os.kill(os.getpid(), signal.SIGKILL)


def fails_at(number, folder, x):
    if count(folder, "calls") == number:
        raise LocalError("too", "hot")
    return value(x)


def hangs_at(number, folder, x):
    """Wait, from one call on, until the process is interrupted or killed."""
    if count(folder, "calls") >= number:
        (Path(folder) / "hangs").touch()
        signal.pause()
    return value(x)
