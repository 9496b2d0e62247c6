"""How often `find_symmetry` finds a planted group exactly, and how often it accepts a symmetry that does not hold.

Prints the table of docs/concepts/groups.md. A function is the mean of a function without symmetry over the planted
group: smooth (random Fourier features) or structured (sums over units and pairs, and peaks), seed by seed in turn;
the noise is 2, 5 and 10 % of its deviation. Beside it stands a test by pairs of images with as many measurements,
which knows the noise: a random point and its image under every candidate, as often as there are measurements for it;
a candidate is accepted if no image differs from its point by more than three deviations.
Arguments: names of cases, and a number of seeds.
"""

import sys
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

SIZES, LARGE_SIZES = (50, 150), (150,)
"""Numbers of points, below and from 12 coordinates on."""
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


def main() -> None:
    """Print the table."""
    arguments = sys.argv[1:]
    seeds = int(arguments.pop()) if arguments and arguments[-1].isdigit() else 20
    names = [name for name in CASES if not arguments or any(one in name for one in arguments)]
    print("| planted | points | exact | false | exact by pairs | false by pairs | seconds |\n|" + " --- |" * 7)
    for name in names:
        case = CASES[name]
        candidates = default_candidates(case.space)
        assert not middle(case.space).any()
        for n in SIZES if case.space.dim < 12 else LARGE_SIZES:
            exact, false, pairs_exact, pairs_false, times = 0, 0, 0, 0, []
            for seed in range(seeds):
                function, noise = planted(case, seed), NOISES[seed % 3]
                rng = np.random.default_rng([seed, n])
                x = case.space.sample(n, rng)
                y, truth = function(x) + noise * rng.normal(size=n), holding(function, case, candidates)
                start = time.perf_counter()
                report = ob.find_symmetry(x, y, case.space)
                times.append(time.perf_counter() - start)
                found = [row.accepted for row in report.evidence]
                tested = by_pairs(function, case, candidates, n, noise, seed)
                exact, pairs_exact = exact + (found == truth), pairs_exact + (tested == truth)
                wrong = [[one and not true for one, true in zip(some, truth, strict=True)] for some in (found, tested)]
                false, pairs_false = false + any(wrong[0]), pairs_false + any(wrong[1])
            cells = [f"{count / seeds:.0%}" for count in (exact, false, pairs_exact, pairs_false)]
            print(f"| {name} | {n} | {' | '.join(cells)} | {np.median(times):.1f} |", flush=True)


if __name__ == "__main__":
    main()
