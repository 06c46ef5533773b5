"""Events read into snapshots of a length, with subjects, and rows without a time."""

import datetime

import polars as pl
import pytest

from shoal import read_events, read_panel
from shoal.errors import InputError, ParameterError

TABLE = pl.DataFrame(
    {
        "time": ["2024-05-01 10:00", "2024-05-01 23:59", "2024-05-02 00:00", None, "2024-05-03 07:30"],
        "person": ["p", "q", "p", "q", "p"],
        "age": [30, 40, 30, 40, 30],
        "result": ["no", "yes", "no", "yes", "no"],
    }
)
COLUMNS = {"sensitive": "result", "quasi": ["age"]}


def test_times_are_cut_down_to_the_length_of_a_snapshot():
    events = read_events(TABLE.filter(pl.col("time").is_not_null()), every="1d", **COLUMNS)
    assert events.frame["time"].unique().sort().to_list() == [datetime.datetime(2024, 5, day) for day in (1, 2, 3)]
    numbers = pl.DataFrame({"time": [-1, 0, 6, 7], "result": list("abcd")})
    assert read_events(numbers, every="7", sensitive="result").frame["time"].to_list() == [-7, 0, 0, 7]


def test_a_length_must_fit_the_times():
    with pytest.raises(ParameterError, match="every: the data has timestamps"):
        read_events(TABLE.drop_nulls(), every="7", **COLUMNS)
    with pytest.raises(ParameterError, match="every applies to events"):
        read_panel(pl.DataFrame({"id": ["a"], "time": [0], "value": [1.0]}), every="1d")


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("missing", ["drop-instants", "drop-series"])
def test_rows_without_a_time_are_left_out_and_counted(missing, as_text, tmp_path):
    table = TABLE if as_text else TABLE.with_columns(pl.col("time").str.to_datetime("%Y-%m-%d %H:%M"))
    events = read_events(table, missing=missing, subject="person", **COLUMNS)
    assert len(events) == 4
    assert "1 of 5 rows have no time and are left out" in events.origin.notes
    table.write_csv(tmp_path / "events.csv")
    assert len(read_events(tmp_path / "events.csv", missing=missing, **COLUMNS)) == 4


def test_rows_without_a_time_are_refused_otherwise():
    with pytest.raises(InputError, match="1 of 5 rows have no time"):
        read_events(TABLE, **COLUMNS)
    for missing in ("keep", "interpolate:2h"):
        with pytest.raises(ParameterError, match="nothing can fill it"):
            read_events(TABLE, missing=missing, **COLUMNS)


def test_subjects_are_read_told_and_counted():
    events = read_events(TABLE.drop_nulls(), subject="person", every="30d", **COLUMNS)
    assert events.subject == "person"
    assert events.n_repeated == 2
    assert events.origin.notes[0] == "4 rows read as 4 events, of the subjects that a column names"
    assert read_events(TABLE.drop_nulls(), **COLUMNS).n_repeated == 0
