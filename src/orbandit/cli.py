"""The command: thin, and the only module that prints."""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orbandit as ob

if TYPE_CHECKING:
    from orbandit.experiments.running import Resumed
    from orbandit.experiments.spec import Experiment

QUICK_HORIZON, QUICK_SEEDS = 60, 2
"""Rounds and runs of `orbandit demo --quick`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv`, by default the process's own arguments, and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        with _plain_warnings():
            code: int = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ob.errors.OrbanditError, OSError) as error:
        print(f"orbandit: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        print(f"orbandit: {str(stop) or 'interrupted'}", file=sys.stderr)
        return 130  # as shells have it: 128 and the number of the signal
    return code


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show each warning of this package once, as a line."""
    told: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if not issubclass(category, ob.errors.OrbanditWarning):
            usual(message, category, *rest, **more)
        elif str(message) not in told:
            told.add(str(message))
            print(f"orbandit: {message}", file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        usual = warnings.showwarning
        warnings.showwarning = show
        warnings.simplefilter("always", ob.errors.OrbanditWarning)
        yield


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="orbandit", description=ob.__doc__)
    parser.add_argument("--version", action="version", version=f"orbandit {ob.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo", help="compare five agents with and without the group on three problems; write a report"
    )
    demo.add_argument("--out", type=Path, default=Path("out"), help="folder of results and report (default: out)")
    demo.add_argument("--jobs", type=int, help="number of processes (default: one for each processor)")
    demo.add_argument("--quick", action="store_true", help="two short runs of each agent, to try it")
    demo.set_defaults(run=_demo)
    check = commands.add_parser(
        "verify", help="check the paper's lemmas and theorems numerically, with its known errors"
    )
    check.add_argument("--quick", action="store_true", help="under a minute instead of under ten")
    default = Path("out") / "verification.md"
    check.add_argument("--out", type=Path, default=default, help=f"file for the table (default: {default})")
    check.set_defaults(run=_verify)
    play = commands.add_parser("run", help="run the experiment of a TOML file; resumes if it was interrupted")
    play.add_argument("file", type=Path, metavar="FILE.toml")
    play.add_argument("--out", type=Path, help="file for the results (default: FILE with suffix .db)")
    play.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="continue from existing results",
    )
    play.add_argument("--jobs", type=int, help="number of processes (default: one for each processor)")
    play.add_argument(
        "--engine",
        choices=("local", "dask"),
        default="local",
        help="processes on this machine, or Dask (default: local)",
    )
    play.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="address of a Dask scheduler (default: a cluster on this machine)",
    )
    play.add_argument("--dry-run", action="store_true", help="show the plan without running it")
    play.set_defaults(run=_run)
    page = commands.add_parser("report", help="write an HTML report of the results of an experiment, finished or not")
    page.add_argument("results", type=Path, metavar="RESULTS")
    page.add_argument("--out", type=Path, help="HTML file (default: RESULTS with suffix .html)")
    page.add_argument("--figures", type=Path, metavar="DIR", help="also save figures as PNG and SVG")
    page.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="folder of your modules and data (default: that of RESULTS)",
    )
    page.set_defaults(run=_report)
    export = commands.add_parser("export", help="export the results of an experiment as a table")
    export.add_argument("results", type=Path, metavar="RESULTS")
    export.add_argument("target", type=Path, metavar="FILE.csv|FILE.parquet")
    export.add_argument("--overwrite", action="store_true", help="replace an existing file")
    export.set_defaults(run=_export)
    names = commands.add_parser("list", help="list the classes for experiment files, with parameters")
    names.set_defaults(run=_list)
    return parser


def _demo(arguments: argparse.Namespace) -> int:
    """Run the demo experiment, print the regret with and without the groups, write a report."""
    from importlib import resources

    from rich.console import Console
    from rich.table import Table

    from orbandit.experiments.running import Resumed
    from orbandit.experiments.spec import read
    from orbandit.reports.page import check_extras
    from orbandit.reports.reporting import page_of, report
    from orbandit.reports.words import interval, size

    check_extras()
    arguments.out.mkdir(parents=True, exist_ok=True)
    out = arguments.out / ("demo_quick.db" if arguments.quick else "demo.db")
    with resources.as_file(resources.files("orbandit.experiments") / "demo.toml") as file:
        experiment = read(file)
        if arguments.quick:
            experiment = experiment.shortened(QUICK_HORIZON, QUICK_SEEDS)
        with Resumed(experiment, out) as resumed:
            _play(experiment, resumed, out, jobs=arguments.jobs)
    summary = report(out)
    for result in summary.problems:
        table = Table(
            "agent", title=f"{result.name}: regret after {result.longest.horizon:,} rounds", title_justify="left"
        )
        for name in ("with the group", "without", "ratio (95 %)"):
            table.add_column(name, justify="right")
        for row in result.longest.worth():
            table.add_row(row.family, size(row.told.value), size(row.untold.value), interval(row.comparison.ratio))
        Console().print(table)
    print(f"report: {page_of(out)}")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    """Verify, print each line, and write the table; the exit code is 1 if a line fails."""
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


def _run(arguments: argparse.Namespace) -> int:
    from orbandit.experiments.running import Resumed, workers_of
    from orbandit.experiments.spec import read

    how = {"engine": arguments.engine, "jobs": arguments.jobs, "scheduler": arguments.scheduler}
    workers_of(**how)  # which a plan and a finished experiment refuse, too
    experiment = read(arguments.file)
    out = arguments.out or arguments.file.with_suffix(".db")
    if not arguments.resume and os.path.lexists(out):
        raise ob.errors.StoreError(
            f"{out} exists already; leave out --no-resume to continue it, or choose another --out."
        )
    with Resumed(experiment, out) as resumed:
        if old := resumed.n_outdated:
            print(
                f"note: {out} also holds {old:,} runs of other code, data or another version; --out FILE starts afresh"
            )
        if arguments.dry_run:
            _show_plan(experiment, len(resumed.left), out)
            return 0
        _play(experiment, resumed, out, **how)
    print(f"page: orbandit report {out}")
    return 0


def _play(experiment: "Experiment", resumed: "Resumed", out: Path, **how: Any) -> None:
    """Play the remaining runs, with progress bars on a terminal, else with lines."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from orbandit.experiments.finished import FinishedRun

    left = resumed.left
    if not left:
        print(f"nothing left to play: {len(experiment):,} of {len(experiment):,} runs are in {out}")
        return
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} rounds"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=console, transient=True)
    # rich 13.7 ends even a bar it does not show with a line
    with bar if console.is_terminal else nullcontext():
        begun = time.perf_counter()
        lines = {
            (row.problem, row.agent): bar.add_task(f"{row.problem}: {row.agent}", total=row.n_rounds, rate="")
            for row in experiment.plan()
        }
        for row in experiment.plan():
            open_rounds = sum(task.horizon for task in left if (task.problem, task.agent) == (row.problem, row.agent))
            bar.update(lines[row.problem, row.agent], completed=row.n_rounds - open_rounds)
        done = dict.fromkeys(lines, 0)

        def stored(one: FinishedRun) -> None:
            pair = (one.problem, one.agent)
            done[pair] += one.horizon
            speed = f"{sum(done.values()) / (time.perf_counter() - begun):,.0f} rounds/s in all"
            bar.update(lines[pair], advance=one.horizon, rate=speed)
            if not console.is_terminal:  # a line for each run, for logs
                print(f"{one.problem}: {one.agent}; n = {one.horizon:,}, seed {one.seed}; {speed}", flush=True)

        try:
            played = resumed.play(**how, progress=stored)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted; what is finished is in {out}; start again to go on") from None
    print(f"played {played:,} runs; {len(experiment):,} of {len(experiment):,} runs are in {out}")


def _show_plan(experiment: "Experiment", left: int, out: Path) -> None:
    plan = experiment.plan()
    for row in plan:
        horizons = ", ".join(f"{n:,}" for n in row.horizons)
        print(f"{row.problem}: {row.agent}; horizons {horizons}; {row.n_seeds} seeds")
    if experiment.timeout is not None:
        print(f"timeout: {experiment.timeout:g} s for a run")
    rounds = sum(row.n_rounds for row in plan)
    print(f"{len(experiment):,} runs, {rounds:,} rounds, {left:,} runs left; results: {out}")


def _report(arguments: argparse.Namespace) -> int:
    from orbandit.reports.reporting import page_of, report

    report(arguments.results, arguments.out, figures=arguments.figures, folder=arguments.folder)
    print(f"page: {arguments.out or page_of(arguments.results)}")
    if arguments.figures is not None:
        print(f"figures: {arguments.figures}")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from orbandit.experiments.store import export

    export(arguments.results, arguments.target, overwrite=arguments.overwrite)
    print(f"table: {arguments.target}")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    from orbandit.experiments import registry

    for kind, name, parameters in registry.rows():
        print(f"{kind:<8} {name:<28} {parameters}")
    return 0
