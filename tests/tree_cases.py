"""Spaces and groups for the twins of agents on cells, and cells of the twins' own, by their codes."""

import numpy as np

import orbandit as ob
from orbandit.agents.cell_table import priorities
from orbandit.meshes.cells import CellTree

G, S = ob.groups, ob.spaces

PLACES = {
    "interval": (S.Box(0.0, 1.0, dim=1), None),
    "square": (S.Box(0.0, 1.0, dim=2), None),
    "cube S3": (S.Box(0.0, 1.0, dim=3), G.Symmetric(3)),
    "disk D5": (S.Ball(2), G.Dihedral(5)),
    "simplex": (S.Simplex(3), G.Symmetric(3)),
    "factors": (S.Ball(4), G.Orthogonal(2, 2)),
}


class Cells:
    """Cells named by their codes, the root is 1, grown one by one; their priorities are the agent's."""

    def __init__(self, agent):
        self.tree = CellTree(agent.space, agent.group)
        self.salt = agent._state()[0]["salt"]
        self.numbers = {1: 0}

    def halves(self, code):
        cell = self.numbers[code]
        self.tree.grow(np.array([cell]), 99)
        found = [int(half) for half in self.tree.children[cell] if half >= 0]
        self.numbers.update({int(self.tree.codes[half]): half for half in found})
        return [int(self.tree.codes[half]) for half in found]

    def tie(self, code):
        return float(priorities(np.array([code], dtype=np.uint64), self.salt)[0])

    def point(self, code):
        return self.tree.points(np.array([self.numbers[code]]))[0]


def mean_in(space):
    """A mean reward in (0, 1), which need not be invariant: cells are played by their points."""
    peak = space.project(np.full(space.dim, 0.3))
    return lambda points: 0.1 + 0.8 / (1 + ((points - peak) ** 2).sum(axis=1))


def uncompiled(kernels, monkeypatch):
    """Run the plain functions of a module of kernels."""
    for name, part in list(vars(kernels).items()):
        if hasattr(part, "py_func"):
            monkeypatch.setattr(kernels, name, part.py_func)
