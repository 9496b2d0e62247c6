"""simulate: regret by hand, the same whatever the threads, and agents from elsewhere."""

from functools import partial
from importlib import import_module

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, InputTypeError
from orbandit.experiments.simulation import CHUNK, evenly_spaced, log_spaced

SPACE, GROUP = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
CONE = ob.problems.Cone(SPACE, GROUP, peak=[0.9, 0.3])
KINDS = [ob.agents.UniformMesh, ob.agents.UniformMeshN, ob.agents.SideObservationElimination]


@pytest.mark.parametrize("kind", KINDS)
def test_regret_is_what_asking_and_telling_gives(kind):
    horizon, seed = 1000, 5
    runs = ob.simulate(kind, CONE, horizon, seeds=[seed])
    own, noise = np.random.SeedSequence(seed).spawn(2)
    agent = kind(SPACE, GROUP, horizon=horizon, lipschitz=CONE.lipschitz, seed=own)
    rng = np.random.default_rng(noise)
    gaps = []
    for _ in range(horizon):
        point = agent.ask()
        agent.tell(point, float(CONE.sample(point, rng)))
        gaps.append(CONE.optimum - CONE.mean(point))
    np.testing.assert_allclose(runs.regret[0], np.cumsum(gaps)[runs.checkpoints - 1], atol=1e-8)
    assert runs.seconds_per_round > 0
    assert kind.__name__ in repr(runs)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_do_not_depend_on_the_threads(kind):
    one = ob.simulate(kind, CONE, 5000, seeds=6, jobs=1)
    for jobs in (2, 5, None):
        many = ob.simulate(kind, CONE, 5000, seeds=6, jobs=jobs)
        np.testing.assert_array_equal(many.regret, one.regret)
        np.testing.assert_array_equal(many.checkpoints, one.checkpoints)
    assert len({tuple(row) for row in one.regret.tolist()}) == 6  # seeds differ
    np.testing.assert_array_equal(ob.simulate(kind, CONE, 5000, seeds=[4, 2]).regret, one.regret[[4, 2]])


def test_chunks_leave_no_trace():
    horizon = CHUNK + 1000
    long = ob.simulate(ob.agents.UniformMesh, CONE, horizon, seeds=[0])
    assert long.checkpoints[-1] == horizon
    steps = np.diff(long.regret[0]) / np.diff(long.checkpoints)
    assert (steps >= -1e-12).all()
    assert (steps <= CONE.optimum + 1e-12).all()


def asked(kind, horizon, seed):
    """The points that asking and telling gives with the streams of a run."""
    own, noise = np.random.SeedSequence(seed).spawn(2)
    agent = kind(SPACE, GROUP, horizon=horizon, lipschitz=CONE.lipschitz, seed=own)
    rng = np.random.default_rng(noise)
    points = []
    for _ in range(horizon):
        points.append(agent.ask())
        agent.tell(points[-1], float(CONE.sample(points[-1], rng)))
    return np.array(points)


@pytest.mark.parametrize("kind", [*KINDS, ob.agents.Zooming, ob.agents.HOO, ob.agents.OrbitTree])
@pytest.mark.parametrize("chunk", [97, CHUNK])
def test_plays_are_those_of_asking_and_telling(kind, chunk, monkeypatch):
    horizon = 300
    expected = np.array([asked(kind, horizon, seed) for seed in (3, 8)])
    monkeypatch.setattr(import_module("orbandit.experiments.simulation"), "CHUNK", chunk)
    plain = ob.simulate(kind, CONE, horizon, seeds=[3, 8])
    assert plain.plays.shape == (2, 0, 2)
    for many in (1, 7, 203, horizon, 10**15):
        runs = ob.simulate(kind, CONE, horizon, seeds=[3, 8], n_plays=many)
        rounds = [i * horizon // min(many, horizon) for i in range(1, min(many, horizon) + 1)]
        np.testing.assert_array_equal(runs.plays, expected[:, np.array(rounds) - 1])
        np.testing.assert_array_equal(runs.regret, plain.regret)


def test_plays_are_evenly_spaced_whatever_the_horizon():
    for horizon, many in ((1, 1), (1, 9), (10, 3), (10, 0), (10**15, 12345), (7, 7)):
        rounds = evenly_spaced(horizon, many)
        assert rounds.tolist() == [i * horizon // len(rounds) for i in range(1, len(rounds) + 1)]
        assert len(rounds) == min(horizon, many)
        assert (np.diff(rounds) > 0).all()


class AtRandom:
    """An agent from elsewhere."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.told = []

    def ask(self):
        return self.rng.random(2)

    def tell(self, point, reward):
        self.told.append((tuple(point), reward))


def test_agents_from_elsewhere_ask_and_tell():
    made = []

    def make(space, group, *, horizon, lipschitz, reward_range, seed):
        assert space is SPACE
        assert group is GROUP
        assert (horizon, lipschitz, reward_range) == (400, CONE.lipschitz, (0.0, 1.0))
        made.append(AtRandom(seed))
        return made[-1]

    runs = ob.simulate(make, CONE, 400, seeds=3, jobs=1, n_plays=100)
    assert runs.regret.shape == (3, len(runs.checkpoints))
    for agent, regret, plays in zip(made, runs.regret, runs.plays, strict=True):
        assert len(agent.told) == 400
        np.testing.assert_array_equal(plays, [point for point, _ in agent.told[3::4]])
        gaps = CONE.optimum - CONE.mean(np.array([point for point, _ in agent.told]))
        np.testing.assert_allclose(np.cumsum(gaps)[runs.checkpoints - 1], regret)
        assert {reward for _, reward in agent.told} == {0.0, 1.0}
    assert runs.name == "AtRandom"


def test_rewards_of_other_ranges_and_noise_of_ones_own():
    class Loud(ob.problems.Noise):
        reward_range = (-3.0, 4.0)

        def sample(self, means, rng):
            return means + rng.choice([-3.0, 3.0], means.shape)

    class Hill(ob.problems.Problem):
        optimizer = np.array([0.3, 0.8])

        def _mean(self, points):
            return 1 - np.asarray(GROUP.distance(points, self.optimizer))

    hill = Hill(SPACE, GROUP, 1.0, Loud())
    runs = ob.simulate(ob.agents.UniformMesh, hill, 2000, seeds=2)
    assert runs.regret.shape[0] == 2
    assert (np.diff(runs.regret, axis=1) >= 0).all()


def test_arms_by_index_run_on_any_means():
    class Machines:
        optimum, noise = 0.8, ob.problems.Bernoulli()

        def mean(self, arms):
            return np.array([0.2, 0.8, 0.5, 0.5])[arms]

    def make(space, group, *, horizon, lipschitz, reward_range, seed):
        assert space is group is lipschitz is reward_range is None
        return ob.agents.UCB1(4, horizon=horizon, seed=seed)

    assert ob.simulate(make, Machines(), 20_000, seeds=2).plays.shape == (2, 0, 1)
    runs = ob.simulate(make, Machines(), 20_000, seeds=2, n_plays=50)
    assert runs.plays.shape == (2, 50, 1)
    assert (runs.plays[:, -20:] == 1).mean() > 0.8
    assert runs.regret[:, -1].max() < 0.1 * 20_000 * 0.3


@pytest.mark.parametrize("horizon", [1, 2, 9, 10, 1000, 123_456])
def test_checkpoints_are_evenly_spaced_in_their_logarithm(horizon):
    points = log_spaced(horizon)
    assert points[0] == 1
    assert points[-1] == horizon
    assert (np.diff(points) > 0).all()
    late = points[points > 100]
    if len(late) > 2:
        assert np.ptp(np.diff(np.log(late))) < 0.05


def test_bad_input_is_refused():
    for arguments in (
        {"horizon": 0},
        {"horizon": 1.5},
        {"seeds": 0},
        {"seeds": []},
        {"seeds": [-1]},
        {"jobs": 0},
        {"n_plays": -1},
        {"n_plays": 2.5},
    ):
        with pytest.raises((InputError, InputTypeError)):
            ob.simulate(**{"agent": ob.agents.UniformMesh, "problem": CONE, "horizon": 10, **arguments})
    with pytest.raises(InputTypeError, match="agent"):
        ob.simulate("UniformMesh", CONE, 10)
    with pytest.raises(InputError, match=r"`seed` is the run's; name the seeds of runs by `seeds`"):
        ob.simulate(ob.agents.UniformMesh, CONE, 10, seed=3)
    with pytest.raises(InputTypeError, match=r"must make an object with `ask` and `tell`, but made None"):
        ob.simulate(lambda space, group, **told: None, CONE, 10)


def tree(space, group, **told):
    """A callable like a class."""
    return ob.agents.OrbitTree(space, group, **told)


@pytest.mark.parametrize("agent", [ob.agents.OrbitTree, partial(ob.agents.OrbitTree), tree, partial(tree)])
def test_an_agent_may_be_kept_from_the_group(agent):
    def without(space, group, *, horizon, lipschitz, reward_range, seed):
        return ob.agents.OrbitTree(space, horizon=horizon, lipschitz=lipschitz, seed=seed)

    blind = ob.simulate(agent, CONE, 1000, seeds=2, use_group=False)
    np.testing.assert_array_equal(blind.regret, ob.simulate(without, CONE, 1000, seeds=2).regret)
    np.testing.assert_array_equal(blind.regret, ob.simulate(partial(agent, group=None), CONE, 1000, seeds=2).regret)
    np.testing.assert_array_equal(blind.regret, ob.simulate(agent, CONE, 1000, seeds=2, group=None).regret)
    assert (blind.regret != ob.simulate(agent, CONE, 1000, seeds=2).regret).any()
    for clash in ({"agent": agent, "group": GROUP}, {"agent": partial(agent, group=GROUP)}):
        with pytest.raises(InputError, match=r"`use_group=False` keeps the group .* leave one out"):
            ob.simulate(**clash, problem=CONE, horizon=10, use_group=False)


@pytest.mark.parametrize("agent", [ob.agents.OrbitTree, tree])
def test_options_go_before_a_partial_and_that_before_the_problem(agent):
    def told(lipschitz):
        def make(space, group, *, horizon, seed, **rest):
            return ob.agents.OrbitTree(space, group, horizon=horizon, lipschitz=lipschitz, seed=seed)

        return ob.simulate(make, CONE, 1000, seeds=2).regret

    by_problem = ob.simulate(agent, CONE, 1000, seeds=2)
    by_partial = ob.simulate(partial(agent, lipschitz=3.0), CONE, 1000, seeds=2)
    by_option = ob.simulate(partial(agent, lipschitz=3.0), CONE, 1000, seeds=2, lipschitz=None)
    np.testing.assert_array_equal(by_problem.regret, told(CONE.lipschitz))
    np.testing.assert_array_equal(by_partial.regret, told(3.0))
    np.testing.assert_array_equal(by_option.regret, told(None))
    assert (by_partial.regret != by_problem.regret).any()
    assert (by_option.regret != by_problem.regret).any()


def test_an_agent_is_made_alike_for_a_simulation_and_for_a_search():
    calls = []

    def make(space, group, **told):
        calls.append((space, group, sorted(told)))
        return ob.agents.UniformMesh(space, group, **told)

    ob.simulate(make, CONE, 20, seeds=1)
    ob.maximize(lambda point: float(CONE.mean(point)), SPACE, GROUP, budget=20, lipschitz=1.0, agent=make, seed=0)
    assert {tuple(names) for *_, names in calls} == {("horizon", "lipschitz", "reward_range", "seed")}
    assert all(space is SPACE and group is GROUP for space, group, _ in calls)


def test_a_callable_of_another_signature_is_refused_before_anything_is_played():
    def old(problem, horizon, seed):
        return ob.agents.UniformMesh(problem.space, horizon=horizon, seed=seed)

    words = r"called as agent\(space, group, \*, horizon, lipschitz, reward_range, seed\), but .*old"
    with pytest.raises(InputTypeError, match=words):
        ob.simulate(old, CONE, 100, seeds=1)
    with pytest.raises(InputTypeError, match="unexpected keyword argument 'delat'"):
        ob.simulate(ob.agents.UniformMesh, CONE, 100, seeds=1, delat=0.1)


def test_one_agent_may_play_two_problems():
    agent = ob.agents.UniformMesh(SPACE, GROUP, horizon=4000, seed=0)
    low = ob.problems.Cone(SPACE, GROUP, peak=[0.2, 0.6], height=0.3)
    for problem in (CONE, low, CONE):
        runs = ob.simulate(lambda space, group, **told: agent, problem, 1000, seeds=1)
        assert (runs.regret >= -1e-9).all()
        assert runs.regret[0, -1] <= 1000 * problem.optimum


def test_wrong_means_and_ranges_are_refused():
    class Wrong(ob.problems.Problem):
        optimizer = np.array([0.5, 0.5])

        def __init__(self, means):
            super().__init__(SPACE, GROUP, 1.0)
            self.means = means

        def _mean(self, points):
            return self.means(points)

    for means in (lambda p: np.ones(1), lambda p: np.full(len(p), 2.0), lambda p: np.full(len(p), np.nan)):
        with pytest.raises(InputError, match="mean"):
            ob.simulate(ob.agents.UniformMesh, Wrong(means), 100, seeds=1)

    with pytest.raises(InputError, match="reward"):
        ob.simulate(ob.agents.UniformMesh, CONE, 100, seeds=1, reward_range=(0.2, 0.8))
    with pytest.raises(InputTypeError, match="problem"):
        ob.simulate(ob.agents.UniformMesh, "cone", 100)
    assert len(ob.simulate(ob.agents.UniformMesh, CONE, 100, seeds=np.arange(3)).regret) == 3


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (ob.agents.UCB1, {"n_arms": 4}),
        (ob.agents.OrbitUCB1, {"n_arms": 4, "generators": [[1, 0, 2, 3]]}),
        (ob.agents.UCBN, {"graph": ([0, 1, 2, 3, 4], [0, 1, 2, 3])}),
    ],
)
def test_agents_that_play_indices_show_the_callable_to_write(kind, given):
    class Machines:
        optimum, noise = 0.8, ob.problems.Bernoulli()

        def mean(self, arms):
            return np.array([0.5, 0.5, 0.8, 0.2])[arms]

    for agent in (kind, partial(kind, **given)):
        with pytest.raises(InputTypeError, match=f"{kind.__name__} plays indices; pass agent=lambda space") as caught:
            ob.simulate(agent, Machines(), 100)
    code = str(caught.value).partition("agent=")[2].removesuffix(".")
    make = eval(code, {kind.__name__: kind, **given})
    assert ob.simulate(make, Machines(), 100, seeds=1).name == kind.__name__


def test_more_runs_than_fit_are_refused():
    cone = ob.problems.Cone(ob.spaces.Box(0, 1, dim=1), None, [0.3])
    for seeds in (1_000_001, 10**18, 10**400):
        with pytest.raises(InputError, match="`seeds <= 1,000,000` must hold"):
            ob.simulate(ob.agents.OrbitTree, cone, 10, seeds=seeds)


class Scripted:
    """An agent from elsewhere that asks for what it is given, and then for the middle."""

    def __init__(self, *points):
        self.points, self.told = list(points), 0

    def ask(self):
        return self.points.pop(0) if self.points else np.array([0.5, 0.5])

    def tell(self, point, reward):
        self.told += 1


@pytest.mark.parametrize(
    ("point", "kind", "words"),
    [
        (np.array([0.5, 1.5]), InputError, r"must play in Box.*, but Scripted asked for array.*1\.5.* in round 3;"),
        ([0.5, 1.0 + 1e-6], InputError, r"but Scripted asked for \[0\.5, 1\.000001\] in round 3; .*space\.project"),
        (np.array([np.nan, 0.5]), InputError, r"Scripted asked for array.* in round 3: `point` must be finite"),
        ([np.inf, 0.5], InputError, "Scripted asked for .* in round 3: `point` must be finite"),
        (0.5, InputError, r"Scripted asked for 0\.5 in round 3: `point` must have shape \(2,\)"),
        ([0.5, 0.5, 0.5], InputError, r"in round 3: `point` must have shape \(2,\)"),
        ([[0.5, 0.5], [0.5, 0.5]], InputError, r"in round 3: `point` must have shape \(2,\)"),
        ("here", InputTypeError, "Scripted asked for 'here' in round 3: `point` must be real numbers"),
        (None, InputTypeError, "Scripted asked for None in round 3: `point` must be real numbers"),
    ],
)
def test_an_agent_from_elsewhere_may_not_leave_the_space(point, kind, words):
    agent = Scripted([0.1, 0.9], [1.0, 0.0], point)
    with pytest.raises(kind, match=words):
        ob.simulate(lambda space, group, **told: agent, CONE, 100, seeds=1)
    assert agent.told == 2  # a refused point is not measured
    edge = Scripted(*[[1.0 + 1e-12, -1e-12]] * 3)  # a rounding error
    assert ob.simulate(lambda space, group, **told: edge, CONE, 100, seeds=1).regret[0, -1] >= 0


def test_the_round_is_counted_over_chunks(monkeypatch):
    monkeypatch.setattr(import_module("orbandit.experiments.simulation"), "CHUNK", 10)
    agent = Scripted(*[[0.5, 0.5]] * 1233, [2.0, 2.0])
    with pytest.raises(InputError, match=r"in round 1,234;"):
        ob.simulate(lambda space, group, **told: agent, CONE, 2000, seeds=1)


@pytest.mark.parametrize("kind", [ob.agents.UniformMesh, ob.agents.HOO, ob.agents.OrbitTree])
@pytest.mark.parametrize("noise", [ob.problems.Bernoulli(), ob.problems.Uniform(0.1)])
def test_an_agent_of_another_space_may_not_leave_that_of_the_problem(kind, noise):
    cone = ob.problems.Function(CONE.mean, SPACE, GROUP, optimizer=[0.9, 0.3], lipschitz=1.0, noise=noise)

    def make(high):
        space = ob.spaces.Box(0.0, high, dim=2)
        told = {"lipschitz": cone.lipschitz, "reward_range": cone.reward_range}
        return lambda _, group, *, horizon, seed, **rest: kind(space, horizon=horizon, seed=seed, **told)

    with pytest.raises(InputError, match=rf"must play in Box.*, but {kind.__name__} "):
        ob.simulate(make(3.0), cone, 200, seeds=1)
    same = ob.simulate(kind, cone, 200, seeds=1, use_group=False)
    np.testing.assert_array_equal(ob.simulate(make(1.0), cone, 200, seeds=1).regret, same.regret)


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("arm", [-1, 4, 1.0, np.nan])
def test_arms_by_index_are_held_to_their_range(arm, counted):
    class Machines:
        optimum = 0.8

        def mean(self, arms):
            return np.array([0.2, 0.8, 0.5, 0.5])[arms]

        def sample(self, arm, rng):
            return rng.normal(self.mean(arm))

    if counted:
        Machines.n_arms = 4

    with pytest.raises((InputError, InputTypeError), match=f"Scripted asked for {arm!r} in round 2"):
        ob.simulate(lambda space, group, **told: Scripted(0, arm), Machines(), 5, seeds=1)
    fine = ob.simulate(
        lambda space, group, **told: Scripted(0, 1, np.int64(2), 3), Machines(), 4, seeds=1, checkpoints=[4]
    )
    np.testing.assert_allclose(fine.regret, [[1.2]])


# --- problems with a rule for what is feasible ---

FARM = ob.problems.WindFarm(3, spacing="constraint")


@pytest.mark.parametrize("agent", [ob.agents.OrbitGP, ob.agents.OrbitTree])
def test_a_problems_rule_is_kept(agent):
    runs = ob.simulate(agent, FARM, horizon=20, seeds=2, n_plays=20)
    assert (FARM.feasible(runs.plays.reshape(-1, 6)) >= 0).all()
    assert (runs.regret >= -1e-9).all()
    assert (runs.simple_regret >= -1e-9).all()


def test_a_rule_of_the_callers_goes_before_the_problems():
    shown = []

    def strict(points):
        shown.append(len(points))
        return FARM.feasible(points) - 20.0

    runs = ob.simulate(ob.agents.OrbitTree, FARM, horizon=10, seeds=1, n_plays=10, feasible=strict)
    assert shown
    assert (FARM.feasible(runs.plays.reshape(-1, 6)) >= 20.0).all()


def test_agents_that_take_no_rule_are_refused_by_name():
    with pytest.raises(InputError, match="OrbitGP or OrbitTree, but HOO does not"):
        ob.simulate(ob.agents.HOO, FARM, horizon=20, seeds=1, lipschitz=1.0)
