"""The command: thin, and the only module that prints."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import orbandit as ob


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv`, by default the process's own arguments, and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ob.errors.OrbanditError, OSError) as error:
        print(f"orbandit: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="orbandit", description=ob.__doc__)
    parser.add_argument("--version", action="version", version=f"orbandit {ob.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="a table of symmetry groups and a picture of orbits")
    demo.add_argument("--out", type=Path, default=Path("out"), help="folder of the picture (default: out)")
    demo.set_defaults(run=_demo)
    return parser


def _demo(arguments: argparse.Namespace) -> None:
    from orbandit.reports import tour

    print("A fold takes a point to the one representative of its orbit:\n")
    rows = [tour.HEADER, *tour.group_table()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    path = arguments.out / "orbits.png"
    tour.orbit_picture(path)
    print(f"\npicture: {path}")
