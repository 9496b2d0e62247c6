"""Sites: drawn layouts keep the rules, crowded ones too, and what cannot be is refused."""

import math

import numpy as np
import pytest

from orbandit.errors import InputError
from orbandit.problems.site import Site, disk_rule_slopes, disk_rules


@pytest.mark.parametrize(
    ("units", "radius"),
    [
        (2, 0.5),  # on the ends of a diameter, and nowhere else
        (3, 0.7),
        (5, 0.5 / math.sin(math.pi / 5)),  # a ring, and nothing else
        (7, 1.0),  # a ring and the middle
        (7, 1.01),
        (16, 5.0),
        (16, 2.4),  # on a lattice: no place is left after some turbines in random ones
        (100, 20.0),
    ],
)
def test_drawn_layouts_keep_the_rules(units, radius):
    site = Site(units, radius, 1.0)
    layouts = site.sample(6, np.random.default_rng(0))
    assert layouts.shape == (6, 2 * units)
    assert (site.margins(layouts) >= 0).all()
    assert len(np.unique(layouts[:, 0])) == 6
    again = site.sample(6, np.random.default_rng(0))
    np.testing.assert_array_equal(layouts, again)
    assert site.sample(0, np.random.default_rng(0)).shape == (0, 2 * units)


def test_first_units_are_uniform_on_the_disk():
    layouts = Site(2, 10.0, 1.0).sample(2000, np.random.default_rng(1))
    shares = (layouts[:, :2] ** 2).sum(axis=1) / 100.0  # uniform on [0, 1]
    assert abs(shares.mean() - 0.5) < 4 / math.sqrt(12 * 2000)
    assert shares.std() == pytest.approx(1 / math.sqrt(12), rel=0.05)


@pytest.mark.parametrize(
    ("units", "radius"), [(2, 0.49), (3, 0.57), (4, 0.7), (5, 0.85), (6, 0.99), (8, 1.0), (20, 1.5), (1000, 10.0)]
)
def test_too_small_sites_are_refused(units, radius):
    with pytest.raises(InputError, match=f"{units} units at least 1 apart do not fit .*larger `radius`"):
        Site(units, radius, 1.0)


def test_sites_where_nothing_is_found_say_so():
    site = Site(19, 1.86, 1.0)  # the least radius for 19 is 1.9318...
    with pytest.raises(InputError, match="were not found to fit"):
        site.sample(1, np.random.default_rng(0))


def test_slopes_of_rules_are_those_of_differences():
    rng = np.random.default_rng(2)
    v = rng.standard_normal(8)
    first, second = np.triu_indices(4, 1)
    slopes = disk_rule_slopes(v, first, second)
    for k in range(8):
        step = 1e-6 * np.eye(8)[k]
        ends = [np.concatenate(disk_rules(v + s, first, second)) for s in (step, -step)]
        np.testing.assert_allclose(slopes[:, k], (ends[0] - ends[1]) / 2e-6, atol=1e-8)


def test_improved_layouts_are_better_and_keep_the_rules():
    """The value is minus the squared distance from a far point: all units come as near to it as the rules let them."""
    target = np.array([5.0, 0.0])

    def values(points):
        return -((points.reshape(len(points), -1, 2) - target) ** 2).sum(axis=(1, 2))

    def slopes(points):
        return -2 * (points.reshape(len(points), -1, 2) - target).reshape(points.shape)

    site = Site(2, 1.0, 1.0)
    best = site.best(values, slopes, np.random.default_rng(0))
    assert site.margins(best[None])[0] >= 0
    # On the rim, one distance apart and symmetric about the axis: at 30 degrees to either side.
    np.testing.assert_allclose(np.sort(best), np.sort([0.75**0.5, 0.5, 0.75**0.5, -0.5]), atol=1e-3)
    start = site.sample(1, np.random.default_rng(3))[0]
    end = site.improved(start, values, slopes)
    assert values(end[None]) > values(start[None])
    np.testing.assert_array_equal(site.improved(best, values, lambda points: np.full_like(points, np.nan)), best)
