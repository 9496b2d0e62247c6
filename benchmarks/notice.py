"""Is a wrong group noticed? Rates of warnings of `ob.maximize` under groups that hold, and that do not.

Run as `python benchmarks/notice.py`, or on a part: `--problems peak step --seeds 3 --budget 50`. It
prints a table: in how many searches without a history a warning said that rewards violate the
symmetry, and after how many evaluations, by their median. Problems, on the unit square under the
swap of its coordinates unless said otherwise:

    smooth, kink, step, levels     f of the sorted coordinates: the group holds; noise 0.01 on smooth
                                   and kink, none on the others
    heavy                          kink with Cauchy noise of scale 0.02
    units                          four places to be covered by four alike units in the plane
    signs                          |x| near 0.5 in four dimensions, under changes of sign
    peak                           one peak, at (0.8, 0.2): the group is wrong
    noisy peak                     with noise 0.02
    unit                           units, of which the first gains 0.3 of its first coordinate
    roles                          each of four units in the plane has a place of its own
    centre                         signs about a centre that is shifted by 0.15
"""

import argparse
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import orbandit as ob
from orbandit._checks import Array

PLACES = np.array([[0.2, 0.2], [0.8, 0.2], [0.5, 0.5], [0.3, 0.8]])
"""Of units, and of roles."""


class Problem(NamedTuple):
    """A mean on a space, the group that is stated, whether it holds, and the noise."""

    mean: Callable[[Array], Any]
    space: ob.spaces.Space
    group: ob.groups.Group
    holds: bool
    noise: float = 0.0
    is_heavy: bool = False


def covered(x: Array, bonus: float = 0.0) -> Any:
    """Return minus the squared distances of places to their nearest units."""
    units = x.reshape(-1, 2)
    return bonus * x[0] - ((PLACES[:, None] - units) ** 2).sum(axis=2).min(axis=1).sum()


def kink(x: Array) -> Any:
    """Return a cone on the sorted coordinates."""
    return -abs(x.max() - 0.8) - abs(x.min() - 0.3)


def problems() -> dict[str, Problem]:
    """Return all problems by name."""
    square, swap = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
    plane = ob.spaces.Box(0.0, 1.0, dim=8), ob.groups.BlockPermutation(4, 2)
    signs = ob.spaces.Box(-1.0, 1.0, dim=4), ob.groups.SignFlips(4)
    return {
        "smooth": Problem(lambda x: -((x - 0.8) ** 2).sum(), square, swap, True, 0.01),
        "kink": Problem(kink, square, swap, True, 0.01),
        "step": Problem(lambda x: float(x.max() > 0.7) + 0.1 * x.sum(), square, swap, True),
        "levels": Problem(lambda x: np.floor(4 * x.max()) + np.floor(3 * x.min()), square, swap, True),
        "heavy": Problem(kink, square, swap, True, 0.02, True),
        "units": Problem(covered, *plane, True, 0.01),
        "signs": Problem(lambda x: -((abs(x) - 0.5) ** 2).sum(), *signs, True, 0.01),
        "peak": Problem(lambda x: -((x - [0.8, 0.2]) ** 2).sum(), square, swap, False),
        "noisy peak": Problem(lambda x: -((x - [0.8, 0.2]) ** 2).sum(), square, swap, False, 0.02),
        "unit": Problem(partial(covered, bonus=0.3), *plane, False, 0.01),
        "roles": Problem(lambda x: -((x.reshape(-1, 2) - PLACES) ** 2).sum(), *plane, False, 0.01),
        "centre": Problem(lambda x: -((abs(x - 0.15) - 0.5) ** 2).sum(), *signs, False, 0.01),
    }


def noticed(name: str, budget: int, seed: int) -> int | None:
    """Return after how many evaluations of a search the warning came, if it did."""
    problem, rng = problems()[name], np.random.default_rng([seed, 1])
    done = 0

    def measure(x: Array) -> float:
        nonlocal done
        done += 1
        error = np.clip(rng.standard_cauchy(), -1e3, 1e3) if problem.is_heavy else rng.standard_normal()
        return float(problem.mean(x)) + problem.noise * error

    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the rewards violate the symmetry")
        try:
            ob.maximize(measure, problem.space, problem.group, budget=budget, seed=seed, progress=False)
        except (ob.errors.MeasurementError, ob.errors.OrbanditWarning):
            return done
    return None


def main() -> None:
    """Run searches, and print the table."""
    names = list(problems())
    parser = argparse.ArgumentParser(description="Is a wrong group noticed?")
    parser.add_argument("--problems", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--budget", type=int, default=100, help="evaluations of a search")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    chosen = parser.parse_args()
    print("| the group | problem | searches | warned | after evaluations |\n| --- | --- | --- | --- | --- |")
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for name in chosen.problems:
            each = list(pool.map(partial(noticed, name, chosen.budget), range(chosen.seeds)))
            when = [one for one in each if one is not None]
            word, median = "holds" if problems()[name].holds else "is wrong", f"{np.median(when):.0f}" if when else ""
            print(f"| {word} | {name} | {len(each)} | {len(when)} | {median} |", flush=True)


if __name__ == "__main__":
    main()
