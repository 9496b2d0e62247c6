"""Optimism in the face of uncertainty: the weight of the standard deviation in an upper confidence bound."""

import math

CALM = 1350.0
"""A good point is abandoned with probability about CALM / n, so that the expected loss does not
grow with n."""


def deviation_weight(log_n: float, least: float) -> float:
    """Return beta = sqrt(2 log(n / CALM)), but no less than `least`, for n rounds.

    Examples
    --------
    >>> import math
    >>> deviation_weight(math.log(100), 2.3), round(deviation_weight(math.log(10**6), 2.3), 2)
    (2.3, 3.64)
    """
    return math.sqrt(max(least**2, 2 * (log_n - math.log(CALM))))
