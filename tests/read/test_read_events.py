"""Events from every source."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from read.support import SECRETS, refused
from shoal.errors import ParameterError
from shoal.read import read_events

FRAME = pl.DataFrame(
    {
        "timestamp": [dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1)],
        "age": [30, None, 52],
        "zip": ["01001", "81101", "81101"],
        "result": ["no", "yes", "no"],
        "case": [1, 2, 3],
        "name": [SECRETS[0]] * 3,
    }
)


@pytest.mark.parametrize("kind", ["polars", "pandas", "csv", "parquet", "sql", "arrow"])
def test_every_source_gives_the_same_events(tmp_path, kind):
    if kind in ("csv", "parquet"):
        getattr(FRAME, f"write_{kind}")(tmp_path / f"x.{kind}")
    sources = {"polars": FRAME, "pandas": pd.DataFrame(FRAME.to_dict(as_series=False)), "arrow": FRAME.to_arrow()}
    source = sources.get(kind, FRAME if kind == "sql" else tmp_path / f"x.{kind}")
    sql = "select * from input where true" if kind == "sql" else None
    events = read_events(source, sensitive="result", quasi=["age", "zip"], id="case", sql=sql)
    assert events.frame.columns == ["timestamp", "result", "age", "zip", "case"]
    assert events.frame["case"].to_list() == [2, 3, 1]
    assert events.frame["age"].to_list() == [None, 52, 30]
    assert events.frame["zip"].to_list() == ["81101", "81101", "01001"]
    assert events.frame["timestamp"].to_list()[0] == dt.datetime(2024, 1, 1)
    assert events.origin.n_rows == 3
    assert len(events.origin.sha256) == (kind in ("csv", "parquet"))


def test_plain_numbers_in_csv(tmp_path):
    (tmp_path / "x.csv").write_text("time,a,b,c,s\n1,1,1.5,007,x\n2,,-2,8,y\n")
    frame = read_events(tmp_path / "x.csv", sensitive="s", quasi=["a", "b", "c"]).frame
    assert frame["a"].to_list() == [1, None]
    assert frame["b"].to_list() == [1.5, -2.0]
    assert frame["c"].to_list() == ["007", "8"]
    assert frame["time"].to_list() == [1, 2]


def test_days_stay_days_and_zones_stay_zones():
    days = pl.DataFrame({"time": ["2024-01-02", "2024-01-01"], "s": ["x", "y"]})
    assert read_events(days, sensitive="s").frame["time"].to_list() == [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]
    placed = read_events(days, sensitive="s", timezone="Europe/Bratislava").frame
    assert placed["time"].dtype == pl.Datetime("us", "Europe/Bratislava")
    offset = pl.DataFrame({"time": ["2024-01-02 00:00+01:00"], "s": ["x"]})
    assert read_events(offset, sensitive="s").frame["time"].to_list()[0].isoformat() == "2024-01-01T23:00:00+00:00"


def test_refusals(tmp_path):
    with refused("^There is no column 'nope' among the 6 columns"):
        read_events(FRAME, sensitive="nope")
    with refused("^None of the 5 columns of the table is called time or timestamp. Name it with time="):
        read_events(FRAME.drop("timestamp"), sensitive="result")
    with refused("^sensitive: give the name of one column", ParameterError):
        read_events(FRAME, sensitive=["result"])
    with refused("^Column 'age' is named for two roles", ParameterError):
        read_events(FRAME, sensitive="age", quasi=["age"])
    with refused("^The table is empty"):
        read_events(FRAME.clear(), sensitive="result")
    with refused("^Events cannot be read from an array"):
        read_events(np.zeros((2, 2)), sensitive="result")
    with refused("^1 of 2 rows have no time in column 'time'.*--missing drop-instants"):
        read_events(pl.DataFrame({"time": ["2024-01-01", None], "s": ["x", "y"]}), sensitive="s")
    with refused("^None of 2 rows has a time in column 'time'"):
        read_events(pl.DataFrame({"time": [None, ""], "s": ["x", "y"]}), sensitive="s", missing="drop-instants")
    with refused("^1 of 2 events have no 's'"):
        (tmp_path / "x.csv").write_text("time,s\n1,x\n2,\n")
        read_events(tmp_path / "x.csv", sensitive="s")
