"""Agents: they ask for points to evaluate and learn from the rewards.

`base` is the shell of all of them, every algorithm is one file, and the other modules are parts
that algorithms call.
"""

from orbandit.agents.base import Agent
from orbandit.agents.cklucb import CKLUCB
from orbandit.agents.elimination import SideObservationElimination
from orbandit.agents.gpo import GPO
from orbandit.agents.hct import HCT
from orbandit.agents.hoo import HOO
from orbandit.agents.orbit_gp import OrbitGP
from orbandit.agents.orbit_tree import OrbitTree
from orbandit.agents.orbit_ucb1 import OrbitUCB1
from orbandit.agents.poo import POO
from orbandit.agents.sequool import SequOOL
from orbandit.agents.stosoo import StoSOO
from orbandit.agents.stroquool import StroquOOL
from orbandit.agents.ucb1 import UCB1
from orbandit.agents.ucbn import UCBN
from orbandit.agents.uniform_mesh import UniformMesh
from orbandit.agents.uniform_mesh_n import UniformMeshN
from orbandit.agents.vhct import VHCT
from orbandit.agents.vroom import VROOM
from orbandit.agents.zooming import Zooming

__all__ = [
    "CKLUCB",
    "GPO",
    "HCT",
    "HOO",
    "POO",
    "UCB1",
    "UCBN",
    "VHCT",
    "VROOM",
    "Agent",
    "OrbitGP",
    "OrbitTree",
    "OrbitUCB1",
    "SequOOL",
    "SideObservationElimination",
    "StoSOO",
    "StroquOOL",
    "UniformMesh",
    "UniformMeshN",
    "Zooming",
]
