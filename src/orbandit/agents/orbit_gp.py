"""OrbitGP: Bayesian optimisation with a Gaussian process on X/G, for expensive evaluations.

    play the maximiser of  m(x) + beta sqrt(v(x)),     or of a sample of the posterior (Thompson)

m and v are the posterior mean and variance given all rewards so far, under an invariant kernel
(`gaussian/quotient_kernel.py`). Under a reflection group it costs one fold for each point, whatever
the order of the group. N. Srinivas et al., Gaussian process optimization in the bandit setting,
2010; T. Brown et al., 2024, for invariant kernels. What differs: beta is a constant
(`gaussian/acquisition.py`), hyper-parameters are fitted to the rewards, rewards of one point are
kept as their mean, and beyond a limit of distinct points some are merged.
"""

import math
from collections import deque
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import MAX_COUNT, Array, as_count, as_positive, unknown_name
from orbandit.agents.base import CREDIBLE, Agent, Seed, State
from orbandit.agents.files import Arrays
from orbandit.agents.gaussian.acquisition import (
    Ground,
    best_bound,
    best_draw,
    best_look,
    design_size,
    deviations,
    settled,
    spread_out,
)
from orbandit.agents.gaussian.evolving import Evolving
from orbandit.agents.gaussian.fit import Hypothesis, Parameters
from orbandit.agents.gaussian.hypotheses import Choice, Hypotheses
from orbandit.agents.gaussian.model import Candidates, Model, bernoulli
from orbandit.agents.gaussian.permutation_test import violation
from orbandit.agents.gaussian.quotient_kernel import QuotientKernel
from orbandit.agents.gaussian.streams import DESIGN_STREAM, IMAGE_STREAM
from orbandit.agents.gaussian.thinning import Rewards, ranked, thinned
from orbandit.agents.points import AnyPoint, Points, point_of
from orbandit.groups import Group
from orbandit.groups.check import Names
from orbandit.groups.units import scale_classes
from orbandit.spaces import Space
from orbandit.spaces.feasible_set import Rule

IMAGE_EVERY, IMAGES_DRAWN = 3, 8
"""One point in so many is played at a random image, the first of so many that is feasible and no
fold."""
FIRST_FIT, FIT_GROWTH, EARLY = 5, 1.2, 100
"""Number of rewards before the first fit, and growth of that number between fits; and up to which
they start from the prior medians, too."""
MAX_DISTINCT_POINTS, MAX_FITTED_POINTS = 1024, 256
"""Most distinct points, and most of them that parameters are fitted to."""
MODEL_ROUNDS, EVOLVED_ROUNDS = 1000, 1000
"""Rounds from which an evolution strategy chooses if only the best point counts, and the least
number of rounds left to it."""
THINNED_PART = 0.75
"""Fraction of the points that is kept when there are too many."""
BINARY_SIGNAL = 0.1
"""Signal variance for Bernoulli rewards if the Lipschitz constant is known. Then nothing is fitted:
Bernoulli rewards inform so little about the parameters that the most likely ones were worse on
cones with random peaks."""
HINTED_LENGTH = 0.5
"""Prior median of length scales if the Lipschitz constant is known, in units of the distance over
which the mean can cross the range of rewards."""
DEFAULT_FAMILY = {"regret": "matern32", "best": "matern52"}
"""Default kernels, by the goal."""
FIRST_SIGNAL, FIRST_NOISE = 0.1, 0.1
"""Parameters before the first fit."""


@final
class OrbitGP(Agent):
    """Bayesian optimisation on X/G with an invariant Gaussian process; for small budgets.

    Parameters
    ----------
    space : Space
        Where the arms live: a space of at most 1,000 dimensions.
    group : Group, optional
        The symmetry: a group under which the mean reward is invariant. By default there is none. It
        acts on at most 200 coordinates, and has at most 128 elements unless it has a closed form:
        see docs/concepts/orbit_gp.md.
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, and only the weight
        of the deviation grows.
    lipschitz : float, optional
        The Lipschitz constant of the mean reward, a positive number, as a hint for the prior of
        length scales. With it, the prior median is half of the distance over which the mean can
        cross the range of rewards, and the prior standard deviation of the logarithm is 0.5.
        Without it, they are 0.3 of the width of the space, and 1. The rewards soon outweigh either.
        Bernoulli rewards do not: without it, their length scales are at most half of that median.
        Coordinates may have different units in any case: the agent divides them by the width of the
        space; those that the group mixes share one width.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.
    kernel : "matern12", "matern32", "matern52" or "rbf", optional
        The kernel, by the smoothness of its samples: "matern32" is once mean-square differentiable,
        "matern52" twice. By default "matern52" if the goal is "best", else "matern32", which allows
        for kinks.
    acquisition : "ucb" or "thompson", default "ucb"
        The acquisition function: an upper confidence bound, or Thompson sampling.
    goal : "regret" or "best", default "regret"
        What to minimise: cumulative regret, or the simple regret of the last recommendation.
        `maximize` and the samplers use "best".
    noise : float, optional
        The standard deviation of rewards about their mean, in units of rewards: a positive number.
        By default it is learnt. If every reward is one of the two ends of `reward_range`, the noise
        is Bernoulli: its variance follows from the mean.
    beta : float, optional
        The weight of the standard deviation in the bound, a positive number; a larger one explores
        more. By default 2 for Bernoulli rewards and 2.6 for others, 3 if their noise variance is
        estimated below 3% of the signal variance, and sqrt(2 log(n / 1350)) once that is more, for
        the horizon n. If the goal is "best", and rewards are not Bernoulli, it is 1; 3 if the bound
        with 1 exceeds the best known mean by less than the standard deviation of the noise, and 9
        if that with 3 does, too; or then, the more often the less of the horizon is left, the point
        is measured that tells most of where the maximum near the best point is
        (`gaussian/refinement.py`).
    candidates : int, default 512
        Size of the space-filling design whose best points are starts for the maximisation of the
        acquisition function; from 8 to 100,000.
    feasible : callable, optional
        The constraint on points asked for and recommended. It takes (m, dim) points and returns
        (m,) bools, or margins that are feasible if >= 0; margins help with narrow feasible sets. It
        must be known, cheap, and invariant under the group. Points told may violate it. Files do
        not store it: use `load(path, feasible=...)`.
    symmetry : "exact" or "approximate", default "exact"
        Whether the symmetry is exact. If it is approximate, the mean is modelled as an invariant
        part plus a remainder without the symmetry, whose share of the variance is learnt; a model
        without the group is chosen if its marginal likelihood is larger. Points are then not
        folded: images are distinct points, and the best image is recommended, not only the best
        orbit. `feasible` need not be invariant. If it is exact, images are one point to the model:
        a fold is asked for, but the initial design is not folded, and one point in three is played
        at a random image if the group is finite. If rewards then clearly violate the symmetry
        (`gaussian/permutation_test.py`), the agent warns once. Bernoulli rewards raise no warning. An
        agent that was loaded tests what it is told from then on.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. The initial design, the candidates and
        Thompson samples are drawn from it.

    Notes
    -----
    The initial design has d + 1 points, 2 (d + 1) if the goal is "best", or a quarter of the
    horizon if that is less: uniform on the space. Rewards told before replace design points.

    If the goal is "best", rewards with a long lower tail are warped (`gaussian/warp.py`) if that
    increases the marginal likelihood. So does it decide, from 20 distinct points on, between the
    kernel of the group, a second one, the sum of both, and the sum of these and a kernel of
    distances between exchangeable units. The second one is the plain kernel in coordinates aligned
    to the best point; that of multisets where the group permutes many coordinates, and the first
    one is of folds.

    Pending points are handled as by a kriging believer: the model is told its posterior mean there.

    If the goal is "best", and the horizon at least 2,000, the model chooses 1,000 points, as if
    there were no more; then an evolution strategy chooses, which begins at the best point so far
    (`gaussian/evolution.py`). It ranks rewards, unless they have much and skewed noise, and
    recommends the mean of its last generation. It stays near that point: it plays no images, and
    looks for no violation of the symmetry. The model is told only the first point of each
    generation, so that estimates and intervals say little more than before it began. `beta`,
    Thompson sampling and Bernoulli rewards are for the model alone.

    A round of the model costs O(n^2 + n candidates) for n distinct points. Beyond 1,024 points,
    those are merged that lose the least information. Parameters are fitted to at most 256 points,
    whenever the number of rewards has grown by a fifth, and, if the goal is "best", at the horizon
    or before an evolution strategy begins.

    Examples
    --------
    >>> import orbandit as ob
    >>> space, group = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
    >>> agent = ob.agents.OrbitGP(space, group, horizon=30, seed=0)
    >>> for _ in range(30):
    ...     point = agent.ask()
    ...     agent.tell(point, 0.9 - (abs(point.max() - 0.8) + abs(point.min() - 0.3)) / 2)
    >>> bool(abs(agent.recommend().max() - 0.8) < 0.05), bool(agent.estimate(agent.recommend()) > 0.85)
    (True, True)
    """

    arms: AnyPoint
    has_warned = False
    """Whether a warning said that rewards violate the symmetry."""
    names = Names()
    """What that warning calls coordinates and points."""

    def __init__(
        self,
        space: Space,
        group: Group | None = None,
        *,
        horizon: int | None = None,
        lipschitz: float | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        kernel: str | None = None,
        acquisition: Literal["ucb", "thompson"] = "ucb",
        goal: Literal["regret", "best"] = "regret",
        noise: float | None = None,
        beta: float | None = None,
        candidates: int = 512,
        feasible: Rule | None = None,
        symmetry: Literal["exact", "approximate"] = "exact",
        seed: Seed = None,
    ) -> None:
        self._plan(horizon, reward_range)
        if not isinstance(acquisition, str) or acquisition not in ("ucb", "thompson"):
            raise unknown_name("acquisition", acquisition, ["ucb", "thompson"])
        if not isinstance(goal, str) or goal not in ("regret", "best"):
            raise unknown_name("goal", goal, ["regret", "best"])
        if not isinstance(symmetry, str) or symmetry not in ("exact", "approximate"):
            raise unknown_name("symmetry", symmetry, ["exact", "approximate"])
        is_exact = symmetry == "exact" or group is None or group.order == 1
        self._points = Points(space, group, lipschitz, self._span, self._is_scaled is not False, feasible, is_exact)
        self.arms = AnyPoint(self._points)
        self._space, self._group = self._points.units.space, self._points.units.group
        self._ground = Ground(self._points.region, self._group, is_exact)
        self._is_for_best, self._acquisition = goal == "best", acquisition
        self._family = kernel or DEFAULT_FAMILY[goal]
        self._settings |= {"kernel": self._family, "is_scaled": self._points.is_scaled}
        self._noise = None if noise is None else as_positive(noise, "noise")
        self._beta = None if beta is None else as_positive(beta, "beta")
        self._candidates = as_count(candidates, "candidates", minimum=8, maximum=100_000)
        self._hypotheses = Hypotheses(
            self._space,
            self._group,
            self._family,
            is_exact,
            self._is_for_best,
            self._hinted_lengths(),
            self._points.units.sizes,
        )
        self._start(seed)

    def _hinted_lengths(self) -> Array | None:
        """Return prior medians of the length scales, by the Lipschitz constant if it is known."""
        if self._points.is_learning:
            return None
        _, first = np.unique(scale_classes(self._points.units.generators), return_index=True)
        return np.asarray(HINTED_LENGTH / self._points.scale / self._points.units.sizes[first])

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant: given, or what crosses the range over half the diameter of X."""
        return self._points.lipschitz

    def _begin(self) -> None:
        self._salt = int(self._rng.integers(2**63))
        self._is_binary, self._fits, self._due = True, 0, FIRST_FIT
        dim, none = self._space.dim, np.empty(0)
        self._choice, kernel = Choice(), self._hypotheses.kernel
        self._start_at = Parameters(FIRST_SIGNAL, self._hypotheses.prior.lengths, FIRST_NOISE)
        self._told: deque[tuple[Array, float]] = deque(maxlen=MAX_FITTED_POINTS)
        unseen = Rewards(np.empty((0, dim)), kernel.features(np.empty((0, dim))), none, none, none)
        self._model = self._made(Hypothesis(kernel, self._start_at, 0.5), unseen, np.empty((2, 0)))
        self._fantasy: Model | None = None
        self._evolving: Evolving | None = None

    def _choose(self) -> int:
        if self._evolving is None and self._can_evolve:
            rounds = self._goal - self._rounds
            self._evolving = Evolving.begun(self._model, self._ground, self._settled, rounds, self._salt)
        if self._evolving is None:
            self.arms.chosen = self._turned(self._proposal(self._believed()))
            return 0
        drawn, self.arms.chosen = self._evolving.draw()
        self._evolving.expect(self.arms.key(self.arms.point(0)), drawn)
        return 0

    @property
    def _seeks_best(self) -> bool:
        """Whether points are chosen for the last recommendation alone."""
        return self._is_for_best and self._acquisition == "ucb" and self._beta is None and not self._is_binary

    @property
    def _can_evolve(self) -> bool:
        """Whether an evolution strategy is to begin."""
        return self._rounds >= MODEL_ROUNDS and self._goal >= MODEL_ROUNDS + EVOLVED_ROUNDS and self._seeks_best

    @property
    def _model_goal(self) -> int:
        """The round that choices by the model plan for: the horizon, or when an evolution strategy begins."""
        evolves = self._seeks_best and self._goal >= MODEL_ROUNDS + EVOLVED_ROUNDS and self._rounds <= MODEL_ROUNDS
        return MODEL_ROUNDS if evolves else self._goal

    @property
    def is_robust(self) -> bool:
        """Whether choices depend on further rewards by their ranks, or, where noise is large, by means of many."""
        return self._evolving is not None

    def _turned(self, point: Array) -> Array:
        """Return a point, or now and then an image of it, so that a wrong group is noticed."""
        group, number = self._group, self._rounds + len(self._ledger)
        if group is None or not self._ground.is_exact or not 1 < group.order < math.inf:
            return point
        if number % IMAGE_EVERY or number < design_size(self._space, self._model_goal, self._is_for_best):
            return point
        rng = np.random.default_rng([self._salt, IMAGE_STREAM, number])
        images = np.asarray(self._space.project(group.act(group.random(IMAGES_DRAWN, rng), point)))
        moved = np.abs(images - self._placed(point)).max(axis=1) > self._space.tolerance
        (*good,) = images[moved & self._ground.region.holds(images)]
        return good[0] + 0.0 if good else point

    def _placed(self, point: Array) -> Array:
        """Return what the model is told of a point: its fold, if the symmetry is exact."""
        return np.array(self._ground.folded(point[None])[0])

    def _proposal(self, model: Model) -> Array:
        """Return the point to play; the same for the same data."""
        pending = len(self._ledger)
        if self._rounds + pending < design_size(self._space, self._model_goal, self._is_for_best):
            return self._designed(self._rounds + pending)
        rng = np.random.default_rng([self._salt, self._rounds, pending])
        if self._seeks_best:
            return np.array(best_look(model, self._ground, rng, (self._rounds + pending) / self._model_goal)) + 0.0
        beta = self._beta or deviations(self._goal, self._is_binary, model.parameters)
        best = best_bound if self._acquisition == "ucb" else best_draw
        return np.array(best(model, self._ground, beta, rng)) + 0.0

    def _designed(self, number: int) -> Array:
        """Return a point of the initial design: uniform on the space as a user would sample it."""
        if self._ground.region.is_whole:
            (point,) = self._space.sample(1, np.random.default_rng([self._salt, DESIGN_STREAM, number]))
        else:
            point = self._feasible_design[number]
        return np.array(point) + 0.0

    @cached_property
    def _feasible_design(self) -> Array:
        """The whole initial design, found at once, since feasible points may be hard to find."""
        most = design_size(self._space, MAX_COUNT, self._is_for_best)
        return self._ground.region.sample(most, np.random.default_rng([self._salt, DESIGN_STREAM]))

    def _believed(self) -> Model:
        """Return the model of a kriging believer: pending points are told at their posterior mean."""
        if not self._ledger.pending:
            return self._model
        if self._fantasy is None:
            self._fantasy = self._model.branch()
            for key in self._ledger.keys:
                self._pretend(self._placed(self.arms.units.enter(point_of(key))))
        return self._fantasy

    def _pretend(self, point: Array) -> None:
        if self._fantasy is not None:
            self._fantasy.add(point, self._fantasy.features(point[None])[0], None)

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        inside = self._points.inside(point)
        if self._evolving is not None:
            is_for_model = self._evolving.learn(self.arms.key(point), inside, value, self._ledger.holds)
            if not is_for_model:
                return
        placed = self._placed(inside)
        feature = self._model.features(placed[None])[0]
        self._fantasy = None
        self._is_binary = self._is_binary and value in (0.0, 1.0)
        self._told.append((np.array(inside), value))
        if self._model.size >= MAX_DISTINCT_POINTS and self._model.place(feature)[0] == self._model.size:
            self._thin()
        self._model.add(placed, feature, value)
        if self._is_due(self._rounds + 1) and not self._holds:
            self._fit(self._rounds + 1)

    _holds = False
    """Whether fits wait until a batch is told."""

    def _is_due(self, rounds: int) -> bool:
        """Return whether parameters are to be fitted; not while an evolution strategy chooses."""
        return rounds >= self._due and self._evolving is None

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        """Fit the parameters once, after all."""
        self._holds = True
        try:
            self._tell_each(points, rewards)
        finally:
            self._holds = False
        if self._is_due(self._rounds):
            self._fit(self._rounds)

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        asked = self.arms.point(handle) if point is None else point
        if amount < 0 or self.arms.key(asked) in self._ledger.pending:
            self._fantasy = None  # asked for twice: fantasised together, whatever the order
        elif self._ledger.pending:
            self._pretend(self._placed(self._points.inside(asked)))

    def _recommend(self) -> Array:
        """Return a point with a large mean - 0.5 deviations, near the best observed points.

        Or the mean of an evolution strategy, once it has moved.
        """
        if not self._model.size:
            return self.arms.units.leave(self._proposal(self._model))
        if self._evolving is not None and self._evolving.search.generations:
            return self.arms.units.leave(self._placed(self._evolving.search.mean) + 0.0)
        return self.arms.units.leave(self._settled)

    @property
    def _settled(self) -> Array:
        """The point that the model recommends."""
        return settled(self._model, self._ground) + 0.0

    def _estimate(self, point: Any) -> Any:
        if not self._model.size:
            return math.nan
        mean, _ = self._model.at(self._model.features(self._points.inside(point)[None]))
        return np.clip(self._model.warp.undone(mean[0]), 0.0, 1.0)

    def interval(self, point: Any) -> tuple[float, float]:
        """Return the 95% credible interval of the mean reward at a point, NaN if nothing is known.

        Parameters
        ----------
        point : (dim,) array
            A point of the space.

        Returns
        -------
        tuple of two floats
            The least and the largest mean, in units of rewards. The parameters of the kernel are
            taken as fitted: their own uncertainty is not part of it. Nor is an error of the model:
            where the mean has a kink at its top, a smooth kernel cuts it off, and both the estimate
            and the interval lie too low. Measure the point again to be sure.

        Examples
        --------
        >>> import orbandit as ob
        >>> agent = ob.agents.OrbitGP(ob.spaces.Box(0.0, 1.0, dim=1), horizon=10, seed=0)
        >>> agent.tell_batch([[0.1], [0.5], [0.9]], [0.2, 0.6, 0.4])
        >>> low, high = agent.interval([0.5])
        >>> low < agent.estimate([0.5]) < high
        True
        """
        self.arms.check([point])
        if not self._model.size:
            return math.nan, math.nan
        mean, variance = self._model.at(self._model.features(self._points.inside(point)[None]))
        ends = mean + np.array([-CREDIBLE, CREDIBLE]) * np.sqrt(variance)
        low, high = self._unscaled(np.clip(self._model.warp.undone(ends), 0.0, 1.0)).tolist()
        return low, high

    def _renew(self) -> None:
        """Set the new horizon: the weight of the deviation changes, and the size of generations."""
        if self._evolving is not None:
            self._evolving.search.resize(self._goal - self._rounds)

    def _fit(self, rounds: int) -> None:
        """Fit the parameters of a few models, take the most likely, and draw new candidates."""
        self._due = max(rounds + 1, math.ceil(FIT_GROWTH * rounds))
        if self._is_for_best and rounds < self._model_goal:
            self._due = min(self._due, self._model_goal)  # what is recommended then is by all rewards
        self._fits += 1
        if not self.has_warned and not self._is_binary:
            self._look_for_violation()
        model, prior = self._model, self._hypotheses.prior
        if self._is_binary and not self._points.is_learning and self._noise is None and self._ground.is_exact:
            fixed = Parameters(BINARY_SIGNAL, prior.lengths, 0.0)
            self._model = self._made(Hypothesis(self._hypotheses.kernel, fixed, 0.5), model.rewards, model.expected)
            return
        rewards, rows = model.rewards, np.arange(model.size, dtype=np.intp)
        if model.size > MAX_FITTED_POINTS and self._is_binary:  # few Bernoulli rewards tell little
            rewards, rows = thinned(rewards, self._gaps(), MAX_FITTED_POINTS)
        elif model.size > MAX_FITTED_POINTS:
            rows = ranked(model.means, MAX_FITTED_POINTS)
            rewards = rewards.at(rows)
        noise = None
        if self._noise is not None:
            noise = np.full(len(rows), (self._noise / self._span) ** 2)
        elif self._is_binary:
            noise = bernoulli(*model.expected[:, rows])
            prior = self._hypotheses.binary_prior
        start = self._start_at._replace(noise=self._start_at.noise or FIRST_NOISE)
        best = model.rewards.points[int(model.means.argmax())] if self._is_for_best and not self._is_binary else None
        is_early = rounds < EARLY or (self._is_for_best and rounds == self._model_goal)
        plain = model.parameters if self._choice.used == "none" else None
        found = self._hypotheses.most_likely(rewards, prior, start, best, noise, plain=plain, is_early=is_early)
        self._start_at, self._choice = found.start, found.choice
        self._model = self._made(found.model, model.rewards, model.expected)

    def _look_for_violation(self) -> None:
        """Notice, once, if points that were not asked for show that the group is wrong."""
        if self._group is None or not self._ground.is_exact or self._group.order == 1 or not self._told:
            return
        points, rewards = (np.array(part) for part in zip(*self._told, strict=True))
        found = violation(points, rewards, self._group, *self._hypotheses.with_and_without())
        if found is None:
            return
        self.has_warned = True
        self._notice = found.said(self.names, self.arms.units.leave(found.point), self._span)

    def _thin(self) -> None:
        """Merge points, since there are too many."""
        model = self._model
        rewards, rows = thinned(model.rewards, self._gaps(), int(THINNED_PART * MAX_DISTINCT_POINTS))
        same = Hypothesis(model.kernel, model.parameters, model.posterior.center, model.warp)
        self._model = self._made(same, rewards, model.expected[:, rows])

    def _gaps(self) -> Array:
        """Return the variances of the differences of the mean between points."""
        known = self._model.posterior.covariances
        own = known.diagonal()
        return np.asarray(own[:, None] + own - 2 * known)

    def _made(self, of: Hypothesis, rewards: Rewards, expected: Array) -> Model:
        """Return a model with the candidates of this fit."""
        parameters, kernel = of.parameters, of.kernel
        if self._noise is not None:
            parameters = parameters._replace(noise=(self._noise / self._span) ** 2)
        seen = rewards.seen_by(kernel.features(rewards.points))
        return Model(kernel, parameters, of.center, self._pool(kernel), seen, expected, of.warp)

    def _pool(self, kernel: QuotientKernel) -> Candidates:
        """Return candidates, others after each fit."""
        rng = np.random.default_rng([self._salt, self._fits])
        points = spread_out(self._ground, self._candidates, rng)
        return Candidates(points, kernel.features(points))

    def _state(self) -> State:
        state: dict[str, Any] = {"salt": self._salt, "fits": self._fits, "due": self._due, "is_binary": self._is_binary}
        if self._choice.used != "first":
            state["kernel"] = self._choice.used
        if self.has_warned:
            state["has_warned"] = True
        point = self._choice.reference
        reference = np.empty((0, self._space.dim)) if point is None else point[None]
        start = np.array([self._start_at.signal, self._start_at.noise, *self._start_at.lengths])
        arrays = {**self._model.arrays(), "reference": reference, "start": start}
        if self._evolving is not None:
            own, of_strategy = self._evolving.state(self.arms.packed)
            state, arrays = state | own, arrays | of_strategy
        return state, arrays

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._salt = as_count(state["salt"], "salt", minimum=0, maximum=MAX_COUNT)
        self._fits = as_count(state["fits"], "fits", minimum=0)
        self._due, self._is_binary = as_count(state["due"], "due"), bool(state["is_binary"])
        if self._fits > self._rounds + 1 or self._due > max(FIRST_FIT, math.ceil(FIT_GROWTH * (self._rounds + 1))):
            raise ValueError(f"{self._fits} fits and the next at {self._due} after {self._rounds} rounds")
        self._fantasy = None
        # a file holds no more than choices depend on
        self._told = deque(maxlen=MAX_FITTED_POINTS)
        self._check_inside(arrays["points"])
        self.has_warned = bool(state.get("has_warned", False))
        self._choice = self._loaded_choice(state, arrays)
        kernel = self._hypotheses.kernel_of(self._choice)
        features = kernel.features(arrays["points"])
        self._model, is_of_kernel = Model.restore(kernel, self._pool(kernel), features, arrays)
        self._start_at = self._loaded_start(arrays)
        self._evolving = None
        if "evolution" in arrays:
            self._evolving = Evolving.restored(self._ground, self._salt, state, arrays, self.arms.unpacked)
        if not is_of_kernel:
            self._fit(self._rounds)

    def _check_inside(self, points: Array) -> None:
        if points.ndim != 2 or not np.asarray(self._space.contains(points, tol=self._space.tolerance)).all():
            raise ValueError("points outside the space")

    def _loaded_choice(self, state: dict[str, Any], arrays: Arrays) -> Choice:
        """Return which kernels the model has.

        0.1.0 had one, and 0.2.0 no sums: a point to align to told which it was.
        """
        reference = arrays.get("reference", np.empty((0, self._space.dim)))
        self._check_inside(reference)
        if len(reference) > 1:
            raise ValueError(f"{len(reference)} points to align to")
        used = "second" if len(reference) else "first" if state.get("knows_group", True) else "none"
        choice = Choice(state.get("kernel", used), reference[0] if len(reference) else None)
        self._hypotheses.check(choice)
        return choice

    def _loaded_start(self, arrays: Arrays) -> Parameters:
        """Return the last parameters of the quotient's kernel; 0.1.0 had no others than its model's.

        Up to 0.2.0 few units had no reach.
        """
        if "start" not in arrays:
            return self._model.parameters
        start = arrays["start"]
        if start.shape == (1 + self._hypotheses.kernel.n_scales,):
            start = np.append(start[:2], self._hypotheses.prior.lengths)
        proper = start.shape == (2 + self._hypotheses.kernel.n_scales,) and start.dtype == np.float64
        if not proper or not np.isfinite(start).all() or start[1] < 0 or not (np.delete(start, 1) > 0).all():
            raise ValueError(f"a start of shape {start.shape} and type {start.dtype}, or no positive numbers")
        return Parameters(float(start[0]), start[2:], float(start[1]))
