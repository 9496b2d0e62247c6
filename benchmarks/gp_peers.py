"""Peers of OrbitGP, each with `ask`, `tell` and `recommend`: CMA-ES, TPE, and the orbit-averaged kernel in BoTorch.

CMA-ES and TPE search the box around the space, and their points are moved to the nearest of the
space before they are measured. None of the two knows the group: neither has a place for one. Each
recommends what its users would take from it: CMA-ES the mean of its distribution, TPE the best
trial, and the kernel model the observed point with the largest posterior mean.
"""

import math
import resource
import subprocess
import sys
import time
import warnings
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np

import orbandit as ob
from orbandit._checks import Array

RESTARTS, RAW_SAMPLES, BETA = 8, 1024, 2.0
"""Ascents, their first candidates, and the square of the deviation's weight: those of Brown et
al."""
PATIENCE, MEMORY = 240, 14
"""Seconds and GB after which a step of a peer is ended."""
FIRST = 5
"""Random points before the first model, if its parameters are fitted; otherwise one, as theirs."""


class Searched(Protocol):
    """What CMA-ES and TPE know of a problem."""

    @property
    def space(self) -> ob.spaces.Space:
        """Where points live."""


class CmaEs:
    """The package cmaes: starts anywhere with a third of the width; once converged, it plays its mean.

    With `lr_adapt` its learning rates follow the noise, after Nomura, Akimoto and Ono (2023).
    """

    def __init__(self, problem: Searched, seed: int, *, lr_adapt: bool = False) -> None:
        from cmaes import CMA

        self._space = problem.space
        low, high = problem.space.bounds
        start = problem.space.sample(1, np.random.default_rng(seed))[0]
        self._widths = high - low
        self._low = low
        inside = np.column_stack([np.zeros(len(low)), np.ones(len(low))])
        self._search: Any = CMA((start - low) / self._widths, 0.3, bounds=inside, seed=seed, lr_adapt=lr_adapt)
        self._told: list[tuple[Array, float]] = []
        self._is_done = False

    def ask(self) -> Array:
        """Return the next point of the generation."""
        self._place = self._search.mean if self._is_done else self._search.ask()
        return self._at(self._place)

    def tell(self, point: Array, reward: float) -> None:
        """Tell the generation once it is complete; CMA-ES minimises."""
        self._told.append((self._place, -reward))
        if not self._is_done and len(self._told) == self._search.population_size:
            self._search.tell(self._told)
            self._told, self._is_done = [], bool(self._search.should_stop())

    def recommend(self) -> Array:
        """Return the mean of the distribution."""
        return self._at(self._search.mean)

    def _at(self, place: Array) -> Array:
        return np.asarray(self._space.project(self._low + self._widths * np.clip(place, 0, 1)))


class Tpe:
    """Optuna's default sampler, or another of Optuna's."""

    def __init__(self, problem: Searched, seed: int, sampler: Any = None) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = problem.space
        self._bounds = list(zip(*problem.space.bounds, strict=True))
        sampler = optuna.samplers.TPESampler(seed=seed) if sampler is None else sampler
        self._study: Any = optuna.create_study(direction="maximize", sampler=sampler)

    def ask(self) -> Array:
        """Return the point of the next trial."""
        self._trial = self._study.ask()
        return self._at([self._trial.suggest_float(f"x{i}", *ends) for i, ends in enumerate(self._bounds)])

    def tell(self, point: Array, reward: float) -> None:
        """End the trial."""
        self._study.tell(self._trial, reward)

    def recommend(self) -> Array:
        """Return the point of the best trial, the luckiest if there is noise."""
        best = self._study.best_trial.params
        return self._at([best[f"x{i}"] for i in range(len(self._bounds))])

    def _at(self, place: list[float]) -> Array:
        return np.asarray(self._space.project(np.array(place)))


class OrbitAveraged:
    """invariantkernels in BoTorch: a Matern-5/2 kernel averaged over the group, and the upper confidence bound.

    The mean over one orbit (`is_isotropic`), the cheaper of its two forms. Parameters are fitted by
    BoTorch, with its own priors, whenever the rewards have grown by a tenth; or, with
    `length_scale`, known and those of Brown et al.: the length, the signal 1 and the noise variance
    0.01.

    Parameters
    ----------
    problem : Problem
        On a box, with a finite group.
    seed : int
        Draws the first point, and candidates.
    length_scale : float, optional
        The true one.
    zero, unit : float
        The reward where the process is 0, and that where it is 1 less that, if the length is given.
    """

    def __init__(
        self,
        problem: ob.problems.Problem,
        seed: int,
        length_scale: float | None = None,
        zero: float = 0.0,
        unit: float = 1.0,
    ) -> None:
        import torch

        for module in ("acquisition", "fit", "models", "optim"):
            import_module(f"botorch.{module}")  # now, so that no step is charged with it
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        warnings.filterwarnings("ignore")  # BoTorch's, about data that are not standardised
        group = problem.group
        if group is None:
            raise TypeError("a group is what this peer is for")
        self._torch: Any = torch
        self._length_scale, self._zero, self._unit = length_scale, zero, unit
        self._low, high = problem.space.bounds
        self._widths = high - self._low
        first = 1 if length_scale is not None else FIRST
        self._first = problem.space.sample(first, np.random.default_rng(seed))
        self._points: list[Array] = []
        self._rewards: list[float] = []
        self._due = 2.0
        self._state: Any = None
        # In the unit box, which BoTorch wants, g x is still an affine map.
        moves = group.elements(1_000_000)
        scaled = moves * self._widths / self._widths[:, None]
        at_low = (group.act(moves, self._low) - self._low) / self._widths
        self._moves, self._shifts = torch.tensor(scaled), torch.tensor(at_low)

    def ask(self) -> Array:
        """Return the point with the largest bound."""
        from botorch.acquisition.analytic import UpperConfidenceBound
        from botorch.optim.optimize import optimize_acqf

        if len(self._points) < len(self._first):
            return np.asarray(self._first[len(self._points)])
        torch, dim = self._torch, len(self._low)
        bounds = torch.stack([torch.zeros(dim), torch.ones(dim)]).double()
        acquisition = UpperConfidenceBound(self._model(), beta=BETA)
        best, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=RESTARTS, raw_samples=RAW_SAMPLES)
        return np.asarray(self._low + self._widths * best[0].detach().numpy())

    def tell(self, point: Array, reward: float) -> None:
        """Take note of a reward."""
        self._points.append(point)
        self._rewards.append((reward - self._zero) / self._unit)

    def recommend(self) -> Array:
        """Return the observed point with the largest posterior mean."""
        model = self._model()
        with self._torch.no_grad():
            means = model.posterior(self._inputs()).mean
        return self._points[int(means.argmax())]

    def _orbits(self, x: Any) -> Any:
        """Return the images of points, (..., order, n, dim)."""
        return self._torch.einsum("gij,...nj->...gni", self._moves, x) + self._shifts[:, None]

    def _inputs(self) -> Any:
        return self._torch.tensor((np.array(self._points) - self._low) / self._widths)

    def _model(self) -> Any:
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.kernels import MaternKernel, ScaleKernel
        from gpytorch.mlls import ExactMarginalLogLikelihood
        from gpytorch.priors import GammaPrior
        from invariantkernels import InvariantKernel

        x, y = self._inputs(), self._torch.tensor(self._rewards, dtype=self._torch.float64)[:, None]
        if self._length_scale is not None:
            base = MaternKernel(nu=2.5).double()
            base.lengthscale = self._length_scale
            kernel = InvariantKernel(base, self._orbits, is_isotropic=True)
            noise = self._torch.full_like(y, 0.01)
            return SingleTaskGP(x, y, noise, covar_module=kernel, outcome_transform=None)
        base = MaternKernel(nu=2.5, lengthscale_prior=GammaPrior(3.0, 6.0))
        kernel = ScaleKernel(InvariantKernel(base, self._orbits, is_isotropic=True), GammaPrior(2.0, 0.15))
        model = SingleTaskGP(x, y, covar_module=kernel, outcome_transform=Standardize(1))
        if self._state is not None:
            kept = {name: value for name, value in self._state.items() if not name.startswith("outcome")}
            model.load_state_dict(kept, strict=False)
        if len(self._points) >= self._due:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            self._due = max(len(self._points) + 1, 1.1 * len(self._points))
        self._state = model.state_dict()
        return model


class Step(NamedTuple):
    """What a step of a peer took: with a fit and without, and its largest memory; infinite if it was ended."""

    fitted: float
    seconds: float
    gigabytes: float

    @property
    def words(self) -> str:
        """What is to be said of it."""
        if self.gigabytes == math.inf:
            return f"was ended after {PATIENCE} s or at {MEMORY} GB"
        return f"takes {self.seconds:.3g} s, {self.fitted:.3g} s with a fit, {self.gigabytes:.2g} GB"


def step_apart(group: Any) -> Step:
    """Return what a step of the orbit-averaged kernel takes at n = 100, measured in a process of its own."""
    command = [sys.executable, __file__, type(group).__name__, str(group.dim)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired as ended:
        done = subprocess.CompletedProcess(command, 1, (ended.stdout or b"").decode())
    figures = [float(word) for word in done.stdout.split()]
    return Step(*(figures + [math.inf] * 3)[:3])


def peer_step(group: Any) -> None:
    """Print the seconds of a step with a fit, those of one without, and the peak memory in GB, as they become known."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY * 2**30,) * 2)
    problem, points, rewards = hundred(group)
    agent = OrbitAveraged(problem, 0)
    for point, reward in zip(points, rewards, strict=True):
        agent.tell(point, float(reward))
    agent._due = 0.0
    start = time.perf_counter()
    agent.tell(agent.ask(), 0.5)
    print(time.perf_counter() - start, flush=True)
    agent._due = math.inf
    start = time.perf_counter()
    agent.ask()
    print(time.perf_counter() - start, peak_memory() / 2**30, flush=True)


def hundred(group: Any, size: int = 100) -> tuple[ob.problems.Problem, Array, Array]:
    """Return a cone, random points of it and their rewards."""
    space = ob.spaces.Box(-1.0, 1.0, dim=group.dim)
    problem = ob.problems.Cone(space, group, np.linspace(-0.7, 0.6, group.dim), lipschitz=0.3)
    rng = np.random.default_rng(0)
    points = space.sample(size, rng)
    return problem, points, np.clip(problem.mean(points) + 0.02 * rng.standard_normal(size), 0, 1)


def peak_memory() -> float:
    """Return the most memory that this process had, in bytes; getrusage would count what its parent had, too."""
    with open("/proc/self/status") as status:
        return next(1024.0 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))


if __name__ == "__main__":
    peer_step(getattr(ob.groups, sys.argv[1])(int(sys.argv[2])))
