"""The geometry of pictures: bodies, domains and orbits as they are."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import orbandit as ob
from cases import G, S
from orbandit.reports.scenes import PlanarScene, SolidScene, scene_of

P = ob.problems

FLAT = [
    P.Cone(S.Ball(2), G.Dihedral(5), peak=[0.3, 0.5]),
    P.Cone(S.Box(0, 1, dim=2), G.Symmetric(2), peak=[0.9, 0.3]),
    P.Cone(S.Polytope.regular("polygon-6"), G.Cyclic(3), peak=[0.4, 0.1]),
    P.Cone(S.Simplex(3), G.Symmetric(3), peak=[0.6, 0.3, 0.1]),
]
SOLID = [
    (P.Cone(S.Box(0, 1, dim=3), G.Symmetric(3), peak=[0.9, 0.2, 0.4]), 12, 6),
    (P.Cone(S.Polytope.regular("icosahedron"), G.Coxeter("H3"), peak=[0.3, 0.2, 0.4]), 30, 6),
    (P.Cone(S.Ball(3), G.SignFlips(3), peak=[0.3, 0.2, 0.4]), 0, None),
]


@pytest.mark.parametrize("problem", FLAT, ids=lambda problem: repr(problem.space))
def test_planar_scenes(problem):
    scene = scene_of(problem)
    assert isinstance(scene, PlanarScene)
    assert ConvexHull(scene.outline).volume == pytest.approx(problem.space.volume, rel=1e-3)
    assert ConvexHull(scene.cell).volume == pytest.approx(problem.space.volume / problem.group.order, rel=1e-3)
    lifted = scene.plane.lift(scene.orbit)
    np.testing.assert_allclose(problem.mean(lifted), problem.optimum)
    assert len(lifted) == problem.group.order
    np.testing.assert_allclose(scene.plane.lay(lifted), scene.orbit, atol=1e-12)
    i, j = 70, 50
    place = scene.plane.lift(np.array([[scene.x[j], scene.y[i]]]))
    if problem.space.contains(place[0]):
        assert scene.mean[i, j] == pytest.approx(problem.mean(place)[0])
    share = np.isfinite(scene.mean).mean() * np.prod(np.ptp(scene.outline, axis=0))
    assert share == pytest.approx(problem.space.volume, rel=0.05)


@pytest.mark.parametrize(
    ("problem", "edges", "cell_edges"), SOLID, ids=lambda value: repr(getattr(value, "space", value))
)
def test_solid_scenes(problem, edges, cell_edges):
    scene = scene_of(problem)
    assert isinstance(scene, SolidScene)
    assert len(scene.body.edges) == edges
    assert ConvexHull(scene.body.corners).volume == pytest.approx(problem.space.volume, rel=1e-2)
    assert ConvexHull(scene.cell.corners).volume == pytest.approx(problem.space.volume / problem.group.order, rel=1e-2)
    if cell_edges is not None:
        assert len(scene.cell.edges) == cell_edges
    assert problem.group.domain().contains(scene.cell.corners, tol=1e-6).all()
    np.testing.assert_allclose(problem.mean(scene.orbit), problem.optimum)
    on_surface = problem.space.project(scene.body.corners)
    np.testing.assert_allclose(scene.mean, problem.mean(on_surface))
    sides = scene.body.corners[scene.body.triangles]
    area = np.linalg.norm(np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0]), axis=1).sum() / 2
    # triangles cover it once
    assert area == pytest.approx(ConvexHull(scene.body.corners).area, rel=1e-6)


def test_what_has_no_picture():
    assert scene_of(P.Cone(S.Box(0, 1, dim=4), G.Symmetric(4), peak=[0.9, 0.2, 0.4, 0.6])) is None
    assert scene_of(P.Cone(S.Box(0, 1, dim=1), None, peak=[0.9])) is None
    alone = scene_of(P.Cone(S.Ball(2), None, peak=[0.3, 0.5]))
    assert alone.cell.shape == (0, 2)
    np.testing.assert_allclose(alone.orbit, [[0.3, 0.5]])
    assert scene_of(P.Cone(S.Ball(3), None, peak=[0.3, 0.5, 0.1])).cell is None
    # a circle of images, no domain of faces
    curved = scene_of(P.Cone(S.Ball(2), G.Orthogonal(2, 1), peak=[0.3, 0.5]))
    assert len(curved.cell) == 0
    assert len(curved.orbit) == 1
