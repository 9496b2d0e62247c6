"""UniformMesh, UniformMesh-N and elimination: their deltas, who learns from what, and play by play equality."""

import math

import numpy as np
import pytest

import naive
import orbandit as ob
from agent_cases import rounds_of
from orbandit._kernels.arms import SUM
from orbandit.agents.mesh_rule import measured_net
from orbandit.errors import InputError, InputTypeError

A, G, S, M = ob.agents, ob.groups, ob.spaces, ob.meshes

CUBE, SQUARE = S.Box(0.0, 1.0, dim=3), S.Box(0.0, 1.0, dim=2)

PLACES = {
    "square": (SQUARE, None),
    "cube S3": (CUBE, G.Symmetric(3)),
    "cube shift": (CUBE, G.CyclicShift(3)),
    "disk D5": (S.Ball(2), G.Dihedral(5)),
    "simplex S3": (S.Simplex(3), G.Symmetric(3)),
    "icosahedron H3": (S.Polytope.regular("icosahedron"), G.Coxeter("H3")),
    "two disks": (S.Product(S.Ball(2), S.Ball(2)), G.BlockPermutation(2, 2)),
}

places = pytest.mark.parametrize("place", PLACES)
SHARING = (A.UniformMeshN, A.SideObservationElimination)


@places
@pytest.mark.parametrize("kind", [A.UniformMesh, *SHARING])
def test_delta_is_that_of_theorem_1(kind, place):
    space, group = PLACES[place]
    n, d, order = 5_000, space.intrinsic_dim, 1 if group is None else group.order
    agent = kind(space, group, horizon=n)
    assert agent.delta == pytest.approx((math.log(n) / (n * order)) ** (1 / (d + 2)))
    scaled = kind(space, group, horizon=n, lipschitz=4.0, reward_range=(-1.0, 7.0))
    assert scaled.delta == pytest.approx(2.0 * agent.delta)  # (high - low) / L = 2
    assert agent.mesh.delta == agent.delta
    assert space.contains(agent.mesh.points).all()
    assert M.Mesh(agent.mesh.points, agent.delta, space, group).distances(space.sample(500, 0)).max() <= agent.delta


@pytest.mark.parametrize("kind", [A.UniformMesh, *SHARING])
@pytest.mark.parametrize("order", ["S20", "O(2)"])
def test_delta_is_measured_for_groups_too_large(kind, order):
    if order == "S20":
        space, group = S.Box(0.0, 1.0, dim=20), G.Symmetric(20)
    else:
        space, group = S.Ball(4), G.Orthogonal(2, 2)
    n = 20_000
    agent = kind(space, group, horizon=n, seed=0)
    assert agent.n_arms * math.log(n) <= n * agent.delta**2
    for _ in range(30):
        agent.tell(agent.ask(), 0.5)
    assert agent.rounds == 30


def test_the_measured_delta_is_the_smallest_that_balances():
    n, group = 100_000, G.Symmetric(3)
    mesh = measured_net(CUBE, group, n, 1.0)
    assert len(mesh) * math.log(n) <= n * mesh.delta**2
    finer = M.quotient_net(CUBE, group, mesh.delta / 1.05)
    assert len(finer) * math.log(n) > n * finer.delta**2
    by_name = A.UniformMeshN(CUBE, group, horizon=n, delta="measured")
    assert by_name.delta == mesh.delta
    assert A.UniformMeshN(CUBE, group, horizon=n, delta="order").delta != mesh.delta
    assert A.UniformMeshN(CUBE, group, horizon=n, delta="measured", mesh="full").delta == mesh.delta
    assert A.UniformMeshN(CUBE, group, horizon=n, delta=0.3).delta == 0.3


def test_rules_that_cannot_apply_are_refused():
    with pytest.raises(InputError, match="infinite"):
        A.UniformMeshN(S.Ball(4), G.Orthogonal(2, 2), horizon=100, delta="order")
    with pytest.raises(InputError, match="own delta"):
        A.UniformMeshN(CUBE, horizon=100, mesh=M.net(CUBE, 0.5), delta=0.1)
    with pytest.raises(InputError, match="preserve"):
        A.UniformMesh(S.Box([0, 0], [1, 2]), G.Symmetric(2), horizon=100)
    with pytest.raises(InputError, match="points of"):
        A.UniformMesh(CUBE, horizon=100, mesh=M.Mesh([[2.0, 0.0, 0.0]], 1.0))
    with pytest.raises(InputError, match="points of"):
        A.UniformMesh(CUBE, horizon=100, mesh=M.Mesh([[0.2, 0.0]], 1.0))
    with pytest.raises(InputError, match="Did you mean 'quotient'"):
        A.UniformMesh(CUBE, horizon=100, mesh="qotient")
    with pytest.raises(InputError, match="unknown mesh 'full'"):
        A.UniformMesh(CUBE, horizon=100, mesh="full")  # rewards would go to one image only
    for space, group in ((3, None), (CUBE, "S3"), (None, None)):
        with pytest.raises(InputTypeError):
            A.UniformMesh(space, group, horizon=100)
    with pytest.raises(ob.errors.MeshTooLargeError):
        A.UniformMesh(S.Box(0, 1, dim=8), horizon=10**9, delta=0.01)


@places
@pytest.mark.parametrize("kind", SHARING)
@pytest.mark.parametrize("mesh", ["quotient", "full"])
def test_a_reward_updates_exactly_the_neighborhood(kind, place, mesh):
    space, group = PLACES[place]
    agent = kind(space, group, horizon=3000, mesh=mesh, seed=0)
    metric = group or G.Trivial(space.dim)
    points = [*space.sample(25, 0), agent.ask(), agent.ask(), *agent.mesh.points[:3]]
    expected = np.zeros(agent.n_arms)
    for point in points:
        agent.tell(point, 1.0)
        expected += np.asarray(metric.distance(point, agent.mesh.points)) <= 2 * agent.delta * (1 + 1e-9)
    np.testing.assert_array_equal(agent.counts(), expected)


@places
def test_a_reward_updates_the_nearest_arm_of_uniform_mesh(place):
    space, group = PLACES[place]
    agent = A.UniformMesh(space, group, horizon=3000, seed=0)
    metric = group or G.Trivial(space.dim)
    expected = np.zeros(agent.n_arms)
    for point in space.sample(40, 0):
        agent.tell(point, 1.0)
        expected[np.asarray(metric.distance(point, agent.mesh.points)).argmin()] += 1
    np.testing.assert_array_equal(agent.counts(), expected)


@pytest.mark.parametrize("kind", SHARING)
@pytest.mark.parametrize("pending", [0, 1, 2])
def test_a_mesh_that_leaves_out_a_part_of_the_space_says_so(kind, pending):
    agent = kind(SQUARE, horizon=100, mesh=M.Mesh([[0.1, 0.1]], 0.1), seed=0)
    for _ in range(pending):
        agent.ask()
    for call in (
        lambda: agent.tell([0.9, 0.9], 1.0),
        lambda: agent.expect([0.9, 0.9]),
        lambda: agent.tell_batch([[0.1, 0.1], [0.9, 0.9]], [1.0, 1.0]),
    ):
        with pytest.raises(InputError, match="must cover the space"):
            call()
    assert agent.rounds == agent.counts().sum() == 0


@places
@pytest.mark.parametrize("kind", [A.UniformMesh, *SHARING])
def test_whole_runs_play_as_on_paper(kind, place):
    space, group = PLACES[place]
    n = 4000 if kind is A.SideObservationElimination else 2000  # which plays evenly at first
    agent = kind(space, group, horizon=n, seed=3)
    metric = group or G.Trivial(space.dim)
    points = agent.arms.numbered.points
    distances = np.asarray(metric.distance(points, points))
    near = distances <= 2 * agent.delta * (1 + 1e-9) if kind in SHARING else np.eye(len(points), dtype=bool)
    sees = [np.flatnonzero(row) for row in near]
    if kind is A.SideObservationElimination:
        twin = naive.Elimination(sees, 2 * math.log(n), 2 * agent.delta)
    else:
        twin = naive.SharedUCB(sees, 2 * math.log(n))
    means, draws = 0.1 + 0.8 * (distances[0] < 0.3), np.random.default_rng(1).random(n)
    played, kept = rounds_of(agent, lambda batch: means, draws, np.arange(n))
    rounds = n if kind is A.UniformMesh or len(points) < 60 else 500
    for t in range(rounds):
        arm = twin.ask()
        assert played[t] == means[arm]
        assert (kept[t] == points[arm]).all()
        twin.tell(arm, float(draws[t] < means[arm]))
    if rounds == n:
        np.testing.assert_array_equal(agent.arms.table.stats[:, SUM], twin.sums)


def grid(cells):
    centres = (np.arange(cells) + 0.5) / cells
    return np.array(np.meshgrid(centres, centres, centres, indexing="ij")).reshape(3, -1).T


@pytest.mark.parametrize("kind", [A.UniformMeshN, A.SideObservationElimination])
def test_the_folded_and_the_full_agent_play_the_same_orbits(kind):
    """On a mesh that G maps to itself, with priorities that are equal along orbits, for 3,000 rounds."""
    n, delta, group = 3_000, 0.15, G.Symmetric(3)
    points = grid(6)
    representatives, orbit = np.unique(group.fold(points).round(9), axis=0, return_inverse=True)
    orbit = orbit.ravel()
    full, folded = (kind(CUBE, group, horizon=n, mesh=M.Mesh(p, delta), seed=0) for p in (points, representatives))
    priorities = np.random.default_rng(7).random(len(representatives))
    full.arms.open(full.mesh, priorities[orbit], n)
    folded.arms.open(folded.mesh, priorities, n)
    assert (full.n_arms, folded.n_arms) == (216, 56)
    cone = ob.problems.Cone(CUBE, group, peak=[0.85, 0.2, 0.45])
    rng = np.random.default_rng(8)
    for _ in range(n):
        here, there = full.ask(), folded.ask()
        assert np.array_equal(group.fold(here).round(9), there.round(9))
        reward = float(rng.random() < cone.mean(there))
        full.tell(here, reward)
        folded.tell(there, reward)
    np.testing.assert_array_equal(full.counts(), folded.counts()[orbit])
    np.testing.assert_array_equal(full.means(), folded.means()[orbit])


def test_lists_made_on_first_play_change_nothing(monkeypatch):
    at_once = A.UniformMeshN(CUBE, G.Symmetric(3), horizon=5000, seed=0)
    monkeypatch.setattr(ob.agents.learners, "MAX_NEIGHBORS", 10)
    monkeypatch.setattr(ob.agents.learners, "LISTS_AT_ONCE", 7)
    later = A.UniformMeshN(CUBE, G.Symmetric(3), horizon=5000, seed=0)
    assert len(later.arms.learners.lists.unlisted()) == later.n_arms
    cone = ob.problems.Cone(CUBE, G.Symmetric(3), peak=[0.9, 0.2, 0.6])
    draws = np.random.default_rng(0).random(5000)
    np.testing.assert_array_equal(rounds_of(at_once, cone.mean, draws)[0], rounds_of(later, cone.mean, draws)[0])
    np.testing.assert_array_equal(at_once.counts(), later.counts())


def test_the_tree_shares_with_all_arms_its_search_finds_and_widens_the_bounds():
    group = G.Symmetric(2)
    agent = A.UniformMeshN(SQUARE, group, horizon=10_000, mesh="tree", seed=0)
    tree = M.CoveringTree(SQUARE, agent.delta)
    np.testing.assert_array_equal(agent.mesh.points, tree.mesh.points)
    expected = np.zeros(agent.n_arms)
    for point in SQUARE.sample(30, 0):
        agent.tell(point, 0.0)
        found = tree.orbit_neighbors(group, point, 2 * agent.delta, exact=False)
        expected[np.union1d(found, tree.mesh.nearest(point))] += 1
    np.testing.assert_array_equal(agent.counts(), expected)
    seen = expected > 0
    radii = np.sqrt(2 * math.log(10_000) / expected[seen])
    extra = tree.extra_width(2 * agent.delta)
    assert extra > 0
    np.testing.assert_allclose(agent.upper_bounds()[seen], radii + 3 * agent.delta + extra)


def test_the_reported_bounds_are_the_paper_s_index_in_units_of_rewards():
    agent = A.UniformMeshN(SQUARE, horizon=10_000, lipschitz=2.0, reward_range=(10.0, 20.0), seed=0)
    for point in SQUARE.sample(30, 0):
        agent.tell(point, 17.0)
    seen = agent.counts() > 0
    scaled = 0.7 + np.sqrt(2 * math.log(10_000) / agent.counts()[seen]) + 3 * agent.delta * 2.0 / 10.0
    np.testing.assert_allclose(agent.upper_bounds()[seen], 10.0 + 10.0 * scaled)
    assert np.allclose(agent.means()[seen], 17.0)


def test_an_agent_without_a_horizon_refines_its_mesh_and_loses_no_reward():
    agent = A.UniformMesh(CUBE, G.Symmetric(3), seed=0)
    rng = np.random.default_rng(0)
    total, sizes = 0.0, [agent.n_arms]
    late = agent.ask()
    for _ in range(1500):
        point = CUBE.sample(1, rng)[0] if rng.random() < 0.2 else agent.ask()
        reward = float(rng.random())
        total += reward
        agent.tell(point, reward)
        if agent.n_arms != sizes[-1]:
            sizes.append(agent.n_arms)
            assert agent.delta == pytest.approx((math.log(agent._goal) / (agent._goal * 6)) ** (1 / 5))
    assert sizes == sorted(sizes)
    assert len(sizes) >= 4
    assert agent.counts().sum() == 1500
    assert np.nansum(agent.counts() * agent.means()) == pytest.approx(total)
    agent.tell(late, 1.0)  # asked of a mesh that is no more
    assert agent.counts().sum() == 1501
    assert agent._ledger.pending == {}
    assert (agent.arms.table.stats[:, ob._kernels.arms.PENDING] == 0).all()


def test_observations_of_earlier_epochs_go_where_they_belong():
    agent = A.UniformMeshN(SQUARE, G.Symmetric(2), seed=0)
    plays = []
    for t in range(300):
        point = agent.ask() if t % 3 else SQUARE.sample(1, t)[0]
        plays.append(point)
        agent.tell(point, (t % 7) / 7)
    distances = np.asarray(G.Symmetric(2).distance(np.array(plays), agent.mesh.points))
    near = distances <= 2 * agent.delta * (1 + 1e-9)
    np.testing.assert_array_equal(agent.counts(), near.sum(axis=0))
    rewards = (np.arange(300) % 7) / 7
    np.testing.assert_allclose(agent.means(), near.T @ rewards / near.sum(axis=0))


def test_a_mesh_that_would_be_too_large_ends_the_refining(monkeypatch):
    agent = A.UniformMesh(SQUARE, seed=0)
    monkeypatch.setattr(ob.meshes.nets, "MAX_LATTICE_POINTS", 5)
    size = agent.n_arms
    for _ in range(200):
        agent.tell(agent.ask(), 0.5)
    assert agent.rounds == 200
    assert agent.counts().sum() == 200
    assert agent.n_arms >= size


def test_elimination_keeps_the_best_arm_only_because_it_is_widened():
    """The best arm shares rewards with its neighbour, which has priority, is played in its place and is far worse."""
    points = np.array([[0.0], [0.05], [0.95], [1.0]])
    # the best arm looks like 0.3, the others like 0.7
    means = {0.0: 0.8, 0.05: 0.3, 0.95: 0.7, 1.0: 0.7}
    space, n = S.Box(0.0, 1.0, dim=1), 20_000

    def survivors(lipschitz):
        mesh = M.Mesh(points, 0.025)
        agent = A.SideObservationElimination(space, horizon=n, lipschitz=lipschitz, mesh=mesh, seed=0)
        agent.arms.open(mesh, np.array([0.0, 1.0, 1.0, 0.0]), n)
        draws = np.random.default_rng(1).random(n)
        rounds_of(agent, lambda batch: np.array([means[round(x, 2)] for x in batch[:, 0]]), draws)
        return agent.alive()

    assert survivors(10.0)[0]  # the true constant: a bias of up to 0.5 is taken into account
    assert not survivors(0.01)[0]  # next to none: the best arm is dropped


def test_elimination_drops_what_cannot_be_best_and_never_the_best():
    group = G.Symmetric(2)
    cone = ob.problems.Cone(SQUARE, group, peak=[0.9, 0.2])
    for seed in range(5):
        agent = A.SideObservationElimination(SQUARE, group, horizon=300_000, seed=seed)
        rounds_of(agent, cone.mean, np.random.default_rng(seed).random(300_000))
        alive, values = agent.alive(), cone.mean(agent.mesh.points)
        assert alive[values.argmax()]
        assert 0 < alive.sum() < agent.n_arms
        assert values[alive].min() > values.min()
        assert cone.mean(agent.recommend()) > values.max() - 4 * agent.delta


@pytest.mark.parametrize("space", [S.Simplex(4), S.Polytope.regular("tetrahedron"), S.Ball(2)], ids=repr)
def test_leaves_with_one_point_are_one_arm(space):
    agent = A.UniformMeshN(space, horizon=20_000, mesh="tree", delta=0.15, seed=0)
    assert len(np.unique(agent.mesh.points, axis=0)) == agent.n_arms
    asked = [agent.ask()]
    for _ in range(2 * agent.n_arms):
        agent.tell(asked[-1], 0.5)
        asked.append(agent.ask())
    assert (agent.counts() > 0).all()


def test_the_tree_needs_orbits_that_can_be_listed():
    with pytest.raises(ob.errors.GroupTooLargeError, match="quotient"):
        A.UniformMeshN(S.Ball(4), G.Orthogonal(2, 2), mesh="tree", delta=0.5, horizon=100)


def test_points_that_are_there_twice_are_one_arm():
    mesh = M.Mesh([[0.2], [0.2], [0.2], [0.8]], 0.3)
    agent = A.UniformMesh(S.Box(0, 1, dim=1), horizon=100, mesh=mesh, seed=0)
    assert agent.n_arms == 2
    asked = [agent.ask() for _ in range(6)]
    for point in asked:
        agent.tell(point, 0.5)
    assert (agent.arms.table.stats[:, ob._kernels.arms.PENDING] == 0).all()
    assert agent.counts().sum() == 6


def test_uniform_mesh_takes_one_point_of_each_orbit():
    mesh = M.Mesh([[0.2, 0.8], [0.8, 0.2], [0.5, 0.5], [0.1, 0.3], [0.3, 0.1]], 0.4)
    agent = A.UniformMesh(SQUARE, G.Symmetric(2), mesh=mesh, seed=0)
    assert agent.mesh.points.tolist() == [[0.2, 0.8], [0.5, 0.5], [0.1, 0.3]]
    for _ in range(200):
        agent.tell(agent.ask(), 0.5)
    assert agent.counts().sum() == 200
    shared = A.UniformMeshN(SQUARE, G.Symmetric(2), mesh=mesh, horizon=100, seed=0)
    assert shared.n_arms == 5


def test_a_mesh_that_stays_keeps_its_priorities():
    for settings in ({"delta": 0.2}, {"mesh": M.net(SQUARE, 0.2)}):
        agent = A.UniformMeshN(SQUARE, seed=0, **settings)
        order = agent.arms.table.order
        agent.tell_batch(SQUARE.sample(300, 0), np.full(300, 0.5))
        assert agent._goal == 512
        assert agent.arms.table.width == 2 * math.log(512)
        assert agent.arms.table.order is order


@pytest.mark.parametrize("shift", [0.0, 1e9])
@pytest.mark.parametrize("width", [1e-10, 1.0, 1e10])
def test_what_is_outside_is_refused_at_any_scale(shift, width):
    space = S.Box(shift, shift + max(width, 1e-3 if shift else 0.0), dim=1)
    low, high = space.bounds
    agent = A.UniformMesh(space, horizon=100, lipschitz=1 / space.diameter, seed=0)
    agent.tell(high, 0.5)
    agent.tell(low, 0.5)
    for outside in (high + 0.01 * (high - low), low - 0.01 * (high - low)):
        with pytest.raises(InputError, match="must lie in"):
            agent.tell(outside, 0.5)


def test_steep_functions_get_no_more_arms_than_rounds():
    agent = A.UniformMesh(CUBE, G.Symmetric(3), horizon=200, lipschitz=1e5, delta="measured")
    assert agent.n_arms <= 200 / math.log(200)
    with pytest.raises(InputError, match="lipschitz"):
        A.UniformMesh(CUBE, horizon=200, lipschitz=1e305, reward_range=(0, 1e-5))


def test_pending_asks_end_no_phase():
    agent = A.SideObservationElimination(S.Box(0, 1, dim=1), horizon=1000, seed=0)
    asked = agent.ask_batch(5000)
    agent.tell(asked[0], 0.5)
    assert agent._phase == 1
    for point in asked[1:]:
        agent.forget(point)
    assert agent._phase == 1


def test_a_mesh_that_is_no_mesh_is_refused():
    with pytest.raises(InputTypeError, match="mesh"):
        A.UniformMesh(CUBE, horizon=100, mesh=np.zeros((3, 3)))


def test_negative_zeros_are_zeros():
    agent = A.UniformMesh(SQUARE, horizon=100, mesh=M.Mesh([[-0.0, 0.5], [0.9, -0.0]], 0.9), seed=0)
    agent.ask()
    agent.tell([0.0, 0.5], 1.0)
    agent.tell([0.9, 0.0], 1.0)
    agent.ask()
    agent.ask()
    assert len(agent._ledger.keys) <= 2
