"""Rivals of orbandit on problems of exchangeable units, each with `ask`, `tell` and `recommend`.

CMA-ES and TPE are those of gp_peers.py; all but orbandit search the box around the space, and
points are moved to the nearest of the space before they are measured. Each recommends what its
users would take: CMA-ES the mean of its distribution, all others the best measurement.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
from gp_peers import CmaEs, Tpe
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from units_problems import Units

from orbandit._checks import Array

LENGTH, SHORTEST, LONGEST = 0.8, 0.5**7, 1.6
"""Of the trust region's side: at first, below which it starts again, and at most."""
SUCCESSES, FEWEST_FAILURES, GAIN = 3, 4, 1e-3
"""In a row, to double the length; to halve it, at least, or as many as dimensions; and what counts
as a success."""
CANDIDATES, MOVED = 2_000, 20
"""For Thompson sampling; and how many of their coordinates differ from the best point's on
average."""
FIT_STEPS, RATE = 50, 0.1


class Random:
    """Uniform random search, which recommends the best measurement."""

    def __init__(self, problem: Units, seed: int) -> None:
        self._space, self._rng = problem.space, np.random.default_rng(seed)
        self._best: tuple[float, Array] | None = None

    def ask(self) -> Array:
        """Return a random point."""
        return np.asarray(self._space.sample(1, self._rng)[0])

    def tell(self, point: Array, reward: float) -> None:
        """Keep the best."""
        if self._best is None or reward > self._best[0]:
            self._best = reward, point

    def recommend(self) -> Array:
        """Return the luckiest point."""
        if self._best is None:
            raise ValueError("nothing was measured yet")
        return self._best[1]


class Folding(BaseSampler):
    """Poor man's symmetry: what another sampler of Optuna proposes is folded, measured there, and told as folded."""

    def __init__(self, inner: BaseSampler, problem: Units) -> None:
        self._inner, self._problem = inner, problem
        self._low, self._high = problem.space.bounds
        ends = enumerate(zip(self._low.tolist(), self._high.tolist(), strict=True))
        self._box: dict[str, BaseDistribution] = {f"x{i}": FloatDistribution(low, high) for i, (low, high) in ends}

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, BaseDistribution]:
        """Return the whole box: coordinates of a folded point depend on each other."""
        return self._box

    def sample_relative(self, study: Any, trial: Any, search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        """Return the fold of what the other sampler proposes, all at once or coordinate by coordinate."""
        known = self._inner.infer_relative_search_space(study, trial)
        params = self._inner.sample_relative(study, trial, known)
        for name, ends in self._box.items():
            if name not in params:
                params[name] = self._inner.sample_independent(study, trial, name, ends)
        point = self._problem.space.project(np.array([params[name] for name in self._box]))
        folded = np.clip(self._problem.group.fold(point), self._low, self._high)
        return dict(zip(self._box, folded.tolist(), strict=True))

    def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: BaseDistribution) -> Any:
        """Leave to the other sampler what is no coordinate."""
        return self._inner.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Any, trial: Any) -> None:
        """Pass it on."""
        self._inner.before_trial(study, trial)

    def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
        """Pass it on."""
        self._inner.after_trial(study, trial, state, values)


class Turbo:
    """TuRBO-1: one trust region about the best point, Thompson sampling in it, and a new start once it has shrunk.

    A process with a Matern-5/2 kernel and a length for each coordinate is fitted to the
    measurements since the last start, with the bounds and the 50 steps of Adam of the authors'
    code. The region has the side `length`, stretched in proportion to the lengths; candidates are
    Sobol points of it, each with the best point's coordinates but for a share min(1, 20 / d). Here
    there are 2,000 of them, since the sample is drawn exactly; the authors have up to 5,000.

    References
    ----------
    D. Eriksson, M. Pearce, J. Gardner, R. Turner and M. Poloczek, Scalable global optimization via
    local Bayesian optimization, NeurIPS 2019.
    """

    def __init__(self, problem: Units, seed: int) -> None:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self._torch: Any = torch
        self._space = problem.space
        self._low, high = problem.space.bounds
        self._widths = high - self._low
        self._dim, self._seed = len(self._low), seed
        self._best: tuple[float, Array] | None = None
        self._first, self._place = np.empty((0, self._dim)), np.empty(self._dim)
        self._places: list[Array] = []
        self._values: list[float] = []
        self._length, self._successes, self._failures = LENGTH, 0, 0
        self._start()

    def ask(self) -> Array:
        """Return the next of the first points, or the best of a function drawn from the posterior."""
        count = len(self._values)
        self._place = self._first[count] if count < len(self._first) else self._drawn()
        return np.asarray(self._space.project(self._low + self._widths * self._place))

    def tell(self, point: Array, reward: float) -> None:
        """Widen or shrink the region after some successes or failures in a row; start again once it is too small."""
        if self._best is None or reward > self._best[0]:
            self._best = reward, point
        if len(self._values) >= len(self._first):
            top = max(self._values)
            is_success = reward > top + GAIN * abs(top)
            self._successes, self._failures = (self._successes + 1, 0) if is_success else (0, self._failures + 1)
            if self._successes == SUCCESSES:
                self._length, self._successes = min(2 * self._length, LONGEST), 0
            elif self._failures == max(FEWEST_FAILURES, self._dim):
                self._length, self._failures = self._length / 2, 0
        self._places.append(self._place)
        self._values.append(reward)
        if self._length < SHORTEST:
            self._start()

    def recommend(self) -> Array:
        """Return the point of the best measurement."""
        if self._best is None:
            raise ValueError("nothing was measured yet")
        return self._best[1]

    def _start(self) -> None:
        """Begin anew, with 2 d Sobol points."""
        self._places, self._values = [], []
        self._length, self._successes, self._failures = LENGTH, 0, 0
        self._seed += 1_000_000
        self._first = self._sobol(2 * self._dim).numpy()

    def _sobol(self, count: int) -> Any:
        self._seed += 1
        return self._torch.quasirandom.SobolEngine(self._dim, scramble=True, seed=self._seed).draw(count).double()

    def _drawn(self) -> Array:
        torch = self._torch
        x, values = torch.tensor(np.array(self._places)), np.array(self._values)
        # as the authors do
        y = torch.tensor((values - np.median(values)) / (values.std() or 1.0))[:, None]
        model, lengths = self._fitted(x, y)
        weights = lengths / lengths.mean()
        weights = weights / weights.log().mean().exp()
        center = x[int(values.argmax())]
        low = (center - weights * self._length / 2).clamp(0.0, 1.0)
        high = (center + weights * self._length / 2).clamp(0.0, 1.0)
        moved = torch.rand(CANDIDATES, self._dim) < min(1.0, MOVED / self._dim)
        still = torch.nonzero(~moved.any(dim=1))[:, 0]
        moved[still, torch.randint(self._dim, (len(still),))] = True
        candidates = torch.where(moved, low + (high - low) * self._sobol(CANDIDATES), center)
        with torch.no_grad():
            drawn = model.posterior(candidates).rsample()[0, :, 0]
        return np.asarray(candidates[int(drawn.argmax())].numpy())

    def _fitted(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return the model and its length scales."""
        from botorch.models import SingleTaskGP
        from gpytorch.constraints import Interval
        from gpytorch.kernels import MaternKernel, ScaleKernel
        from gpytorch.likelihoods import GaussianLikelihood
        from gpytorch.mlls import ExactMarginalLogLikelihood

        base = MaternKernel(nu=2.5, ard_num_dims=self._dim, lengthscale_constraint=Interval(0.005, 2.0))
        kernel = ScaleKernel(base, outputscale_constraint=Interval(0.05, 20.0))
        likelihood = GaussianLikelihood(noise_constraint=Interval(5e-4, 0.2))
        model = SingleTaskGP(x, y, covar_module=kernel, likelihood=likelihood, outcome_transform=None).double()
        model.covar_module.outputscale, base.lengthscale, model.likelihood.noise = 1.0, 0.5, 0.005
        model.train()
        objective = ExactMarginalLogLikelihood(model.likelihood, model)
        descent = self._torch.optim.Adam(model.parameters(), lr=RATE)
        for _ in range(FIT_STEPS):
            descent.zero_grad()
            loss = -objective(model(*model.train_inputs), model.train_targets)
            loss.backward()
            descent.step()
        model.eval()
        return model, base.lengthscale.detach()[0]


def _sampled(make: Callable[[int], BaseSampler], *, is_folded: bool = False) -> Callable[[Units, int], Tpe]:
    def start(problem: Units, seed: int) -> Tpe:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = make(seed)
        return Tpe(problem, seed, Folding(sampler, problem) if is_folded else sampler)

    return start


def _processes(seed: int) -> BaseSampler:
    import torch

    torch.set_num_threads(1)
    return GPSampler(seed=seed)


SEARCHES: dict[str, Callable[[Units, int], Any]] = {
    "random": Random,
    "cmaes": CmaEs,
    "cmaes-lr": lambda problem, seed: CmaEs(problem, seed, lr_adapt=True),
    "tpe": _sampled(lambda seed: TPESampler(seed=seed)),
    "tpe-folded": _sampled(lambda seed: TPESampler(seed=seed), is_folded=True),
    "gpsampler": _sampled(_processes),
    "gpsampler-folded": _sampled(_processes, is_folded=True),
    "turbo": Turbo,
}
"""Makers by name."""
