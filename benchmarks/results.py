"""Results of benchmarks in a file: one run to a line of JSON, so that a benchmark that was stopped goes on."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

Kind = TypeVar("Kind")


def read_lines(kind: Callable[..., Kind], path: Path) -> Iterator[Kind]:
    """Yield what the lines of a file hold, but for a last one that was cut off."""
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                yield kind(**json.loads(line))
            except json.JSONDecodeError:
                print(f"{path}: left out a line that was cut off")
