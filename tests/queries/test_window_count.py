import datetime as dt
import json

import numpy as np
import polars as pl
import pytest

from event_examples import any_buckets, any_coarse, small_events
from naive.event_tables import count_buckets, count_coarse_integers, count_events
from shoal.errors import ParameterError
from shoal.model import Events, EventTables
from shoal.model.event_kinds import as_text
from shoal.queries import Between, WindowCount, random_windows
from shoal.queries.window_count import count_windows

CASES = [
    (0, 4, {}),
    (1, 2, {"age": Between(22, 26)}),
    (0, 3, {"age": 24, "result": "a"}),
    (0, 9, {"sex": ["f", "x"], "result": ["a", "b"]}),
    (2, 2, {"age": [21, 22, 29], "sex": "m"}),
    (7, 9, {"result": "c"}),
]


def plain(where):
    """Conditions as the oracle writes them."""
    return {
        c: ("between", *w) if isinstance(w, Between) else ("in", w if isinstance(w, list) else [w])
        for c, w in where.items()
    }


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("start", "end", "where"), CASES)
def test_every_form_is_counted_as_by_hand(seed, start, end, where):
    events = small_events(seed)
    query = WindowCount(start, end, where)
    assert query.count(events) == count_events(events.frame.to_dicts(), start, end, plain(where))
    buckets = any_buckets(events, seed)
    expected = count_buckets(buckets.records.to_dicts(), buckets.counts.to_dicts(), "result", start, end, plain(where))
    assert query.count(buckets) == pytest.approx(expected)
    coarse = any_coarse(events, seed)
    expected = count_coarse_integers(coarse.records.to_dicts(), "result", start, end, plain(where))
    assert query.count(coarse) == pytest.approx(expected)


def test_a_coarse_measure_is_spread_evenly():
    table = pl.DataFrame({"time": [0, 0], "size_low": [1.0, 3.0], "size_high": [2.0, 3.0], "result": ["a", "a"]})
    coarse = EventTables(table, None, ("size",), "result")
    assert WindowCount(0, 0, {"size": Between(1.75, 5.0)}).count(coarse) == 1.25
    assert WindowCount(0, 0, {"size": Between(4.0, 5.0)}).count(coarse) == 0.0


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Vienna"])
def test_random_windows_are_answered_by_datetimes_of_any_precision(unit, zone):
    """Coarse ones as well: a list in which all have one value is as good as the value."""
    step = {"ms": 120, "us": 123_450, "ns": 123_456_789}[unit]
    at = pl.Series([1_700_000_000 * {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit] + i * step for i in range(-3, 3)])
    at = at.cast(pl.Datetime(unit)).dt.replace_time_zone("UTC")
    at = at.dt.replace_time_zone(None) if zone is None else at.dt.convert_time_zone(zone)
    events = Events(pl.DataFrame({"time": at, "seen": at, "x": [*"abcabc"]}), sensitive="x", quasi=["seen"])
    asked = random_windows(events, 50, seed=1)
    true = count_windows(asked, events)
    assert true.min() >= 1.0
    coarse = pl.DataFrame({"time": at, "seen": [json.dumps([text]) for text in as_text(at)], "x": [*"abcabc"]})
    assert count_windows(asked, EventTables(coarse, None, ("seen",), "x")).tolist() == true.tolist()


@pytest.mark.parametrize("zone", [None, "Europe/Vienna"])
def test_windows_are_dates_datetimes_or_text(zone):
    times = pl.datetime_range(dt.datetime(2024, 3, 1), dt.datetime(2024, 3, 4), "1d", time_zone=zone, eager=True)
    events = Events(pl.DataFrame({"time": times, "result": list("abca")}), sensitive="result")
    for start, end in (
        ("2024-03-02", "2024-03-03"),
        (dt.date(2024, 3, 2), dt.datetime(2024, 3, 3)),
        (dt.datetime(2024, 3, 2), "2024-03-03T00:00"),
    ):
        assert WindowCount(start, end, {}).count(events) == 2.0
    dates = Events(pl.DataFrame({"time": times.dt.date(), "result": list("abca")}), sensitive="result")
    assert WindowCount("2024-03-02", dt.datetime(2024, 3, 3, 12), {"result": ["b", "c"]}).count(dates) == 2.0


def test_what_cannot_be_asked_is_refused_without_values():
    events = small_events(0)
    with pytest.raises(ParameterError, match="no column 'zip'"):
        WindowCount(0, 1, {"zip": 1}).count(events)
    with pytest.raises(ParameterError, match="whole numbers"):
        WindowCount("2024-01-01", 1, {}).count(events)
    clock = Events(pl.DataFrame({"time": [dt.date(2024, 1, 1)], "result": ["a"]}), sensitive="result")
    for wrong in ("soon", 3):
        with pytest.raises(ParameterError, match="dates or datetimes"):
            WindowCount(wrong, wrong, {}).count(clock)


@pytest.mark.parametrize("seed", range(3))
def test_random_windows_are_never_empty_and_repeat(seed):
    events = small_events(seed, n=200, snapshots=20)
    asked = random_windows(events, 100, seed, longest=4)
    assert asked == random_windows(events, 100, seed, longest=4)
    counts = [query.count(events) for query in asked]
    assert min(counts) >= 1.0
    assert max(query.end - query.start for query in asked) == 3
    assert np.mean(counts) < 20


def test_a_window_without_events_of_the_value_counts_none():
    coarse = any_coarse(small_events(0), 0)
    assert WindowCount(0, 9, {"sex": "f", "age": 22, "result": "nobody's"}).count(coarse) == 0.0


def test_a_random_window_can_ask_for_everybody():
    events = small_events(0, n=100, nulls=False)
    for query in random_windows(events, 20, selectivity=1.0, longest=5):
        everybody = WindowCount(query.start, query.end, {"result": query.where["result"]})
        assert query.count(events) == everybody.count(events)


def test_random_windows_refuse_nonsense():
    with pytest.raises(ParameterError, match="at least 1"):
        random_windows(small_events(0), 0)
