"""Occupancy: binary days of persons with habits."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from shoal.errors import ParameterError
from shoal.simulate import occupancy

OCCUPANCY = sys.modules["shoal.simulate.occupancy"]


def first_and_last(days):
    """Hour of arrival and of departure of days with anybody there."""
    per_hour = days.shape[1] / 24
    return days.argmax(axis=1) / per_hour, 24 - days[:, ::-1].argmax(axis=1) / per_hour


def workdays(panel):
    return ~np.isin(panel.attributes["weekday"], ["Saturday", "Sunday"])


def test_one_series_per_person_and_day():
    panel = occupancy(12, days=8, step="5min", start="2024-03-08")
    assert panel.values.shape == (96, 288)
    assert panel.n_subjects == 12
    assert panel.ids[9] == "person-0001/2024-03-09"
    assert_array_equal(panel.subjects[:9], ["person-0000"] * 8 + ["person-0001"])
    assert_array_equal(panel.attributes["weekday"][:4], ["Friday", "Saturday", "Sunday", "Monday"])
    assert panel.times[0] == np.datetime64("2024-03-08")
    assert panel.times[-1] == np.datetime64("2024-03-08T23:55")


def test_values_are_zero_or_one():
    assert set(np.unique(occupancy(20, days=7).values)) == {0.0, 1.0}


def test_same_arguments_give_same_bytes_whatever_the_blocks(monkeypatch):
    whole = occupancy(30, days=9, missing=0.1, seed=3).digest()
    monkeypatch.setattr(OCCUPANCY, "PERSON_DAYS_PER_BLOCK", 1)
    assert occupancy(30, days=9, missing=0.1, seed=3).digest() == whole
    assert occupancy(30, days=9, missing=0.1, seed=4).digest() != whole


def test_a_person_does_not_depend_on_how_many_others_there_are():
    assert_array_equal(occupancy(5, seed=2).values, occupancy(15, seed=2).values[:50])


def test_a_coarser_step_looks_less_often():
    fine = occupancy(10, step="1min").values
    assert_array_equal(occupancy(10, step=15).values, fine[:, ::15])


def test_people_arrive_eat_and_leave_in_this_order():
    panel = occupancy(300, days=5)
    days = panel.values
    days = days[days.any(axis=1)]
    arrival, departure = first_and_last(days)
    assert (arrival < departure).all()
    assert 7.5 < np.median(arrival) < 9.5
    assert 16.5 < np.median(departure) < 18.5
    assert arrival.min() >= 6.0
    present = days.reshape(len(days), 24, 60).mean(axis=(0, 2))
    assert present[:6].max() == 0.0
    # Lunch is a dip between a full morning and a full afternoon.
    assert present[12] < 0.75 * min(present[10], present[14])
    # Nearly everybody is back after lunch: at work on both sides of it.
    assert ((arrival < 12) & (departure > 13)).mean() > 0.95


def test_days_off_and_weekends_are_empty():
    panel = occupancy(300, days=14)
    there = panel.values.any(axis=1)
    assert 0.8 < there[workdays(panel)].mean() < 0.97
    assert there[~workdays(panel)].mean() < 0.06


def test_people_step_out_for_a_while():
    panel = occupancy(200, days=5)
    days = panel.values[panel.values.any(axis=1)]
    stretches = (np.diff(days, axis=1) == 1).sum(axis=1)
    # The published building data of the field has a median of four.
    assert 3 <= np.median(stretches) <= 5
    assert stretches.max() > 5


def test_days_of_a_person_resemble_each_other_more_than_those_of_others():
    panel = occupancy(150, days=20)
    there = panel.values.any(axis=1) & workdays(panel)
    arrival, _ = first_and_last(panel.values)
    own = [arrival[there & (panel.subject_codes == code)] for code in range(150)]
    within = np.mean([hours.std() for hours in own])
    between = np.std([hours.mean() for hours in own])
    assert 0.15 < within < between


def test_some_instants_are_missing():
    gone = np.isnan(occupancy(100, step="15min", missing=0.1).values)
    assert gone.mean() == pytest.approx(0.1, rel=0.1)
    assert (gone[:, 1:] & gone[:, :-1]).sum() > 0.3 * gone.sum()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_subjects": 0}, "n_subjects must be a whole number of at least 1, got 0"),
        ({"days": -2}, "days must be a whole number of at least 1, got -2"),
        ({"step": "11min"}, "step must divide a day"),
        ({"start": "yesterday"}, "start must be a date"),
        ({"missing": 2}, "must satisfy 0 <= missing < 1, got 2"),
        ({"seed": 1.5}, "seed must be a whole number of at least 0, got 1.5"),
    ],
)
def test_bad_parameters_are_refused_with_a_way_out(options, message):
    with pytest.raises(ParameterError) as caught:
        occupancy(**options)
    assert message in str(caught.value)
