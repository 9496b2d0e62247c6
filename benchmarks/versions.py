"""Speed of agents beside that of another version of orbandit, both in one run.

    python benchmarks/versions.py 8e2aff0

The other version's sources are taken from git, into out/, and each version runs in processes of its
own that find its sources first, in turn. Printed are the least times of both, in microseconds of a
core, and their ratio: of an `ask` and a `tell`, and of a simulated round.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parent.parent
TURNS, REPEATS = 4, 5
"""Processes of each version, and runs of each agent in one."""
ASKS, ROUNDS = 3_000, 200_000
"""Asks of a run, and simulated rounds."""
HORIZON = 10_000


def main() -> None:
    """Run both versions in turn, and print a table."""
    parser = argparse.ArgumentParser(description="Is orbandit as fast as another version of it?")
    parser.add_argument("revision", nargs="?", help="a commit")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        print(json.dumps(measured()))
        return
    if not chosen.revision:
        parser.error("name the commit to compare with")
    here, there = ROOT / "src", sources_of(chosen.revision)
    times: dict[str, tuple[list[float], list[float]]] = {}
    for _ in range(TURNS):
        for which, source in enumerate((there, here)):
            for name, seconds in run(source).items():
                times.setdefault(name, ([], []))[which].append(seconds)
    print(f"{'microseconds':<44}{chosen.revision[:8]:>10}{'here':>10}{'ratio':>8}")
    for name, (before, now) in times.items():
        print(f"{name:<44}{1e6 * min(before):>10.3f}{1e6 * min(now):>10.3f}{min(now) / min(before):>8.2f}")


def sources_of(revision: str) -> Path:
    """Return where the sources of a commit are, taken from git if they are not there."""
    target = ROOT / "out" / f"orbandit-{revision}"
    if not target.exists():
        target.mkdir(parents=True)
        archive = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(target)], input=archive, check=True)
    return target / "src"


def run(source: Path) -> dict[str, float]:
    """Return the seconds of one process with such sources."""
    found = {**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--worker"]
    return dict(json.loads(subprocess.run(command, env=found, check=True, capture_output=True).stdout))


def measured() -> dict[str, float]:
    """Return seconds of each figure, with the sources that this process has."""
    import orbandit as ob

    space, group = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
    cone = ob.problems.Cone(space, group, peak=[0.2, 0.5, 0.8])
    names = ["UniformMesh", "UniformMeshN", "SideObservationElimination", "Zooming", "HOO", "OrbitTree"]
    kinds: dict[str, Any] = {name: getattr(ob.agents, name) for name in names}
    makers = {"UCB1": partial(ob.agents.UCB1, 50), **{name: partial(kinds[name], space, group) for name in names}}
    seconds = {f"ask and tell, {name}": typical(partial(asking, make)) for name, make in makers.items()}
    for name, kind in kinds.items():
        seconds[f"simulated round, {name}"] = typical(partial(simulating, ob.simulate, kind, cone))
    return seconds


def simulating(simulate: Callable[..., Any], *what: Any) -> float:
    """Return the seconds of one simulated round, of a core."""
    start = time.process_time()
    simulate(*what, ROUNDS, seeds=1, jobs=1)
    return (time.process_time() - start) / ROUNDS


def asking(make: Callable[..., Any]) -> float:
    """Return the seconds of a core for one ask and tell of an agent."""
    agent = make(horizon=HORIZON, seed=0)
    start = time.process_time()
    for _ in range(ASKS):
        agent.tell(agent.ask(), 0.5)
    return (time.process_time() - start) / ASKS


def typical(once: Callable[[], float]) -> float:
    """Return the median of some runs, after one that compiles."""
    once()
    return median(once() for _ in range(REPEATS))


if __name__ == "__main__":
    main()
