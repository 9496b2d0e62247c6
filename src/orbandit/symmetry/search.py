"""Search: which candidates hold, by the evidence for the groups that they generate.

1. Each candidate by itself, against the plain model.
2. Forwards, the likeliest candidates first: one joins if the group with it has more evidence than
   the group without. What holds makes the rest easier to see, so that all are asked twice. The same
   once more with the simplest candidates first, those that move fewest coordinates; the likelier
   end is gone on with, the other is a rival.
3. Backwards: the group, by its simplest generators, is compared with what the others make without
   one of them, perhaps with another candidate in its place, and with a function that is nearly
   symmetric. As long as such a rival has more evidence, the generator is left out.
4. A generator is sure if the margin over all its rivals is log(N / level), N the number of
   candidates: its prior odds are taken to be 1 / N, and those that it must have at the end 1 /
   level. What the sure ones generate is the answer.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from orbandit.errors import GroupTooLargeError
from orbandit.symmetry.candidates import Candidate
from orbandit.symmetry.odds import Judge, Model
from orbandit.symmetry.pooling import Pool

UNLIKELY = 5.0
"""A candidate that has less evidence than the plain model by so much does not hold beside others
either."""
MAX_RIVALS = 6
"""So many candidates that do not hold, the likeliest, are tried in the place of one that does."""
FAR, FAR_PER_POINT = 10.0, 0.02
"""A model with less evidence than another by so much, and so much for each point, is out of the
question."""

TOLERANCE = 0.03
"""An asymmetry below this, over the difference of unrelated points, is none."""

NEARLY = 2.0
"""Minus the logarithm of the prior odds that a function is nearly symmetric, rather than not at
all."""
LEAST_GAIN, PASSES = 1.0, 2
"""Least gain of evidence with which a candidate joins the others, and how often all are asked."""


class Verdict(NamedTuple):
    """The log odds of a candidate, and the models with it and without it; None if none was possible."""

    log_odds: float
    accepted: bool
    holding: Model | None
    lacking: Model


@final
class Search:
    """The state of a search: models of the groups tried, and the generators chosen.

    Parameters
    ----------
    judge : Judge
        The data and models of them.
    candidates : sequence of Candidate
        The candidate symmetries.
    level : float
        The least posterior odds against a symmetry that is accepted.
    """

    def __init__(self, judge: Judge, candidates: Sequence[Candidate], level: float) -> None:
        self._judge, self._candidates = judge, candidates
        self._margin = math.log(len(candidates) / level)
        self._far = FAR + FAR_PER_POINT * len(judge.data.counts)
        self._plain = judge.plain()
        self._generators = np.concatenate([candidate.generators for candidate in candidates])
        self._starts = np.cumsum([0, *(len(candidate.generators) for candidate in candidates[:-1])])
        moved = (np.abs(self._generators - np.eye(self._generators.shape[1])) > 1e-9).any(axis=1)
        self._moves = np.maximum.reduceat(moved.sum(axis=1), self._starts)
        self._models: dict[bytes, Model] = {}
        self._pools: dict[tuple[int, ...], Pool | None] = {}
        self._ends: list[Model] = []  # where growth ended
        self._rivals: list[Model] = []  # of the last verification
        self.model = self._plain
        self.verdicts: list[Verdict] = []

    def run(self) -> None:
        """Find the group, `model`, and judge each candidate, `verdicts`."""
        singles = [self._tried([i], self._plain) for i in range(len(self._candidates))]
        gains = np.array([-math.inf if one is None else one.evidence - self._plain.evidence for one in singles])
        order = [int(i) for i in np.argsort(-gains, kind="stable") if gains[i] > -UNLIKELY]
        likely = [i for i in order if gains[i] > 0]
        grown = [self._grown(order), self._grown(sorted(likely, key=lambda i: self._moves[i]))]
        self._ends = [model for _, model in grown]
        chosen, best = max(grown, key=lambda one: one[1].evidence)
        chosen, whole, margins = self._pruned(chosen, best, order, likely)
        sure = [i for i, margin in zip(chosen, margins, strict=True) if margin >= self._margin]
        self.model = whole if sure == chosen else self._renewed(sure, whole)
        self.verdicts = [self._verdict(i, chosen, whole, singles[i], i in order) for i in range(len(self._candidates))]

    def _grown(self, order: list[int]) -> tuple[list[int], Model]:
        """Return the candidates that join one after the other, and their model."""
        chosen, best = list[int](), self._plain
        for _ in range(PASSES):
            for i in order:
                if self._holds(best, i):
                    continue
                trial = self._tried([*chosen, i], best)
                if trial is not None and trial.evidence > best.evidence + LEAST_GAIN:
                    chosen, best = [*chosen, i], trial
        return chosen, best

    def _pruned(
        self, chosen: list[int], best: Model, order: list[int], likely: list[int]
    ) -> tuple[list[int], Model, list[float]]:
        """Return generators without which there is less evidence, their model, and by how much less."""
        inside = [i for i in order if self._holds(best, i)]
        others = [i for i in likely if i not in inside][:MAX_RIVALS]
        if chosen:
            chosen = self._simplest(inside) or chosen
            best = self._renewed(chosen, best)
        margins = list[float]()
        while chosen:
            for rivals in ([], others):  # few fits first
                self._rivals = []
                needed = [self._needed(i, chosen, best, rivals) for i in chosen]
                margins = [margin for margin, _, _ in needed]
                margin, fewer, rest = min(needed, key=lambda one: one[0])
                if margin <= 0:
                    chosen, best = fewer, rest
                    break
            else:
                break
        return chosen, best, margins if chosen else []

    def _simplest(self, inside: list[int]) -> list[int]:
        """Return the candidates that move fewest coordinates, as many as generate the group; none if it has no form."""
        chosen, pool = list[int](), None
        for i in sorted(inside, key=lambda i: self._moves[i]):
            if pool is None or not self._is_in(pool, i):
                chosen.append(i)
                pool = self._pool(chosen)
                if pool is None:
                    return []
        return chosen

    def _needed(self, i: int, chosen: list[int], best: Model, others: list[int]) -> tuple[float, list[int], Model]:
        """Return the margin over the best rival without a generator, and the group of the others."""
        fewer, rest = self._without(i, chosen, best)
        if rest.evidence > best.evidence - self._far:
            # perhaps it is only the length scales that are better
            rest = self._renewed(fewer, best)
        rivals = [*(self._tried([*fewer, j], best) for j in others), *self._ends]
        lacking = [rival for rival in rivals if rival is not None and not self._holds(rival, i)]
        rival = max([rest, *lacking], key=lambda model: model.evidence)
        margin = best.evidence - rival.evidence
        is_subgroup = margin > 0 and self._is_within(rival, best)
        if is_subgroup and self._judge.asymmetry(rival, self._candidates[i].generators) < TOLERANCE:
            return math.inf, fewer, rest
        if margin > self._margin:
            lacking.append(self._nearly(best, rest))
            margin = min(margin, best.evidence - lacking[-1].evidence)
        self._rivals += [rest, *lacking]
        return margin, fewer, rest

    def _nearly(self, large: Model, small: Model) -> Model:
        """Return the smaller group with the evidence that the function is nearly symmetric under the larger one."""
        return small._replace(evidence=self._judge.near_miss(large, small) - NEARLY)

    def _renewed(self, chosen: list[int], near: Model) -> Model:
        """Return the model of generators, with parameters learnt once more from those of another."""
        pool = Pool(np.concatenate([self._generators[:0], *(self._candidates[i].generators for i in chosen)]))
        before = self._tried(chosen, near) if chosen else self._plain
        after = self._judge.model(pool, near, math.inf)
        best = after if before is None or after.evidence > before.evidence else before._replace(pool=pool)
        if chosen:
            self._models[self._key(pool)] = best
        else:
            self._plain = best
        return best

    def _is_within(self, small: Model, large: Model) -> bool:
        """Tell whether one group is a subgroup of another."""
        return bool(large.pool.contains(small.pool.generators).all())

    def _without(self, left_out: int, chosen: list[int], near: Model) -> tuple[list[int], Model]:
        """Return as many of the generators as do not make one of them, and their model."""
        kept, model = list[int](), self._plain
        for i in chosen:
            if i == left_out:
                continue
            pool = self._pool([*kept, i])
            if pool is not None and not self._is_in(pool, left_out):
                kept.append(i)
        if kept:
            model = self._tried(kept, near) or self._plain
        return kept, model

    def _verdict(self, i: int, chosen: list[int], whole: Model, single: Model | None, is_likely: bool) -> Verdict:
        prior = math.log(len(self._candidates))
        if self._holds(whole, i):
            rivals = [rival for rival in (*self._rivals, self._plain) if not self._holds(rival, i)]
            rival = max(rivals, key=lambda model: model.evidence)
            return Verdict(whole.evidence - rival.evidence - prior, self._holds(self.model, i), whole, rival)
        without = whole if is_likely else self._plain
        with_it = self._tried([*chosen, i], whole) if is_likely and chosen else single
        if with_it is None:
            return Verdict(math.nan, False, None, whole)
        margin = with_it.evidence - without.evidence
        if margin > self._margin:
            margin = min(margin, with_it.evidence - self._nearly(with_it, without).evidence)
        return Verdict(margin - prior, False, with_it, without)

    def _tried(self, chosen: list[int], near: Model) -> Model | None:
        """Return the model of the group that candidates generate; None if that is too large."""
        pool = self._pool(chosen)
        if pool is None:
            return None
        key = self._key(pool)
        if key not in self._models:
            self._models[key] = self._judge.model(pool, near, self._far)
        return self._models[key]

    def _pool(self, chosen: list[int]) -> Pool | None:
        if tuple(chosen) not in self._pools:
            try:
                pool = Pool(np.concatenate([self._candidates[i].generators for i in chosen]))
            except GroupTooLargeError:
                pool = None
            self._pools[tuple(chosen)] = pool
        return self._pools[tuple(chosen)]

    def _key(self, pool: Pool) -> bytes:
        """Return what tells groups apart: which candidates they hold."""
        return np.logical_and.reduceat(pool.contains(self._generators), self._starts).tobytes()

    def _is_in(self, pool: Pool, i: int) -> bool:
        return bool(pool.contains(self._candidates[i].generators).all())

    def _holds(self, model: Model, i: int) -> bool:
        return len(model.pool.generators) > 0 and self._is_in(model.pool, i)
