"""Scale: rewards in [0, 1] for objectives of unknown range, which one wild value does not flatten.

    low = max(least,   q25 - 1.5 (q75 - q25)),     high = min(largest, q75 + 3 (q75 - q25))

for the gains so far, values to be maximised, and then 5 % of high - low of room on either side, unless there are two
gains only, such as 0 and 1. Gains beyond are moved to the ends; within, the scale is linear, so that noise averages
out. Where half of all gains are one number, the quantiles are those of 5 and 95 %, and failing that, the least and the
largest gain. The scale is set anew when the gains have doubled, or if one is better than its end and there are a tenth
more. Being a function of the gains in their order, it is the same in every process that sees them so.
"""

import math
from typing import final

import numpy as np

ROOM = 0.05
"""The scale reaches this fraction of what was seen beyond it on either side."""
WORSE, BETTER = 1.5, 3.0
"""How many spreads beyond its quantile a gain counts; the better ones matter more."""
LARGEST = 1e300
"""Gains are moved to this size, so that their differences are finite."""
SOON = 1.1
"""How many times the gains of the last scale there must be before a better gain may set another."""


@final
class Scale:
    """Learns the range of gains, and maps them into [0, 1].

    Examples
    --------
    >>> scale = Scale()
    >>> _ = [scale.learn(gain) for gain in (1.0, 2.0, 3.0, 4.0, 1e9, 2.5, 3.5, 1.5)]
    >>> round(scale.reward(4.0) - scale.reward(1.0), 2)
    0.3
    """

    def __init__(self) -> None:
        self._gains: list[float] = []
        self._used = 0
        self._low, self._high, self._median, self._quartile = 0.0, 1.0, 0.5, 0.5

    def learn(self, gain: float) -> bool:
        """Learn of a gain; return whether the scale was set anew, so that all rewards are others now."""
        if not math.isfinite(gain):
            return False
        self._gains.append(min(max(gain, -LARGEST), LARGEST))
        count = len(self._gains)
        if count < 2 * self._used and (gain <= self._high or count < SOON * self._used):
            return False
        self._set()
        return True

    def reward(self, gain: float | None, at_most_middling: bool = False) -> float:
        """Return the reward of a gain; None, or what is no number, counts as the first quartile."""
        if gain is None or math.isnan(gain):
            gain = self._quartile
        elif at_most_middling:
            gain = min(gain, self._median)
        return (min(max(gain, self._low), self._high) - self._low) / (self._high - self._low)

    def _set(self) -> None:
        gains = np.array(self._gains)
        self._used = len(gains)
        self._quartile, self._median = np.quantile(gains, [0.25, 0.5]).tolist()
        least, largest = float(gains.min()), float(gains.max())
        low, high = least, largest
        for share in (0.25, 0.05):
            first, last = np.quantile(gains, [share, 1 - share]).tolist()
            if last > first:
                low = max(least, first - WORSE * (last - first))
                high = min(largest, last + BETTER * (last - first))
                break
        room = ROOM * (high - low) if high > low else max(1.0, abs(high))
        if len(set(self._gains)) == 2:
            room = 0.0  # successes and failures, which agents know as such by the ends of the range
        self._low, self._high = low - room, high + room
