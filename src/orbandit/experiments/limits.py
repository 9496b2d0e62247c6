"""Limits: the asymptotic regret of an agent on the mesh that it plays, kept beside its runs.

Let mu* be the best mean on the mesh, f* the optimum, and c the constant of Graves and Lai for that
mesh (`theory.instance_limit`). An agent that is consistent on this mesh has regret against f* of at
least

    n (f* - mu*) + c log n (1 + o(1)).

It is computed once for a problem, an agent and a horizon: some 10 ms up to 200 arms, and 0.2 s at
1,000. With a group, c is smaller by up to its order than without it on the images of the same
points, and that second constant is computed, too, if they are few enough.
"""

import numpy as np

from orbandit.errors import OrbanditError
from orbandit.experiments.finished import Limit, run_key
from orbandit.experiments.tasks import Task
from orbandit.meshes import Mesh
from orbandit.problems import Bernoulli, ClippedGaussian, Problem
from orbandit.theory.instance import MAX_WHOLE, instance_limit

MAX_ARMS = MAX_WHOLE
"""Most arms of a mesh whose limit is computed: up to so many it is exact."""

_known: dict[str, Limit | None] = {}
"""Limits of tasks that this process has played, by all that determines them."""


def limit_of_task(task: Task, problem: Problem, mesh: Mesh | None) -> Limit | None:
    """Return the limit of the runs that differ from a task in their seeds only; None if it has none."""
    if mesh is None:
        return None
    key = run_key({name: value for name, value in task.parameters.items() if name != "seed"})
    if key not in _known:
        _known[key] = limit_on(problem, mesh)
    return _known[key]


def limit_on(problem: Problem, mesh: Mesh) -> Limit | None:
    """Return the limit of a problem on a mesh; None if there is none, or it takes too long.

    There is one if rewards are Bernoulli or Gaussian and means are Lipschitz with the constant that
    the problem states.

    Examples
    --------
    >>> import orbandit as ob
    >>> square, swap = ob.spaces.Box(0, 1, dim=2), ob.groups.Symmetric(2)
    >>> cone = ob.problems.Cone(square, swap, peak=[0.83, 0.31])
    >>> limit = limit_on(cone, ob.meshes.quotient_net(square, swap, 0.2))
    >>> limit.arms, round(limit.constant, 2), round(limit.without_group, 2), round(limit.loss, 3)
    (10, 10.27, 17.31, 0.079)
    """
    noise = problem.noise if isinstance(problem, Problem) else None
    if len(mesh) > MAX_ARMS or not isinstance(noise, Bernoulli | ClippedGaussian):
        return None
    try:
        constant, images = instance_limit(problem, mesh), _images(mesh)
        without = None if images is None else instance_limit(problem, images)
    except OrbanditError:  # means are steeper than stated, or without a constant: no play fails by it
        return None
    loss = float(problem.optimum) - float(np.max(problem.mean(mesh.points)))
    return Limit(len(mesh), max(loss, 0.0), constant, without)


def _images(mesh: Mesh) -> Mesh | None:
    """Return all images of a mesh under its group; None without a group, or if they are too many."""
    if mesh.group is None or mesh.group.order == 1:
        return None
    found: list[np.ndarray] = []
    for point in mesh.points if mesh.group.order < np.inf else ():
        found.append(mesh.group.orbit(point))
        if sum(map(len, found)) > MAX_ARMS:
            return None
    return Mesh(np.concatenate(found), mesh.delta) if found else None
