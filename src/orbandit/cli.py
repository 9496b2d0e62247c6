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
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ob.errors.OrbanditError, OSError) as error:
        print(f"orbandit: {error}", file=sys.stderr)
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="orbandit", description=ob.__doc__)
    parser.add_argument("--version", action="version", version=f"orbandit {ob.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="a table of symmetry groups and a picture of orbits")
    demo.add_argument("--out", type=Path, default=Path("out"), help="folder of the picture (default: out)")
    demo.set_defaults(run=_demo)
    check = commands.add_parser("verify", help="measure the lemmas and theorems of the paper, and where they slip")
    check.add_argument("--quick", action="store_true", help="under a minute instead of under ten")
    default = Path("out") / "verification.md"
    check.add_argument("--out", type=Path, default=default, help=f"file of the table (default: {default})")
    check.set_defaults(run=_verify)
    return parser


def _demo(arguments: argparse.Namespace) -> int:
    from orbandit.reports import tour

    print("A fold takes a point to the one representative of its orbit:\n")
    rows = [tour.HEADER, *tour.group_table()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    path = arguments.out / "orbits.png"
    tour.orbit_picture(path)
    print(f"\npicture: {path}")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    """Measure, print each line, and write the table; the exit code is 1 if a line fails."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from orbandit.experiments import verify
    from orbandit.experiments.verification import Line

    def show(line: Line) -> None:
        print(f"{line.verdict.value:<8}({line.part}) {line.claim}")
        print(f"{'':8}    says: {line.says}\n{'':8}    measured: {line.measured}")

    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with arguments.out.open("a"):
        pass  # a file that cannot be written is found now, not after ten minutes
    columns = (TextColumn("{task.description:<32}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        result = verify(
            quick=arguments.quick,
            progress=lambda title, share: bar.update(task, description=title, completed=share),
            report=show,
        )
    arguments.out.write_text(result.markdown(), encoding="utf-8")
    print(f"\n{result.summary()}\ntable: {arguments.out}")
    return 0 if result else 1
