"""Hypotheses: the models that are fitted to rewards, and the most likely of them.

    first     the kernel of the group, see `quotient_kernel`
    second    the plain kernel in coordinates aligned to the best point; that of multisets where the group permutes
              many coordinates, and the first one is of folds
    both      their sum, with a learnt ratio
    all       these and the kernel of distances between exchangeable units, with another learnt ratio
    none      no group at all, tried if the symmetry is approximate

Rewards are warped if that is likelier (`warp.py`). If the symmetry is approximate, the kernels of
the group have a remainder without it (`Blended`); so have sums, whose first part it is added to.
"""

import math
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import QuotientKernel
from orbandit.agents.gaussian.blended import Blended
from orbandit.agents.gaussian.fit import Hypothesis, Parameters, Prior, hypothesis
from orbandit.agents.gaussian.quotient_kernel import (
    aligned_kernel,
    distance_kernel,
    is_of_folds,
    multiset_kernel,
    plain_kernel,
    quotient_kernel,
)
from orbandit.agents.gaussian.thinning import Rewards
from orbandit.agents.gaussian.warp import NO_WARP, warped_about
from orbandit.groups import Group, Trivial
from orbandit.spaces import Space

RELATIVE_LENGTH, PRIOR_REACH, LENGTH_DOUBT = 0.3, 1.0, 1.0
"""Prior medians of length scales, over the width of the space, and of a reach; and the prior
standard deviation of their logarithms."""
HINTED_DOUBT = 0.5
"""The latter if length scales are hinted at."""
SHORTEST_HINT, LONGEST_HINT = 0.02, 2.0
"""The least and the largest length scale that is hinted at, over the width of the space."""
BINARY_VARIANCE, BINARY_DOUBT = 0.5, 0.5
"""For Bernoulli rewards, which inform little about the variance of their means: the least V of the
priors, and the prior standard deviation of log s. A weaker prior lets s collapse where most rewards
are 0, and maxima are missed."""
BINARY_LENGTH = 0.5
"""For them, too: the largest length scales and reach, over their prior medians."""
STRENGTHS, WARPED = (1.0,), 10
"""Strengths of the warps tried, besides none, and from how many distinct points."""
COMPARED = 20
"""Number of distinct points from which a second kernel, and sums, are tried."""
PRIOR_RATIO, RATIO_DOUBT = 0.02, 2.0
"""Prior median of the variance of the remainder over that of the invariant part, if the symmetry is
approximate, and the prior standard deviation of its logarithm."""
SUMMED_RATIO = 0.3
"""Prior median of the variance of another kernel over that of the first, in a sum; the prior
standard deviation of its logarithm is RATIO_DOUBT, too."""


ALIGNED = "second", "both", "all"
"""Choices that need a point to align to, if the second kernel does."""


class Choice(NamedTuple):
    """Which kernels a model has, as the module names them, and the point that coordinates are aligned to, if any."""

    used: str = "first"
    reference: Array | None = None


class Found(NamedTuple):
    """The most likely model, its choice, and the parameters of the first kernel, where the next search starts."""

    model: Hypothesis
    choice: Choice
    start: Parameters


@final
class Hypotheses:
    """The models that can be fitted on a space under a group.

    Parameters
    ----------
    space, group : Space, and Group or None
        In the agent's units.
    family : str
        The kernel family.
    is_exact : bool
        Whether the symmetry is exact.
    is_smooth : bool
        As for `quotient_kernel`.
    hinted : (n_classes,) array, optional
        Medians of the prior of the length scales, if something is known of them.
    sizes : (dim,) array, optional
        The units of coordinates, for distances between units of different kinds; by default alike.

    Attributes
    ----------
    kernel, prior : QuotientKernel and Prior
        The first kernel, and the prior of its scales.
    """

    def __init__(
        self,
        space: Space,
        group: Group | None,
        family: str,
        is_exact: bool,
        is_smooth: bool,
        hinted: Array | None,
        sizes: Array | None = None,
    ) -> None:
        self._space, self._group, self._family, self._sizes = space, group, family, sizes
        self._is_exact, self._is_smooth = is_exact or group is None, is_smooth
        invariant = quotient_kernel(space, group, family, is_smooth=is_smooth)
        self.kernel = self._with_remainder(invariant)
        lengths, doubt = RELATIVE_LENGTH * invariant.widths, LENGTH_DOUBT
        if hinted is not None:
            lengths = np.clip(hinted, SHORTEST_HINT * invariant.widths, LONGEST_HINT * invariant.widths)
            doubt = HINTED_DOUBT
        self.prior = self._prior(_scales(invariant, lengths), lengths, doubt)

    @property
    def binary_prior(self) -> Prior:
        """That of Bernoulli rewards, with a largest length scale.

        As long as most rewards are 0, they are likeliest if all points are alike, and an agent that
        believes it stays where it is, and never learns better.
        """
        longest = BINARY_LENGTH * self.prior.lengths
        if not self._is_exact:
            longest[-1] = np.inf  # a ratio
        return self.prior._replace(least=BINARY_VARIANCE, signal_doubt=BINARY_DOUBT, longest=longest)

    def most_likely(
        self,
        rewards: Rewards,
        prior: Prior,
        start: Parameters,
        best: Array | None,
        noise: Array | None = None,
        *,
        plain: Parameters | None = None,
        is_early: bool = False,
    ) -> Found:
        """Return the model with the largest marginal likelihood.

        Parameters
        ----------
        rewards : Rewards
            The data.
        prior : Prior
            That of the first kernel, possibly with other priors of signal and noise.
        start : Parameters
            Parameters of the first kernel.
        best : (dim,) array or None
            The best point known. If it is given, warps and a second kernel are tried, too.
        noise : (n,) array, optional
            The noise variance at each point, if it is known; then none is learnt.
        plain : Parameters, optional
            Parameters of the model without the group, if that was the most likely one last time.
        is_early : bool
            Whether the search starts from the medians of the prior, too.
        """
        fresh = [prior.lengths] if is_early else []
        first = hypothesis(self.kernel, rewards, NO_WARP, prior, [start], fresh, noise)
        if best is not None and len(rewards.means) >= WARPED:
            variance = first.parameters.noise if noise is None else float(noise.mean())
            warps = [warped_about(rewards.means, strength, math.sqrt(variance)) for strength in STRENGTHS]
            tried = [hypothesis(self.kernel, rewards, warp, prior, [start], fresh, noise) for warp in warps]
            first = min([first, *tried], key=lambda each: each.loss)
        model, choice = first, Choice()
        if best is not None and len(rewards.means) >= COMPARED and (self._has_second or self._distances is not None):
            model, choice = self._compared(first, rewards, prior, best, noise)
        if not self._is_exact:
            model, choice = self._doubted(model, choice, rewards, prior, noise, plain)
        return Found(model, choice, first.parameters)

    def kernel_of(self, choice: Choice) -> QuotientKernel:
        """Return the kernel of a model."""
        if choice.used == "first":
            return self.kernel
        if choice.used == "none":
            return quotient_kernel(self._space, None, self._family)
        kernel = self.kernel
        if self._has_second:
            second = self._second(choice.reference)
            if choice.used == "second":
                return self._with_remainder(second)
            kernel = Blended(kernel, second)
        return kernel if choice.used == "both" or self._distances is None else Blended(kernel, self._distances)

    def check(self, choice: Choice) -> None:
        """Refuse a choice of a file that this group and symmetry cannot make."""
        can = {"first": True, "second": self._has_second, "both": self._has_second}
        can |= {"all": self._distances is not None, "none": not self._is_exact}
        is_aligned = self._can_align and choice.used in ALIGNED
        if not can.get(choice.used, False) or is_aligned != (choice.reference is not None):
            raise ValueError(f"kernels {choice.used!r}, and a point to align to: {choice.reference}")

    def with_and_without(self) -> tuple[Blended, Prior]:
        """Return the first kernel plus one without the symmetry, and the prior of its scales."""
        plain = plain_kernel(self._space, self._symmetry, self._family)
        lengths = RELATIVE_LENGTH * plain.widths
        return Blended(self.kernel, plain), _prior_of_parts(_scales(self.kernel, lengths), lengths, LENGTH_DOUBT)

    def _compared(
        self, first: Hypothesis, rewards: Rewards, like: Prior, best: Array, noise: Array | None
    ) -> tuple[Hypothesis, Choice]:
        """Return the most likely of models with the first kernel, with the second, and with sums."""
        reference = best.copy() if self._can_align else None
        tried, total, prior = {"first": first}, first, like
        if self._has_second:
            second = self._second(reference)
            lengths = RELATIVE_LENGTH * second.widths
            own = self._prior(_scales(second, lengths), lengths, LENGTH_DOUBT)
            start = second.unit if self._is_exact else own.lengths
            tried["second"] = hypothesis(self._with_remainder(second), rewards, first.warp, own, [], [start], noise)
            start = tried["second"].parameters.lengths[: second.n_scales]
            total, prior = _summed(total, prior, second, start, rewards, noise)
            tried["both"] = total
        if self._distances is not None:
            tried["all"], _ = _summed(total, prior, self._distances, None, rewards, noise)
        used = min(tried, key=lambda name: tried[name].loss)
        return tried[used], Choice(used, reference if used in ALIGNED else None)

    def _doubted(
        self,
        best: Hypothesis,
        choice: Choice,
        rewards: Rewards,
        like: Prior,
        noise: Array | None,
        start: Parameters | None,
    ) -> tuple[Hypothesis, Choice]:
        """Return a model without the group, if its marginal likelihood is larger."""
        plain = quotient_kernel(self._space, None, self._family)
        medians = RELATIVE_LENGTH * plain.widths
        longest = np.inf if np.isinf(like.longest).all() else BINARY_LENGTH * medians
        prior = like._replace(lengths=medians, doubt=LENGTH_DOUBT, longest=longest)
        starts = [] if start is None else [start]
        other = hypothesis(plain, rewards, best.warp, prior, starts, [prior.lengths], noise)
        return (best, choice) if best.loss <= other.loss else (other, Choice("none"))

    @property
    def _symmetry(self) -> Group:
        return Trivial(self._space.dim) if self._group is None else self._group

    @property
    def _can_align(self) -> bool:
        """Whether there are aligned coordinates, other than the folds that the kernel is of."""
        return 1 < self._symmetry.order < math.inf and not is_of_folds(self._symmetry, self._is_smooth)

    @property
    def _has_second(self) -> bool:
        """Whether there is a second kernel."""
        return self._can_align or self._multisets is not None

    @cached_property
    def _multisets(self) -> QuotientKernel | None:
        """The kernel by distances of multisets, where the first one is of folds."""
        return multiset_kernel(self._space, self._symmetry, self._family)

    @cached_property
    def _distances(self) -> QuotientKernel | None:
        """The kernel by distances between units, if the group exchanges some."""
        return distance_kernel(self._space, self._symmetry, self._family, self._sizes)

    def _second(self, reference: Array | None) -> QuotientKernel:
        """Return the plain kernel in coordinates aligned to a point, or that of multisets."""
        if reference is not None:
            return aligned_kernel(self._space, self._symmetry, self._family, reference)
        if self._multisets is None:
            raise ValueError("a second kernel without a point to align to")
        return self._multisets

    def _with_remainder(self, kernel: QuotientKernel) -> QuotientKernel:
        """Return an invariant kernel, plus one without the symmetry if that is approximate."""
        return kernel if self._is_exact else Blended(kernel, plain_kernel(self._space, self._symmetry, self._family))

    def _prior(self, scales: Array, lengths: Array, doubt: float) -> Prior:
        """Return the prior of the scales of a kernel, and of those of a remainder if there is one."""
        return Prior(scales, doubt) if self._is_exact else _prior_of_parts(scales, lengths, doubt)


def _summed(
    model: Hypothesis, prior: Prior, other: QuotientKernel, start: Array | None, rewards: Rewards, noise: Array | None
) -> tuple[Hypothesis, Prior]:
    """Return a model whose kernel is the sum of a model's own and another one, and the prior of its scales.

    The search begins with the model's own scales, and with given ones or prior medians of the
    others.
    """
    scales = _scales(other, RELATIVE_LENGTH * other.widths)
    own = np.broadcast_to(prior.doubt, len(prior.lengths))
    prior = prior._replace(
        lengths=np.concatenate([prior.lengths, scales, [SUMMED_RATIO]]),
        doubt=np.concatenate([own, np.full(len(scales), LENGTH_DOUBT), [RATIO_DOUBT]]),
    )
    lengths = np.concatenate([model.parameters.lengths, scales if start is None else start, [SUMMED_RATIO]])
    return hypothesis(Blended(model.kernel, other), rewards, model.warp, prior, [], [lengths], noise), prior


def _scales(kernel: QuotientKernel, lengths: Array) -> Array:
    """Return prior medians of the scales of a kernel: length scales, and a reach if it has one."""
    return np.append(lengths, PRIOR_REACH) if kernel.has_reach else lengths


def _prior_of_parts(scales: Array, lengths: Array, doubt: float) -> Prior:
    """Return the prior of the scales of a kernel, of those of a remainder, and of the ratio."""
    doubts = np.append(np.full(len(scales) + len(lengths), doubt), RATIO_DOUBT)
    return Prior(np.concatenate([scales, lengths, [PRIOR_RATIO]]), doubts)
