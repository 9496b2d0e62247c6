"""What an experiment costs beyond its rounds, what a kill costs, and how long a page takes.

Run as `python benchmarks/experiments.py`; it takes about ten minutes on two cores. Each line says
what was measured and what it is held against:

1. store, progress and engine over bare `ob.simulate`: 200 runs of 10^5 rounds, at most 1.10;
2. `python -c "import numpy, orbandit"` and `orbandit --help`, over `python -c "import numpy"`: at
   most 1.5 and 2.5;
3. an experiment killed 20 times at random moments: its results are those of one that was left
   alone;
4. a page of 1,000 runs: at most 20 s and 8 MB.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import orbandit as ob
from orbandit.experiments.running import run
from orbandit.experiments.spec import read
from orbandit.reports.reporting import page_of, report

PROBLEM = """
[[problem]]
class = "Cone"
space = { class = "Ball", dim = 2 }
group = { class = "Dihedral", m = 5 }
peak = [0.31, 0.53]
"""
KILLS = 20


def experiment(folder: Path, name: str, horizon: int, seeds: int, agents: str) -> Path:
    """Write an experiment's file."""
    path = folder / f"{name}.toml"
    path.write_text(f"horizons = [{horizon}]\nseeds = {seeds}\n{PROBLEM}{agents}", encoding="utf-8")
    return path


def seconds(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def command(*words: str) -> list[str]:
    """Return the command with words after it."""
    return [sys.executable, "-m", "orbandit", *words]


def spawn(*words: str) -> None:
    """Run a command in silence."""
    subprocess.run(words, check=True, capture_output=True)


def overhead(folder: Path) -> None:
    """Compare `orbandit run`, as a command of its own, with `ob.simulate` on as many threads as it has processes."""
    horizon, seeds = 100_000, 200
    print(f"{seeds} runs of {horizon:,} rounds, planar cone under D5, on two workers:")
    cone = ob.problems.Cone(ob.spaces.Ball(2), ob.groups.Dihedral(5), peak=[0.31, 0.53])
    for kind in (ob.agents.OrbitTree, ob.agents.UniformMeshN):
        name = kind.__name__
        file = experiment(folder, name, horizon, seeds, f'[[agent]]\nclass = "{name}"\n')
        plain, whole, inside = [], [], []
        for turn in range(3):
            plain.append(seconds(partial(ob.simulate, kind, cone, horizon, seeds=seeds, jobs=2)))
            inside.append(seconds(partial(run, read(file), folder / f"{name}{turn}.db", jobs=2)))
            out = folder / f"{name}{turn}_command.db"
            whole.append(seconds(partial(spawn, *command("run", str(file), "--out", str(out), "--jobs", "2"))))
        ratio = median(b / a for a, b in zip(plain, inside, strict=True))
        total = median(b / a for a, b in zip(plain, whole, strict=True))
        print(
            f"  {name:<12} simulate {median(plain):6.1f} s; run {median(inside):6.1f} s, ratio {ratio:.3f}; "
            f"the command, start included, {median(whole):6.1f} s, ratio {total:.3f}  (at most 1.10)",
            flush=True,
        )


def start_time() -> None:
    """Compare the start of the package, and of the command, with that of numpy; the interpreter's is part of each."""
    script = Path(sys.executable).with_name("orbandit")
    imported, asked = [], []
    for _ in range(9):
        numpy = seconds(partial(spawn, sys.executable, "-c", "import numpy"))
        imported.append(seconds(partial(spawn, sys.executable, "-c", "import numpy, orbandit")) / numpy)
        asked.append(seconds(partial(spawn, str(script), "--help")) / numpy)
    print(f"import numpy, orbandit over import numpy: {median(imported):.2f}  (at most 1.5)")
    print(f"orbandit --help over import numpy: {median(asked):.2f}  (at most 2.5)", flush=True)


def kills(folder: Path) -> None:
    """Kill an experiment at random moments, and compare what it ends with."""
    agents = '[[agent]]\nclass = "OrbitTree"\ngroup = [true, false]\n[[agent]]\nclass = "UniformMeshN"\n'
    file = experiment(folder, "kills", 100_000, 60, agents)
    calm, wild = folder / "calm.db", folder / "wild.db"
    alone = seconds(partial(spawn, *command("run", str(file), "--out", str(calm))))
    start = seconds(partial(spawn, *command("run", str(file), "--out", str(folder / "none.db"), "--dry-run")))
    moments, killed, kept = random.Random(0), 0, []
    for _ in range(KILLS):
        words = command("run", str(file), "--out", str(wild))
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            process.wait(timeout=moments.uniform(0.2 * start, 2 * start + 1.6 * alone / KILLS))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
        if wild.exists():
            with ob.experiments.Store.open(wild, write=False) as store:
                kept.append(len(store.done()))
    spawn(*command("run", str(file), "--out", str(wild)))
    with ob.experiments.Store.open(calm) as one, ob.experiments.Store.open(wild) as other:
        same = one.digest() == other.digest()
        runs = len(one.done()), len(other.done())
    print(
        f"killed {killed} times, with {', '.join(map(str, kept))} runs stored: {runs[1]} of {runs[0]} runs at the end, "
    )
    print(f"  results identical to those of one that was left alone: {same}", flush=True)


def page(folder: Path) -> None:
    """Time the page of 1,000 runs."""
    grid = (
        '[[agent]]\nclass = "Zooming"\ngroup = [true, false]\n[[agent]]\nclass = "OrbitTree"\ngroup = [true, false]\n'
    )
    grid += '[[agent]]\nclass = "UniformMesh"\n'
    file = experiment(folder, "page", 1_000, 200, grid)
    out = folder / "page.db"
    run(read(file), out)
    spent = seconds(partial(spawn, *command("report", str(out))))
    size = page_of(out).stat().st_size / 1e6
    runs = report(out).n_runs
    print(f"page of {runs:,} runs: {spent:.1f} s, {size:.1f} MB  (at most 20 s and 8 MB)", flush=True)


def main() -> None:
    """Print all lines."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start_time()
        page(folder)
        kills(folder)
        overhead(folder)


if __name__ == "__main__":
    main()
