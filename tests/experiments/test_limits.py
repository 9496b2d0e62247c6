"""Limits: c and the loss of a mesh as the theory has them, for agents that play one mesh only."""

import pickle
from functools import partial

import numpy as np
import pytest

import orbandit as ob
from orbandit.experiments import limits
from orbandit.experiments.limits import limit_of_task, limit_on
from orbandit.experiments.running import play, run
from orbandit.experiments.spec import read
from orbandit.experiments.store import Store

A = ob.agents
DISK, D5 = ob.spaces.Ball(2), ob.groups.Dihedral(5)
CONE = ob.problems.Cone(DISK, D5, peak=[0.3, 0.4])

FILE = """
horizons = [50, 300]
seeds = 2
[[problem]]
class = "Cone"
space = { class = "Ball", dim = 2 }
group = { class = "Dihedral", m = 5 }
peak = [0.3, 0.4]
[[agent]]
class = "UniformMesh"
group = [true, false]
[[agent]]
class = "Zooming"
"""


def with_noise(noise):
    """Return the cone with rewards of another kind."""
    return ob.problems.Function(CONE.mean, DISK, D5, optimizer=[0.3, 0.4], lipschitz=1.0, noise=noise)


def rounded(limit):
    return None if limit is None else tuple(value and round(value, 9) for value in limit)


@pytest.mark.parametrize("agent", [A.UniformMesh, A.UniformMeshN, A.SideObservationElimination, A.CKLUCB])
@pytest.mark.parametrize("use_group", [True, False])
def test_agents_on_a_mesh_tell_which(agent, use_group):
    runs = ob.simulate(agent, CONE, 40, seeds=2, use_group=use_group)
    made = agent(DISK, D5 if use_group else None, horizon=40)
    assert {tuple(point) for point in runs.mesh.points} == {tuple(point) for point in made.mesh.points + 0.0}
    assert runs.mesh.group == (D5 if use_group else None)
    full = ob.simulate(A.UniformMeshN, CONE, 40, seeds=1, mesh="full")
    assert full.mesh.group == D5  # whose arms share rewards along orbits


@pytest.mark.parametrize(
    "agent",
    [
        A.Zooming,
        A.HOO,
        A.OrbitTree,
        A.StoSOO,
        partial(A.UniformMesh, horizon=None),
        lambda *given, **told: A.OrbitTree(*given, **told),
    ],
)
def test_others_have_no_mesh(agent):
    assert ob.simulate(agent, CONE, 40, seeds=1).mesh is None


def test_a_mesh_that_is_given_stays_without_a_horizon():
    mesh = ob.meshes.quotient_net(DISK, D5, 0.4)
    runs = ob.simulate(partial(A.UniformMesh, horizon=None, mesh=mesh), CONE, 40, seeds=1)
    assert len(runs.mesh) == len(mesh)
    assert len(pickle.loads(pickle.dumps(runs)).mesh) == len(mesh)


@pytest.mark.parametrize("noise", [ob.problems.Bernoulli(), ob.problems.ClippedGaussian(0.2)])
@pytest.mark.parametrize("group", [D5, None])
def test_it_is_what_the_theory_says(noise, group):
    cone = with_noise(noise)
    mesh = ob.meshes.quotient_net(DISK, group, 0.3) if group else ob.meshes.net(DISK, 0.3)
    limit = limit_on(cone, mesh)
    assert limit.arms == len(mesh)
    assert limit.constant == ob.theory.instance_limit(cone, mesh)
    assert limit.loss == pytest.approx(0.95 - np.max(cone.mean(mesh.points)))
    assert limit.regret([7])[0] == pytest.approx(7 * limit.loss + limit.constant * np.log(7))
    if group is None:
        assert limit.without_group is None
        return
    images = np.unique(np.concatenate([D5.orbit(point) for point in mesh.points]).round(12), axis=0)
    every = ob.theory.instance_limit(cone, ob.meshes.Mesh(images, 0.3))
    assert limit.without_group == pytest.approx(every, rel=1e-6)
    assert 1 <= limit.without_group / limit.constant <= 10


def test_there_is_none_where_there_is_no_limit(monkeypatch):
    mesh = ob.meshes.quotient_net(DISK, D5, 0.3)
    steep = ob.problems.Function(lambda x: np.abs(x[:, 0]), DISK, lipschitz=0.1, optimizer=[1.0, 0.0])
    assert limit_on(with_noise(ob.problems.Uniform(0.1)), mesh) is None
    assert limit_on(steep, ob.meshes.net(DISK, 0.3)) is None
    monkeypatch.setattr(limits, "MAX_ARMS", len(mesh))
    few = limit_on(CONE, mesh)
    assert few.without_group is None  # ten times as many images
    monkeypatch.setattr(limits, "MAX_ARMS", len(mesh) - 1)
    assert limit_on(CONE, mesh) is None


def test_runs_keep_it(tmp_path, monkeypatch):
    file, path, computed = tmp_path / "disk.toml", tmp_path / "disk.db", []
    file.write_text(FILE)
    limits._known.clear()
    monkeypatch.setattr(limits, "limit_on", lambda *given: computed.append(given) or limit_on(*given))
    experiment = read(file)
    run(experiment, path, jobs=1)
    assert len(computed) == 4  # once for each agent and horizon, not for each seed
    with Store.open(path, write=False) as store:
        stored = {(one.agent, one.horizon, one.seed): one.limit for one in store.runs()}
    assert len(stored) == 12
    for (agent, horizon, _), limit in stored.items():
        told = {"horizon": horizon, "lipschitz": 1.0}
        mesh = A.UniformMesh(DISK, None if "without" in agent else D5, **told).arms.numbered
        expected = None if agent == "Zooming" else limit_on(CONE, mesh)
        assert rounded(limit) == rounded(expected)
    (task, *_) = (task for task in experiment.tasks() if task.agent == "Zooming")
    assert limit_of_task(task, CONE, None) is None
    assert play(task).limit is None
