"""Times: types, text, zones, summer time, even steps."""

import datetime as dt

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from read.support import SECRETS, refused
from shoal.errors import ParameterError
from shoal.read import read_panel
from shoal.read.zones import time_texts


def one_series(times, **more):
    return pa.table({"id": ["a"] * len(times), "time": times, "value": [1.0] * len(times)} | more)


def utc_hours(start, n, step_minutes=60):
    return pl.datetime_range(
        start, start + dt.timedelta(minutes=step_minutes * (n - 1)), f"{step_minutes}m", eager=True
    )


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Bratislava"])
def test_arrow_timestamps(unit, zone):
    instants = pa.array([0, 3600, 7200]).cast(pa.timestamp("s")).cast(pa.timestamp(unit)).view(pa.timestamp(unit, zone))
    panel = read_panel(one_series(instants))
    assert panel.times.astype(int).tolist() == [0, 3_600_000_000, 7_200_000_000]
    assert panel.timezone == zone


def test_dates_and_integers_and_whole_floats():
    days = pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 2)])
    assert read_panel(one_series(days)).times.astype(str).tolist() == [
        "2024-01-01T00:00:00.000000",
        "2024-01-02T00:00:00.000000",
    ]
    assert read_panel(one_series(pa.array([2020, 2022], pa.uint16()))).times.tolist() == [2020, 2022]
    assert read_panel(one_series([2020.0, 2022.0])).times.tolist() == [2020, 2022]
    assert read_panel(one_series(["2020", "2022"])).times.tolist() == [2020, 2022]


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2024-02-29", "2024-02-29T00:00"),
        ("2024-02", "2024-02-01T00:00"),
        ("2024/2/9 7:05", "2024-02-09T07:05"),
        ("2024-02-29T13:14:15", "2024-02-29T13:14:15"),
        ("2024-02-29 13:14:15.5", "2024-02-29T13:14:15.5"),
        (" 2024-02-29 13:14:15,123456789 ", "2024-02-29T13:14:15.123456"),
        ("2024-02-29 24:00", "2024-03-01T00:00"),
        ("1931-01-01 00:00:00", "1931-01-01T00:00"),
    ],
)
def test_naive_text(text, instant):
    panel = read_panel(one_series([text]))
    assert panel.times[0] == np.datetime64(instant, "us")
    assert panel.timezone is None


@pytest.mark.parametrize(
    ("text", "zone", "instant"),
    [
        ("2024-02-29T13:00Z", "UTC", "2024-02-29T13:00"),
        ("2024-02-29T13:00:00+00:00", "UTC", "2024-02-29T13:00"),
        ("2024-02-29 13:00 UTC", "UTC", "2024-02-29T13:00"),
        ("2024-02-29 13:00:00.25+01:00", "+01:00", "2024-02-29T12:00:00.25"),
        ("2024-02-29 13:00-0330", "-03:30", "2024-02-29T16:30"),
        ("2024-02-29 13:00+02", "+02:00", "2024-02-29T11:00"),
    ],
)
def test_text_with_one_offset(text, zone, instant):
    panel = read_panel(one_series([text]))
    assert panel.times[0] == np.datetime64(instant, "us")
    assert panel.timezone == zone


@pytest.mark.parametrize(
    "text",
    [
        "2024-13-01",
        "2023-02-29",
        "2024-01-32",
        "2024-01-01 24:01",
        "2024-01-01 12:60",
        "2024-01-01 12:00:60",
        "2024-01-01 12:00+25:00",
        "31.5.2024",
        SECRETS[0],
    ],
)
def test_unreadable_text_is_counted_and_placed(text):
    with refused(r"Column 'time' holds no readable time in 2 of 4 rows, the first in data row 2, counted from 1\."):
        read_panel(one_series(["2024-01-01", text, "2024-01-02", text]))


def test_integers_among_timestamps_are_unreadable():
    with refused("no readable time in 1 of 3 rows, the first in data row 1, "):
        read_panel(one_series(["2024", "2024-01-01", "2024-01-02"]))


def test_fractional_numbers_are_no_times():
    with refused("no readable time in 1 of 2 rows, the first in data row 2, "):
        read_panel(one_series([1.0, 2.5]))


def test_other_types_are_no_times():
    with refused("Column 'time' must hold dates, timestamps, text such as 2024-05-31 14:30, or integers"):
        read_panel(one_series(pa.array([1, 2], pa.duration("s"))))


@pytest.mark.parametrize(
    "times", [["2024-01-01", None, ""], [1, None, None], [1.0, float("nan"), None], ["1", "NaT", "na"]]
)
def test_missing_times_are_counted(times):
    with refused("2 of 3 rows have no time in column 'time'"):
        read_panel(one_series(times))


def test_mixed_offsets():
    times = ["2024-03-31 01:00+01:00", "2024-03-31 03:00+02:00", "2024-03-31 04:00+02:00"]
    with refused(
        "'time' has mixed time zones: 3 rows with 2 different offsets or zones and 0 rows with none. Give timezone="
    ):
        read_panel(one_series(times))
    panel = read_panel(one_series(times), timezone="Europe/Bratislava")
    assert panel.timezone == "Europe/Bratislava"
    assert panel.times.astype(str).tolist() == [f"2024-03-31T0{h}:00:00.000000" for h in range(3)]


def test_some_with_and_some_without_offset():
    times = ["2024-07-01 01:00+02:00", "2024-07-01 02:00", "2024-07-01 03:00"]
    with refused("mixed time zones: 1 rows with 1 different offsets or zones and 2 rows with none"):
        read_panel(one_series(times))
    panel = read_panel(one_series(times), timezone="Europe/Bratislava")
    assert panel.times.astype(str).tolist() == ["2024-06-30T23:00:00.000000"] + [
        f"2024-07-01T0{h}:00:00.000000" for h in range(2)
    ]


def test_files_with_and_without_zone_are_mixed(tmp_path):
    naive = pl.DataFrame({"id": ["a"], "time": [dt.datetime(2024, 1, 1)], "value": [1.0]})
    naive.write_parquet(tmp_path / "1.parquet")
    naive.with_columns(pl.col("time").dt.replace_time_zone("UTC")).write_parquet(tmp_path / "2.parquet")
    with refused("mixed time zones: 1 rows with 1 different offsets or zones and 1 rows with none"):
        read_panel(tmp_path)


def spring(step_minutes=15):
    """Local clock of Bratislava around 31 March 2024, which has 23 hours."""
    clock = utc_hours(dt.datetime(2024, 3, 30, 23), 23 * 60 // step_minutes, step_minutes)
    return clock.dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Bratislava").dt.replace_time_zone(None)


def autumn():
    """The same around 27 October 2024, which has 25 hours; 2 o'clock comes twice."""
    clock = utc_hours(dt.datetime(2024, 10, 26, 22), 25)
    return clock.dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Bratislava").dt.replace_time_zone(None)


@pytest.mark.parametrize("as_text", [False, True])
def test_the_day_of_23_hours_needs_a_zone(as_text):
    local = spring().dt.to_string("%Y-%m-%d %H:%M:%S") if as_text else spring()
    with refused(r"1 of 91 steps differ from the usual one\. One step is longer by an hour, .* give timezone="):
        read_panel(one_series(local.to_arrow()))
    with refused("or mark the gap with align='resample:15min:mean'"):
        read_panel(one_series(local.to_arrow()))
    panel = read_panel(one_series(local.to_arrow()), timezone="Europe/Bratislava")
    assert panel.n_instants == 92
    assert set(np.diff(panel.times).astype(int)) == {900_000_000}
    assert panel.timezone == "Europe/Bratislava"


@pytest.mark.parametrize("as_text", [False, True])
def test_the_day_of_25_hours_needs_a_zone_or_offsets(as_text):
    local = autumn().dt.to_string("%Y-%m-%d %H:%M:%S") if as_text else autumn()
    with refused("1 of 25 rows repeat another exactly, but in an hour that clocks show twice.* Give timezone="):
        read_panel(one_series(local.to_arrow()))
    aware = utc_hours(dt.datetime(2024, 10, 26, 22), 25).dt.replace_time_zone("UTC")
    for times in (local, aware):
        panel = read_panel(one_series(times.to_arrow()), timezone="Europe/Bratislava")
        assert panel.n_instants == 25
        assert panel.timezone == "Europe/Bratislava"
        assert panel.times[0] == np.datetime64("2024-10-26T22:00")


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("by_time", [False, True])
def test_the_autumn_hour_is_told_apart_by_order_within_a_series(backward, by_time):
    """Each series has 46 of its own 50 half-hours; what is missing differs between them."""
    clock = utc_hours(dt.datetime(2024, 10, 26, 22), 50, 30).dt.replace_time_zone("UTC")
    local = clock.dt.convert_time_zone("Europe/Bratislava").dt.replace_time_zone(None)
    rows = [
        (t, name, local[t], float(t))
        for n, name in enumerate("abcd")
        for t in range(50)
        if t not in (n, 4 + n, 10 + 3 * n, 40 + n)
    ]
    rows.sort(key=lambda row: (row[0], row[1]) if by_time else (row[1], row[0]))
    table = pl.DataFrame(
        [row[1:] for row in (rows[::-1] if backward else rows)], orient="row", schema=["id", "time", "value"]
    )
    panel = read_panel(table, timezone="Europe/Bratislava", missing="keep")
    assert panel.n_missing == panel.n_series * panel.n_instants - len(rows)
    first = np.datetime64("2024-10-26T22:00", "us")
    for row, name in enumerate(panel.ids):
        own = ~np.isnan(panel.values[row])
        place = (panel.times[own] - first) // np.timedelta64(30, "m")
        np.testing.assert_array_equal(panel.values[row][own], place.astype(float))
        assert name in "abcd"


@pytest.mark.parametrize("minutes", [30, 60])
def test_the_autumn_hour_of_a_table_sorted_by_the_clock_is_told_apart(minutes):
    clock = utc_hours(dt.datetime(2024, 10, 26, 22), 25 * 60 // minutes, minutes).dt.replace_time_zone("UTC")
    local = clock.dt.convert_time_zone("Europe/Bratislava").dt.replace_time_zone(None)
    table = pl.DataFrame({"id": "a", "time": local, "value": np.arange(len(clock), dtype=float)})
    table = pl.concat([table, table.with_columns(id=pl.lit("b"))]).sort("id", "time", maintain_order=True)
    panel = read_panel(table, timezone="Europe/Bratislava")
    np.testing.assert_array_equal(panel.values, [np.arange(len(clock))] * 2)


def test_an_autumn_hour_that_order_does_not_tell_apart_is_open():
    times = ["2024-10-27 01:00", "2024-10-27 02:00", "2024-10-27 03:00"]
    with refused("1 rows fall into the hour that its clock shows twice, .* dst='first' or 'second'"):
        read_panel(one_series(times), timezone="Europe/Bratislava")
    for dst, hour in (("first", 0), ("second", 1)):
        panel = read_panel(one_series(times), timezone="Europe/Bratislava", dst=dst, missing="keep")
        assert panel.times[1] == np.datetime64(f"2024-10-27T0{hour}:00")
    with refused("25|2 rows fall into the hour that its clock shows twice"):
        read_panel(one_series(autumn().to_arrow()), timezone="Europe/Bratislava", dst="fail")
    with refused("^dst: give 'infer', 'first', 'second' or 'fail'", ParameterError):
        read_panel(one_series(times), dst="third")


def test_times_the_clock_skips():
    with refused("0 rows fall into the hour that its clock shows twice, 1 into the hour that it skips"):
        read_panel(one_series(["2024-03-31 01:30", "2024-03-31 02:30"]), timezone="Europe/Bratislava")


def test_a_fixed_offset_as_zone():
    panel = read_panel(one_series(["2024-03-31 01:30", "2024-03-31 02:30"]), timezone="+01:00")
    assert panel.times.astype(str).tolist() == ["2024-03-31T00:30:00.000000", "2024-03-31T01:30:00.000000"]


def test_unknown_zones():
    with refused("^timezone: 'Europe/Nowhere' is not in the time zone database", ParameterError):
        read_panel(one_series([1]), timezone="Europe/Nowhere")
    with refused("^timezone: give a name such as Europe/Bratislava", ParameterError):
        read_panel(one_series([1]), timezone=1)


def test_integers_have_no_zone():
    with refused("^timezone: column 'time' holds integers", ParameterError):
        read_panel(one_series([1, 2]), timezone="UTC")


@pytest.mark.parametrize(
    "times",
    [
        ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"],
        ["2024-01-15", "2024-02-15", "2024-03-15"],
        ["2023-01-01", "2024-01-01", "2025-01-01"],
        ["2024-01-01", "2024-04-01", "2024-07-01"],
        ["2024-01-01", "2024-01-31"],
        ["2024-01-01"],
        ["1", "4", "7"],
        ["1970-01-01 00:00:00.000", "1970-01-01 00:00:00.033", "1970-01-01 00:00:00.067", "1970-01-01 00:00:00.100"],
    ],
)
def test_even_on_some_calendar(times):
    assert read_panel(one_series(times)).n_instants == len(times)


def test_local_days_are_even_although_one_has_23_hours():
    panel = read_panel(
        one_series(["2024-03-30", "2024-03-31", "2024-04-01", "2024-04-02"]), timezone="Europe/Bratislava"
    )
    assert panel.n_instants == 4


def test_an_outage_of_everybody_becomes_a_gap_at_the_usual_step():
    times = utc_hours(dt.datetime(2024, 1, 1), 20, 15).gather([0, 1, 2, 3, 9, 10, 11])
    with refused(r"1 of 6 steps .* align='resample:15min:mean', which marks gaps as missing"):
        read_panel(one_series(times.to_arrow()))
    panel = read_panel(one_series(times.to_arrow()), align="resample:15min", missing="keep")
    assert panel.n_missing == 5


def test_uneven_steps():
    with refused(r"not evenly spaced: 1 of 3 steps differ from the usual one\. Resample with align='resample:1d:mean'"):
        read_panel(one_series(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-07"]))
    with refused("not evenly spaced: 1 of 3 steps .* align='resample:1:mean'"):
        read_panel(one_series([0, 1, 2, 4]))


def test_series_with_a_clock_of_their_own():
    rows = [(name, 60 * t + shift, 1.0) for shift, name in enumerate("abcde") for t in range(10)]
    table = pl.DataFrame(rows, schema=["id", "time", "value"], orient="row")
    with refused("times of the series do not line up: 5 series have 50 different, .* fill 20 % of the cells"):
        read_panel(table)
    assert read_panel(table, align="resample:60").n_missing == 0


def test_resample_from_midnight():
    times = ["2024-01-01 05:10", "2024-01-01 06:50", "2024-01-01 13:00", "2024-01-02 01:00"]
    panel = read_panel(one_series(times), align="resample:6h:sum", complete="any", missing="keep")
    assert panel.times.astype("datetime64[h]").astype(str).tolist() == [
        f"2024-01-{d}" for d in ("01T00", "01T06", "01T12", "01T18", "02T00")
    ]
    np.testing.assert_array_equal(panel.values, [[1.0, 1.0, 1.0, np.nan, 1.0]])


def test_resample_by_local_days():
    aware = utc_hours(dt.datetime(2024, 3, 29, 23), 24 + 23 + 24).dt.replace_time_zone("UTC")
    panel = read_panel(
        one_series(aware.to_arrow()), timezone="Europe/Bratislava", align={"resample": "1d", "by": "sum"}
    )
    assert panel.values.tolist() == [[24.0, 23.0, 24.0]]
    assert panel.times.astype("datetime64[h]").astype(str).tolist() == [
        "2024-03-29T23",
        "2024-03-30T23",
        "2024-03-31T22",
    ]


def test_resample_hours_in_a_zone_of_half_hours():
    panel = read_panel(
        one_series(["2024-01-01 00:15", "2024-01-01 01:15"]), timezone="Asia/Kolkata", align="resample:1h"
    )
    assert panel.times.astype(str).tolist() == ["2023-12-31T18:30:00.000000", "2023-12-31T19:30:00.000000"]


@pytest.mark.parametrize(
    "align", ["even", "resample", "resample:1h:median", {"resample": "1h", "how": "sum"}, 3, {"by": "sum"}]
)
def test_unknown_alignments(align):
    with refused("^align( resample)?: give ", ParameterError):
        read_panel(one_series([1, 2]), align=align)


def test_step_fits_the_clock():
    with refused("^align resample: the data has no timestamps", ParameterError):
        read_panel(one_series([1, 2]), align="resample:1h")


def test_outlying_times_do_not_allocate_an_empty_panel():
    with refused("2 rows would fill less than 1 % of 1 series x 2398377601 instants"):
        read_panel(one_series(["1950-01-01 00:00:00", "2026-01-01 00:00:00"]), align="resample:1s")


def test_an_instant_beyond_what_polars_can_write_has_a_text_all_the_same():
    far = np.array([9 * 10**18, -9 * 10**18]).astype("datetime64[us]")
    assert [text.partition("-0")[0] for text in time_texts(far, None)] == ["287168", "-283229"]
    assert time_texts(far, "UTC")[0].endswith("Z")
