"""Coarser clocks: which readings go into which step, with gaps, zones and short ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naive.transformed import naive_steps
from shoal import Panel, TimeAggregation
from shoal.errors import ParameterError
from shoal.guarantees.crowds import published_classes
from strategies import small_panels

HOURS = np.datetime64("2024-01-01T00:00") + np.arange(48) * np.timedelta64(1, "h")


@given(
    x=small_panels(channels=False), step=st.integers(2, 4), by=st.sampled_from(["mean", "sum"]), start=st.integers(0, 3)
)
def test_steps_equal_naive(x, step, by, start):
    times = start + np.arange(x.shape[1])
    expected = [naive_steps(row.tolist(), times.tolist(), step, by) for row in x]
    if len(expected[0][0]) == x.shape[1] > 1:
        return  # nothing would change, which is refused
    published = TimeAggregation(step=step, by=by).anonymize(Panel(x, times=times)).published
    assert published.times.tolist() == expected[0][0]
    scale = np.nanmax(np.abs(x), initial=1.0)
    assert_allclose(published.values, [values for _, values in expected], atol=1e-12 * scale)


def test_days_of_a_zone_are_its_own_also_where_the_clock_changes():
    utc = np.datetime64("2024-03-30T23:00") + np.arange(71) * np.timedelta64(1, "h")  # three local days, one of 23 h
    panel = Panel(np.ones((2, 71)), times=utc, timezone="Europe/Bratislava")
    candidate = TimeAggregation(step="1d", by="sum").anonymize(panel)
    assert candidate.values.tolist() == [[23.0, 24.0, 24.0]] * 2
    assert candidate.published.times[0] == np.datetime64("2024-03-30T23:00")
    assert candidate.published.timezone == "Europe/Bratislava"
    assert candidate.recipe.figures == {"steps": 3, "short_steps": 1}


def test_a_bare_number_counts_instants_on_a_clock():
    panel = Panel(np.arange(96.0).reshape(2, 48), times=HOURS)
    assert_array_equal(
        TimeAggregation(step=6).anonymize(panel).values, TimeAggregation(step="6h").anonymize(panel).values
    )


def test_a_mean_takes_what_was_observed_and_a_sum_needs_everything():
    panel = Panel([[1.0, np.nan, 3.0, 5.0, np.nan, np.nan]])
    mean, total = (TimeAggregation(step=2, by=by).anonymize(panel).values for by in ("mean", "sum"))
    assert_array_equal(mean, [[1.0, 4.0, np.nan]])
    assert_array_equal(total, [[np.nan, 8.0, np.nan]])


@pytest.mark.parametrize("by", ["mean", "sum"])
def test_the_curve_that_stands_for_a_series_has_its_steps_at_all_its_instants(by):
    panel = Panel(np.random.default_rng(0).gamma(2.0, size=(4, 48, 2)), times=HOURS)
    candidate = TimeAggregation(step="6h", by=by).anonymize(panel)
    assert candidate.originals is panel
    expected = panel.values.reshape(4, 8, 6, 2).mean(axis=2).repeat(6, axis=1)
    assert_allclose(candidate.curves.values, expected)
    assert candidate.published.values.shape == (4, 8, 2)


@given(x=small_panels())
def test_equal_series_stay_equal_bit_for_bit(x):
    twice = Panel(np.concatenate([x, x[::-1]]))
    classes = published_classes(twice)
    after = published_classes(TimeAggregation(step=7).anonymize(twice).published)
    assert_array_equal(after, after[classes])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"step": "0h"}, "step: give a positive length"),
        ({"step": "1h", "by": "median"}, "by must be one of: mean, sum"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        TimeAggregation(**parameters)


def test_what_the_panel_cannot_do_is_refused():
    uneven = HOURS[[0, 1, 3]]
    with pytest.raises(ParameterError, match="is not longer than the panel's own, so nothing would change"):
        TimeAggregation(step="1h").anonymize(Panel(np.ones((2, 48)), times=HOURS))
    with pytest.raises(ParameterError, match="step: the data has no timestamps"):
        TimeAggregation(step="1d").anonymize(Panel(np.ones((2, 4))))
    with pytest.raises(ParameterError, match="step=2 needs evenly spaced instants"):
        TimeAggregation(step=2).anonymize(Panel(np.ones((2, 3)), times=uneven))
