"""Small tables of events for tests."""

import json

import numpy as np
import polars as pl

from shoal.model import Events, EventTables


def small_events(seed, n=40, snapshots=5, nulls=True):
    """Events with a number, a word and three sensitive values; a few quasi-identifiers are missing."""
    rng = np.random.default_rng(seed)
    ages = [None if nulls and rng.random() < 0.1 else int(a) for a in rng.integers(20, 30, n)]
    sexes = [None if nulls and rng.random() < 0.1 else str(s) for s in rng.choice(["f", "m", "x"], n)]
    frame = pl.DataFrame(
        {
            "time": np.sort(rng.integers(0, snapshots, n)),
            "age": pl.Series(ages, dtype=pl.Int64),
            "sex": pl.Series(sexes, dtype=pl.String),
            "result": rng.choice(["a", "b", "c"], n),
        }
    )
    return Events(frame, sensitive="result", quasi=["age", "sex"])


def any_buckets(events, seed):
    """The events in random groups, eligible or not, some of them moved: what queries and attacks must cope with."""
    rng = np.random.default_rng(seed)
    frame = events.frame.with_columns(
        (pl.col("time") + pl.Series(rng.integers(0, 2, len(events)))).alias("time"),
        pl.Series("group", rng.integers(0, 3, len(events))),
    )
    records = frame.select("time", "group", "age", "sex").sort(pl.all())
    counts = frame.group_by("time", "group", "result").agg(pl.len().cast(pl.Int64).alias("count")).sort(pl.all())
    return EventTables(records, counts, ("age", "sex"), "result")


def any_coarse(events, seed):
    """The events with coarse quasi-identifiers."""
    rng = np.random.default_rng(seed)
    rows = []
    for e in events.frame.to_dicts():
        low, high = (None, None) if e["age"] is None else (e["age"] - rng.integers(0, 4), e["age"] + rng.integers(0, 4))
        low = None if rng.random() < 0.1 else low  # somebody of the group has no age
        words = {e["sex"], *rng.choice(["f", "m", "x"], rng.integers(0, 3)).tolist()}
        listed = json.dumps(sorted(words, key=lambda w: (w is None, w)))
        rows.append((e["time"] + int(rng.integers(0, 2)), low, high, listed, e["result"]))
    names = {"time": pl.Int64, "age_low": pl.Int64, "age_high": pl.Int64, "sex": pl.String, "result": pl.String}
    return EventTables(pl.DataFrame(rows, schema=names, orient="row").sort(pl.all()), None, ("age", "sex"), "result")
