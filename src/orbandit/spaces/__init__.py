"""Spaces of arms: compact convex sets with uniform sampling and exact projection, one per file."""

from orbandit.spaces.ball import Ball
from orbandit.spaces.base import Space
from orbandit.spaces.box import Box
from orbandit.spaces.polytope import Polytope
from orbandit.spaces.product import Product
from orbandit.spaces.simplex import Simplex

__all__ = ["Ball", "Box", "Polytope", "Product", "Simplex", "Space"]
