"""How many events in a stretch of time meet conditions."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Events, EventTables
from shoal.model.event_tables import COUNT, GROUP, TIME
from shoal.queries.instants import as_stored


class Between(NamedTuple):
    """A range of values, ends included."""

    low: Any
    high: Any


Condition = Any
"""One value, a collection of values, or a `Between`."""


@dataclass(frozen=True)
class WindowCount:
    """Count events from `start` to `end`, both included, that meet all conditions.

    On original events, the answer is exact. On bucketised events, it is the usual estimate: inside a group, every
    sensitive value is equally likely to belong to each record. On generalised events, a value is assumed to be uniform
    in its coarse range, or among its listed words. Moved events count where they are published. Datetimes are compared
    by whole microseconds.

    Parameters
    ----------
    start, end
        The interval: dates, datetimes, integers, or text such as "2024-01-31", as in the events; without an offset, on
        the clock of the events' time zone.
    where
        For some columns, quasi-identifiers or the sensitive one, a condition: a value, a collection of values, or
        `Between(low, high)`.

    Examples
    --------
    >>> table = pl.DataFrame({"time": [0, 0, 1], "age": [30, 41, 52], "result": ["no", "yes", "no"]})
    >>> events = Events(table, sensitive="result", quasi=["age"])
    >>> WindowCount(0, 1, {"age": Between(40, 60), "result": "no"}).count(events)
    1.0
    """

    start: Any
    end: Any
    where: Mapping[str, Condition]

    def count(self, data: Events | EventTables) -> float:
        """How many events meet the conditions: exact for events, else the expected number."""
        return float(count_windows([self], data)[0])

    def _in_coarse(self, data: EventTables) -> float:
        """For each record, the probability that it meets all conditions."""
        records = data.records.filter(self._inside(data.records, TIME))
        if data.sensitive in self.where:
            records = records.filter(_holds(records, data.sensitive, self.where[data.sensitive]))
        share = pl.Series([1.0] * len(records), dtype=pl.Float64)
        for column, condition in self.where.items():
            if column != data.sensitive:
                share = share * coarse_share(records, column, condition)
        return float(share.sum())

    def _inside(self, frame: pl.DataFrame, column: str) -> pl.Expr:
        kind = frame.schema[column]
        return _whole(frame, column).is_between(_moment(self.start, kind), _moment(self.end, kind))

    def _refuse(self, quasi: tuple[str, ...], sensitive: str) -> None:
        unknown = [column for column in self.where if column not in (*quasi, sensitive)]
        if unknown:
            raise ParameterError(
                f"The events have no column {unknown[0]!r}. Conditions can use: {', '.join((*quasi, sensitive))}."
            )


def count_windows(queries: Sequence[WindowCount], data: Events | EventTables) -> NDArray[np.float64]:
    """What each of several queries counts, in a few passes over the events."""
    for query in queries:
        query._refuse(data.quasi, data.sensitive)
    if isinstance(data, Events):
        one = pl.Series([1.0]).new_from_index(0, len(data.frame))
        return _sums(queries, data.frame, data.time, one)
    if data.counts is None:
        return np.array([query._in_coarse(data) for query in queries])
    # For each group, the number of matching records times the share of its sensitive values that match.
    counts = np.zeros(len(queries))
    alike: dict[str, list[int]] = {}
    for at, query in enumerate(queries):
        alike.setdefault(repr(query.where.get(data.sensitive, _ANY)), []).append(at)
    for places in alike.values():
        some = [queries[at] for at in places]
        share = _sensitive_share(data, data.counts, some[0].where.get(data.sensitive, _ANY))
        counts[places] = _sums(some, data.records, TIME, share, without=data.sensitive)
    return counts


_ANY = object()
_AT_ONCE = 250  # queries of a pass


def _sums(
    queries: Sequence[WindowCount], frame: pl.DataFrame, time: str, weights: pl.Series, *, without: str | None = None
) -> NDArray[np.float64]:
    """The sum of the weights of all rows that each query selects; conditions on one column may be left out."""
    weighed = frame.with_columns(weights.alias("__weight"))
    found = []
    for first in range(0, len(queries), _AT_ONCE):
        sums: dict[str, pl.Expr] = {}
        for query in queries[first : first + _AT_ONCE]:
            met = [_holds(frame, c, v) for c, v in query.where.items() if c != without]
            sums[str(len(sums))] = pl.col("__weight").filter(query._inside(frame, time), *met).sum()
        found.append(weighed.select(**sums).to_numpy()[0])
    return np.concatenate(found)


def _sensitive_share(data: EventTables, counts: pl.DataFrame, condition: Condition) -> pl.Series:
    """For each record, the share of its group's sensitive values that meet a condition."""
    wanted = pl.lit(True) if condition is _ANY else _holds(counts, data.sensitive, condition)
    found = counts.filter(wanted).group_by(TIME, GROUP).agg(pl.col(COUNT).sum().alias("__found"))
    sized = data.records.select(TIME, GROUP, pl.len().over(TIME, GROUP).alias("__size"))
    both = sized.join(found, on=[TIME, GROUP], how="left", maintain_order="left")
    return both["__found"].fill_null(0) / both["__size"]


def coarse_share(records: pl.DataFrame, column: str, condition: Condition) -> pl.Series:
    """For each record, the probability that a coarse quasi-identifier meets a condition; 0 if it is missing."""
    if records.is_empty():
        return pl.Series([], dtype=pl.Float64)
    if f"{column}_low" not in records.columns:
        distinct = records[column].unique().to_list()
        shares = {text: _share_of_list(json.loads(text), condition) for text in distinct}
        return records[column].replace_strict(shares, return_dtype=pl.Float64)
    low, high = records[f"{column}_low"], records[f"{column}_high"]
    if isinstance(condition, Between):
        return _overlap(low, high, condition.low, condition.high)
    parts = [_overlap(low, high, value, value) for value in _values(condition)]
    return sum(parts, start=pl.Series([0.0] * len(records), dtype=pl.Float64))


def _overlap(low: pl.Series, high: pl.Series, start: Any, end: Any) -> pl.Series:
    """The share of each range that lies between two values; for whole numbers, by counting them.

    A range without a lower end, because some of its group have no value, is assumed to begin at the lowest of all.
    """
    frame = pl.DataFrame({"low": low.cast(pl.Float64), "high": high.cast(pl.Float64)})
    lowest = pl.min_horizontal(pl.col("low").min(), "high")
    frame = frame.with_columns(
        pl.when(pl.col("high").is_null()).then(None).otherwise(pl.col("low").fill_null(lowest)).alias("low")
    )
    one = 1.0 if low.dtype.is_integer() else 0.0
    first, last = pl.max_horizontal("low", pl.lit(float(start))), pl.min_horizontal("high", pl.lit(float(end)))
    if one:
        first, last = first.ceil(), last.floor()
    width, covered = pl.col("high") - pl.col("low") + one, last - first + one
    point = pl.col("low").is_between(float(start), float(end)).cast(pl.Float64)
    share = pl.when(width > 0).then(covered.clip(0.0) / width).otherwise(point)
    return frame.select(share.fill_null(0.0).alias("share"))["share"]


def _share_of_list(listed: list[Any], condition: Condition) -> float:
    values = list(condition) if isinstance(condition, Between) else _values(condition)
    if any(isinstance(value, dt.datetime) for value in values):
        listed = [None if v is None else dt.datetime.fromisoformat(v) for v in listed]
    else:
        values = [value.isoformat() if isinstance(value, dt.date) else value for value in values]
    if isinstance(condition, Between):
        met = [v is not None and values[0] <= v <= values[1] for v in listed]
    else:
        met = [v is not None and v in values for v in listed]
    return float(sum(met)) / len(met)


def _holds(frame: pl.DataFrame, column: str, condition: Condition) -> pl.Expr:
    """A missing value meets no condition."""
    values = _whole(frame, column)
    if isinstance(condition, Between):
        return values.is_between(condition.low, condition.high).fill_null(False)
    return values.is_in(_values(condition)).fill_null(False)


def _whole(frame: pl.DataFrame, column: str) -> pl.Expr:
    """A column with whole microseconds, which is what Python's datetimes and so conditions have."""
    kind = frame.schema[column]
    in_parts = isinstance(kind, pl.Datetime) and kind.time_unit == "ns"
    return pl.col(column).dt.cast_time_unit("us") if in_parts else pl.col(column)


def _values(condition: Condition) -> list[Any]:
    if isinstance(condition, Collection) and not isinstance(condition, str | bytes):
        return list(condition)
    return [condition]


def _moment(time: Any, kind: pl.DataType) -> Any:
    """A point in time in the type of the column."""
    if kind.is_integer():
        try:
            return int(time)
        except (TypeError, ValueError):
            raise ParameterError(
                "The times of these events are whole numbers; give the window as whole numbers."
            ) from None
    try:
        moment = dt.datetime.fromisoformat(time) if isinstance(time, str) else time
    except ValueError:
        raise ParameterError("A window must be given as dates or datetimes, such as 2024-01-31.") from None
    if not isinstance(moment, dt.date):
        raise ParameterError("The times of these events are dates or datetimes; give the window in the same form.")
    if kind == pl.Date:
        return moment.date() if isinstance(moment, dt.datetime) else moment
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime.combine(moment, dt.time())
    zone = getattr(kind, "time_zone", None)
    instant = as_stored(moment, zone)
    assert isinstance(instant, np.datetime64)
    stored = pl.lit(instant.item())
    return stored if zone is None else stored.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
