"""Powers of one half against numpy's, compiled and as plain Python."""

import numpy as np
import pytest

from orbandit._kernels import powers
from orbandit._kernels.powers import MAX_EXPONENT, power_of_half

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


@both
def test_half_power(compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(powers, "power_of_fraction", powers.power_of_fraction.py_func)
    power = power_of_half if compiled else power_of_half.py_func
    some = np.concatenate([np.arange(0.0, 20.0, 0.125), np.random.default_rng(0).uniform(0, 1000, 500), [0.5 - 1e-16]])
    np.testing.assert_allclose([power(s) for s in some], 2.0**-some, rtol=1e-15, atol=0)
    assert [power(float(s)) for s in range(60)] == [2.0**-s for s in range(60)]
    assert power(1e20) == power(np.inf) == 2.0**-MAX_EXPONENT
