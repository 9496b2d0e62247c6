"""Which symmetry a function has, by measurements that were made anyway."""

from orbandit.symmetry.find import CandidateEvidence, FoundSymmetry, find_symmetry

__all__ = ["CandidateEvidence", "FoundSymmetry", "find_symmetry"]
