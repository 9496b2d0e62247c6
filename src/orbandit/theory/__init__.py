"""The paper's bounds as functions, with constants and conditions, and instance-dependent bounds."""

from orbandit.theory.covering import CoveringBounds, covering_bounds
from orbandit.theory.graphs import IndependentSetBounds, independent_set_bounds
from orbandit.theory.instance import InstanceBounds, instance_bounds, instance_limit
from orbandit.theory.lower import LowerBound, hard_delta, lower_bound
from orbandit.theory.upper import (
    RegretBound,
    Theorem1,
    gap_dependent_bound,
    gap_free_bound,
    paper_delta,
    theorem1,
    worst_case_bound,
)

__all__ = [
    "CoveringBounds",
    "IndependentSetBounds",
    "InstanceBounds",
    "LowerBound",
    "RegretBound",
    "Theorem1",
    "covering_bounds",
    "gap_dependent_bound",
    "gap_free_bound",
    "hard_delta",
    "independent_set_bounds",
    "instance_bounds",
    "instance_limit",
    "lower_bound",
    "paper_delta",
    "theorem1",
    "worst_case_bound",
]
