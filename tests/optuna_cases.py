"""Studies that tests of the sampler for Optuna share, and an agent that keeps what it is told."""

import numpy as np
import optuna

import orbandit as ob
from orbandit.integrations.optuna import OrbitSampler

PEAK = np.array([0.2, 0.5, 0.8])
NAMES = ["a", "b", "c"]
TREE = ob.agents.OrbitTree  # the fastest


def suggested(trial, names=NAMES):
    return np.array([trial.suggest_float(name, 0.0, 1.0) for name in names])


def loss(trial):
    return float(np.abs(np.sort(suggested(trial)) - PEAK).sum())


def study_of(sampler=None, direction="minimize", **options):
    sampler = sampler or OrbitSampler(exchangeable=NAMES, agent=TREE, seed=0)
    return optuna.create_study(sampler=sampler, direction=direction, **options)


def points(study, names=NAMES):
    return np.array([[trial.params[name] for name in names] for trial in study.trials])


class Recorder:
    """An agent that keeps what it is told, and asks for points at random: it has no more than `ask` and `tell`."""

    made: list

    def __init__(self, space, group, *, horizon, lipschitz, reward_range, seed):
        self.space, self.group, self.told = space, group, []
        self.horizon, self.lipschitz, self.rng = horizon, lipschitz, np.random.default_rng(seed)
        self.reward_range = reward_range
        type(self).made.append(self)

    def ask(self):
        return self.space.sample(1, self.rng)[0]

    def tell(self, point, reward):
        assert self.reward_range[0] <= reward <= self.reward_range[1]
        self.told.append((np.array(point), reward))
