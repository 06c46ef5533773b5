"""Standardise, smooth, coarsen: against their definitions, reading by reading."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naive.transformed import naive_smoothed, naive_standardised
from shoal import Panel, Transformation
from shoal.errors import ParameterError
from shoal.guarantees.crowds import published_classes
from strategies import small_panels

WAYS = [
    {"kind": "standardise"},
    {"kind": "smooth", "window": 3},
    {"kind": "coarsen", "resolution": 0.5},
]


def each_channel(x):
    return x[:, :, None] if x.ndim == 2 else x


@given(x=small_panels())
def test_standardised_series_are_the_naive_ones(x):
    published = each_channel(Transformation().anonymize(Panel(x)).values)
    for i, c in np.ndindex(len(x), published.shape[2]):
        assert_allclose(published[i, :, c], naive_standardised(each_channel(x)[i, :, c].tolist()), atol=1e-6)


def test_standardised_series_have_mean_0_and_deviation_1_and_constants_are_0():
    x = np.random.default_rng(0).gamma(2.0, size=(20, 50)) + 1e7
    x[3] = 4.2
    published = Transformation(kind="standardise").anonymize(Panel(x)).values
    assert_array_equal(published[3], 0.0)
    others = np.delete(published, 3, axis=0)
    assert_allclose(others.mean(axis=1), 0.0, atol=1e-9)
    assert_allclose(others.std(axis=1), 1.0, atol=1e-9)


@given(x=small_panels(), window=st.sampled_from([1, 3, 5, 99]))
def test_smoothed_series_are_the_naive_ones(x, window):
    published = each_channel(Transformation(kind="smooth", window=window).anonymize(Panel(x)).values)
    for i, c in np.ndindex(len(x), published.shape[2]):
        series = each_channel(x)[i, :, c]
        scale = np.abs(series[~np.isnan(series)]).max(initial=1.0)
        assert_allclose(published[i, :, c], naive_smoothed(series.tolist(), window), atol=1e-12 * scale)


def test_a_window_may_be_a_length_of_time():
    times = np.datetime64("2024-01-01T00:00") + np.arange(6) * np.timedelta64(1, "h")
    panel = Panel([[0.0, 0.0, 9.0, 0.0, 0.0, 3.0]], times=times)
    assert Transformation(kind="smooth", window="3h").anonymize(panel).values.tolist() == [[0, 3, 3, 3, 1, 1.5]]


@given(x=small_panels(channels=False))
def test_coarse_values_are_multiples_within_half_a_step(x):
    published = Transformation(kind="coarsen", resolution=0.5).anonymize(Panel(x)).values
    assert_array_equal(published * 2.0, np.rint(published * 2.0))
    scale = np.nanmax(np.abs(x), initial=1.0)
    assert (np.abs(published - x)[~np.isnan(x)] <= 0.25 + 1e-12 * scale).all()
    assert_array_equal(np.isnan(published), np.isnan(x))


@pytest.mark.parametrize("parameters", WAYS)
@given(x=small_panels())
def test_equal_series_stay_equal_bit_for_bit(parameters, x):
    twice = Panel(np.concatenate([x, x[::-1]]))
    classes = published_classes(twice)
    after = published_classes(Transformation(**parameters).anonymize(twice).published)
    assert_array_equal(after, after[classes])


@pytest.mark.parametrize("parameters", WAYS)
@given(x=small_panels())
def test_a_series_is_changed_by_its_own_readings_only(parameters, x):
    whole = Transformation(**parameters).anonymize(Panel(x)).values
    alone = Transformation(**parameters).anonymize(Panel(x[:1])).values
    assert_array_equal(whole[0], alone[0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kind": "rotate"}, "kind must be one of: standardise, smooth, coarsen"),
        ({"kind": "smooth"}, "kind='smooth' needs window, such as window=3"),
        ({"kind": "coarsen"}, "kind='coarsen' needs resolution, such as resolution=0.5"),
        ({"window": 3}, "window applies to kind='smooth', this is 'standardise'"),
        ({"kind": "smooth", "window": 3, "resolution": 1.0}, "resolution applies to kind='coarsen', this is 'smooth'"),
        ({"kind": "smooth", "window": -3}, "window: give a positive length"),
        ({"kind": "coarsen", "resolution": 0.0}, "resolution must be a number above 0"),
        ({"kind": "coarsen", "resolution": float("nan")}, "resolution must be a number above 0"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        Transformation(**parameters)


def test_a_window_without_a_middle_is_refused():
    with pytest.raises(ParameterError, match=r"window has 4 instants, but needs an odd number.* Use 5\."):
        Transformation(kind="smooth", window=4).anonymize(Panel(np.ones((2, 9))))
