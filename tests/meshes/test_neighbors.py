"""N(x, eps), the graph and its cliques against brute force over all elements."""

import networkx
import numpy as np
import pytest

import naive
import orbandit as ob
from cases import FINITE, INFINITE, LARGE, G, S, delicate_points
from orbandit.errors import InputError, InputTypeError, MeshTooLargeError, MissingExtraError

M = ob.meshes

PLACES = {**FINITE, **INFINITE}


def lattice_mesh(dim, size, seed):
    """A mesh whose distances tie again and again: points with coordinates in steps of 1/4."""
    rng = np.random.default_rng(seed)
    return M.Mesh(np.unique(rng.integers(-4, 5, (size, dim)) / 4, axis=0), 0.25)


def brute_force(group, mesh, points, radius):
    distances = naive.orbit_distances(group.elements(), points - group.center, mesh.points - group.center)
    return [np.flatnonzero(row <= radius * (1 + 1e-9) + 1e-12) for row in distances]


@pytest.mark.parametrize("name", FINITE)
@pytest.mark.parametrize("radius", [0.25, 0.5, 0.9])
def test_neighbors_are_those_of_brute_force(name, radius):
    group = FINITE[name]()
    mesh = lattice_mesh(group.dim, 60, seed=0)
    queries = np.vstack([mesh.points[:10], delicate_points(group, 8, seed=1)])
    found = M.orbit_neighbors(mesh, group, queries, radius)
    for one, expected in zip(found, brute_force(group, mesh, queries, radius), strict=True):
        np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("name", [*INFINITE, *LARGE])
def test_neighbors_under_large_groups_are_those_of_the_orbit_metric(name):
    group = {**INFINITE, **LARGE}[name]()
    mesh = lattice_mesh(group.dim, 40, seed=2)
    queries = mesh.points[:6] + 0.01
    radius = float(np.median(group.distance(queries, mesh.points)))
    found = M.orbit_neighbors(mesh, group, queries, radius)
    expected = group.distance(queries, mesh.points) <= radius * (1 + 1e-9)
    assert [one.tolist() for one in found] == [np.flatnonzero(row).tolist() for row in expected]


@pytest.mark.parametrize("name", [name for name in FINITE if FINITE[name]().order > 1])
def test_graph_is_that_of_brute_force(name):
    group = FINITE[name]()
    mesh = lattice_mesh(group.dim, 50, seed=3)
    graph = M.OrbitGraph(mesh, group, 0.5)
    for vertex, expected in enumerate(brute_force(group, mesh, mesh.points, 0.5)):
        np.testing.assert_array_equal(graph.neighbors(vertex), expected)


@pytest.mark.parametrize("name", ["S4", "C5", "blocks 3x2", "farm 3 D4", "Coxeter H3", "O(2) on 2", "joint with O(2)"])
def test_graph_is_symmetric_and_its_cliques_partition_it(name):
    group = PLACES[name]()
    mesh = lattice_mesh(group.dim, 80, seed=4)
    graph = M.OrbitGraph(mesh, group, 0.6)
    matrix = np.zeros((len(mesh), len(mesh)), dtype=bool)
    for vertex in range(len(graph)):
        matrix[vertex, graph.neighbors(vertex)] = True
    assert matrix.diagonal().all()
    np.testing.assert_array_equal(matrix, matrix.T)

    cliques = graph.clique_cover()
    assert sorted(np.concatenate(cliques).tolist()) == list(range(len(mesh)))
    for clique in cliques:
        assert matrix[np.ix_(clique, clique)].all()
    assert len(cliques) <= len(mesh)

    independent = graph.independent_set()
    assert matrix[np.ix_(independent, independent)].sum() == len(independent)
    assert matrix[:, independent].any(axis=1).all()  # no vertex could join

    other = graph.to_networkx()
    assert other.number_of_nodes() == len(mesh)
    edges = networkx.to_numpy_array(other, nodelist=range(len(mesh))) > 0
    np.testing.assert_array_equal(edges, matrix & ~np.eye(len(mesh), dtype=bool))


@pytest.mark.parametrize(
    ("space", "group"),
    [
        (S.Box(-1, 1, dim=2), G.Symmetric(2)),
        (S.Box(-1, 1, dim=2), G.Dihedral(4)),
        (S.Box(-1, 1, dim=3), G.SignedPermutation(3)),
        (S.Box(-1, 1, dim=3), G.CyclicShift(3)),
        (S.Box(-1, 1, dim=4), G.BlockPermutation(2, 2)),
    ],
    ids=repr,
)
def test_on_an_invariant_mesh_the_folded_graph_is_the_quotient_of_the_full_one(space, group):
    axis = np.linspace(-1, 1, 5 if space.dim < 4 else 3)
    full = M.Mesh(np.stack(np.meshgrid(*[axis] * space.dim, indexing="ij"), axis=-1).reshape(-1, space.dim), 0.5)
    folds = group.fold(full.points)
    representatives, orbit = np.unique(folds.round(9) + 0.0, axis=0, return_inverse=True)
    quotient = M.Mesh(representatives, 0.5)
    whole, small = M.OrbitGraph(full, group, 0.8), M.OrbitGraph(quotient, group, 0.8)
    for vertex in range(len(full)):
        below = np.unique(orbit.ravel()[whole.neighbors(vertex)])
        np.testing.assert_array_equal(below, small.neighbors(orbit.ravel()[vertex]))
        # and N is a union of orbits: whatever lies over a neighbour is a neighbour.
        np.testing.assert_array_equal(np.flatnonzero(np.isin(orbit.ravel(), below)), whole.neighbors(vertex))


def test_the_clique_cover_of_lemma_2_is_about_as_large_as_a_quotient_net():
    # Prop. 4 with radius 2 delta: as many cliques as representatives needed at scale delta, up to a
    # constant.
    space, group, delta = S.Box(0, 1, dim=3), G.Symmetric(3), 0.1
    graph = M.OrbitGraph(M.net(space, delta), group, 2 * delta)
    assert len(graph.clique_cover()) <= 2 * len(M.quotient_net(space, group, delta))
    assert len(graph.independent_set()) <= len(graph.clique_cover())


def test_queries_from_far_away_and_degenerate_meshes():
    # no extent along the first axis, and one point twice
    line = M.Mesh([[0.0, 1.0], [0.0, 2.0], [0.0, 2.0]], 1.0)
    assert M.orbit_neighbors(line, None, [1e300, 1e300], 1.0).tolist() == []
    assert M.orbit_neighbors(line, None, [0.0, -1e300], 1.0).tolist() == []
    assert M.orbit_neighbors(line, None, [0.5, 1.9], 0.6).tolist() == [1, 2]
    assert M.orbit_neighbors(line, None, [0.0, 0.0], 1e200).tolist() == [0, 1, 2]
    assert M.orbit_neighbors(M.Mesh([[3.0]], 1.0), None, [3.0], 0.0).tolist() == [0]


@pytest.mark.parametrize("group", [None, G.Symmetric(2), G.Cyclic(4).centered([5.0, 5.0]), G.BlockPermutation(2, 1)])
def test_radius_zero_finds_the_vertex_itself(group):
    mesh = M.net(S.Box(0, 10, dim=2), 1.0)
    graph = M.OrbitGraph(mesh, group, 0.0)
    assert all(vertex in graph.neighbors(vertex) for vertex in range(len(mesh)))
    assert sorted(np.concatenate(graph.clique_cover()).tolist()) == list(range(len(mesh)))


def test_no_group_means_no_symmetry():
    mesh = lattice_mesh(2, 40, seed=5)
    plain = M.OrbitGraph(mesh, None, 0.3)
    trivial = M.OrbitGraph(mesh, G.Trivial(2), 0.3)
    np.testing.assert_array_equal(plain.indices, trivial.indices)
    np.testing.assert_array_equal(plain.indptr, trivial.indptr)


def test_single_queries_and_borders():
    mesh = M.Mesh([[0.0, 0.0], [0.3, 0.0], [0.0, 0.1 + 0.2]], 0.1)
    np.testing.assert_array_equal(M.orbit_neighbors(mesh, None, [0.0, 0.0], 0.3), [0, 1, 2])
    assert M.orbit_neighbors(mesh, None, [5.0, 5.0], 0.3).tolist() == []
    assert M.orbit_neighbors(mesh, None, np.empty((0, 2)), 0.3) == []
    assert [one.tolist() for one in M.orbit_neighbors(mesh, G.Symmetric(2), [[0.0, 0.3]], 0.0)] == [[1, 2]]


def test_a_graph_that_would_not_fit_says_how_large_it_would_be():
    mesh = M.net(S.Box(0, 1, dim=2), 0.02)
    with pytest.raises(MeshTooLargeError, match=r"would list about [\d,]+ neighbours .* quotient mesh"):
        M.OrbitGraph(mesh, G.Symmetric(2), 0.2, limit=10_000)
    size = len(M.OrbitGraph(mesh, G.Symmetric(2), 0.2).indices)
    message = ""
    try:
        M.OrbitGraph(mesh, G.Symmetric(2), 0.2, limit=10_000)
    except MeshTooLargeError as error:
        message = str(error)
    disk, turns = M.net(S.Ball(2), 0.03), G.Cyclic(360)
    # images overlap here: each neighbour counts once
    listed = len(M.OrbitGraph(disk, turns, 0.06).indices)
    assert len(M.OrbitGraph(disk, turns, 0.06, limit=2 * listed).indices) == listed
    about = int(message.split("about ")[1].split(" ")[0].replace(",", ""))
    assert about == pytest.approx(size, rel=0.1)


def test_bad_input_is_refused(monkeypatch):
    mesh = lattice_mesh(2, 10, seed=6)
    for call in (lambda r: M.orbit_neighbors(mesh, None, [0.0, 0.0], r), lambda r: M.OrbitGraph(mesh, None, r)):
        with pytest.raises(InputError, match="`radius >= 0`"):
            call(-0.1)
        with pytest.raises(InputError, match="finite"):
            call(np.nan)
    with pytest.raises(InputError, match="acts in dimension 3"):
        M.OrbitGraph(mesh, G.Symmetric(3), 0.1)
    with pytest.raises(InputTypeError, match="must be a Mesh"):
        M.OrbitGraph(mesh.points, None, 0.1)
    with pytest.raises(InputTypeError, match="must be a Mesh"):
        M.orbit_neighbors(mesh.points, None, [0.0, 0.0], 0.1)
    with pytest.raises(InputTypeError, match="real numbers"):
        M.OrbitGraph(mesh, None, "0.4")
    graph = M.OrbitGraph(mesh, None, 0.1)
    with pytest.raises(InputError, match="vertex"):
        graph.neighbors(-1)
    with pytest.raises(InputError, match="vertex"):
        graph.neighbors(len(mesh))
    with pytest.raises(InputTypeError, match="or None"):
        M.OrbitGraph(mesh, "S2", 0.1)
    with pytest.raises(InputError, match="shape"):
        M.orbit_neighbors(mesh, None, [0.0], 0.1)
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(MissingExtraError, match="networkx"):
        M.OrbitGraph(mesh, None, 0.1).to_networkx()
