"""Moments and tallies: those of parts add up to those of the whole."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from shoal.errors import ParameterError
from shoal.model import Moments, Tally

NAN = float("nan")
OFFSETS = st.sampled_from([0.0, 1e6, -1e9])
COLUMNS = st.lists(st.one_of(st.integers(-30, 30).map(lambda i: i / 10), st.just(NAN)), max_size=12)


def exact(numbers):
    """Count, mean and squared deviations of what is there, without rounding."""
    there = [Fraction(x) for x in numbers if x == x]
    mean = sum(there) / len(there) if there else Fraction(0)
    return len(there), float(mean), float(sum((x - mean) ** 2 for x in there))


@given(COLUMNS, OFFSETS, st.integers(0, 12))
def test_moments_of_two_parts_are_those_of_the_whole(numbers, offset, cut):
    x = np.array(numbers, dtype=float) + offset
    # As exact as the readings are: means have their resolution, and so have distances between means.
    step = np.spacing(abs(offset) + 3.0)
    for found in (Moments.of(x), Moments.of(x[:cut]) + Moments.of(x[cut:])):
        n, mean, deviations = exact(x)
        assert found.counts == n
        assert_allclose(found.means, mean, rtol=1e-15, atol=2 * step)
        assert_allclose(found.deviations, deviations, rtol=1e-12, atol=100 * step)
        assert_allclose(found.sums, n * mean, rtol=1e-14, atol=24 * step)


@given(COLUMNS)
def test_sums_of_squares_are_those_of_small_numbers(numbers):
    x = np.array(numbers, dtype=float)
    assert_allclose(Moments.of(x).squares, np.nansum(x**2), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("constant", [0.1, 1e6 + 0.1, -3.3])
def test_constants_do_not_vary_by_rounding_also_behind_a_gap(constant):
    x = np.full((7, 2), constant)
    x[0, 0] = NAN
    both = Moments.of(x) + Moments.of(np.full((3, 2), constant))
    assert both.counts.tolist() == [9, 10]
    assert_array_equal(both.means, constant)
    assert_array_equal(both.deviations, 0.0)


def test_nothing_adds_nothing():
    some, none = Moments.of([[1.5, 2.0], [0.25, NAN]]), Moments.of(np.full((3, 2), NAN))
    for both in (some + none, none + some, some + Moments.of(np.zeros((0, 2)))):
        assert_array_equal(both.counts, some.counts)
        assert_array_equal(both.means, some.means)
        assert_array_equal(both.deviations, some.deviations)
    assert (none.means == 0.0).all()


class TestWhatDoesNotAddUp:
    def test_figures_of_other_instants_are_refused(self):
        one, other = Moments.of(np.ones((2, 3))), Moments.of(np.ones((2, 1)))
        with pytest.raises(ParameterError, match="different instants or channels do not add up"):
            one + other

    def test_tallies_at_other_instants_or_in_another_zone_are_refused(self):
        figures = {"x": Moments.of([1.0])}
        here = Tally(figures, np.array([0, 1]), "Europe/Paris")
        assert (here + here)["x"].counts == 2
        assert_array_equal((here + here).times, [0, 1])
        for other in (Tally(figures, np.array([0, 2]), "Europe/Paris"), Tally(figures, np.array([0, 1]))):
            with pytest.raises(ParameterError, match="different instants do not add up"):
                here + other
