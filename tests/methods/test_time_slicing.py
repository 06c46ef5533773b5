"""Slices under separate pseudonyms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from shoal import Panel, TimeSlicing
from shoal.errors import ParameterError
from strategies import small_panels

HOURS = np.datetime64("2024-01-01T00:00") + np.arange(60) * np.timedelta64(1, "h")


@given(x=small_panels(), length=st.integers(1, 4), dates=st.sampled_from(["dropped", "kept"]))
def test_every_whole_slice_is_published_once_and_says_whose_it_is(x, length, dates):
    panel = Panel(x)
    candidate = TimeSlicing(length=length, dates=dates).anonymize(panel)
    length = min(length, panel.n_instants)
    n_slices = panel.n_instants // length
    assert candidate.published.n_series == len(x) * n_slices
    assert_array_equal(candidate.stands_for, np.repeat(np.arange(len(x)), n_slices))
    for row, owner in enumerate(candidate.stands_for):
        at = slice((row % n_slices) * length, (row % n_slices + 1) * length)
        whole = candidate.values[row]
        assert_array_equal(whole if dates == "dropped" else whole[at], panel.values[owner, at])
        if dates == "kept":
            assert np.isnan(np.delete(whole, np.arange(panel.n_instants)[at], axis=0)).all()
    kept = n_slices * length
    assert_array_equal(candidate.curves.values[:, :kept], panel.values[:, :kept])
    assert np.isnan(candidate.curves.values[:, kept:]).all()


def test_slices_belong_to_the_subject_of_their_series():
    panel = Panel(np.arange(24.0).reshape(4, 6), subjects=["a", "a", "b", "c"])
    candidate = TimeSlicing(length=3).anonymize(panel)
    assert candidate.published.subject_codes.tolist() == [0, 0, 0, 0, 1, 1, 2, 2]


def test_dropped_dates_tell_neither_day_nor_zone_and_what_is_left_over_is_withheld():
    panel = Panel(np.arange(120.0).reshape(2, 60), times=HOURS, timezone="Europe/Bratislava")
    candidate = TimeSlicing(length="1d").anonymize(panel)
    assert candidate.published.times.tolist() == list(range(24))
    assert candidate.published.timezone is None
    assert candidate.recipe.figures == {"slices": 2, "instants_withheld": 12}
    kept = TimeSlicing(length="1d", dates="kept").anonymize(panel).published
    assert_array_equal(kept.times, HOURS)
    assert kept.timezone == "Europe/Bratislava"


def test_a_panel_shorter_than_a_slice_is_one_slice():
    panel = Panel([[1.0, 2.0], [3.0, 4.0]])
    assert_array_equal(TimeSlicing(length=9).anonymize(panel).values, panel.values)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"length": "a week"}, "length: give a positive length"),
        ({"length": 3, "dates": "shifted"}, "dates must be one of: dropped, kept"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        TimeSlicing(**parameters)
