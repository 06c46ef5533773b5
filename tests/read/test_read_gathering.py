"""Readings gathered into buckets: what a full bucket is, and what becomes of one that lacks readings."""

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import gathering as naive
from read.support import refused
from read.test_read_repeats import account, frame
from shoal.errors import ParameterError
from shoal.read import pivot, read_panel, tables
from shoal.read.align import guess_quantity


def quarters(n, *, start=dt.datetime(2024, 1, 10), without=(), name="a", minutes=15):
    """Readings of 1.0 every quarter of an hour, without some of them."""
    step = dt.timedelta(minutes=minutes)
    return [(name, start + i * step, 1.0) for i in range(n) if i not in without]


def test_a_sum_over_a_gap_is_missing():
    panel = read_panel(frame(*quarters(12, without=[5])), align="resample:1h:sum", missing="keep")
    np.testing.assert_array_equal(panel.values, [[4.0, np.nan, 4.0]])
    assert account(panel) == {"incomplete": 1}


def test_an_empty_reading_is_a_gap_as_well():
    rows = quarters(12)
    rows[5] = (*rows[5][:2], None)
    panel = read_panel(frame(*rows), align="resample:1h:sum", missing="keep")
    np.testing.assert_array_equal(panel.values, [[4.0, np.nan, 4.0]])


def test_half_filled_hours_at_the_ends_are_missing():
    rows = quarters(8, start=dt.datetime(2024, 1, 10, 0, 30))
    panel = read_panel(frame(*rows), align="resample:1h:sum", missing="keep")
    np.testing.assert_array_equal(panel.values, [[np.nan, 4.0, np.nan]])
    assert account(panel) == {"incomplete": 2}
    with refused("2 of 3 cells are missing. 2 buckets have some of their readings but not all; complete='0.75'"):
        read_panel(frame(*rows), align="resample:1h:sum")


def test_a_share_of_the_readings_is_scaled_up_and_counted():
    rows = quarters(12, without=[5, 8, 9])
    panel = read_panel(frame(*rows), align="resample:1h:sum", complete=0.75, missing="keep")
    np.testing.assert_array_equal(panel.values, [[4.0, 4.0, np.nan]])
    assert account(panel) == {"scaled": 1, "incomplete": 1}


def test_a_mean_of_a_share_is_taken_as_it_is():
    panel = read_panel(frame(*quarters(12, without=[5, 8, 9])), align="resample:1h:mean", complete="0.5")
    assert panel.values.tolist() == [[1.0, 1.0, 1.0]]
    assert account(panel) == {"partial": 2}


def test_the_share_is_compared_exactly():
    rows = [("a", t, 1.0) for t in range(300) if not 100 <= t < 145]
    panel = read_panel(frame(*rows), align="resample:100:sum", complete=0.55)
    np.testing.assert_allclose(panel.values, [[100.0, 100.0, 100.0]])


def test_any_reading_makes_a_bucket_where_that_is_asked_for():
    times = ["2024-01-01 05:10", "2024-01-01 06:50", "2024-01-01 13:00", "2024-01-02 01:00"]
    table = frame(*(("a", time, 1.0) for time in times))
    with refused("no step of their own: the most frequent one, 100min, explains 1 of 3 differences .* complete='any'"):
        read_panel(table, align="resample:6h:sum")
    panel = read_panel(table, align="resample:6h:sum", complete="any", missing="keep")
    np.testing.assert_array_equal(panel.values, [[1.0, 1.0, 1.0, np.nan, 1.0]])
    assert panel.origin.reading["complete"] == "any"


def test_a_step_that_does_not_divide_the_bucket_is_refused_with_one_that_does():
    table = pl.DataFrame({"id": "a", "time": range(0, 400, 40), "kwh": 1.0})
    with refused("own step of 40 does not divide buckets of 60. .* such as align='resample:80:sum'"):
        read_panel(table, value="kwh", align="resample:60")
    with refused("No series has two instants, so the number of readings in a full bucket of 60 is unknown"):
        read_panel(table[:1], value="kwh", align="resample:60")


def test_series_of_several_steps_are_judged_by_their_own():
    rows = quarters(96, name="a", without=[4]) + quarters(48, name="b", minutes=30, without=[2])
    panel = read_panel(frame(*rows), align="resample:1h:sum", missing="keep")
    assert np.flatnonzero(np.isnan(panel.values[0])).tolist() == [1]
    assert np.flatnonzero(np.isnan(panel.values[1])).tolist() == [1]
    assert np.nanmax(panel.values[1]) == 2.0


def test_a_series_of_a_few_readings_is_judged_by_the_step_of_the_table():
    rows = quarters(96, name="a") + quarters(4, name="b", minutes=30)
    panel = read_panel(frame(*rows), align="resample:1h:sum", missing="keep")
    assert np.isnan(panel.values[1]).all()
    assert account(panel) == {"incomplete": 2}


def test_days_of_23_and_25_hours_are_full():
    for first, hours in ((dt.datetime(2024, 3, 30, 23), 23), (dt.datetime(2024, 10, 26, 22), 25)):
        rows = quarters(4 * (hours + 24), start=first)
        table = frame(*rows).with_columns(pl.col("time").dt.replace_time_zone("UTC"))
        panel = read_panel(table, align="resample:1d:sum", timezone="Europe/Bratislava")
        assert panel.values.tolist() == [[4.0 * hours, 96.0]]
        panel = read_panel(table[1:], align="resample:1d:sum", timezone="Europe/Bratislava", missing="keep")
        np.testing.assert_array_equal(panel.values, [[np.nan, 96.0]])


def test_the_day_of_23_hours_without_a_zone_lacks_an_hour():
    rows = [row for row in quarters(96, start=dt.datetime(2024, 3, 31)) if row[1].hour != 2]
    panel = read_panel(frame(*rows), align="resample:1d:sum", missing="keep")
    assert np.isnan(panel.values).all()
    assert account(panel) == {"incomplete": 1}


def test_wide_tables_and_arrays_have_full_buckets_too():
    values = np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, np.nan, 1.0, 1.0, 1.0, 1.0]])
    panel = read_panel(values, align="resample:2:sum", missing="keep")
    np.testing.assert_array_equal(panel.values, [[2.0, 2.0, 2.0], [np.nan, 2.0, 2.0]])
    assert account(panel) == {"incomplete": 1}
    table = pl.DataFrame({"time": range(6), "a": values[0], "b": values[1]})
    panel = read_panel(table, layout="wide", align="resample:2:sum", complete=0.5)
    np.testing.assert_array_equal(panel.values, [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]])
    assert account(panel) == {"scaled": 1}


def test_the_aggregate_follows_the_quantity_unless_it_is_named():
    table = pl.DataFrame({"id": "a", "time": range(4), "kWh": 1.0, "room_temperature": 20.0, "value": 3.0})
    panel = read_panel(table, value=["kWh", "room_temperature", "value"], align="resample:2")
    assert panel.values[0, 0].tolist() == [2.0, 20.0, 3.0]
    told = panel.origin.reading
    assert told["align"] == "resample:2:sum,mean,mean"
    assert (told["quantity"], told["quantity_from"]) == ("energy,other,unknown", "name")
    panel = read_panel(table, value="kWh", align="resample:2:mean")
    assert panel.values[0, 0] == 1.0
    panel = read_panel(table, value="value", align="resample:2", quantity="energy")
    assert panel.values[0, 0] == 6.0
    assert (panel.origin.reading["quantity"], panel.origin.reading["quantity_from"]) == ("energy", "setting")
    panel = read_panel(table, value="value", align="resample:2")
    assert panel.values[0, 0] == 3.0
    assert (panel.origin.reading["quantity"], panel.origin.reading["quantity_from"]) == ("unknown", "nothing")


@pytest.mark.parametrize(
    ("name", "quantity"),
    [
        ("kwh", "energy"),
        ("GENERAL_SUPPLY_KWH", "energy"),
        ("energy", "energy"),
        ("Active power [kW]", "power"),
        ("power_kWh", "energy"),
        ("roomTemperature", "other"),
        ("CO2 (ppm)", "other"),
        ("value", None),
        ("week", None),
        ("reading", None),
    ],
)
def test_quantities_by_name_and_unit(name, quantity):
    assert guess_quantity(name) == quantity


def test_advice_names_the_own_step_and_the_aggregate_of_the_quantity():
    gap = pl.DataFrame({"id": "a", "time": [0, 15, 30, 60], "kwh": 1.0})
    with refused("Resample with align='resample:15:sum', which marks gaps as missing"):
        read_panel(gap, value="kwh")
    with refused("Resample with align='resample:15:mean'"):
        read_panel(gap.rename({"kwh": "kw"}), value="kw")
    shifted = [(name, 60 * t + shift, 1.0) for shift, name in enumerate("abcde") for t in range(10)]
    with refused("do not line up: .* Resample them with align='resample:60:mean', which is their own step"):
        read_panel(frame(*shifted))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"complete": 0, "align": "resample:2"}, "^complete: give a share above 0 and up to 1"),
        ({"complete": "most", "align": "resample:2"}, "^complete: give a share above 0 and up to 1"),
        ({"complete": True, "align": "resample:2"}, "^complete: give a share above 0 and up to 1"),
        ({"complete": 0.5}, "^complete: only buckets can be incomplete"),
        ({"quantity": "heat"}, "^quantity: give 'energy', 'power' or 'other'"),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with refused(message, ParameterError):
        read_panel(frame(("a", 0, 1.0), ("a", 1, 1.0)), **settings)


BY = st.sampled_from(["mean", "sum", "first", "last", "min", "max"])
COMPLETE = st.sampled_from(["1", "0.75", "0.5", "0.1", "any"])
DUPLICATES = st.sampled_from(["fail", "first", "last", "mean"])
REASONS = {
    "conflict": "are duplicates that differ",
    "no step": "No series has two instants",
    "irregular": "no step of their own",
    "does not divide": "does not divide buckets",
}


@st.composite
def readings(draw, step=1, longest=40):
    """Rows of up to three series, each with its own step, with gaps, jitter, repeats and rows that differ."""
    rows = []
    for name in draw(st.sampled_from(["a", "ab", "abc"])):
        own = step * draw(st.sampled_from([1, 1, 2, 3]))
        n = draw(st.integers(1, longest))
        times = draw(st.lists(st.integers(0, n), min_size=1, max_size=n)) if draw(st.booleans()) else range(n)
        values = st.sampled_from([1.0, 2.0, 5.0, None])
        rows += [(name, own * t, draw(values)) for t in times]
    again = draw(st.lists(st.sampled_from(rows), max_size=4)) if draw(st.booleans()) else []
    return draw(st.permutations(rows + again)) if draw(st.booleans()) else rows + again


def compare(table, rows, panel_of, **rules):
    """The panel is that of the naive rules, or refused for the same reason."""
    if reason := naive.reason_of(lambda: naive.gather(rows, **rules)):
        with refused(REASONS[reason]):
            panel_of(table)
        return
    expected, counts = naive.gather(rows, **rules)
    panel = panel_of(table)
    assert account(panel) == counts
    for row, name in enumerate(panel.ids):
        for place, value in enumerate(panel.values[row].tolist()):
            wanted = expected.pop((str(name), panel.times[place].item()), np.nan)
            np.testing.assert_allclose(value, wanted, rtol=1e-12, equal_nan=True)
    assert not expected


@given(
    rows=readings(),
    bucket=st.integers(1, 6),
    by=BY,
    complete=COMPLETE,
    duplicates=DUPLICATES,
    batch_cells=st.integers(1, 60),
    held=st.integers(1, 40),
)
def test_buckets_are_those_of_the_naive_rules(rows, bucket, by, complete, duplicates, batch_cells, held):
    def panel_of(table):
        settings = {"align": f"resample:{bucket}:{by}", "complete": complete, "duplicates": duplicates}
        return read_panel(table, missing="keep", **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BATCH_CELLS", batch_cells)
        patch.setattr(pivot, "_HELD_ROWS", held)
        compare(
            frame(*rows),
            rows,
            panel_of,
            bucket=bucket,
            bucket_of=lambda time: time // bucket * bucket,
            length_of=lambda start: bucket,
            by=by,
            duplicates=duplicates,
            complete=complete,
        )


@given(
    rows=readings(step=30, longest=150),
    zone=st.sampled_from(["Europe/Bratislava", "America/New_York", "Australia/Lord_Howe"]),
    first=st.sampled_from([dt.datetime(2024, month, 1) for month in (3, 4, 10, 11)]),
    shift=st.integers(0, 30 * 48),
    by=BY,
    complete=COMPLETE,
)
def test_local_days_are_those_of_the_naive_rules(rows, zone, first, shift, by, complete):
    place = ZoneInfo(zone)
    start = (first + dt.timedelta(minutes=30 * shift)).replace(tzinfo=dt.UTC)
    rows = [(name, start + dt.timedelta(minutes=minutes), value) for name, minutes, value in rows]

    def midnight(day):
        return dt.datetime(day.year, day.month, day.day, tzinfo=place).astimezone(dt.UTC)

    def day_of(time):
        return time.astimezone(place).date()

    def length_of(shown):
        day = shown.replace(tzinfo=dt.UTC).astimezone(place).date()
        return midnight(day + dt.timedelta(days=1)) - midnight(day)

    compare(
        frame(*rows),
        rows,
        lambda table: read_panel(
            table, align=f"resample:1d:{by}", complete=complete, timezone=zone, duplicates="first", missing="keep"
        ),
        bucket=dt.timedelta(days=1),
        bucket_of=lambda time: midnight(day_of(time)).replace(tzinfo=None),
        length_of=length_of,
        by=by,
        duplicates="first",
        complete=complete,
    )


@given(values=st.lists(st.integers(-8, 8) | st.none(), min_size=2, max_size=14), bucket=st.integers(1, 5), by=BY)
def test_dense_buckets_are_those_of_the_naive_rules(values, bucket, by):
    array = np.array([[np.nan if value is None else value for value in values]])
    rows = [("0", t, None if value is None else float(value)) for t, value in enumerate(values)]
    compare(
        array,
        rows,
        lambda table: read_panel(table, align=f"resample:{bucket}:{by}", missing="keep"),
        bucket=bucket,
        bucket_of=lambda time: time // bucket * bucket,
        length_of=lambda start: bucket,
        by=by,
    )
