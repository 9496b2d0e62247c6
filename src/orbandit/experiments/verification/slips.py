"""(h) Errors in the paper, each shown by a number."""

import time
from collections.abc import Iterator

import numpy as np

from orbandit.agents import UniformMeshN
from orbandit.agents.mesh_rule import measured_net
from orbandit.experiments.verification.lines import Line, Step, judged
from orbandit.groups import BlockPermutation, Coxeter, Dihedral, Orthogonal, SignedBlockPermutation, Symmetric
from orbandit.meshes import CoveringTree, Mesh, OrbitGraph, net, orbit_neighbors
from orbandit.problems import Cone, LowerBoundFamily
from orbandit.problems.packing import deepest, depths, pack
from orbandit.spaces import Ball, Box, Polytope
from orbandit.theory import covering_bounds, lower_bound, paper_delta

SQUARE, SWAP = Box(0.0, 1.0, dim=2), Symmetric(2)
H3 = Coxeter("H3")


def steps(quick: bool) -> list[Step]:
    """Return the steps of (h); they are quick in any case."""
    kinds = (
        ("averages", means_and_borders),
        ("orders", orders_and_images),
        ("matrix factors", factors),
        ("Lemma 1's subsets", subsets),
        ("folding", folding),
        ("the index", index_shift),
        ("Proposition 1 and the proofs", conditions),
        ("strict packings", strict_packings),
        ("delta for large groups", large_groups),
        ("the approximate search", approximate_search),
    )
    return [Step(f"(h) {title}", 0.5, lines) for title, lines in kinds]


def _slip(number: int, claim: str, says: str, measured: str, shown: bool) -> Line:
    return Line("h", f"slip {number}: {claim}", says, measured, judged(shown))


def means_and_borders() -> Iterator[Line]:
    """Slips 1 and 2."""
    shares = {divided: np.mean([_best_share(seed, divided) for seed in range(20)]) for divided in (False, True)}
    yield _slip(
        1,
        "the empirical mean",
        "the sum of rewards, not divided by O",
        f"two arms with means 0.4 and 0.6, 2,000 rounds, seeds 0 to 19: UCB plays the better one {shares[False]:.0%} "
        f"of the time with the sum, {shares[True]:.0%} with the mean",
        bool(shares[True] > 0.8 > shares[False]),
    )
    grid = Mesh(np.arange(9.0)[:, None] / 8, 1 / 16)
    closed = OrbitGraph(grid, None, 1 / 8).indptr[-1]
    apart = np.abs(grid.points - grid.points.T)
    opened = int((apart < 1 / 8).sum())
    yield _slip(
        2,
        "borders of N",
        "<= in N, < in the edges",
        f"grid of 9 points with spacing 2 delta: {closed} neighbours with <=, {opened} with <",
        closed > opened,
    )


def _best_share(seed: int, divided: bool) -> float:
    """Return how often UCB with n = 2000 plays the better of two arms, by means or by sums of rewards."""
    n, draws = 2000, np.random.default_rng(seed).random(2000)
    sums, counts = np.zeros(2), np.zeros(2)
    for t in range(n):
        value = sums / np.maximum(counts, 1) if divided else sums
        arm = int(np.argmin(counts)) if t < 2 else int(np.argmax(value + np.sqrt(2 * np.log(n) / counts)))
        sums[arm] += draws[t] < (0.4, 0.6)[arm]
        counts[arm] += 1
    return float(counts[1] / n)


def orders_and_images() -> Iterator[Line]:
    """Slips 3 and 4."""
    counted = len(H3.orbit([0.31, 0.17, 0.53]))
    yield _slip(
        3,
        "the icosahedral group",
        "order 532",
        f"order {H3.order}; a generic point has {counted} images",
        H3.order == counted == 120,
    )
    disk, group, delta = Ball(2), Dihedral(5), 0.2
    center = LowerBoundFamily(disk, group, delta).centers[1]
    far = group.orbit(center)
    image = far[np.linalg.norm(far - center, axis=1).argmax()]
    printed = 1 / 3 + delta / 2 - float(np.linalg.norm(image - center))
    yield _slip(
        4,
        "the hard instance",
        "f_i uses the distance to i in the ball about g.i",
        f"at g.i that is {printed:.3f}; with the distance to g.i it is {1 / 3 + delta / 2:.3f}",
        printed < 1 / 3,
    )


def factors() -> Iterator[Line]:
    """Slip 5."""
    box, signed, ball = Box(0.0, 1.0, dim=8), Box(-1.0, 1.0, dim=8), Ball(8)
    kept = [
        Orthogonal(2, 4).preserves(box),
        Orthogonal(2, 4).preserves(ball),
        SignedBlockPermutation(2, 4).preserves(signed),
        BlockPermutation(2, 4).preserves(box),
    ]
    images = Orthogonal(2, 4).act(Orthogonal(2, 4).random(2000, 0), np.full(8, 0.5))
    outside = 1 - float(np.asarray(box.contains(images)).mean())
    yield _slip(
        5,
        "matrix factors",
        "[0,1]^(m x K) under O(K)",
        f"O(2) moves the centre of [0,1]^8 out of it in {outside:.0%} of 2,000 draws (seed 0); it preserves the ball, "
        "signed permutations [-1,1]^8, permutations [0,1]^8",
        kept == [False, True, True, True] and outside > 0.5,
    )


def subsets() -> Iterator[Line]:
    """Slip 6."""
    mesh = net(Ball(2), 0.05)
    inside = mesh.points[depths(Ball(2), Dihedral(5))(mesh.points) >= 0]
    near = depths(Ball(2), Dihedral(5))(inside) <= 0.05
    yield _slip(
        6,
        "names in Lemma 1's proof",
        "'inside' = within delta of the boundary",
        f"of {len(inside)} net points in the domain (disk, D_5, delta 0.05) the {int(near.sum())} called inside are "
        f"those near the boundary; the {int((~near).sum())} deep ones are called boundary",
        bool(near.any() and not near.all()),
    )


def folding() -> Iterator[Line]:
    """Slip 7."""
    points = Polytope.regular("icosahedron").sample(100_000, 0)
    start = time.perf_counter()
    folded = H3.fold(points)
    seconds = time.perf_counter() - start
    held = float(H3.domain().contains(folded).mean())
    yield _slip(
        7,
        "sampling in the domain",
        "intractable (NP-complete)",
        f"100,000 points folded into the domain of H_3 in {1e3 * seconds:.0f} ms, {held:.0%} of them inside",
        held == 1.0,
    )


def index_shift() -> Iterator[Line]:
    """Slip 8."""
    cone = Cone(SQUARE, SWAP, peak=[0.9, 0.3])
    agent = UniformMeshN(SQUARE, SWAP, horizon=2000, seed=0)
    rng, differ = np.random.default_rng(0), 0
    for _ in range(2000):
        # the index has the 3 delta, the choice is made without
        index, point = agent.upper_bounds(), agent.ask()
        arm = int(np.linalg.norm(agent.mesh.points - point, axis=1).argmin())
        differ += index[arm] < index.max()
        agent.tell(point, float(cone.sample(point, rng)))
    yield _slip(
        8,
        "the 3 delta of the index",
        "part of UCB",
        f"choosing without it, the arm with the best index was played in {2000 - differ} of 2,000 rounds",
        differ == 0,
    )


def conditions() -> Iterator[Line]:
    """Slip 9."""
    thin = Box([0.0, 0.0], [1.0, 0.01])
    bounds = covering_bounds(thin, 0.1)
    packed = len(pack(thin, None, 0.1, np.random.default_rng(0)))
    yield _slip(
        9,
        "Prop. 1 without its condition",
        f"packing number <= {bounds.upper:.2f} for the box 1 x 0.01, delta = 0.1",
        f"a packing of {packed} points; the box holds no ball of radius 0.1",
        packed > bounds.upper and not bounds.holds,
    )
    family = LowerBoundFamily(Box(0.0, 1.0, dim=1), None, 0.05)
    longest = lower_bound(family, 1).longest
    yield _slip(
        9,
        "Theorem 2's horizon",
        "holds for n >= c k eps^-2",
        f"k = {len(family)}, eps = 0.025: the lemma holds up to n = {longest}, not at {longest + 1}",
        bool(lower_bound(family, longest)) and not lower_bound(family, longest + 1),
    )
    n = 1000
    t = np.arange(1, n + 1)
    printed, meant = float((n * t**-4.0).sum()), float((t * float(n) ** -4).sum())
    yield _slip(
        9,
        "Lemma 5's union bound",
        "sum of n t^-4 <= 1/n^2",
        f"n = 1,000: sum of n t^-4 = {printed:.0f}, sum of t n^-4 = {meant:.1e}",
        printed > 1 > meant,
    )
    mesh = net(SQUARE, 0.1)
    balls = orbit_neighbors(mesh, SWAP, mesh.points, 0.1)
    total = sum(len(ball) for ball in balls)
    cover = OrbitGraph(mesh, SWAP, 0.2).clique_cover()
    yield _slip(
        9,
        "disjoint cliques",
        "the sets N(i, delta) as a disjoint cover",
        f"they hold {total} entries for {len(mesh)} vertices: they overlap; our cover holds "
        f"{sum(map(len, cover))} in {len(cover)} cliques",
        total > len(mesh) == sum(map(len, cover)),
    )


def strict_packings() -> Iterator[Line]:
    """Slip 10."""
    solid = Polytope.regular("icosahedron")
    family = LowerBoundFamily(solid, H3, 0.12)
    depth = float(depths(solid, H3)(deepest(solid, H3, np.random.default_rng(0))[None])[0])
    yield _slip(
        10,
        "strict packings of D",
        "exist for delta <= c / |G|",
        f"H_3 on the icosahedron, delta = 0.12: {len(family.strict)} points, since no point of D is deeper than "
        f"{depth:.3f}; in the orbit metric {len(family)} instances",
        len(family.strict) == 0 and depth < 0.12 and len(family) > 2,
    )


def large_groups() -> Iterator[Line]:
    """Slip 11."""
    box, group, n = Box(0.0, 1.0, dim=12), Symmetric(12), 10**5
    printed = paper_delta(n, group.order, 12)
    measured = measured_net(box, group, n, 1.0)
    yield _slip(
        11,
        "delta for a large group",
        f"S_12, n = 10^5: delta = {printed:.3f}",
        f"needs delta < c / |G| = c x {1 / group.order:.1e}; solving n delta^2 = K(delta) log n on the measured net "
        f"gives {measured.delta:.3f} with {len(measured)} arms",
        printed > 1 / group.order and measured.delta > printed,
    )


def approximate_search() -> Iterator[Line]:
    """Slip 12."""
    tree, radius = CoveringTree(SQUARE, 0.05), 0.1
    missed = exact = 0
    for point in SQUARE.sample(200, 0):
        true = tree.orbit_neighbors(SWAP, point, radius)
        found = tree.orbit_neighbors(SWAP, point, radius, exact=False)
        exact += len(true)
        missed += len(np.setdiff1d(true, found))
    yield _slip(
        12,
        "the search of Appendix F",
        "the one node that contains z gives N(x, eps)",
        f"200 points (seed 0), delta = 0.05: it misses {missed} of {exact} neighbours, just across borders of cells; "
        "the exact search misses none",
        missed > 0,
    )
