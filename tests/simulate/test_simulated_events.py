"""Events: daily snapshots with a skewed sensitive value."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from shoal.errors import ParameterError
from shoal.simulate import events


def test_columns_and_their_roles():
    stream = events(days=5, per_day=20, start="2024-02-27")
    assert (stream.time, stream.sensitive, stream.quasi) == ("time", "diagnosis", ("age", "sex", "region"))
    frame = stream.frame
    assert frame["time"].dtype == pl.Date
    assert frame["time"].unique().sort().to_list() == [dt.date(2024, 2, 27) + dt.timedelta(days=n) for n in range(5)]
    assert frame["id"].n_unique() == len(frame)
    assert frame["age"].is_between(0, 99).all()
    assert set(frame["sex"].unique()) == {"female", "male"}
    assert frame.null_count().sum_horizontal().item() == 0


def test_same_arguments_give_the_same_events():
    assert events(days=9, seed=3, missing=0.1).frame.equals(events(days=9, seed=3, missing=0.1).frame)
    assert not events(days=9, seed=3).frame.equals(events(days=9, seed=4).frame)


def test_a_longer_stream_begins_alike():
    short, long = events(days=4).frame, events(days=12).frame
    assert long.head(len(short)).equals(short)


def test_numbers_follow_the_week_and_vary_more_than_chance():
    counts = events(days=700, per_day=100).frame.group_by("time").len().sort("time")["len"].to_numpy().reshape(100, 7)
    assert counts.mean() == pytest.approx(100, rel=0.05)
    by_weekday = counts.mean(axis=0)
    assert by_weekday.argmax() == 0
    assert by_weekday.argmin() == 6
    # A Poisson count would have variance = mean.
    assert (counts.var(axis=0) > 1.5 * by_weekday)[:5].all()


def test_every_day_has_an_event():
    assert sum(1 for _ in events(days=50, per_day=1).snapshots()) == 50


def test_diagnoses_are_skewed():
    shares = events(days=100).frame["diagnosis"].value_counts(normalize=True)["proportion"].sort(descending=True)
    assert len(shares) == 10
    assert 0.25 < shares[0] < 0.45
    assert shares[0] > 6 * shares[-1] > 0
    # Zipf: the logarithm of the share falls with the logarithm of the rank.
    assert np.corrcoef(np.log(np.arange(1, 11)), np.log(shares.to_numpy()))[0, 1] < -0.97


def test_diagnoses_depend_on_age_but_do_not_follow_from_it():
    frame = events(days=100).frame
    ages = dict(frame.group_by("diagnosis").agg(pl.col("age").mean()).iter_rows())
    assert ages["asthma"] + 5 < ages["migraine"] < ages["gout"] - 5
    young = frame.filter(pl.col("age") < 15)["diagnosis"]
    assert young.n_unique() >= 8


def test_only_quasi_identifiers_are_missing():
    stream = events(days=100, missing=0.15)
    shares = {name: stream.frame[name].null_count() / len(stream) for name in stream.frame.columns}
    assert [shares[name] for name in stream.quasi] == pytest.approx([0.15] * 3, abs=0.01)
    assert shares["time"] == shares["diagnosis"] == shares["id"] == 0


def test_gaps_leave_the_rest_as_it_is():
    whole, gappy = events(days=6).frame, events(days=6, missing=0.5).frame
    assert gappy["diagnosis"].equals(whole["diagnosis"])
    assert (gappy["age"] == whole["age"]).drop_nulls().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"days": 0}, "days must be a whole number of at least 1, got 0"),
        ({"per_day": 0}, "per_day must be a whole number of at least 1, got 0"),
        ({"start": None}, "start must be a date such as '2024-01-01', got None"),
        ({"missing": 1}, "must satisfy 0 <= missing < 1, got 1"),
        ({"seed": -3}, "seed must be a whole number of at least 0, got -3"),
    ],
)
def test_bad_parameters_are_refused_with_a_way_out(options, message):
    with pytest.raises(ParameterError) as caught:
        events(**options)
    assert message in str(caught.value)
