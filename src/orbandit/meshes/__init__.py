"""Discretisations of X and of X/G: nets, the orbit graph, the covering tree."""

from orbandit.meshes.graph import OrbitGraph
from orbandit.meshes.mesh import Mesh
from orbandit.meshes.neighbors import orbit_neighbors
from orbandit.meshes.nets import net, quotient_net
from orbandit.meshes.tree import CoveringTree

__all__ = ["CoveringTree", "Mesh", "OrbitGraph", "net", "orbit_neighbors", "quotient_net"]
