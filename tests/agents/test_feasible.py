"""Agents with a rule for what is feasible: nothing else is asked for or recommended, and all that is told is data."""

import copy
import pickle

import numpy as np
import pytest

import orbandit as ob
from orbandit.agents import HOO, Agent, OrbitGP, OrbitTree
from orbandit.errors import InputError

SPACE, SWAP = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)


def apart(points):
    """Two units on a line keep their distance: a margin."""
    return np.abs(points[:, 0] - points[:, 1]) - 0.3


def is_apart(points):
    """Tell the same by yes and no."""
    return apart(points) >= 0


def on_islands(points):
    """Four squares far from each other."""
    return 0.08 - np.abs(np.abs(points - 0.5) - 0.35).max(axis=1)


RULES = [apart, is_apart, on_islands]
AGENTS = [OrbitGP, OrbitTree]
BEST = [0.2, 0.8]


def reward(point, rng):
    """Best at BEST in either order."""
    return float(np.clip(0.9 - np.abs(np.sort(point) - BEST).sum() / 2 + 0.02 * rng.standard_normal(), 0, 1))


def keeps(rule, point):
    """Tell whether a rule holds, to the last bit."""
    said = rule(np.asarray(point)[None])[0]
    return bool(said) if said.dtype == bool else bool(said >= 0)


def played(agent, rule, rounds, seed=0):
    """Play rounds, each of which must keep the rule; return the points."""
    rng, points = np.random.default_rng(seed), []
    for _ in range(rounds):
        points.append(agent.ask())
        assert keeps(rule, points[-1])
        agent.tell(points[-1], reward(points[-1], rng))
        assert keeps(rule, agent.recommend())
    return np.array(points)


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("group", "horizon"), [(SWAP, 40), (SWAP, None), (None, 40)])
def test_all_that_is_asked_for_and_recommended_is_feasible_and_good(kind, rule, group, horizon):
    agent = kind(SPACE, group, horizon=horizon, feasible=rule, seed=0)
    assert keeps(rule, agent.recommend())
    played(agent, rule, 40)
    assert np.abs(np.sort(agent.recommend()) - BEST).max() < 0.15
    batch = agent.ask_batch(8)
    assert all(keeps(rule, point) for point in batch)


@pytest.mark.parametrize("settings", [{"acquisition": "thompson"}, {"goal": "best"}, {"beta": 5.0}, {"candidates": 8}])
def test_orbit_gp_keeps_the_rule_however_it_chooses(settings):
    played(OrbitGP(SPACE, SWAP, horizon=30, feasible=apart, seed=1, **settings), apart, 30)


def test_yes_and_no_rewards_keep_the_rule():
    agent, rng = OrbitGP(SPACE, SWAP, horizon=30, feasible=apart, seed=1), np.random.default_rng(0)
    for _ in range(30):
        point = agent.ask()
        assert keeps(apart, point)
        agent.tell(point, float(rng.random() < reward(point, rng)))
    assert keeps(apart, agent.recommend())


@pytest.mark.parametrize("kind", AGENTS)
def test_what_breaks_the_rule_is_data_but_never_recommended(kind):
    agent = kind(SPACE, SWAP, horizon=60, feasible=apart, seed=0)
    for place in np.linspace(0.05, 0.95, 10):
        agent.tell([place, place], 1.0 - abs(place - 0.5))
        assert keeps(apart, agent.recommend())
    assert agent.estimate([0.5, 0.5]) > 0.7
    agent.expect([0.5, 0.5])
    for _ in range(20):
        point = agent.ask()
        assert keeps(apart, point)
        agent.tell(point, 0.1)
    assert keeps(apart, agent.recommend())


@pytest.mark.parametrize("kind", AGENTS)
def test_other_units_keep_the_rule_in_the_users(kind):
    """Sides of 1e-3 and 1e4 are scaled inside, and brought back with rounding."""
    space = ob.spaces.Box([0.0, 2.0], [1e-3, 2.0 + 1e4])

    def rule(points):
        return 0.7 - points[:, 0] / 1e-3 - (points[:, 1] - 2.0) / 1e4

    agent = kind(space, horizon=40, feasible=rule, seed=0)
    for _ in range(40):
        point = agent.ask()
        assert keeps(rule, point)
        agent.tell(point, float(np.clip(point[0] / 1e-3 + 0.5 * (point[1] - 2) / 1e4, 0, 1)))
    assert keeps(rule, agent.recommend())
    assert agent.recommend()[0] > 0.5e-3


@pytest.mark.parametrize("kind", AGENTS)
def test_layouts_of_units_that_crowd_keep_their_distance(kind):
    """Few random layouts are feasible, and rounding of folds must not break the rule of the site."""
    disk, units = ob.spaces.Ball(2), 6
    group = ob.groups.Joint(ob.groups.BlockPermutation(units, 2), ob.groups.Diagonal(ob.groups.Dihedral(8), units))
    i, j = np.triu_indices(units, 1)

    def rule(points):
        layouts = points.reshape(len(points), units, 2)
        gaps = np.linalg.norm(layouts[:, i] - layouts[:, j], axis=2).min(axis=1) - 0.7
        return np.minimum(gaps, (1 - np.linalg.norm(layouts, axis=2)).min(axis=1))

    space = disk**units
    assert (rule(space.sample(2_000, 0)) >= 0).mean() < 0.01
    agent = kind(space, group, horizon=30, feasible=rule, seed=0)
    for _ in range(30):
        point = agent.ask()
        assert keeps(rule, point)
        # outwards is better
        agent.tell(point, float(np.linalg.norm(point.reshape(units, 2), axis=1).mean()))
    assert keeps(rule, agent.recommend())


@pytest.mark.parametrize("kind", AGENTS)
def test_files_copies_and_pickles_go_on_alike(kind, tmp_path):
    agent = kind(SPACE, SWAP, horizon=60, feasible=apart, seed=0)
    played(agent, apart, 25)
    agent.ask()
    agent.save(tmp_path / "agent")
    others = [kind.load(tmp_path / "agent", feasible=apart), Agent.load(tmp_path / "agent", feasible=apart)]
    others += [copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
    expected = played(agent, apart, 15, seed=1)
    for other in others:
        assert np.array_equal(played(other, apart, 15, seed=1), expected)


@pytest.mark.parametrize("kind", AGENTS)
def test_a_file_wants_the_rule_that_it_cannot_hold(kind, tmp_path):
    kind(SPACE, SWAP, horizon=60, feasible=apart, seed=0).save(tmp_path / "with")
    kind(SPACE, SWAP, horizon=60, seed=0).save(tmp_path / "without")
    with pytest.raises(InputError, match="which has a constraint; pass it as `feasible`"):
        kind.load(tmp_path / "with")
    with pytest.raises(InputError, match="which has no constraint; leave `feasible` out"):
        kind.load(tmp_path / "without", feasible=apart)
    with pytest.raises(InputError, match="`feasible` must be invariant"):
        kind.load(tmp_path / "with", feasible=lambda points: points[:, 0] - 0.5)


def test_a_tree_of_a_file_has_points_that_keep_the_rule(tmp_path):
    agent = OrbitTree(SPACE, SWAP, horizon=60, feasible=apart, seed=0)
    played(agent, apart, 25)
    agent.save(tmp_path / "agent")
    with pytest.raises(InputError, match=r"the rule that the agent was saved with.*; pass that rule") as refused:
        OrbitTree.load(tmp_path / "agent", feasible=lambda points: apart(points) - 0.3)
    assert refused.value.field == "feasible"


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize(
    "rule",
    [lambda x: x[:, 0] <= 0.9, lambda x: x[:, 0] + 0.999 * x[:, 1], lambda x: np.where(x[:, 0] > 0.5, np.inf, 1)],
)
def test_a_rule_that_is_not_invariant_is_refused_with_the_element_and_the_point(kind, rule):
    with pytest.raises(InputError, match=r"but what swaps coordinates 0 and 1 takes \[.*\], where it says .* to \["):
        kind(SPACE, SWAP, feasible=rule)
    kind(SPACE, None, feasible=rule)


@pytest.mark.parametrize("kind", AGENTS)
def test_an_empty_set_is_refused_at_once(kind):
    with pytest.raises(InputError, match="no feasible point was found: not among"):
        kind(SPACE, SWAP, feasible=lambda points: points.sum(axis=1) - 2.5)
    wide = ob.spaces.Box(0.0, 1000.0, dim=2)
    with pytest.raises(InputError, match=r"the largest is -50.*, at \[9\d\d.*9\d\d"):  # in the caller's units
        kind(wide, SWAP, feasible=lambda points: points.sum(axis=1) - 2050.0)


def test_a_guarantee_needs_centres():
    with pytest.raises(InputError, match="drop it, or `feasible`"):
        OrbitTree(SPACE, lipschitz=1.0, guarantee="theory", feasible=apart)


def test_cells_without_feasible_points_are_not_made():
    agent = OrbitTree(SPACE, horizon=300, feasible=lambda x: 0.1 - np.abs(x - 0.25).max(axis=1), seed=0)
    rng = np.random.default_rng(0)
    for _ in range(300):
        point = agent.ask()
        agent.tell(point, reward(point, rng))
    cells = agent.arms.cells
    lows, highs = cells.corners(np.arange(len(cells)))
    assert len(cells) > 20
    assert (lows <= 0.35 + 1e-9).all()
    assert (highs >= 0.15 - 1e-9).all()


def test_other_agents_take_no_rule():
    with pytest.raises(TypeError, match="feasible"):
        HOO(SPACE, SWAP, feasible=apart)


@pytest.mark.parametrize("kind", AGENTS)
def test_rules_by_lookup_see_points_of_the_space_only(kind):
    grid = np.add.outer(np.arange(10), np.arange(10)) - 12.5

    def rule(points):
        cells = np.minimum((points * 10).astype(int), 9)
        assert ((points >= 0) & (points <= 1)).all()
        return grid[cells[:, 0], cells[:, 1]]

    agent = kind(SPACE, horizon=40, feasible=rule, seed=0)
    for _ in range(40):
        point = agent.ask()
        assert keeps(rule, point)
        agent.tell(point, float(point.prod()))


def test_a_tree_plays_all_pieces_of_a_set_of_yes_and_no():
    """Two small disks, the better of which random tries in a cell seldom hit."""
    disks = np.array([[0.2, 0.3], [0.75, 0.85]])

    def rule(points):
        return np.linalg.norm(points[:, None] - disks, axis=2).min(axis=1) <= 0.02

    for seed in range(6):
        agent = OrbitTree(SPACE, horizon=150, feasible=rule, seed=seed)
        for _ in range(150):
            point = agent.ask()
            agent.tell(point, 0.9 if point[0] > 0.5 else 0.3)
        assert agent.recommend()[0] > 0.5


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
def test_agents_on_copies_of_one_space_are_copied_before_the_first_reward(copied):
    agent = OrbitGP(ob.spaces.Ball(2) ** 3, ob.groups.BlockPermutation(3, 2), horizon=40, seed=0)
    assert np.array_equal(copied(agent).ask(), agent.ask())
