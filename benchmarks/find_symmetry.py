"""How often `find_symmetry` finds a planted group exactly, and how often a symmetry that is false.

    python benchmarks/find_symmetry.py --minutes 15

prints the table of docs/concepts/groups.md. A function is the mean of a function without symmetry
over the planted group: smooth (random Fourier features) or structured (sums over units and pairs,
and peaks), seed by seed in turn; the noise is 2, 5 and 10 % of its deviation. A result is exact if
just the candidates that hold are accepted, and false if one is that does not. Beside it stands a
test by pairs of images with as many measurements, which knows the noise: a random point and its
image under every candidate, as often as there are measurements for it; a candidate is accepted if
no image differs from its point by more than three deviations.

Seeds are 0, 1, ..., all cases of one before the next, until `--seeds` are done or the processor has
spent `--minutes`, or the process is told to end; of 300 points, which take longest, every fourth
seed. Names of cases, or parts of names, may be given.
"""

import argparse
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import orbandit as ob
from orbandit._checks import Array
from orbandit.groups import (
    BlockPermutation,
    Diagonal,
    Dihedral,
    Group,
    Product,
    SignedPermutation,
    SignFlips,
    Symmetric,
    Trivial,
)
from orbandit.spaces import Ball, Box, Space
from orbandit.symmetry.candidates import Candidate, default_candidates, middle

SIZES, LARGE_SIZES = (50, 150, 300), (150, 300)
"""Numbers of points, below and from 12 coordinates on."""
MINUTES, SEEDS = 15.0, 20
LARGEST, EVERY = 300, 4
"""Of so many points, every fourth seed."""
NOISES = (0.02, 0.05, 0.1)
Function = Callable[[Array], Array]


class Case(NamedTuple):
    """A space, a group about its middle, the unit of structured functions, and the waves round planar units."""

    space: Space
    group: Group
    unit: int = 1
    waves: int = 0


def _box(dim: int, group: Group, unit: int = 1) -> Case:
    return Case(Box(-0.5, 0.5, dim=dim), group, unit)


DISK_AND_BOX = ob.spaces.Product(Ball(2, radius=0.5), Box(-0.5, 0.5, dim=4))
CASES = {
    "none, 6 coordinates": _box(6, Trivial(6)),
    "S3 x S3": _box(6, Product(Symmetric(3), Symmetric(3))),
    "S4 x 1 x 1": _box(6, Product(Symmetric(4), Trivial(2))),
    "S6": _box(6, Symmetric(6)),
    "flips of 2 of 6": _box(6, Product(SignFlips(2), Trivial(4))),
    "B4 x 1 x 1": _box(6, Product(SignedPermutation(4), Trivial(2))),
    "D6 on a pair of 6": Case(DISK_AND_BOX, Product(Dihedral(6), Trivial(4)), 2, waves=6),
    "D3 on a pair of 6": Case(DISK_AND_BOX, Product(Dihedral(3), Trivial(4)), 2, waves=3),
    "D6 on 3 planar units": Case(Ball(2, radius=0.5) ** 3, Diagonal(Dihedral(6), 3), 2, waves=6),
    "D3 on 3 planar units": Case(Ball(2, radius=0.5) ** 3, Diagonal(Dihedral(3), 3), 2, waves=3),
    "3 units of 2": _box(6, BlockPermutation(3, 2), 2),
    "4 units of 2": _box(8, BlockPermutation(4, 2), 2),
    "none, 12 coordinates": _box(12, Trivial(12), 2),
    "6 units of 2": _box(12, BlockPermutation(6, 2), 2),
}


def smooth(dim: int, rng: np.random.Generator) -> Function:
    """Return a random function with a length scale near the width of the space."""
    frequencies = rng.normal(size=(60, dim)) / rng.uniform(0.6, 1.2)
    phases, weights = rng.uniform(0, 2 * np.pi, 60), rng.normal(size=60)
    return lambda x: np.asarray(np.cos(x @ frequencies.T + phases) @ weights)


def structured(dim: int, unit: int, rng: np.random.Generator) -> Function:
    """Return a sum of bumps of each unit, of products of pairs of units, and two broad peaks."""
    units = dim // unit
    places = rng.uniform(-0.5, 0.5, size=(units, 3, unit))
    heights, slopes = rng.normal(size=(units, 3)), rng.normal(size=(units, unit))
    pairs, peaks = rng.normal(size=(units, units)), rng.uniform(-0.4, 0.4, size=(2, dim))

    def value(x: Array) -> Array:
        split = x.reshape(len(x), units, 1, unit)
        squares = ((split - places) ** 2).sum(axis=3)
        bumps = (heights * np.exp(-squares / (2 * 0.25**2))).sum(axis=(1, 2))
        lines = (split[:, :, 0] * slopes).sum(axis=2)
        near = np.exp(-((x[:, None] - peaks) ** 2).sum(axis=2) / (2 * 0.1 * dim)).sum(axis=1)
        return np.asarray(bumps + np.einsum("mi,ij,mj->m", lines, pairs, lines) + 2 * near)

    return value


def planted(case: Case, seed: int) -> Function:
    """Return a function with the group of a case, scaled to a deviation of 1 over the space."""
    rng, dim = np.random.default_rng([seed, 1]), case.space.dim
    inner = smooth(dim, rng) if seed % 2 == 0 else structured(dim, case.unit, rng)
    elements, typical = case.group.elements(), case.space.sample(300, rng)

    def mean(x: Array) -> Array:
        return np.asarray(np.mean([inner(x @ g.T) for g in elements], axis=0))

    def waves(x: Array) -> Array:
        """Return r^m cos(m angle) of planar units; without it, means over turns hardly depend on the angle."""
        disks = case.space.parts if isinstance(case.space, ob.spaces.Product) else ()
        pairs = [x[:, 2 * i] + 1j * x[:, 2 * i + 1] for i, part in enumerate(disks) if isinstance(part, Ball)]
        return np.asarray(sum(((pair**case.waves).real for pair in pairs), np.zeros(len(x))))

    scale = 0.7 * mean(typical).std() / (waves(typical).std() or 1.0) if case.waves else 0.0
    whole = mean(typical) + scale * waves(typical)
    return lambda x: np.asarray((mean(x) + scale * waves(x) - whole.mean()) / whole.std())


def holding(function: Function, case: Case, candidates: list[Candidate]) -> list[bool]:
    """Tell which candidates hold for a function."""
    x = case.space.sample(8, 0)
    here = function(x)
    return [all(np.abs(function(x @ g.T) - here).max() < 1e-9 for g in one.generators) for one in candidates]


def by_pairs(
    function: Function, case: Case, candidates: list[Candidate], n: int, noise: float, seed: int
) -> list[bool]:
    """Return what a test by pairs of images with n measurements accepts."""
    rng, count = np.random.default_rng([seed, 2]), len(candidates)
    accepted = [False] * count
    for start in range(0, n - 1, count + 1):
        x = case.space.sample(1, rng)
        here = function(x) + noise * rng.normal(size=1)
        for i in range(min(count, n - 1 - start)):
            there = function(x @ candidates[i].generators[0].T) + noise * rng.normal(size=1)
            agrees = bool(abs(there - here)[0] <= 3 * np.sqrt(2) * noise)
            accepted[i] = agrees and (accepted[i] or start == 0)
    return accepted


class Tally:
    """Counts of one case and one number of points."""

    def __init__(self) -> None:
        self.seeds, self.seconds = 0, list[float]()
        self._counts = np.zeros(4, dtype=np.int64)  # exact, false, and the same by pairs

    def add(self, case: Case, candidates: list[Candidate], n: int, seed: int) -> None:
        """Look for the group of one function."""
        function, noise = planted(case, seed), NOISES[seed % 3]
        rng = np.random.default_rng([seed, n])
        x = case.space.sample(n, rng)
        y, truth = function(x) + noise * rng.normal(size=n), holding(function, case, candidates)
        start = time.process_time()
        report = ob.find_symmetry(x, y, case.space)
        self.seconds.append(time.process_time() - start)
        answers = [row.accepted for row in report.evidence], by_pairs(function, case, candidates, n, noise, seed)
        for i, found in enumerate(answers):
            wrong = any(one and not true for one, true in zip(found, truth, strict=True))
            self._counts[2 * i : 2 * i + 2] += found == truth, wrong
        self.seeds += 1

    @property
    def false(self) -> int:
        """In how many functions a false symmetry was accepted."""
        return int(self._counts[1])

    def __str__(self) -> str:
        rates = " | ".join(f"{count / self.seeds:.0%}" for count in self._counts)
        return f"{self.seeds} | {rates} | {np.median(self.seconds):.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Planted groups, found or not.")
    parser.add_argument("cases", nargs="*", help="parts of names of cases")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="at most so many")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of the processor, about")
    chosen = parser.parse_args()
    cases = {name: case for name, case in CASES.items() if not chosen.cases or any(one in name for one in chosen.cases)}
    if any(middle(case.space).any() for case in cases.values()):
        raise ValueError("groups are planted about the origin, which must be the middle of the space")
    looked_for = {name: default_candidates(case.space) for name, case in cases.items()}
    tallies = {(name, n): Tally() for name in cases for n in _sizes(cases[name])}
    ended = list[int]()
    # so that what there is is printed
    signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
    for seed in range(chosen.seeds):
        for (name, n), tally in tallies.items():
            is_due = n < LARGEST or seed % EVERY == 0
            if is_due and not ended and time.process_time() < 60 * chosen.minutes:
                tally.add(cases[name], looked_for[name], n, seed)
    print("| planted | points | seeds | exact | false | exact by pairs | false by pairs | seconds |\n|" + " --- |" * 8)
    for (name, n), tally in tallies.items():
        if tally.seeds:
            print(f"| {name} | {n} | {tally} |")
    functions = sum(tally.seeds for tally in tallies.values())
    print(f"false symmetries in {sum(tally.false for tally in tallies.values())} of {functions} functions")


def _sizes(case: Case) -> tuple[int, ...]:
    return SIZES if case.space.dim < 12 else LARGE_SIZES


if __name__ == "__main__":
    main()
