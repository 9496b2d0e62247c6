"""suggest_symmetry: what was found in trials, as arguments of the sampler."""

import numpy as np
import optuna
import pytest

from orbandit.errors import InputError
from orbandit.integrations.optuna import OrbitSampler

RING = "abcd"


def units(p):
    spread = (p["x1"] - p["x2"]) ** 2 + (p["y1"] - p["y2"]) ** 2
    return spread + p["x1"] * p["y1"] + p["x2"] * p["y2"] + p["x1"] + p["x2"] + p["tilt"] ** 2


def ring(p):
    x = np.array([p[name] for name in RING])
    return float(((x - np.roll(x, 1)) ** 3 + x * np.roll(x, 1)).sum())


def studied(objective, names, n, logarithmic=(), **options):
    def suggested(trial):
        return objective(
            {
                name: np.log(trial.suggest_float(name, 1.0, 8.0, log=True))
                if name in logarithmic
                else trial.suggest_float(name, -1.0, 1.0)
                for name in names
            }
        )

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), **options)
    study.optimize(suggested, n_trials=n)
    return study


@pytest.mark.parametrize(
    ("objective", "names", "n", "arguments"),
    [
        (
            units,
            ["x1", "y1", "x2", "y2", "tilt"],
            80,
            {"exchangeable": [["x1", "y1"], ["x2", "y2"]], "mirrored": ["tilt"]},
        ),
        (ring, RING, 80, {"ring": list(RING)}),
        (lambda p: p["a"] * p["b"] ** 2 + p["c"], "abc", 40, {"mirrored": ["b"]}),
        (lambda p: p["a"] + 2 * p["b"] ** 3 - p["a"] * p["b"], "ab", 40, {}),
    ],
)
def test_symmetries_are_said_in_names(objective, names, n, arguments):
    suggestion = OrbitSampler.suggest_symmetry(studied(objective, names, n))
    assert suggestion.arguments == arguments
    assert bool(suggestion) == bool(arguments)
    first = str(suggestion).splitlines()[0]
    assert first.startswith("OrbitSampler(") if arguments else first == "no symmetry found"


def test_what_has_no_words_is_a_group():
    study = studied(lambda p: p["a"] * p["b"] + 0.3 * p["c"], "abc", 50)
    arguments = OrbitSampler.suggest_symmetry(study).arguments
    assert arguments["parameters"] == ["a", "b", "c"]
    assert arguments["group"].order == 4
    study.sampler = OrbitSampler(**arguments, seed=0)
    study.optimize(
        lambda trial: (
            trial.suggest_float("a", -1.0, 1.0) * trial.suggest_float("b", -1.0, 1.0)
            + 0.3 * trial.suggest_float("c", -1.0, 1.0)
        ),
        n_trials=1,
    )


def test_only_parameters_of_one_range_are_exchanged():
    study = studied(lambda p: p["a"] * p["b"] + p["a"] ** 3 + p["b"] ** 3, "ab", 40, logarithmic="b")
    names = [row.name for row in OrbitSampler.suggest_symmetry(study).report.evidence]
    assert "mirrors coordinate a" in names
    assert not any("swaps" in name or "1/4" in name for name in names)


def test_too_few_trials_are_refused():
    with pytest.raises(InputError, match="at least 10 complete trials"):
        OrbitSampler.suggest_symmetry(studied(units, ["x1", "y1", "x2", "y2", "tilt"], 9))
    with pytest.raises(InputError, match="at least 10 complete trials"):
        OrbitSampler.suggest_symmetry(optuna.create_study())
