"""Several rows for one series and instant: repeats collapse, differing rows are refused or merged, nothing adds up."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import gathering as naive
from read.support import refused
from shoal.errors import ParameterError
from shoal.read import read_panel, tables


def frame(*rows):
    return pl.DataFrame(list(rows), schema=["id", "time", "value"], orient="row", strict=False)


def account(panel):
    return {name: n for name, n in panel.origin.reading.items() if type(n) is int}


def test_a_repeated_row_is_taken_once_and_counted():
    panel = read_panel(frame(("a", 0, 1.0), ("a", 1, 1.0), ("a", 1, 1.0)))
    assert panel.values.tolist() == [[1.0, 1.0]]
    assert account(panel) == {"repeated": 1}


def test_a_repeated_row_adds_no_energy():
    table = frame(("a", 0, 1.0), ("a", 1, 1.0), ("a", 1, 1.0), ("a", 2, 1.0), ("a", 3, 1.0))
    panel = read_panel(table, align="resample:2:sum")
    assert panel.values.tolist() == [[2.0, 2.0]]
    assert account(panel) == {"repeated": 1}


@pytest.mark.parametrize("align", ["exact", "resample:1:sum", "resample:2:mean"])
def test_rows_that_differ_are_refused_with_the_choice(align):
    table = frame(("meter-of-mr-novak", 0, 1.0), ("meter-of-mr-novak", 1, 1.0), ("meter-of-mr-novak", 1, 77123.25))
    with refused("^1 of 3 rows are duplicates that differ: .* duplicates='first', 'last' or 'mean'.*never added up"):
        read_panel(table, align=align)


@pytest.mark.parametrize("align", ["exact", "resample:1:sum", "resample:1:mean"])
@pytest.mark.parametrize(("duplicates", "expected"), [("first", 1.0), ("last", 5.0), ("mean", 3.0)])
def test_rows_that_differ_are_merged_as_said(align, duplicates, expected):
    # The first row comes a second time in between: it is a repeat, and no weight in the mean.
    table = frame(("a", 1, 1.0), ("a", 0, 7.0), ("a", 1, 1.0), ("a", 1, 5.0), ("a", 2, 7.0))
    panel = read_panel(table, align=align, duplicates=duplicates)
    assert panel.values.tolist() == [[7.0, expected, 7.0]]
    assert account(panel) == {"repeated": 1, "merged": 1}


def test_the_last_row_counts_even_if_it_repeats_an_earlier_one():
    panel = read_panel(frame(("a", 0, 1.0), ("a", 0, 2.0), ("a", 0, 1.0)), duplicates="last")
    assert panel.values.tolist() == [[1.0]]
    assert account(panel) == {"repeated": 1, "merged": 1}


def test_a_missing_reading_differs_from_one_that_is_there():
    with refused("1 of 2 rows are duplicates that differ"):
        read_panel(frame(("a", 0, None), ("a", 0, 2.0)))
    assert read_panel(frame(("a", 0, None), ("a", 0, 2.0)), duplicates="mean").values.tolist() == [[2.0]]
    assert account(read_panel(frame(("a", 0, None), ("a", 0, None)), missing="keep")) == {"repeated": 1}


def test_rows_with_channels_are_compared_as_a_whole():
    table = pl.DataFrame({"id": ["a"] * 3, "time": [0] * 3, "x": [1.0, 1.0, 1.0], "y": [2.0, 2.0, 4.0]})
    with refused(r"1 of 3 rows are duplicates that differ: .* \(1 more repeat one exactly\)"):
        read_panel(table, value=["x", "y"])
    panel = read_panel(table, value=["x", "y"], duplicates="mean")
    assert panel.values.tolist() == [[[1.0, 3.0]]]
    assert account(panel) == {"repeated": 1, "merged": 1}


def autumn(values):
    """Hours of the 27th of October 2024 on a clock in Central Europe, without a zone: two o'clock comes twice."""
    hours = [0, 1, 2, 2, *range(3, 24)]
    return frame(*(("a", dt.datetime(2024, 10, 27, hour), value) for hour, value in zip(hours, values, strict=True)))


@pytest.mark.parametrize("align", ["exact", "resample:1d:sum"])
def test_the_hour_that_comes_twice_is_neither_added_up_nor_averaged(align):
    with refused("1 of 25 rows are duplicates that differ: .* give timezone="):
        read_panel(autumn(range(25)), align=align)


@pytest.mark.parametrize("align", ["exact", "resample:1d:sum"])
def test_two_hours_that_look_alike_are_no_repeat(align):
    with refused("1 of 25 rows repeat another exactly, but in an hour that clocks show twice .* Give timezone="):
        read_panel(autumn([1.0] * 25), align=align)
    assert account(read_panel(autumn([1.0] * 25), align=align, duplicates="first")) == {"repeated": 1}


def test_the_same_hour_in_a_wide_table():
    table = autumn([1.0] * 25).drop("id").rename({"value": "a"})
    with refused("1 of 25 rows repeat the time of another, .* give timezone="):
        read_panel(table, layout="wide")
    assert read_panel(table, layout="wide", timezone="Europe/Bratislava").n_instants == 25
    table = table.with_columns(pl.col("time") + pl.duration(days=1))
    assert account(read_panel(table, layout="wide")) == {"repeated": 1}


def test_wide_tables_with_a_row_twice():
    by_series = pl.DataFrame({"id": ["a", "b", "a"], "0": [1.0, 2.0, 1.0], "1": [3.0, 4.0, 3.0]})
    panel = read_panel(by_series)
    assert panel.values.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert account(panel) == {"repeated": 2}
    differs = by_series.with_columns(pl.Series("1", [3.0, 4.0, 5.0]))
    with refused("1 of 3 rows repeat the id of another, with 1 other readings; a wide table has one row per series"):
        read_panel(differs)
    panel = read_panel(differs, duplicates="mean")
    assert panel.values.tolist() == [[1.0, 4.0], [2.0, 4.0]]
    assert account(panel) == {"repeated": 1, "merged": 1}
    by_instant = pl.DataFrame({"time": [0, 1, 1], "a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 2.0]})
    with refused("1 of 3 rows repeat the time of another, with 1 other readings"):
        read_panel(by_instant, layout="wide")
    panel = read_panel(by_instant, layout="wide", duplicates="last")
    assert panel.values.tolist() == [[1.0, 3.0], [1.0, 2.0]]
    assert account(panel) == {"repeated": 1, "merged": 1}


def test_a_wide_row_that_repeats_with_another_attribute_is_refused():
    table = pl.DataFrame({"id": ["a", "a"], "0": [1.0, 1.0], "town": ["x", "y"]})
    with refused("Column 'town' changes within 1 of 1 series"):
        read_panel(table, quasi="town")


def test_other_words_for_duplicates_are_refused():
    with refused("^duplicates: give 'fail', 'first', 'last' or 'mean'", ParameterError):
        read_panel(frame(("a", 0, 1.0)), duplicates="sum")


@given(
    rows=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.sampled_from([1.0, 2.0, 4.0, None])),
        min_size=1,
        max_size=25,
    ),
    duplicates=st.sampled_from(["fail", "first", "last", "mean"]),
    batch_cells=st.integers(1, 30),
)
def test_settled_rows_are_those_of_the_naive_ones(rows, duplicates, batch_cells):
    rows = [*rows, *(("z", t, 9.0) for t in range(4))]  # every time occurs, so that the instants are even
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BATCH_CELLS", batch_cells)
        if naive.reason_of(lambda: naive.settle(rows, duplicates)):
            with refused("rows are duplicates that differ"):
                read_panel(frame(*rows), duplicates=duplicates, missing="keep")
            return
        found, repeated, merged = naive.settle(rows, duplicates)
        panel = read_panel(frame(*rows), duplicates=duplicates, missing="keep")
    assert account(panel) == {name: n for name, n in (("repeated", repeated), ("merged", merged)) if n}
    for row, name in enumerate(panel.ids):
        expected = [found[name].get(t) for t in range(4)]
        np.testing.assert_array_equal(panel.values[row], np.array(expected, dtype=float))
