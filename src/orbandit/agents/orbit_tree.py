"""OrbitTree: cells over the orbits of a space, divided where rewards are high, each judged by all rewards nearby.

    key(c) = m(c) + beta s(c) + alpha L radius(c)        play the point of the leaf with the largest key
    divide the leading leaf when kappa s(c) < L radius(c): its noise is below its size

m(c) and s(c) are the mean and the standard deviation of the reward at the point of cell c by kriging, from the rewards
of the cells around it: a Gaussian model in which rewards vary by about L times the distance (a Matern-3/2 variogram, in
`_kernels/orbit_tree.py`). A half of a cell so starts with what is known around it, and nothing is learnt twice. The
tree is an adaptive discretisation as in S. Shekhar, T. Javidi, Gaussian process bandits with adaptive discretization,
2018; with a group it covers the orbits only, and halves that hold no representative are never made.

With guarantee="theory" the key is a confidence bound of all rewards in the cell and uses its own rewards only:

    key(c) = min(key of the cell that c is a half of, mean + radius + L radius(c)),   divided when radius < L radius(c)

with radius the lesser of Hoeffding's sqrt(w / 2 N) and the empirical Bernstein bound sqrt(2 V w / N) + 7 w / 3 (N - 1)
(A. Maurer, M. Pontil, 2009), w = log 6 n^3, after N rewards with sample variance V.
"""

import math
from typing import Any, Literal, final

import numpy as np

from orbandit._checks import Array, as_count, shown
from orbandit._kernels import kriging
from orbandit._kernels import orbit_tree as kernels
from orbandit._kernels.kriging import COLUMNS, COUNT, SCALE, SUM, Tree
from orbandit.agents.base import ELSEWHERE, Handles, Seed, as_stream
from orbandit.agents.files import Arrays
from orbandit.agents.leaves import PRIOR, Leaves, check_state, radii
from orbandit.agents.on_cells import CellAgent
from orbandit.errors import InputError
from orbandit.groups import Group
from orbandit.meshes.cells import DEEPEST, UNKNOWN, CellTree
from orbandit.spaces import Space

BETA, CALM = 2.3, 1350.0
"""The weight of the standard deviation in the key is sqrt(2 log(n / CALM)), and at least BETA: a good cell is given up
with a probability of about CALM / n, so that what this costs does not grow with n."""
ALPHA = 0.3
"""Weight of the radius in the key."""
KAPPA = 4.0
"""How far the standard deviation must fall below the radius before a cell is divided."""
STEEP, REACH = 1.0, 0.5
"""The variogram: slopes in units of L, and the change of the mean over which slopes persist."""
EXTRA = 5.0
"""Rewards, half of them 0 and half 1, added to the mean of a cell for its variance."""
BATCH = 0.05
"""The part of its visits after which a cell is judged again."""

FIRST_CELLS = 8
"""The tree starts with at least so many leaves."""
AHEAD = 2
"""Levels of cells made at a time, below every leaf with rewards."""
FIRST_REVIEW = 64
"""All cells are judged again when the rounds reach this, and at every doubling."""


@final
class OrbitTree(CellAgent):
    """The adaptive agent for real use: few samples, any space and group, fast enough for millions of rounds.

    Parameters
    ----------
    space, group, horizon, reward_range, seed
        As for `UniformMesh`; ties go to priorities that the seed gives each cell.
    lipschitz : float, optional
        The Lipschitz constant of the mean reward for the distance of X. By default it is not known, and is learnt, at
        every doubling of the rounds: the largest slope between cells that rewards show beyond the doubt of their
        noise, and no less than what crosses the range of rewards over half the diameter of the space. S. Bubeck,
        G. Stoltz, J. Y. Yu, Lipschitz bandits without the Lipschitz constant, 2011, do so once, on a mesh of their own
        for it. Then coordinates may have different units: cells are cut in coordinates divided by the width of the
        space, each class that the group mixes by its own.
    guarantee : "theory", optional
        Use confidence bounds that hold instead of the tuned default; takes more rewards, and `lipschitz` must be given.

    Notes
    -----
    Under guarantee="theory", with a horizon, an invariant mean and the right `lipschitz`, asking and telling in turn:
    with probability at least 1 - 1/n, in all rounds, every key bounds all rewards in its cell, and every point played,
    beyond the first cells, is within 4 L radius(parent) of the best reward, for parent the cell that its own is a half
    of. A cell that may be divided is played at most 1 + w / 2 (L radius)^2 times. So the regret is at most a constant
    times the least over r of n r + sum of C(r') w / r' over r' = r, 2 r, 4 r, ..., with C(r') the number of cells of
    L radius about r' within 8 r' of the best: n^((z + 1) / (z + 2)) up to logarithms, for the zooming dimension z of
    X/G. Rewards of points that were not asked for count with twice the radius, and the 4 becomes 6. Pending asks
    narrow keys until they are told. Without a horizon, n is that of the epoch.

    The default has no such bound: its constants were chosen on random problems (docs/orbit_tree.md). Cells are cut
    at most 62 times, which in ten and more dimensions is what limits how finely the best point is known.

    Examples
    --------
    >>> import orbandit as ob
    >>> space, group = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
    >>> cone = ob.problems.Cone(space, group, peak=[0.2, 0.5, 0.8])
    >>> tree = ob.simulate(ob.agents.OrbitTree, cone, horizon=10_000, seeds=4)
    >>> mesh = ob.simulate(ob.agents.UniformMesh, cone, horizon=10_000, seeds=4)
    >>> bool(tree.regret[:, -1].mean() < 0.5 * mesh.regret[:, -1].mean())
    True
    """

    def __init__(
        self,
        space: Space,
        group: Group | None = None,
        *,
        horizon: int | None = None,
        lipschitz: float | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        guarantee: Literal["theory"] | None = None,
        seed: Seed = None,
    ) -> None:
        self._configure(
            space=space,
            group=group,
            horizon=horizon,
            lipschitz=lipschitz,
            reward_range=reward_range,
            guarantee=guarantee,
            is_scaled=lipschitz is None,
        )
        self._rng = as_stream(seed)
        self._salt = int(self._rng.integers(2**64, dtype=np.uint64))
        self._open_asks()
        self._begin()

    def _configure(
        self,
        *,
        space: Space,
        group: Group | None,
        lipschitz: float | None,
        guarantee: Literal["theory"] | None,
        is_scaled: bool = False,
        **common: Any,
    ) -> None:
        self._configure_common(**common)
        if not isinstance(guarantee, str | None) or guarantee not in (None, "theory"):
            raise InputError(f"`guarantee` must be 'theory' or None, but got {shown(guarantee)}.")
        if lipschitz is None and guarantee is not None:
            raise InputError("guarantee='theory' needs `lipschitz`, but got None; pass a bound on the mean's slope.")
        self._guarantee = guarantee
        self._configure_space(space, group, lipschitz, is_scaled)
        crossings = self._scale * self._space.diameter
        if not 1e-100 < crossings < 1e100:
            raise InputError(
                "`lipschitz` times the diameter of the space, over the width of `reward_range`, must lie in "
                f"(1e-100, 1e100), but got {crossings:g}."
            )
        self._cells = CellTree(self._space, self._group)

    def _rules(self) -> Array:
        """Return the rules of the kernels for the present horizon."""
        log = self._log_horizon
        if self._guarantee is None:
            beta = math.sqrt(max(BETA**2, 2 * (log - math.log(CALM))))
            rules = [beta, ALPHA, KAPPA, STEEP, REACH, EXTRA, BATCH, 0.0, 0.0]
        else:
            log = math.log(6) + 3 * log
            largest = float(radii(self._cells, self._scale)[0])
            ceiling = 1 + math.sqrt(log / 2) + largest  # no bound is larger than that after one reward of 1
            rules = [0.0, 0.0, 1.0, STEEP, REACH, EXTRA, 0.0, log, ceiling]
        return np.array(rules)

    @property
    def n_arms(self) -> int:
        """Number of leaves, the cells to choose from now."""
        return int(self._leaves.live.sum())

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant of the mean reward, as given or as learnt so far; a bound if units differ."""
        return float(self._leaves.pool[SCALE]) * self._lipschitz / float(self._units.sizes.min())

    @property
    def guarantee(self) -> str | None:
        """Which keys are used."""
        return self._guarantee

    def recommend(self) -> Array:
        """Return the point of the cell whose reward is surely the largest, by the estimate less its uncertainty."""
        known = np.flatnonzero(self._stats[:, COUNT] > 0)
        if not len(known):
            return self._point(self._leaves.leader)
        low = [self._lower(int(node)) for node in known]
        return self._point(int(known[int(np.argmax(low))]))

    def estimate(self, point: Any) -> float:
        """Return the mean reward to expect at a point, by all that is known around it; NaN if nothing is known."""
        inside = self._inside(point)
        if not (self._stats[:, COUNT] > 0).any():
            return math.nan
        mean, _ = kriging.krige(self._tree, self._place(inside))
        return float(self._unscaled(np.clip(mean, 0.0, 1.0)))

    def _lower(self, node: int) -> float:
        if self._guarantee is None:
            mean, spread = kriging.krige(self._tree, self._leaves.centers[node])
            return mean - spread
        count = self._stats[node, COUNT]
        return float(self._stats[node, SUM] / count - kernels.confidence(self._tree, node, count))

    def _choose(self) -> int:
        while (node := kernels.choose(self._tree, DEEPEST)) < 0:
            self._grow(-1 - node)
        return node

    def _nearest(self, point: Any) -> int:
        """Return the leaf that holds a point."""
        place, node = self._cells.place(self._inside(point)[None])[0], 0
        while self._leaves.keys[node] == -np.inf:
            node = self._cells.child(node, place)
        return node

    def _expected(self, point: Any) -> int:
        return self._nearest(point)

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        if handle == ELSEWHERE:
            node = self._nearest(point)
            kernels.observe(self._tree, node, self._place(self._inside(point)), value, 0.0, 1.0)
            self._divide_ripe(node)
        elif released and not self._is_own(handle, point):
            kernels.observe(self._tree, handle, self._place(self._inside(point)), value, released, 1.0)
            if self._leaves.live[handle]:
                self._divide_ripe(handle)
        else:
            kernels.observe(self._tree, handle, self._leaves.centers[handle], value, released, 0.0)
        self._judge_if_due(self._rounds + 1)

    def _is_own(self, node: int, point: Any) -> bool:
        """Tell whether a point is the one that asks of a cell are for."""
        return self._key(point) == self._key(self._point(node))

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        is_own = point is None or self._is_own(handle, point)
        place = self._leaves.centers[handle] if is_own else self._place(self._inside(point))
        kernels.expect(self._tree, handle, place, amount)
        if amount < 0:
            self._judge_all()  # so that no key counts on an ask that was taken back

    def _divide_ripe(self, node: int) -> None:
        """Divide a leaf that rewards from elsewhere say enough of, whether it leads or not."""
        if kernels.is_ripe(self._tree, node, DEEPEST):
            self._divide(node)

    def _divide(self, node: int) -> None:
        if self._cells.children[node, 0] == UNKNOWN:
            self._grow(node)
        if (self._cells.children[node] >= 0).any():
            kernels.divide(self._tree, node)

    def _next_epoch(self) -> None:
        """Take up the new horizon: all keys change, the cells stay."""
        self._leaves.use(self._rules())
        self._judge_all()

    def _judge_if_due(self, rounds: int) -> None:
        """Judge all cells anew when the rounds have doubled: what is known of cells that never led is old."""
        if rounds >= FIRST_REVIEW and rounds & (rounds - 1) == 0:
            self._judge_all(self._is_learning)

    def _judge_all(self, learns: bool = False) -> None:
        kernels.review(self._tree, learns)

    def _begin(self) -> None:
        """Start with the first leaves."""
        places, pool = np.empty((0, len(self._cells.sides(0)))), np.array([0.0, 1.0, PRIOR, PRIOR])
        self._open(np.zeros((1, COLUMNS)), np.zeros(1), places, pool)
        leaves = [0]
        while leaves and self.n_arms < FIRST_CELLS:
            for node in leaves:
                self._divide(node)
            leaves = [int(half) for node in leaves for half in self._cells.children[node] if half >= 0]
        self._judge_all()

    def _grow(self, node: int) -> None:
        """Make the halves of a cell, and of other leaves with rewards, and their halves, ahead of need."""
        wanted = (self._cells.children[:, 0] == UNKNOWN) & (self._stats[:, COUNT] > 0)
        wanted[node] = True
        nodes = np.flatnonzero(wanted)
        for _ in range(AHEAD):
            first = len(self._cells)
            self._cells.grow(nodes, DEEPEST)
            nodes = np.arange(first, len(self._cells))
        self._leaves.extend()

    def _open(self, stats: Array, keys: Array, places: Array, pool: Array) -> None:
        self._leaves = Leaves(self._cells, self._scale, self._salt, self._rules(), stats, keys, places, pool)

    def _place(self, point: Array) -> Array:
        """Return the fold of a point in the frame of the tree, in units where the Lipschitz constant is 1."""
        return np.asarray(self._cells.place(point[None])[0] * self._scale)

    @property
    def _tree(self) -> Tree:
        return self._leaves.tree

    @property
    def _stats(self) -> Array:
        return self._leaves.stats

    def _play_some(self, means: Array, draws: Array) -> Handles:
        due = max(FIRST_REVIEW, 1 << self._rounds.bit_length())
        played = np.empty(min(len(draws), due - self._rounds), dtype=np.int64)
        done = kernels.play_tree(self._tree, DEEPEST, means, draws[: len(played)], self._low, self._span, played)
        self._judge_if_due(self._rounds + done)
        return played[:done]

    def _frozen(self) -> tuple[dict[str, Any], dict[str, Any], Arrays]:
        cells = self._cell_arrays()
        settings = {**self._spatial_settings(), "guarantee": self._guarantee, "is_scaled": self._is_scaled}
        leaves = self._leaves
        arrays = {"stats": leaves.stats, "keys": leaves.keys, "places": leaves.places, "pool": leaves.pool, **cells}
        return settings, {"salt": self._salt}, arrays

    def _thaw(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._salt = as_count(state["salt"], "salt", minimum=0, maximum=2**64 - 1)
        stats, keys, places, pool = arrays["stats"], arrays["keys"], arrays["places"], arrays["pool"]
        self._restore_cells(arrays)
        check_state(stats, keys, places, pool, self._cells)
        self._open(stats, keys, places, pool)
