"""Every lemma and theorem of the paper measured: what it says, what was measured, and whether they agree.

geometry -> regret -> slips: the order of the paper, and of the table. `lines` says what a line is.
"""

from orbandit.experiments.verification.lines import Line, Step, Verdict, Verification
from orbandit.experiments.verification.run import verify

__all__ = ["Line", "Step", "Verdict", "Verification", "verify"]
