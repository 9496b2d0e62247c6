"""What the sampler for Optuna costs, and how long a new process takes to rebuild it.

Run as `OPENBLAS_NUM_THREADS=1 python benchmarks/integrations.py`; it takes about three minutes.
What is measured, and the limits that it is held against:

1. time in the sampler per trial after 1,000 finished trials, in memory, over TPESampler's, in turn:
   with `OrbitTree` at most 0.1, with `OrbitGP` at most 1;
2. the same while three other trials are running, over what it is without them, in turn: at most 1.3
   with `OrbitGP`;
3. time from a file of 10,000 trials to the first proposal, less the time Optuna takes to load them,
   over the latter: at most 3.
"""

import contextlib
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.trial import create_trial

import orbandit as ob

UNITS = {
    "4 machines": [["x1"], ["x2"], ["x3"], ["x4"]],
    "3 turbines": [["x1", "y1"], ["x2", "y2"], ["x3", "y3"]],
}
FINISHED, LOADED = 1_000, 10_000
BLOCKS, BLOCK = 15, 5


class Timed(BaseSampler):
    """A sampler that keeps the time spent in it."""

    def __init__(self, sampler: BaseSampler) -> None:
        self._sampler, self.seconds = sampler, 0.0

    @contextlib.contextmanager
    def _clock(self) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - begun

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, BaseDistribution]:
        """Pass on."""
        with self._clock():
            return self._sampler.infer_relative_search_space(study, trial)

    def sample_relative(self, study: Any, trial: Any, search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        """Pass on."""
        with self._clock():
            return self._sampler.sample_relative(study, trial, search_space)

    def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: BaseDistribution) -> Any:
        """Pass on."""
        with self._clock():
            return self._sampler.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
        """Pass on."""
        with self._clock():
            self._sampler.after_trial(study, trial, state, values)


def value_of(params: dict[str, float], rng: np.random.Generator) -> float:
    """Return a noisy value that does not depend on the order of units."""
    x = np.sort([value for name, value in params.items() if name.startswith("x")])
    y = np.array([value for name, value in params.items() if name.startswith("y")])
    return float(np.abs(x - np.linspace(0.2, 0.8, len(x))).sum() + (y**2).sum() + rng.normal(0, 0.1))


def objective(units: list[list[str]], rng: np.random.Generator) -> Callable[[optuna.Trial], float]:
    """Return the function that a study minimises."""

    def measure(trial: optuna.Trial) -> float:
        return value_of({name: trial.suggest_float(name, 0.0, 1.0) for unit in units for name in unit}, rng)

    return measure


def sampler_cost(units: list[list[str]]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the milliseconds that samplers take per trial after many finished ones, alone and beside three others."""
    makers: dict[str, Callable[[], BaseSampler]] = {
        "TPESampler": lambda: TPESampler(seed=0),
        "OrbitTree": lambda: ob.integrations.optuna.OrbitSampler(exchangeable=units, agent=ob.agents.OrbitTree, seed=0),
        "OrbitGP": lambda: ob.integrations.optuna.OrbitSampler(exchangeable=units, agent=ob.agents.OrbitGP, seed=0),
    }
    rng = np.random.default_rng(0)
    history = []
    for _ in range(FINISHED):
        params = {name: float(rng.uniform()) for unit in units for name in unit}
        distributions: dict[str, BaseDistribution] = {name: FloatDistribution(0.0, 1.0) for name in params}
        history.append(create_trial(params=params, distributions=distributions, value=value_of(params, rng)))
    alone, beside = (
        {name: optuna.create_study(sampler=Timed(make())) for name, make in makers.items()} for _ in range(2)
    )
    for study in (*alone.values(), *beside.values()):
        study.add_trials(history)
        study.optimize(objective(units, rng), n_trials=3)  # reads the history, and compiles
    for study in beside.values():
        for _ in range(3):
            running = study.ask()
            for name in (name for unit in units for name in unit):
                running.suggest_float(name, 0.0, 1.0)
    spent = spent_per_trial([*alone.values(), *beside.values()], units, rng)
    return dict(zip(alone, spent[: len(alone)], strict=True)), dict(zip(beside, spent[len(alone) :], strict=True))


def spent_per_trial(studies: list[optuna.Study], units: list[list[str]], rng: np.random.Generator) -> list[float]:
    """Go on with all studies in turn, and return the milliseconds that each spent in its sampler."""
    spent: list[list[float]] = [[] for _ in studies]
    for _ in range(BLOCKS):
        for study, times in zip(studies, spent, strict=True):
            sampler = study.sampler
            assert isinstance(sampler, Timed)
            before = sampler.seconds
            study.optimize(objective(units, rng), n_trials=BLOCK)
            times.append((sampler.seconds - before) / BLOCK * 1e3)
    return [median(times) for times in spent]


def write_study(path: Path, units: list[list[str]], trials: int) -> None:
    """Write a study with so many finished trials to a file: one by Optuna, the others as rows like it."""
    names = [name for unit in units for name in unit]
    rng = np.random.default_rng(1)
    study = optuna.create_study(storage=f"sqlite:///{path}", study_name="large", sampler=TPESampler(seed=0))
    study.optimize(objective(units, rng), n_trials=1)
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        start, end = file.execute("SELECT datetime_start, datetime_complete FROM trials").fetchone()
        distribution = file.execute("SELECT distribution_json FROM trial_params").fetchone()[0]
        assert json.loads(distribution)["attributes"]["high"] == 1.0
        for i in range(2, trials + 1):
            params = {name: float(rng.uniform()) for name in names}
            row = (i, i - 1, 1, "COMPLETE", start, end)
            file.execute(
                "INSERT INTO trials (trial_id, number, study_id, state, datetime_start, datetime_complete) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )
            file.execute(
                "INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (?, 0, ?, 'FINITE')",
                (i, value_of(params, rng)),
            )
            file.executemany(
                "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES (?, ?, ?, ?)",
                [(i, name, value, distribution) for name, value in params.items()],
            )


def rebuild_cost(units: list[list[str]], agent: Any) -> tuple[float, float]:
    """Return how long Optuna takes to load the trials, and the sampler from them to its first proposal, in seconds."""
    loads, rebuilds = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.db"
        write_study(path, units, LOADED)
        for _ in range(3):
            begun = time.perf_counter()
            study = optuna.load_study(study_name="large", storage=f"sqlite:///{path}")
            assert len(study.get_trials(deepcopy=False)) >= LOADED
            loaded = time.perf_counter()
            sampler = ob.integrations.optuna.OrbitSampler(exchangeable=units, agent=agent, seed=0)
            trial = study.trials[-1]
            begun_here = time.perf_counter()
            params = sampler.sample_relative(study, trial, sampler.infer_relative_search_space(study, trial))
            assert len(params) == sum(map(len, units))
            loads.append(loaded - begun)
            rebuilds.append(time.perf_counter() - begun_here)
    return median(loads), median(rebuilds)


def main() -> None:
    """Print all figures."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for name, units in UNITS.items():
        cost, beside = sampler_cost(units)
        rival = cost.pop("TPESampler")
        print(f"{name}, {FINISHED} finished trials: TPESampler {rival:.2f} ms per trial")
        for agent, own in cost.items():
            print(f"    OrbitSampler, {agent}: {own:.2f} ms, {own / rival:.3f} of TPE;", end="")
            print(f" beside 3 running trials {beside[agent]:.2f} ms, {beside[agent] / own:.2f} of that")
    for name, units in UNITS.items():
        for kind in (ob.agents.OrbitTree, ob.agents.OrbitGP):
            load, rebuild = rebuild_cost(units, kind)
            print(f"{name}, {LOADED} trials: loaded in {load:.2f} s, sampler with {kind.__name__} rebuilt in", end="")
            print(f" {rebuild:.2f} s, {rebuild / load:.2f} of that")


if __name__ == "__main__":
    main()
