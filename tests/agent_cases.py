"""Agents that the tests of the protocol run over: each maker takes (horizon, seed) and settings."""

from functools import lru_cache

import networkx
import numpy as np

import orbandit as ob
from orbandit.agents.ledger import ELSEWHERE
from orbandit.experiments.compiled import Shared, Simulable, Simulation

A, G, S = ob.agents, ob.groups, ob.spaces

CUBE = S.Box(0.0, 1.0, dim=3)
SQUARE = S.Box(0.0, 1.0, dim=2)
S3 = G.Symmetric(3)
RING = networkx.cycle_graph(7)
RANDOM_MESH = ob.meshes.Mesh(np.random.default_rng(0).random((150, 3)), 0.15)


def on(kind, space, group=None, **fixed):
    return lambda **settings: kind(space, group, **{**fixed, **settings})


AGENTS = {
    "UCB1": lambda **s: A.UCB1(9, **s),
    "OrbitUCB1": lambda **s: A.OrbitUCB1(8, [[1, 2, 0, 3, 5, 4, 6, 7]], **s),
    "UCBN": lambda **s: A.UCBN(RING, **s),
    "UniformMesh": on(A.UniformMesh, SQUARE),
    "UniformMesh S3": on(A.UniformMesh, CUBE, S3),
    "UniformMesh shift": on(A.UniformMesh, CUBE, G.CyclicShift(3)),
    "UniformMesh own mesh": on(A.UniformMesh, CUBE, S3, mesh=RANDOM_MESH),
    "UniformMesh O(2)": on(A.UniformMesh, S.Ball(4), G.Orthogonal(2, 2), delta="measured"),
    "UniformMeshN": on(A.UniformMeshN, SQUARE),
    "UniformMeshN S3": on(A.UniformMeshN, CUBE, S3),
    "UniformMeshN full": on(A.UniformMeshN, CUBE, S3, mesh="full"),
    "UniformMeshN tree": on(A.UniformMeshN, SQUARE, G.Symmetric(2), mesh="tree"),
    "UniformMeshN own mesh": on(A.UniformMeshN, CUBE, S3, mesh=RANDOM_MESH),
    "UniformMeshN simplex": on(A.UniformMeshN, S.Simplex(3), S3, delta=0.05),
    "UniformMeshN turbines": on(
        A.UniformMeshN, S.Product(S.Ball(2), S.Ball(2)), G.BlockPermutation(2, 2), delta="measured"
    ),
    "Zooming": on(A.Zooming, SQUARE),
    "Zooming S3": on(A.Zooming, CUBE, S3),
    "Zooming own mesh": on(A.Zooming, CUBE, G.CyclicShift(3), mesh=RANDOM_MESH),
    "Zooming simplex": on(A.Zooming, S.Simplex(3), S3),
    "CKLUCB": on(A.CKLUCB, SQUARE, delta=0.15),
    "CKLUCB shift": on(A.CKLUCB, CUBE, G.CyclicShift(3), delta="measured"),
    "HOO": on(A.HOO, SQUARE),
    "HOO S3": on(A.HOO, CUBE, S3),
    "HOO simplex": on(A.HOO, S.Simplex(3), S3, nu=2.0, rho=0.8),
    "HOO turbines": on(A.HOO, S.Product(S.Ball(2), S.Ball(2)), G.BlockPermutation(2, 2)),
    "HCT": on(A.HCT, SQUARE, c=0.1),
    "HCT S3": on(A.HCT, CUBE, S3, c=0.1),
    "VHCT": on(A.VHCT, SQUARE, c=0.1),
    "VHCT simplex": on(A.VHCT, S.Simplex(3), S3, nu=1.0, rho=0.8, c=0.1, delta=0.1),
    "StoSOO": on(A.StoSOO, SQUARE),
    "StoSOO S3": on(A.StoSOO, CUBE, S3),
    "SequOOL": on(A.SequOOL, SQUARE),
    "SequOOL S3": on(A.SequOOL, CUBE, S3),
    "StroquOOL": on(A.StroquOOL, SQUARE),
    "StroquOOL simplex": on(A.StroquOOL, S.Simplex(3), S3),
    "VROOM": on(A.VROOM, SQUARE),
    "VROOM S3": on(A.VROOM, CUBE, S3),
    "POO": on(A.POO, SQUARE),
    "POO S3": on(A.POO, CUBE, S3, nu=0.3, rho_max=0.4),
    "GPO": on(A.GPO, SQUARE, rho_max=0.7),
    "GPO S3": on(A.GPO, CUBE, S3, base="HCT", nu=0.3, rho_max=0.5),
    "OrbitTree": on(A.OrbitTree, SQUARE),
    "OrbitTree S3": on(A.OrbitTree, CUBE, S3),
    "OrbitTree unknown": on(A.OrbitTree, CUBE, G.CyclicShift(3), lipschitz=None),
    "OrbitTree theory": on(A.OrbitTree, CUBE, S3, lipschitz=1.0, guarantee="theory"),
    "OrbitTree simplex": on(A.OrbitTree, S.Simplex(3), S3),
    "OrbitTree turbines": on(A.OrbitTree, S.Product(S.Ball(2), S.Ball(2)), G.BlockPermutation(2, 2)),
    "OrbitTree shared points": on(A.OrbitTree, S.Simplex(4), lipschitz=5.0),
    "HOO shared points": on(A.HOO, S.Simplex(4), lipschitz=5.0),
    "OrbitTree O(2)": on(A.OrbitTree, S.Ball(4), G.Orthogonal(2, 2)),
    "OrbitGP": on(A.OrbitGP, SQUARE, candidates=32),
    "OrbitGP S3": on(A.OrbitGP, CUBE, S3, noise=0.4, candidates=32),
    "OrbitGP shift": on(A.OrbitGP, CUBE, G.CyclicShift(3), lipschitz=None, kernel="matern52", candidates=32),
    "OrbitGP thompson": on(A.OrbitGP, S.Simplex(3), S3, acquisition="thompson", candidates=32),
    "OrbitGP turbines": on(
        A.OrbitGP, S.Product(S.Ball(2), S.Ball(2)), G.BlockPermutation(2, 2), lipschitz=1.0, candidates=32
    ),
    "elimination": on(A.SideObservationElimination, S.Box(0.0, 1.0, dim=1)),
    "elimination S2": on(A.SideObservationElimination, SQUARE, G.Symmetric(2)),
}


PAIRS = [
    (name, horizon)
    for i, name in enumerate(AGENTS)
    for horizon in (3000, None)
    if " " not in name or (i % 2 == 0) == (horizon is None)
]
"""Agents with horizons: both for one agent of each kind, one in turn for the same kind on other
spaces and groups."""

OTHER = {
    "UniformMesh shift",
    "UniformMesh O(2)",
    "UniformMeshN tree",
    "UniformMeshN own mesh",
    "HOO simplex",
    "GPO S3",
    "OrbitTree unknown",
    "OrbitTree theory",
    "OrbitTree turbines",
    "OrbitTree shared points",
    "OrbitGP S3",
    "OrbitGP thompson",
}
SOME = [name for name in AGENTS if " " not in name or name in OTHER]
SOME_PAIRS = [(name, horizon) for name, horizon in PAIRS if name in SOME]
"""Every agent once, and with one agent or another every kind of space, of group, of mesh and of
setting: for what the shell and the algorithm do, wherever the points lie."""


TREES = (A.HOO, A.HCT, A.VHCT, A.StoSOO, A.SequOOL, A.StroquOOL, A.VROOM, A.POO, A.GPO, A.OrbitTree)
"""Agents on cells, whose `_stats` begin with sums, counts and pending observations."""


def is_listed(agent):
    return agent.space is None


def is_tree(agent):
    return isinstance(agent, TREES)


def has_no_table(agent):
    return is_tree(agent) or isinstance(agent, A.OrbitGP)


def fewer(name, rounds):
    """As many rounds as tests have time for."""
    return min(rounds, 30) if name.startswith("OrbitGP") else rounds


def any_points(agent, size, seed):
    """Points of the agent's space that it need not have asked for."""
    if is_listed(agent):
        limit = len(agent.orbits) if hasattr(agent, "orbits") else agent.n_arms
        return np.random.default_rng(seed).integers(limit, size=size).tolist()
    return list(agent.space.sample(size, seed))


def mean_at(agent, point):
    """A mean reward in (0, 1) that is invariant and far from flat."""
    if is_listed(agent):
        return 0.9 - 0.1 * (agent.orbits[point] if hasattr(agent, "orbits") else abs(point - 5) % 7)
    return float(means_at(agent, np.array(point)[None])[0])


def means_at(agent, points):
    """The means of many points, or of arms."""
    if is_listed(agent):
        return np.array([mean_at(agent, point) for point in points])
    group = agent.group or G.Trivial(agent.space.dim)
    return np.maximum(0.05, 0.9 - np.asarray(group.distance(np.array(points), peak_in(agent.space))))


@lru_cache
def peak_in(space):
    low, high = space.bounds
    return space.project(low + (high - low) * np.linspace(0.8, 0.25, space.dim))


def state(agent):
    """Everything an agent knows, for comparisons bit for bit, with what it would play next worked out."""
    agent.settle()
    following = agent.arms.point(agent._choose()) if isinstance(agent, A.OrbitGP) else agent._choose()
    _, (_, settings, scalars, _, arrays) = agent.__reduce__()
    stream = repr(agent._rng.bit_generator.state)
    frozen = {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}
    return repr(settings), scalars, frozen, stream, agent.rounds, agent._goal, repr(following)


def stats(agent):
    """The sums, counts and pending observations of arms or cells."""
    if isinstance(agent, A.OrbitGP):
        model = agent._believed()
        told = agent._model.rewards
        pending = model.posterior.counts.copy()
        pending[: len(told)] -= told.counts
        sums, counts = np.zeros(len(pending)), np.zeros(len(pending))
        sums[: len(told)], counts[: len(told)] = told.counts * told.means, told.counts
        return np.column_stack([sums, counts, pending])
    return (agent._stats if is_tree(agent) else agent.arms.table.stats)[:, :3]


def lists_of(agent):
    """Who learns from each arm of an agent with a table, if that are others, too."""
    return agent._lists if isinstance(agent, A.UCBN) else None if is_listed(agent) else agent.arms.learners.lists


def nearest(agent, point):
    """The number of the arm nearest to a point, or of an arm by its name."""
    return agent.arms.handle(point) if is_listed(agent) else agent.arms.nearest(point)


def learners_of(agent, point):
    """The arms that learn from a reward of a point."""
    if not is_listed(agent):
        return agent.arms.learning(ELSEWHERE, point)
    arm = agent.arms.handle(point)
    return np.array([arm]) if lists_of(agent) is None else lists_of(agent).of(arm)


def rounds_of(agent, mean, draws, keep=()):
    """Play rounds by the compiled loop, if there is one; return the means of all points, and some points."""
    if isinstance(agent, Simulable | Shared):
        return Simulation(agent, mean).play(draws, keep)
    points = []
    for draw in draws:
        points.append(agent.ask())
        agent.tell(points[-1], float(draw < mean(points[-1][None])[0]))
    return mean(np.array(points)), [points[i] for i in keep]


def summary(agent):
    """What is known of arms, or of all cells together."""
    if isinstance(agent, A.HOO):
        return stats(agent)[:1]
    if isinstance(agent, A.VROOM):  # a reward is for all cells about a point, or from some depth on
        return stats(agent)[agent.arms.cells.depths == agent.depth].sum(axis=0)
    if isinstance(agent, A.POO | A.GPO):
        checks = sum(np.array([total, count, 0.0]) for _, total, count in agent.arms.checks.values())
        return checks + sum(summary(base).reshape(3) for base in agent.arms.bases)
    return stats(agent).sum(axis=0) if has_no_table(agent) else np.column_stack([agent.counts(), agent.means()])


def a_pending(agent):
    """The point of a pending ask."""
    key, handles = agent._ledger.pending.copy().popitem()
    return np.frombuffer(key) if isinstance(key, bytes) else agent.arms.point(handles[0])


def last_ask(agent):
    """The ask that is not settled yet; `state` settles it."""
    return agent._ledger.last


def play(agent, rounds, seed, low=0.0, high=1.0):
    """Ask and tell Bernoulli rewards, and return the points played."""
    rng = np.random.default_rng(seed)
    points = []
    for _ in range(rounds):
        point = agent.ask()
        agent.tell(point, low + (high - low) * float(rng.random() < mean_at(agent, point)))
        points.append(point)
    return np.array(points)
