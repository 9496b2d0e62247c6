"""UCB1, OrbitUCB1 and UCB-N against their formulas, played by full scans."""

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import naive
import orbandit as ob
from orbandit.errors import InputError, InputTypeError

A = ob.agents


def against_twin(agent, sees, horizon, means, rounds=600):
    """Play beside a twin that knows arms by number, and compare every choice."""
    twin = naive.SharedUCB(sees, 2 * np.log(horizon))
    rng = np.random.default_rng(5)
    for _ in range(rounds):
        number = twin.ask()
        arm = agent.ask()
        assert arm == agent.arms.point(number)
        reward = float(rng.random() < means[arm])
        twin.tell(number, reward)
        agent.tell(arm, reward)


def test_ucb1_plays_the_formula():
    agent = A.UCB1(12, horizon=600, seed=1)
    against_twin(agent, [[i] for i in range(12)], 600, np.linspace(0.1, 0.9, 12))


def test_ucb1_without_a_horizon_takes_that_of_the_epoch():
    agent = A.UCB1(3, seed=0)
    for horizon in (64, 128, 256):
        assert agent.arms.table.width == 2 * np.log(horizon)
        for _ in range(horizon - agent.rounds):
            agent.tell(agent.ask(), 0.5)
    assert agent.rounds == 256
    assert agent.arms.table.width == 2 * np.log(512)


def test_ties_go_to_priorities_that_every_arm_may_lead():
    first = {A.UCB1(5, horizon=10, seed=seed).ask() for seed in range(60)}
    assert first == set(range(5))


@settings(max_examples=50)
@given(st.integers(1, 12).flatmap(lambda n: st.lists(st.permutations(range(n)), min_size=1, max_size=3)))
def test_orbits_are_the_connected_components_of_the_generators(generators):
    size = len(generators[0])
    agent = A.OrbitUCB1(size, generators, horizon=10, seed=0)
    graph = networkx.Graph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from((i, g[i]) for g in generators for i in range(size))
    components = sorted(map(sorted, networkx.connected_components(graph)))
    assert [np.flatnonzero(agent.orbits == k).tolist() for k in range(agent.n_arms)] == components
    assert agent.representatives.tolist() == [component[0] for component in components]


def test_orbit_ucb1_is_ucb1_on_representatives():
    shift = [[(i + 2) % 12 for i in range(12)]]  # two orbits of six
    agent = A.OrbitUCB1(12, shift, horizon=600, seed=1)
    assert agent.n_arms == 2
    against_twin(agent, [[0], [1]], 600, [0.3, 0.6] * 6)


def test_orbit_ucb1_learns_from_every_arm_of_an_orbit():
    agent = A.OrbitUCB1(6, [[1, 2, 0, 4, 3, 5]], horizon=100, seed=0)
    for arm, reward in ((2, 1.0), (0, 0.0), (1, 1.0), (4, 0.5)):
        agent.tell(arm, reward)
    np.testing.assert_array_equal(agent.counts(), [3, 1, 0])
    np.testing.assert_allclose(agent.means()[:2], [2 / 3, 0.5])


@pytest.mark.parametrize("generators", [[[0, 1]], [[0, 0, 1]], [[1, 2, 3]], [[0.5, 1, 2]], "abc", [[[0, 1, 2]]]])
def test_orbit_ucb1_refuses_what_is_no_permutation(generators):
    with pytest.raises((InputError, InputTypeError), match="generators"):
        A.OrbitUCB1(3, generators, horizon=10)


def graph_of(*edges):
    graph = networkx.Graph()
    graph.add_edges_from(edges)
    return graph


def random_graph(directed=False):
    return networkx.gnp_random_graph(15, 0.2, seed=3, directed=directed)


@pytest.mark.parametrize("directed", [False, True])
def test_ucbn_plays_the_formula_on_a_graph(directed):
    graph = random_graph(directed)
    agent = A.UCBN(graph, horizon=800, seed=2)
    numbers = {agent.arms.point(k): k for k in range(15)}
    sees = [[numbers[j] for j in {agent.arms.point(k), *graph[agent.arms.point(k)]}] for k in range(15)]
    against_twin(agent, sees, 800, np.linspace(0.9, 0.2, 15), 800)


def test_ucbn_takes_the_same_graph_in_any_form():
    graph = random_graph()
    matrix = csr_array(networkx.to_scipy_sparse_array(graph))
    forms = [graph, matrix, (matrix.indptr, matrix.indices), (matrix.indptr.tolist(), matrix.indices.tolist())]
    agents = [A.UCBN(form, horizon=100, seed=0) for form in forms]
    for agent in agents:
        agent.tell(4, 1.0)
    expected = np.zeros(15)
    expected[[4, *graph[4]]] = 1
    for agent in agents:
        np.testing.assert_array_equal(agent.counts(), expected)
    mesh = ob.meshes.net(ob.spaces.Box(0, 1, dim=2), 0.3)
    orbits = ob.meshes.OrbitGraph(mesh, ob.groups.Symmetric(2), 0.6)
    on_mesh = A.UCBN(orbits, horizon=10, seed=0)
    on_mesh.tell(0, 1.0)
    np.testing.assert_array_equal(np.flatnonzero(on_mesh.counts()), orbits.neighbors(0))


def test_ucbn_observes_a_reward_of_its_own_for_each_neighbor():
    agent = A.UCBN(networkx.path_graph(4), horizon=100, seed=0, reward_range=(0, 10))
    agent.tell(1, 10.0, side={0: 2.0, 2: 5.0})
    np.testing.assert_allclose(agent.means()[:3], [2.0, 10.0, 5.0])
    np.testing.assert_array_equal(agent.counts(), [1, 1, 1, 0])
    for bad in (
        {0: 2.0},
        {0: 2.0, 2: 5.0, 3: 1.0},
        {0: 2.0, 2: 50.0},
        {0: 2.0, 2: np.nan},
        [2.0, 5.0],
        {0: 1.0, 9: 1.0},
    ):
        with pytest.raises((InputError, InputTypeError)):
            agent.tell(1, 5.0, side=bad)
    np.testing.assert_array_equal(agent.counts(), [1, 1, 1, 0])
    assert agent.rounds == 1


@pytest.mark.parametrize(
    "graph",
    [
        graph_of(("a", "b")),
        graph_of((1, 2)),
        graph_of(),
        ([0, 1], [5]),
        ([0, 2], [0]),
        ([1, 1], [0]),
        ([0, 1, 0], []),
        ([0, 0.5], [0]),
        ([0], []),
        ([[0, 1]], [0]),
        (1, 2),
        7,
        "graph",
        (np.nan, [0]),
    ],
)
def test_ucbn_refuses_what_is_no_graph(graph):
    with pytest.raises((InputError, InputTypeError)):
        A.UCBN(graph, horizon=10)


@pytest.mark.parametrize("size", [0, -1, 2.5, "3", None, True])
def test_a_number_of_arms_is_a_count(size):
    with pytest.raises((InputError, InputTypeError), match="n_arms"):
        A.UCB1(size, horizon=10)


def test_ucbn_reads_any_sparse_matrix_by_rows():
    matrix = csr_array(np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]]))
    for form in (matrix, matrix.tocsc(), matrix.tocoo()):
        agent = A.UCBN(form, horizon=10, seed=0)
        agent.tell(0, 1.0)
        np.testing.assert_array_equal(agent.counts(), [1, 1, 1])
    stored_zero = csr_array((np.array([0.0]), np.array([1]), np.array([0, 1, 1])), shape=(2, 2))
    agent = A.UCBN(stored_zero, horizon=10, seed=0)
    agent.tell(0, 1.0)
    np.testing.assert_array_equal(agent.counts(), [1, 0])
    with pytest.raises(InputError, match="square"):
        A.UCBN(csr_array(np.ones((2, 3))), horizon=10)


def test_orbits_cannot_be_written_to():
    agent = A.OrbitUCB1(4, [[1, 0, 2, 3]], horizon=10, seed=0)
    with pytest.raises(ValueError, match="read-only"):
        agent.representatives[0] = 3
    assert A.OrbitUCB1(3, [], horizon=10, seed=0).n_arms == 3
    with pytest.raises(InputError):
        A.OrbitUCB1(3, [[]], horizon=10, seed=0)
