"""Range counts as SQL over a published table, without reading it into memory."""

from __future__ import annotations

import glob
from pathlib import Path

import numpy as np

from shoal.errors import InputError, ParameterError
from shoal.queries.instants import as_stored
from shoal.queries.range_count import RangeCount

# The columns of each form of a release: the row, how many it stands for, and both ends of its range.
_FORMS = {
    ("id", "low", "high"): ("id", "1", "low", "high"),
    ("id", "value"): ("id", "1", "value", "value"),
    ("group", "count", "mean"): ('"group"', '"count"', "mean", "mean"),
}

# A missing value, NULL or NaN, is in no range. It comes first: DuckDB sorts NaN above infinity.
_SHARE = """
    CASE WHEN coalesce(isnan({low}) OR isnan({high}), true) THEN 0.0
         WHEN {high} > {low} THEN greatest(least({high}, hi) - greatest({low}, lo), 0.0) / ({high} - {low})
         WHEN {low} BETWEEN lo AND hi THEN 1.0
         ELSE 0.0 END"""

_COUNT = """
    SELECT coalesce(sum(weight * share), 0.0), (SELECT count(*) FROM asked WHERE instant IN (SELECT {at} FROM data))
    FROM (SELECT any_value({weight}) AS weight, product({share}) AS share
          FROM data JOIN asked ON {at} = asked.instant GROUP BY {row} HAVING count(*) = (SELECT count(*) FROM asked))"""


def count_in_table(path: str | Path, query: RangeCount) -> float:
    """Count in a published table with DuckDB: the same as `query.count` on the release in memory.

    Parameters
    ----------
    path
        The `data.parquet` of a release, or its folder: `id,time,low,high`, `id,time,value` or group profiles
        `group,count,time,mean`; one channel.
    query
        The ranges.

    Examples
    --------
    >>> import polars
    >>> table = {"id": ["u", "u", "v", "v"], "time": [0, 1, 0, 1], "low": [0.0, 1.0, 2.0, 3.0], "high": [2.0, 1, 2, 5]}
    >>> polars.DataFrame(table).write_parquet("data.parquet")
    >>> count_in_table("data.parquet", RangeCount({0: (1.0, 2.0), 1: (1.0, 4.0)}))
    1.0
    """
    import duckdb
    import pyarrow.parquet as pq  # imported here, because queries in memory do not need it

    if not isinstance(query, RangeCount) or any(one.channel for one in query.ranges):
        raise ParameterError(
            "A table answers ranges of its only channel: give a RangeCount that names none. Ask for patterns in memory."
        )
    file = Path(path)
    file = file / "data.parquet" if file.is_dir() else file
    if not file.is_file():
        raise InputError(f"{file.name} does not exist. Give the data.parquet of a release, or its folder.")
    with duckdb.connect() as connection:
        try:
            # The statistics of a file leave NaN out, and DuckDB would conclude from them that there is none.
            connection.execute("SET disabled_optimizers = 'statistics_propagation'")
            # Names are literal: DuckDB would treat brackets as a pattern, and a folder a=1 as a column.
            connection.from_parquet(glob.escape(str(file)), hive_partitioning=False).create_view("data")
            kinds = {name: str(kind) for name, kind, *_ in connection.execute("DESCRIBE data").fetchall()}
            row, weight, low, high = _form(set(kinds), file.name)
            moments = kinds["time"].startswith("TIMESTAMP")
            zone = getattr(pq.read_schema(file).field("time").type, "tz", None)
            asked = [(_number(as_stored(one.instant, zone), moments), one.low, one.high) for one in query.ranges]
            connection.execute("CREATE TABLE asked (instant BIGINT, lo DOUBLE, hi DOUBLE)")
            connection.executemany("INSERT INTO asked VALUES (?, ?, ?)", asked)
            at = "epoch_us(data.time)" if moments else "data.time"
            sql = _COUNT.format(at=at, row=row, weight=weight, share=_SHARE.format(low=low, high=high))
            answer = connection.execute(sql).fetchone()
        except duckdb.Error:
            raise InputError(f"{file.name} cannot be read as a published table.") from None
    assert answer is not None
    if lacking := len(asked) - int(answer[1]):
        raise ParameterError(
            f"The query asks for {lacking} of its {len(asked)} instants that the data does not have. Ask for instants "
            "that exist; unpublished ranges are estimated in memory only, by query.count(load_release(...).published)."
        )
    return float(answer[0])


def _form(columns: set[str], name: str) -> tuple[str, str, str, str]:
    for needed, form in _FORMS.items():
        if {"time", *needed} <= columns:
            return form
    raise InputError(
        f"{name} is not a table that ranges can be asked of: id,time,low,high or id,time,value or "
        f"group,count,time,mean, with one channel. It has {len(columns)} columns."
    )


def _number(time: int | np.datetime64, moments: bool) -> int:
    """An instant as the table holds it: a whole number, or microseconds since 1970."""
    if isinstance(time, np.datetime64) != moments:
        kind = "datetimes" if moments else "whole numbers"
        raise ParameterError(f"The instants of the table are {kind}, but those of the query are not.")
    return int(time.astype(np.int64)) if isinstance(time, np.datetime64) else time
