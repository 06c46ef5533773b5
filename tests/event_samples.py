"""Snapshots of events with every type that a release can hold."""

import datetime as dt

import numpy as np
import polars as pl

WORDS = ["", "a,b", 'say "no"', "two\nlines", "\r\n", " blank ", "null", "NaN", "ü→", "plain"]
RESULTS = ["flu", "cold", "none", 'it\'s, "well"', "two\nwords"]
TIMES = {
    "dates": [dt.date(2024, 1, 31), dt.date(2024, 2, 1)],
    "whole numbers": [3, 4],
    "clock": [dt.datetime(2024, 1, 31, 12, 30), dt.datetime(2024, 1, 31, 12, 30, 0, 250)],
    "zone": [dt.datetime(2024, 10, 27, 0, 30), dt.datetime(2024, 10, 27, 1, 30)],
}
"""In Berlin the two instants of "zone" have the same clock time, before and after the change from summer time."""
QUASI = ("word", "whole", "small", "number", "single", "truth", "day", "moment", "abroad")


def times(kind):
    column = pl.Series("time", TIMES[kind])
    return column.dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin") if kind == "zone" else column


def snapshot(time, n=24, seed=0, gaps=0.2):
    """An eligible snapshot for l up to 4, with gaps in the quasi-identifiers."""
    rng = np.random.default_rng(seed)

    def holed(column):
        return pl.select(pl.when(pl.Series(rng.random(n) >= gaps)).then(column)).to_series()

    days = pl.Series(rng.integers(0, 3, n)).cast(pl.Int32) * 200 + 19_000
    moments = pl.Series(rng.integers(0, 10**9, n) * 1_000_003).cast(pl.Datetime("us"))
    columns = {
        "word": holed(pl.Series(rng.choice(WORDS, n))),
        "whole": holed(pl.Series(rng.integers(-(2**62), 2**62, n))),
        "small": holed(pl.Series(rng.integers(0, 200, n)).cast(pl.UInt8)),
        "number": holed(pl.Series(rng.choice([0.1, -0.0, 0.0, 1e300, 5e-324, -1 / 3, np.inf], n))),
        "single": holed(pl.Series(rng.random(n)).cast(pl.Float32)),
        "truth": holed(pl.Series(rng.random(n) < 0.5)),
        "day": holed(days.cast(pl.Date)),
        "moment": holed(moments),
        "abroad": holed(moments.dt.replace_time_zone("UTC").dt.convert_time_zone("America/New_York")),
    }
    values = rng.permutation(np.resize(RESULTS, n))
    frame = pl.DataFrame(columns).with_columns(pl.Series("result", values), pl.Series("id", range(n)).cast(pl.String))
    return frame.insert_column(0, pl.Series("time", [time[0]] * n, dtype=time.dtype))
