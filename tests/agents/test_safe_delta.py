"""delta="safe": with a group the regret bound is no larger than without, whatever the space, the group and n."""

import math

import numpy as np
import pytest

import orbandit as ob
from cases import G, S
from orbandit.agents import mesh_rule
from orbandit.agents.mesh_rule import ARM_BY_ARM, CLIQUE_BY_CLIQUE, RegretShape, order_delta, safe_net
from orbandit.errors import InputError, InputTypeError, MeshTooLargeError

A, M, T = ob.agents, ob.meshes, ob.theory
CUBE = S.Box(0.0, 1.0, dim=3)
PLACES = [
    (S.Box(0.0, 1.0, dim=1), G.SignFlips(1).centered([0.5])),
    (S.Box(0.0, 1.0, dim=2), G.Symmetric(2)),
    (CUBE, G.Symmetric(3)),
    (CUBE, G.CyclicShift(3)),
    (S.Ball(2), G.Dihedral(5)),
    (S.Ball(2), G.Cyclic(7)),
    (S.Box([0, 0], [1, 0.01]), G.Trivial(2)),
    (S.Simplex(3), G.Symmetric(3)),
    (S.Polytope.regular("icosahedron"), G.Coxeter("H3")),
    (S.Ball(4), G.Orthogonal(2, 2)),
    (S.Product(S.Ball(2), S.Ball(2)), G.BlockPermutation(2, 2)),
]


@pytest.mark.parametrize("agent", [A.UniformMesh, A.UniformMeshN])
@pytest.mark.parametrize(("space", "group"), PLACES, ids=[repr(group) for _, group in PLACES])
def test_the_bound_is_no_larger_with_a_group(agent, space, group):
    side = agent is A.UniformMeshN
    for n in (2, 1_000) if space.dim < 4 else (10, 300):
        told, blind = (agent(space, known, horizon=n, delta="safe", seed=0) for known in (group, None))
        bounds = [float(T.worst_case_bound(one.mesh, n, side_observations=side)) for one in (told, blind)]
        assert bounds[0] <= bounds[1] * (1 + 1e-12)
        assert told.delta <= blind.delta
        paper = agent(space, None, horizon=n, delta="order", seed=0)
        assert np.array_equal(blind.mesh.points, paper.mesh.points)


def test_the_gain_is_theorem_1s_in_the_end():
    """The ratio of bounds falls to |G|^(-1/(d+2)), 0.70 for S_3 on the cube, or below: the best delta is taken."""
    ratios = []
    for n in (10**3, 10**5, 10**7):
        told, blind = (safe_net(CUBE, group, n, 1.0, ARM_BY_ARM) for group in (G.Symmetric(3), None))
        ratios.append(float(T.worst_case_bound(told, n)) / float(T.worst_case_bound(blind, n)))
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] < 0.7


def test_the_bounds_by_hand():
    mesh, n = M.Mesh([[0.1], [0.12], [0.5], [0.9]], delta=0.05), 1000  # the first two are a clique
    alone = 50 + math.sqrt(8 * 3 * n * math.log(n)) + 3 + 8 / n**2
    shared = 350 + math.sqrt(8 * 3 * n * math.log(n)) + 3 + 8 / n**2
    assert float(T.worst_case_bound(mesh, n)) == pytest.approx(alone)
    assert float(T.worst_case_bound(mesh, n, side_observations=True)) == pytest.approx(shared)
    pair = M.Mesh([[0.1], [0.12]], delta=0.05)
    assert float(T.worst_case_bound(pair, n, side_observations=True)) == pytest.approx(
        350 + math.sqrt(8 * n * math.log(n)) + 1 + 4 / n**2
    )
    wide = M.Mesh(100 * mesh.points, delta=5.0)
    scaled = T.worst_case_bound(wide, n, lipschitz=0.1, reward_range=(-4.0, 6.0))
    assert float(scaled) == pytest.approx(10 * alone)
    assert T.worst_case_bound(mesh, 10).vacuous


@pytest.mark.parametrize("agent", [A.UniformMesh, A.UniformMeshN])
def test_regret_is_within_the_bound(agent):
    cone = ob.problems.Cone(S.Ball(2), G.Dihedral(5), peak=[0.31, 0.53])
    n = 100_000
    for use_group in (True, False):
        runs = ob.simulate(agent, cone, n, seeds=2, jobs=1, use_group=use_group, delta="safe")
        mesh = agent(cone.space, cone.group if use_group else None, horizon=n, delta="safe").mesh
        bound = T.worst_case_bound(mesh, n, side_observations=agent is A.UniformMeshN)
        assert not bound.vacuous
        assert runs.regret[:, -1].max() <= float(bound)


def test_the_plain_net_is_played_in_the_orbit_metric_if_it_has_the_least_bound():
    group, n = G.Symmetric(3), 1000
    many = RegretShape(1, lambda mesh: 1000 if mesh.group else 3)
    mesh, plain = safe_net(CUBE, group, n, 1.0, many), M.net(CUBE, order_delta(n, 1, 3))
    assert mesh.group is group
    assert np.array_equal(mesh.points, plain.points)


def test_where_there_is_no_plain_net(monkeypatch):
    def refuse(space, delta):
        raise MeshTooLargeError("too large")

    group, n = G.Symmetric(3), 1234
    expected = safe_net(CUBE, group, n, 1.0, ARM_BY_ARM)
    monkeypatch.setattr(mesh_rule, "net", refuse)
    assert np.array_equal(safe_net.__wrapped__(CUBE, group, n, 1.0, ARM_BY_ARM).points, expected.points)
    with pytest.raises(MeshTooLargeError):
        safe_net.__wrapped__(CUBE, None, n, 1.0, CLIQUE_BY_CLIQUE)


def test_scales_and_files(tmp_path):
    group, n = G.Symmetric(3), 1000
    for agent in (A.UniformMesh, A.UniformMeshN):
        plain = agent(CUBE, group, horizon=n, delta="safe", seed=0)
        big = agent(S.Box(0, 100, dim=3), group, horizon=n, lipschitz=0.1, reward_range=(-4, 6), delta="safe", seed=0)
        assert big.delta == pytest.approx(100 * plain.delta)
        assert big.n_arms == plain.n_arms
        plain.tell(plain.ask(), 1.0)
        plain.save(tmp_path / "agent.npz")
        again = agent.load(tmp_path / "agent.npz")
        assert again.delta == plain.delta
        assert np.array_equal(again.ask(), plain.ask())
    growing = A.UniformMeshN(CUBE, group, delta="safe", seed=0)
    first = growing.delta
    for _ in range(130):
        growing.tell(growing.ask(), 0.5)
    assert growing.delta < first


def test_other_agents_have_no_safe_delta():
    for agent in (A.Zooming, A.SideObservationElimination):
        with pytest.raises(InputError, match="Known: auto, order, measured"):
            agent(CUBE, horizon=100, delta="safe")
    with pytest.raises(InputError, match="auto, order, measured, safe"):
        A.UniformMesh(CUBE, horizon=100, delta="save")
    with pytest.raises(InputTypeError, match="mesh"):
        T.worst_case_bound([[0.1]], 100)
    with pytest.raises(InputError, match="horizon"):
        T.worst_case_bound(M.Mesh([[0.1]], 0.1), 1)
