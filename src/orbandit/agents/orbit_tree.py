"""OrbitTree: adaptive discretisation of X/G, with kriging over nearby cells.

    key(c) = m(c) + beta s(c) + alpha L radius(c)        play the point of the leaf with the largest key
    divide the leading leaf when kappa s(c) < L radius(c): its noise is below its size

m(c) and s(c) are the posterior mean and standard deviation of the reward at the point of cell c, by
kriging from the rewards of the cells around it: a Gaussian model in which rewards vary by about L
times the distance (a Matern-3/2 variogram, in `_kernels/orbit_tree.py`). So a new half of a cell
starts with an estimate from its surroundings. The tree is an adaptive discretisation as in S.
Shekhar, T. Javidi, Gaussian process bandits with adaptive discretization, 2018. With a group it
covers the orbits only, and halves that hold no representative are never made.

With guarantee="theory" the key is a confidence bound of all rewards in the cell and uses its own
rewards only:

    key(c) = min(key of the cell that c is a half of, mean + radius + L radius(c)),   divided when radius < L radius(c)

with radius the lesser of Hoeffding's sqrt(w / 2 N) and the empirical Bernstein bound sqrt(2 V w /
N) + 7 w / 3 (N - 1) (A. Maurer, M. Pontil, 2009), w = log 6 n^3, after N rewards with sample
variance V.
"""

import math
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, shown, unknown_name
from orbandit._kernels import kriging
from orbandit._kernels import orbit_tree as kernels
from orbandit._kernels.kriging import COLUMNS, COUNT, SCALE, SUM, Tree
from orbandit.agents.asymmetry import OTHERS, Asymmetry
from orbandit.agents.base import CREDIBLE, Agent, Seed, State
from orbandit.agents.cell_arms import CellArms
from orbandit.agents.files import Arrays
from orbandit.agents.leaves import PRIOR, Leaves, check_state, radii
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.optimism import deviation_weight
from orbandit.agents.points import Points, point_of
from orbandit.errors import InputError
from orbandit.groups import Group, Trivial
from orbandit.groups.check import Names
from orbandit.meshes.cells import DEEPEST, UNKNOWN
from orbandit.spaces import Space
from orbandit.spaces.feasible_set import Rule

BETA = 2.3
"""The least weight of the standard deviation in the key."""
ALPHA = 0.3
"""Weight of the radius in the key."""
KAPPA = 4.0
"""Factor by which the standard deviation must be below the radius before a cell is divided."""
STEEP, REACH = 1.0, 0.5
"""The variogram: slopes in units of L, and the change of the mean over which slopes persist."""
EXTRA = 5.0
"""Pseudo-observations, half of them 0 and half 1, added to a cell for its variance."""
JUDGED_AGAIN = 0.05
"""Relative growth of its visits after which a cell is estimated again."""

FIRST_CELLS = 8
"""The tree starts with at least so many leaves."""
AHEAD = 2
"""Levels of cells made at a time, below every leaf with rewards."""
FIRST_REVIEW = 64
"""All cells are estimated again when the rounds reach this, and at every doubling."""

WATCHED = 1_000
"""An agent that watches its symmetry plays so many random images."""
REPORTED_POINTS, RANDOM_ELEMENTS = 64, 8
"""Points of which one is named in a warning, the last that were played at images; and random
elements, besides the generators, of which one is named."""
IMAGE_STREAM, OTHERS_STREAM = 0, 1
"""Mark the seeds of images that are played, and of others."""


@final
class OrbitTree(Agent):
    """Adaptive discretisation of X/G: for any space and group, and for up to millions of rounds.

    Parameters
    ----------
    space : Space
        Where the arms live: a space of at most 1,000 dimensions.
    group : Group, optional
        The symmetry: a group under which the mean reward is invariant. By default there is none. It
        acts on at most 200 coordinates, and has at most about 100,000 elements if they are listed.
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, and the tree stays.
    lipschitz : float, optional
        The Lipschitz constant of the mean reward for the Euclidean distance of the space, in your
        units: a positive number. By default it is learnt at every doubling of the rounds: the
        largest slope between cells beyond a confidence bound on the noise, but no less than what
        crosses the range of rewards over half the diameter of the space. S. Bubeck, G. Stoltz, J.
        Y. Yu, Lipschitz bandits without the Lipschitz constant, 2011, do so once, on a mesh for
        that purpose. Then coordinates may have different units: the agent divides them by the width
        of the space; those that the group mixes share one width.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.
    guarantee : "theory", optional
        Use confidence bounds with a regret guarantee instead of the tuned default. This takes more
        rewards, and `lipschitz` must be given.
    feasible : callable, optional
        The constraint on points asked for and recommended. It takes (m, dim) points and returns
        (m,) bools, or margins that are feasible if >= 0; margins help with narrow feasible sets. It
        must be known, cheap, and invariant under the group. Points told may violate it. Files do
        not store it: use `load(path, feasible=...)`. The point of a cell is a feasible one; cells
        in which a search finds none are left out. Not with a guarantee.
    symmetry : "exact" or "approximate", default "exact"
        Whether the symmetry is exact. If it is approximate, a random image of the chosen point is
        played, which costs nothing if the group is right. An anytime-valid test of the symmetry
        runs on the rewards (`asymmetry.py`). Once it rejects, the tree starts again without the
        group, and learns all rewards at the points where they were measured. A true symmetry is
        rejected with probability at most 0.01, however long the run. A wrong one is detected, sooner
        or later, if images differ by a function of coordinates, of their products, or of waves
        across the space. `feasible` must still be invariant: a cell of the quotient is left out by
        the constraint at its own point alone. Not with a guarantee. If it is exact, folds are
        played; after `watch_symmetry`, which `maximize` calls, also images, so that a wrong group is
        noticed.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Ties go to priorities that it gives each cell.

    Notes
    -----
    Under guarantee="theory", with a horizon, an invariant mean and the right `lipschitz`, asking
    and telling in turn: with probability at least 1 - 1/n, in all rounds, every key bounds all
    rewards in its cell, and every point played, beyond the first cells, is within 4 L
    radius(parent) of the best reward, for parent the cell that its own is a half of. A cell that
    may be divided is played at most 1 + w / 2 (L radius)^2 times. So the regret is at most a
    constant times the least over r of n r + sum of C(r') w / r' over r' = r, 2 r, 4 r, ..., with
    C(r') the number of cells of L radius about r' within 8 r' of the best: n^((z + 1) / (z + 2)) up
    to logarithms, for the zooming dimension z of X/G. Rewards of points that were not asked for
    count with twice the radius, and the 4 becomes 6. Pending asks shrink the confidence radius
    until they are told. Without a horizon, n is that of the epoch.

    The default has no such bound: its constants were tuned on random problems
    (docs/concepts/orbit_tree.md). Cells are cut at most 62 times, which in ten and more dimensions
    limits the resolution of the best point.

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

    arms: CellArms
    has_warned = False
    """Whether a warning said that rewards violate the symmetry."""
    names = Names()
    """What that warning calls coordinates and points."""
    _is_parted, _is_watching = False, False  # whether the group was rejected; whether images are played to notice that
    _doubt: Asymmetry
    _draws: int
    _watched: deque[Array]

    def __init__(
        self,
        space: Space,
        group: Group | None = None,
        *,
        horizon: int | None = None,
        lipschitz: float | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        guarantee: Literal["theory"] | None = None,
        feasible: Rule | None = None,
        symmetry: Literal["exact", "approximate"] = "exact",
        seed: Seed = None,
    ) -> None:
        self._plan(horizon, reward_range)
        if not isinstance(guarantee, str | None) or guarantee not in (None, "theory"):
            raise InputError(
                f"`guarantee` must be 'theory' or None, but got {shown(guarantee)}.", field="guarantee", value=guarantee
            )
        if lipschitz is None and guarantee is not None:
            raise InputError(
                "guarantee='theory' needs `lipschitz`, but got None; pass a bound on the mean's slope.",
                field="guarantee",
                value=guarantee,
            )
        if not isinstance(symmetry, str) or symmetry not in ("exact", "approximate"):
            raise unknown_name("symmetry", symmetry, ["exact", "approximate"])
        if symmetry == "approximate" and guarantee is not None:
            raise InputError(
                "guarantee='theory' needs an exact symmetry; drop it, or symmetry='approximate'.",
                field="guarantee",
                value=guarantee,
            )
        if feasible is not None and guarantee is not None:
            raise InputError(
                "guarantee='theory' needs the centres of cells as points; drop it, or `feasible`.",
                field="guarantee",
                value=guarantee,
            )
        self._guarantee = guarantee
        is_scaled = lipschitz is None if self._is_scaled is None else self._is_scaled
        self._settings["is_scaled"] = is_scaled
        points = Points(space, group, lipschitz, self._span, is_scaled, feasible)
        crossings = points.scale * points.units.space.diameter
        if not 1e-100 < crossings < 1e100:
            raise InputError(
                "`lipschitz` times the diameter of the space, over the width of `reward_range`, must lie in "
                f"(1e-100, 1e100), but got {crossings:g}.",
                field="lipschitz",
                value=lipschitz,
            )
        self._lipschitz, self._is_learning = points.lipschitz, points.is_learning
        self._given, self._feasible = (space, group, lipschitz), feasible
        has_group = group is not None and group.order > 1
        self._is_doubting = symmetry == "approximate" and has_group
        self._can_watch = symmetry == "exact" and has_group and guarantee is None
        self._use(points)
        self._start(seed)

    def _use(self, points: Points) -> None:
        """Play cells of these points, or random images of theirs if the symmetry is tested."""
        self.arms, self._region = CellArms(points, self._leaf), points.region
        if self.tests_symmetry:
            self.arms.turned = self._image
        elif self._is_watching:
            self.arms.turned = self._early_image

    @property
    def n_arms(self) -> int:
        """Number of leaves, the cells to choose from now."""
        return int(self._leaves.live.sum())

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant, as given or as learnt so far; an upper bound if units differ."""
        return float(self._leaves.pool[SCALE]) * self._lipschitz / float(self.arms.units.sizes.min())

    @property
    def tests_symmetry(self) -> bool:
        """Whether the symmetry is tested: it is approximate and not rejected yet.

        Then random images of points are played.
        """
        return self._is_doubting and not self._is_parted

    def watch_symmetry(self, before: Agent | None = None) -> None:
        """From now on, warn once if rewards clearly violate a symmetry that is taken to be exact.

        The next 1,000 points are then played at random images, which costs no regret if the group
        is right, and the test of approximate symmetries runs on their rewards. It is wrong with
        probability at most 0.01; a loaded agent begins it anew. Without a group, with an approximate
        symmetry or a guarantee, this does nothing.

        Parameters
        ----------
        before : Agent, optional
            The agent that played the same problem so far, in other units of rewards: if it watched,
            its test goes on.

        Examples
        --------
        >>> import warnings
        >>> import orbandit as ob
        >>> square, swap = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
        >>> tree = ob.agents.OrbitTree(square, swap, horizon=1_000, seed=0)
        >>> tree.watch_symmetry()
        >>> with warnings.catch_warnings(record=True) as said:
        ...     warnings.simplefilter("always")
        ...     for _ in range(1_000):
        ...         x, y = tree.ask()
        ...         tree.tell([x, y], 1 - abs(x - 0.8) / 2 - abs(y - 0.2) / 2)
        >>> len(said), "swaps coordinates 0 and 1" in str(said[0].message)
        (1, True)
        """
        if not self._can_watch:
            return
        self._is_watching, self.arms.turned = True, self._early_image
        if isinstance(before, OrbitTree) and before._is_watching:
            self._doubt, self._watched, self._draws = before._doubt, before._watched, before._draws
            self.has_warned = before.has_warned

    @property
    def guarantee(self) -> str | None:
        """Which keys are used."""
        return self._guarantee

    def _begin(self) -> None:
        """Start with the first leaves."""
        self._salt = int(self._rng.integers(2**64, dtype=np.uint64))
        self._watch_anew()
        self._doubt = self._new_doubt()
        self._told: list[tuple[Array, float]] = []  # in the caller's units
        self._plant()

    def _plant(self) -> None:
        """Make the first leaves."""
        places, pool = np.empty((0, len(self.arms.cells.sides(0)))), np.array([0.0, 1.0, PRIOR, PRIOR])
        self._open(np.zeros((1, COLUMNS)), np.zeros(1), places, pool)
        leaves = [0]
        while leaves and self.n_arms < FIRST_CELLS:
            for node in leaves:
                self._divide(node)
            leaves = [int(half) for node in leaves for half in self.arms.cells.children[node] if half >= 0]
        self._judge_all()

    def _rules(self) -> Array:
        """Return the rules of the kernels for the present horizon."""
        log = self._log_horizon
        if self._guarantee is None:
            rules = [deviation_weight(log, BETA), ALPHA, KAPPA, STEEP, REACH, EXTRA, JUDGED_AGAIN, 0.0, 0.0]
        else:
            log = math.log(6) + 3 * log
            largest = float(radii(self.arms.cells, self.arms.scale)[0])
            # no bound is larger than that after one reward of 1
            ceiling = 1 + math.sqrt(log / 2) + largest
            rules = [0.0, 0.0, 1.0, STEEP, REACH, EXTRA, 0.0, log, ceiling]
        return np.array(rules)

    def _choose(self) -> int:
        while (node := kernels.choose(self._tree, DEEPEST)) < 0:
            self._grow(-1 - node)
        return node

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        if self.tests_symmetry:
            self._question(handle, point, value)
        elif self._drawn:
            self._watch(handle, point, value)
        if handle == ELSEWHERE:
            node = self.arms.handle(point)
            kernels.observe(self._tree, node, self._place(point), value, 0.0, 1.0)
            self._divide_ripe(node)
        elif released and not self._is_own(handle, point):
            kernels.observe(self._tree, handle, self._place(point), value, released, 1.0)
            if self._leaves.live[handle]:
                self._divide_ripe(handle)
        else:
            kernels.observe(self._tree, handle, self._leaves.centers[handle], value, released, 0.0)
        self._judge_if_due(self._rounds + 1)
        if self.tests_symmetry and self._doubt.is_clear:
            self._part(point)

    def _image(self, point: Array) -> Array:
        """Return a random image of a point, in the agent's units."""
        return np.asarray(self._images(point, 1, self._rng)[0])

    def _early_image(self, point: Array) -> Array:
        """Return a random image of a point, as long as images are played."""
        if self._draws >= WATCHED:
            return point
        image = self._images(point, 1, np.random.default_rng([self._salt, self._draws, IMAGE_STREAM]))[0]
        self._draws += 1
        self._drawn[self.arms.key(np.array(self.arms.units.leave(image)) + 0.0)] += 1
        return np.asarray(image)

    def _images(self, point: Array, size: int, rng: np.random.Generator) -> Array:
        """Return random images of a point, in the agent's units; the point instead of infeasible ones."""
        group = self.arms.units.group
        if group is None:
            return point[None].repeat(size, axis=0)
        images = np.asarray(self.arms.units.space.project(group.act(group.random(size, rng), point)))
        return images if self._region.is_whole else np.where(self._region.holds(images)[:, None], images, point)

    def _new_doubt(self) -> Asymmetry:
        units = self.arms.units
        return Asymmetry((units.group or Trivial(units.space.dim)).center, units.space.diameter)

    def _question(self, handle: int, point: Any, value: float) -> None:
        """Store a reward, and update the test if it is of an image that was drawn."""
        self._told.append((np.array(point, dtype=np.float64), value))
        if handle != ELSEWHERE and self._is_own(handle, point):
            self._bet(handle, self.arms.inside(point), value, self._rng)

    def _bet(self, handle: int, image: Array, value: float, rng: np.random.Generator) -> None:
        """Update the test by the reward of an image of a cell's point."""
        count = self._stats[handle, COUNT]
        expected = float(self._stats[handle, SUM] / count) if count else 0.5
        others = self._images(self.arms.cells.points(np.array([handle]))[0], OTHERS, rng)
        self._doubt.learn(np.concatenate([image[None], others]), value, expected)

    def _watch_anew(self) -> None:
        """Begin the test of an exact symmetry, of which files hold no more than how many images were drawn."""
        self._draws, self._drawn = 0, Counter[Any]()  # images asked for: how many so far, and those to be told
        self._watched = deque(maxlen=REPORTED_POINTS)

    def _watch(self, handle: int, point: Any, value: float) -> None:
        """Update the test of an exact symmetry if an image was asked for, and warn once if it rejects."""
        if handle == ELSEWHERE or self.has_warned or not self._is_drawn(point) or not self._is_own(handle, point):
            return
        inside, group = self.arms.inside(point), self.arms.units.group
        rng = np.random.default_rng([self._salt, self._rounds, OTHERS_STREAM])
        self._bet(handle, inside, value, rng)
        self._watched.append(inside)
        if self._doubt.is_clear and group is not None:
            elements = np.concatenate([group.generators, group.random(RANDOM_ELEMENTS, rng)])
            found = self._doubt.clearest(np.array(self._watched), elements)
            self.has_warned = True
            said = found.said(self.names, self.arms.units.leave(found.point), self._span)
            if self._is_batch:
                self._said_later = said
            else:
                self._notice = said

    _is_batch = False
    _said_later: str | None = None
    """Whether a batch is told, and what is to be warned of after it."""

    def _is_drawn(self, point: Any) -> bool:
        """Return whether a point is an image that was asked for, and count it as answered."""
        key = self.arms.key(point)
        if not self._drawn[key]:
            del self._drawn[key]
            return False
        self._drawn[key] -= 1
        return True

    def _part(self, latest: Any) -> None:
        """Restart without the group, with all rewards at the points where they were measured."""
        self._is_parted = True
        self._use(self._plain_points())
        self._plant()
        for point, value in self._told:
            node = self.arms.handle(point)
            kernels.observe(self._tree, node, self._place(point), value, 0.0, 1.0)
            self._divide_ripe(node)
        self._told = []
        pending = self._ledger.pending
        key = self.arms.key(latest)
        for own, handles in pending.items():
            asked = point_of(own)
            for which in range(len(handles)):
                handles[which] = self.arms.handle(asked)
                if own != key or which:  # what was just told is released next
                    kernels.expect(self._tree, handles[which], self._place(asked), 1.0)
        self._judge_all(self._is_learning)

    def _plain_points(self) -> Points:
        space, _, lipschitz = self._given
        return Points(space, None, lipschitz, self._span, bool(self._settings["is_scaled"]), self._feasible)

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        self._is_batch = True
        try:
            self._tell_each(points, rewards)
        finally:
            self._is_batch = False
            self._notice, self._said_later = self._said_later, None

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        is_own = point is None or self._is_own(handle, point)
        place = self._leaves.centers[handle] if is_own else self._place(point)
        kernels.expect(self._tree, handle, place, amount)
        if amount < 0:
            self._is_drawn(point)  # no longer
            self._judge_all()  # so that no key depends on an ask that was removed

    def _recommend(self) -> Array:
        """Return the point of the cell with the largest lower bound, mean - deviation."""
        known = np.flatnonzero(self._stats[:, COUNT] > 0)
        if not len(known):
            return self.arms.own_point(self._leaves.leader)
        low = [self._lower(int(node)) for node in known]
        return self.arms.own_point(int(known[int(np.argmax(low))]))

    def _estimate(self, point: Any) -> Any:
        if not (self._stats[:, COUNT] > 0).any():
            return math.nan
        return np.clip(kriging.krige(self._tree, self._place(point))[0], 0.0, 1.0)

    def interval(self, point: Any) -> tuple[float, float]:
        """Return the 95% prediction interval of the mean reward at a point, NaN if nothing is known.

        Parameters
        ----------
        point : (dim,) array
            A point of the space.

        Returns
        -------
        tuple of two floats
            The least and the largest mean, in units of rewards, by the kriging of the cells nearby
            that estimates it. It is no confidence bound of `guarantee="theory"`.

        Examples
        --------
        >>> import orbandit as ob
        >>> tree = ob.agents.OrbitTree(ob.spaces.Box(0.0, 1.0, dim=1), horizon=50, seed=0)
        >>> for reward in [0.4, 0.6] * 25:
        ...     tree.tell([0.5], reward)
        >>> low, high = tree.interval([0.5])
        >>> low < tree.estimate([0.5]) < high
        True
        """
        self.arms.check([point])
        if not (self._stats[:, COUNT] > 0).any():
            return math.nan, math.nan
        mean, deviation = kriging.krige(self._tree, self._place(point))
        ends = mean + np.array([-CREDIBLE, CREDIBLE]) * deviation
        low, high = self._unscaled(np.clip(ends, 0.0, 1.0)).tolist()
        return low, high

    def _renew(self) -> None:
        """Set the new horizon: all keys change, the cells stay."""
        self._leaves.use(self._rules())
        self._judge_all()

    def _lower(self, node: int) -> float:
        if self._guarantee is None:
            mean, spread = kriging.krige(self._tree, self._leaves.centers[node])
            return mean - spread
        count = self._stats[node, COUNT]
        return float(self._stats[node, SUM] / count - kernels.confidence(self._tree, node, count))

    def _leaf(self, inside: Array) -> int:
        """Return the leaf that holds a point."""
        place, node = self.arms.cells.place(inside[None])[0], 0
        while self._leaves.keys[node] == -np.inf:
            node = self.arms.cells.child(node, place)
        return node

    def _is_own(self, node: int, point: Any) -> bool:
        """Return whether a point is the cell's own, or an image of it if images are played."""
        if self.tests_symmetry or self._is_watching:
            apart = np.abs(self._place(point) - self._leaves.centers[node]).max()
            return bool(apart <= self.arms.scale * self.arms.units.space.tolerance)
        return self.arms.key(point) == self.arms.key(self.arms.own_point(node))

    def _divide_ripe(self, node: int) -> None:
        """Divide a leaf that rewards from elsewhere made precise enough, leading or not."""
        if kernels.is_ripe(self._tree, node, DEEPEST):
            self._divide(node)

    def _divide(self, node: int) -> None:
        if self.arms.cells.children[node, 0] == UNKNOWN:
            self._grow(node)
        if (self.arms.cells.children[node] >= 0).any():
            kernels.divide(self._tree, node)

    def _judge_if_due(self, rounds: int) -> None:
        """Estimate all cells again when the rounds have doubled: some estimates are old."""
        if rounds >= FIRST_REVIEW and rounds & (rounds - 1) == 0:
            self._judge_all(self._is_learning)

    def _judge_all(self, learns: bool = False) -> None:
        kernels.review(self._tree, learns)

    def _grow(self, node: int) -> None:
        """Make some levels below a cell, and below other leaves with rewards, in advance."""
        wanted = (self.arms.cells.children[:, 0] == UNKNOWN) & (self._stats[:, COUNT] > 0)
        wanted[node] = True
        nodes = np.flatnonzero(wanted)
        for _ in range(AHEAD):
            first = len(self.arms.cells)
            self.arms.cells.grow(nodes, DEEPEST)
            nodes = np.arange(first, len(self.arms.cells))
        self._leaves.extend()

    def _open(self, stats: Array, keys: Array, places: Array, pool: Array) -> None:
        self._leaves = Leaves(self.arms.cells, self.arms.scale, self._salt, self._rules(), stats, keys, places, pool)

    def _place(self, point: Any) -> Array:
        """Return the fold of a point, checked, in the frame of the tree, in units where the Lipschitz constant is 1."""
        return np.asarray(self.arms.cells.place(self.arms.inside(point)[None])[0] * self.arms.scale)

    @property
    def _tree(self) -> Tree:
        return self._leaves.tree

    @property
    def _stats(self) -> Array:
        return self._leaves.stats

    def _state(self) -> State:
        leaves = self._leaves
        own = {"stats": leaves.stats, "keys": leaves.keys, "places": leaves.places, "pool": leaves.pool}
        state = {"salt": self._salt}
        if self._is_watching:
            state |= {"draws": self._draws, "has_warned": int(self.has_warned)}
        if self._is_doubting:
            dim = self._given[0].dim
            own |= self._doubt.arrays_to_save
            own["told_points"] = np.array([point for point, _ in self._told]).reshape(-1, dim)
            own["told_values"] = np.array([value for _, value in self._told], dtype=np.float64)
            state["is_parted"] = int(self._is_parted)
        return state, {**own, **self.arms.arrays_to_save}

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._salt = as_count(state["salt"], "salt", minimum=0, maximum=2**64 - 1)
        stats, keys, places, pool = arrays["stats"], arrays["keys"], arrays["places"], arrays["pool"]
        self._doubt, self._told = self._new_doubt(), []
        self.has_warned = bool(state.get("has_warned", 0))
        self._watch_anew()
        if "draws" in state:
            self.watch_symmetry()
            self._draws = as_count(state["draws"], "draws", minimum=0, maximum=WATCHED)
        if self._is_doubting:
            self._doubt.restore(arrays)
            points, values = arrays["told_points"], arrays["told_values"]
            self.arms.unpacked(points)  # which refuses what are no points
            if values.shape != (len(points),) or not ((values >= 0) & (values <= 1)).all():
                raise ValueError("rewards that were told and cannot be")
            self._told = list(zip(points, values.tolist(), strict=True))
            self._is_parted = bool(state["is_parted"])
            if self._is_parted:
                self._use(self._plain_points())
        self.arms.restore(arrays)
        check_state(stats, keys, places, pool, self.arms.cells)
        self._open(stats, keys, places, pool)

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the cells played, and make those that the next round takes."""
        due = max(FIRST_REVIEW, 1 << self._rounds.bit_length())
        played = np.empty(min(len(draws), due - self._rounds), dtype=np.int64)
        done = kernels.play_tree(self._tree, DEEPEST, means, draws[: len(played)], self._low, self._span, played)
        if done < len(played):
            self._choose()
        else:
            self._judge_if_due(self._rounds + done)
        return played[:done]
