"""Gaps: every policy, alone and in order."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from read.oracle import naive_interpolate
from read.support import refused
from shoal.errors import ParameterError
from shoal.read import read_panel
from shoal.read.missing import parse_missing

NAN = np.nan
GAPPY = np.array(
    [[1.0, NAN, 3.0, 4.0, 5.0], [1.0, NAN, NAN, 4.0, 5.0], [NAN, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0]]
)


def on_clock(values, step="30m"):
    times = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2025, 1, 1), step, eager=True)[: values.shape[1]]
    return pl.DataFrame({"time": times} | {f"s{row}": series for row, series in enumerate(values)}, nan_to_null=True)


def test_fail_counts_series_and_cells():
    with refused(r"^3 of 4 series have gaps: 4 of 20 cells are missing\. Set missing= to 'drop-series', "):
        read_panel(GAPPY)


def test_keep_leaves_them():
    np.testing.assert_array_equal(read_panel(GAPPY, missing="keep").values, GAPPY)


def test_drop_series():
    panel = read_panel(GAPPY, missing="drop-series")
    assert panel.values.tolist() == [[1.0, 2.0, 3.0, 4.0, 5.0]]
    with refused("Every one of the 3 series has gaps, so drop-series would leave none"):
        read_panel(GAPPY[:3], missing="drop-series")


def test_drop_series_takes_along_what_belongs_to_it():
    table = pl.DataFrame(
        {"id": ["b", "a", "c"], "home": ["h1", "h2", "h3"], "tariff": [7, 8, 9], "ill": ["x", "y", "z"]}
    ).with_columns(t0=pl.Series([1.0, None, 3.0]))
    panel = read_panel(table, layout="wide", subject="home", quasi="tariff", sensitive="ill", missing="drop-series")
    assert panel.ids.tolist() == ["b", "c"]
    assert panel.subjects.tolist() == ["h1", "h3"]
    assert panel.attributes["tariff"].tolist() == [7, 9]
    assert panel.sensitive["ill"].tolist() == ["x", "z"]


def test_drop_instants():
    panel = read_panel(GAPPY, missing="drop-instants")
    assert panel.times.tolist() == [3, 4]
    assert panel.values.tolist() == [[4.0, 5.0]] * 4
    with refused("Every one of the 2 instants is missing in some series, so drop-instants would leave none"):
        read_panel(GAPPY[:3, :2], missing="drop-instants")


def test_drop_instants_keeps_the_times_they_had():
    panel = read_panel(on_clock(GAPPY), missing="drop-instants")
    assert panel.times.astype(str).tolist() == ["2024-01-01T01:30:00.000000", "2024-01-01T02:00:00.000000"]


def test_interpolate_counts_the_gap_as_instants_times_step():
    half_hours = on_clock(GAPPY[:2])
    assert read_panel(half_hours, missing="interpolate:1h").values[1].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    left = "1 of 2 series still has gaps after interpolation: 2 of 10 cells are missing, at an end of a series or in"
    with refused(rf"{left} a longer gap\. Allow longer gaps in missing=, or add 'drop-series'"):
        read_panel(half_hours, missing="interpolate:59min")
    panel = read_panel(half_hours, missing={"interpolate": "30min"}, layout="wide", value=["s0"])
    assert panel.values.tolist() == [[1.0, 2.0, 3.0, 4.0, 5.0]]


def test_interpolate_never_extrapolates():
    values = np.array([[NAN, 1.0, NAN, 3.0, NAN]])
    panel = read_panel(values, missing="interpolate:5,keep")
    np.testing.assert_array_equal(panel.values, [[NAN, 1.0, 2.0, 3.0, NAN]])


def test_steps_apply_in_order():
    assert read_panel(GAPPY, missing="interpolate:1,drop-series").n_series == 2
    assert read_panel(GAPPY, missing=["interpolate:2", "drop-series"]).n_series == 3
    assert read_panel(GAPPY, missing=[{"interpolate": 2}, "drop-instants"]).values.shape == (4, 4)
    assert read_panel(GAPPY, missing=["interpolate:1,drop-series", "fail"]).n_series == 2


def test_interpolation_after_dropped_instants_follows_the_clock():
    values = np.array([[0.0, NAN, NAN, 3.0], [0.0, NAN, 2.0, 3.0]])
    times = np.array([0, 10, 20, 30])
    table = pl.DataFrame({"time": times, "a": values[0], "b": values[1]}, nan_to_null=True)
    panel = read_panel(table, missing="interpolate:2", layout="wide")
    assert panel.values.tolist() == [[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0]]


@given(
    values=arrays(
        float, st.tuples(st.integers(1, 3), st.integers(1, 12)), elements=st.sampled_from([0.0, 1.0, 2.5, -3.0, NAN])
    ),
    longest=st.integers(1, 6),
)
def test_interpolate_equals_naive(values, longest):
    expected = [naive_interpolate(series, longest) for series in values.tolist()]
    panel = read_panel(values, missing=f"interpolate:{longest},keep")
    np.testing.assert_allclose(panel.values, np.array(expected), rtol=1e-15, atol=0)
    clocked = read_panel(on_clock(values, "15m"), missing=f"interpolate:{15 * longest}min,keep", time="time")
    np.testing.assert_allclose(clocked.values, np.array(expected), rtol=1e-15, atol=0)
    channels = read_panel(np.dstack([values, values]), missing=f"interpolate:{longest},keep")
    np.testing.assert_allclose(channels.values[:, :, 1], np.array(expected), rtol=1e-15, atol=0)


@pytest.mark.parametrize(
    "given_", ["", "drop", "keep:2h", "interpolate", 3, None, [], {"keep": 1}, {"interpolate": "2h", "x": 1}]
)
def test_unknown_policies(given_):
    with refused("^(missing|interpolate): give ", ParameterError):
        parse_missing(given_)


@pytest.mark.parametrize("given_", ["fail,drop-series", "keep,interpolate:2h"])
def test_fail_and_keep_come_last(given_):
    with refused("^missing: 'fail' and 'keep' end the list of steps; put them last", ParameterError):
        parse_missing(given_)


@pytest.mark.parametrize("length", ["2 hours", "h", "-2h", "0h", "1.5h", "2H", "", "1w", "2m", True, 2.5, None])
def test_lengths_of_time(length):
    with refused("^interpolate: give a positive length such as 90s, 15min, 2h or 1d", ParameterError):
        read_panel(GAPPY, missing={"interpolate": length})


def test_lengths_fit_the_clock():
    with refused("^interpolate: the data has no timestamps, so give a bare number of instants", ParameterError):
        read_panel(GAPPY, missing="interpolate:2h")
    with refused("^interpolate: the data has timestamps, so give a length such as 90s", ParameterError):
        read_panel(on_clock(GAPPY), missing="interpolate:2")
