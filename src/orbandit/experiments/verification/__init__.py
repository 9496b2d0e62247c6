"""Numerical checks of every lemma and theorem of the paper: claim, measurement and verdict.

geometry -> regret -> slips: the order of the paper, and of the table. `lines` defines a line.
"""

from orbandit.experiments.verification.lines import Line, Step, Verdict, Verification
from orbandit.experiments.verification.run import verify

__all__ = ["Line", "Step", "Verdict", "Verification", "verify"]
