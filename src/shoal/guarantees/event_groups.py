"""Groups of published events: how many events each has, and how many of them share a sensitive value."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.model import EventTables
from shoal.model.event_codes import dense_codes, physical, text_codes
from shoal.model.event_tables import COUNT, GROUP, TIME
from shoal.model.names import value_of

_SIZE, _MOST, _ROW = "__size", "__most", "__row"


class EventGroups(NamedTuple):
    """The published groups of all snapshots, in the order of their first row.

    A group that cannot be counted has size 0 and a count of 1, so that no share of it is small enough.
    """

    sizes: NDArray[np.int64]
    """Events of each group."""
    largest: NDArray[np.int64]
    """Events of its most frequent sensitive value, at least 1."""
    rows: NDArray[np.int64]
    """Its first row among the records; -1 for a group that only the table of counts has."""
    note: str
    """Why some groups cannot be counted; empty if all can."""


def event_groups(tables: EventTables) -> EventGroups:
    """Count the groups that a reader of the published tables sees.

    Bucketised: the records of one time and group number are a group, and its values occur as often as the table of
    counts says; if that differs from the number of records, or a count is not a whole number above 0, or a value is
    missing, the group cannot be counted. Generalised: a group is the set of records that are equal, bit for bit, in all
    columns but the sensitive one; a missing sensitive value may be any, and the group cannot be counted.
    """
    if tables.records.is_empty():
        return _nothing("no event is published")
    if tables.counts is None:
        return _generalised(tables)
    keys = [tables.records.schema[name] for name in (TIME, GROUP)]
    if any(kind.is_float() for kind in keys):
        # 0.0 and -0.0 would be one group to us, but two to a reader of the table.
        return _nothing("times or group numbers are not whole numbers")
    if keys != [tables.counts.schema[name] for name in (TIME, GROUP)]:
        return _nothing("records and counts have times or group numbers of different types")
    if any(table[name].null_count() for table in (tables.records, tables.counts) for name in (TIME, GROUP)):
        return _nothing("times or group numbers are missing")
    # With arrays: streams check every small snapshot, where frame operations take longer than the counting.
    n = len(tables.records)
    times, groups = (_codes(tables.records[name], tables.counts[name]) for name in (TIME, GROUP))
    codes = dense_codes(times * (int(groups.max()) + 1) + groups)
    of_record, of_count, n_groups = codes[:n], codes[n:], int(codes.max()) + 1
    sizes = np.bincount(of_record, minlength=n_groups)
    rows = np.full(n_groups, -1, dtype=np.int64)
    rows[of_record[::-1]] = np.arange(n)[::-1]
    counts, sound = _counts(tables.counts, tables.sensitive, n)
    values = counted_codes(tables.counts[tables.sensitive])[0]
    pair = dense_codes(of_count * (int(values.max(initial=0)) + 1) + values)
    by_value = np.zeros(int(pair.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(by_value, pair, counts)
    most, totals = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    np.maximum.at(most, of_count, by_value[pair])
    np.add.at(totals, of_count, counts)
    agree = (sizes == totals) & (np.bincount(of_count[~sound], minlength=n_groups) == 0)
    order = np.lexsort((rows, rows < 0))
    return _judged(sizes[order], most[order], rows[order], agree[order], "records and counts of")


def _codes(records: pl.Series, counts: pl.Series) -> NDArray[np.int64]:
    """Equal values of one column in both tables as equal numbers from 0."""
    both = physical(pl.concat([records, counts]))
    if both.dtype.is_integer() and both.dtype != pl.UInt64:
        return dense_codes(both.to_numpy().astype(np.int64))
    return both.rank("dense").to_numpy().astype(np.int64) - 1


def _counts(table: pl.DataFrame, sensitive: str, n_records: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The counts, 0 for an invalid count, and which are valid: whole, above 0, of a value that is not missing."""
    if not table[COUNT].dtype.is_integer():
        return np.zeros(len(table), dtype=np.int64), np.zeros(len(table), dtype=np.bool_)
    # More than there are records is wrong in any case, and could not be summed up.
    counts = table[COUNT]
    if counts.dtype != pl.Int64 or counts.null_count():
        counts = counts.cast(pl.Int64, strict=False).fill_null(0)
    numbers = counts.to_numpy()
    sound = (numbers >= 1) & (numbers <= n_records)
    if table[sensitive].null_count():
        sound &= table[sensitive].is_not_null().to_numpy()
    return np.where(sound, numbers, 0), sound


def _nothing(why: str) -> EventGroups:
    one = np.ones(1, dtype=np.int64)
    return EventGroups(0 * one, one, -one, why)


def _generalised(tables: EventTables) -> EventGroups:
    keys = [key for name in tables.alike for key in _bits(tables.records[name])]
    columns = {str(place): key for place, key in enumerate(keys)}
    frame = pl.DataFrame(columns | {"value": counted_as(tables.records[tables.sensitive])}).with_row_index(_ROW)
    by_value = frame.group_by(*columns, "value").agg(pl.len().alias(_SIZE), pl.col(_ROW).min())
    groups = by_value.group_by(*columns).agg(
        pl.col(_SIZE).sum(),
        pl.col(_SIZE).max().alias(_MOST),
        pl.col(_ROW).min(),
        agree=pl.col("value").is_not_null().all(),
    )
    return _result(groups, "sensitive values of")


def _result(groups: pl.DataFrame, what: str) -> EventGroups:
    groups = groups.sort(_ROW, nulls_last=True)
    agree = groups["agree"].to_numpy().astype(np.bool_)
    sizes, most, rows = (
        groups[name].cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int64) for name in (_SIZE, _MOST, _ROW)
    )
    return _judged(sizes, most, rows, agree, what)


def _judged(
    sizes: NDArray[np.int64],
    most: NDArray[np.int64],
    rows: NDArray[np.int64],
    agree: NDArray[np.bool_],
    what: str,
) -> EventGroups:
    """Groups that do not agree have size 0."""
    n_odd = int((~agree).sum())
    note = f"{what} {n_odd} group{'s' * (n_odd != 1)} do not fit together" if n_odd else ""
    return EventGroups(np.where(agree, sizes, 0), np.where(agree, most, 1), rows, note)


def counted_as(column: pl.Series) -> pl.Series:
    """Sensitive values, with both zeros and all spellings of a text as one: distinguishing them would err towards
    "holds"."""
    if column.dtype.is_float():
        return column + 0.0
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column
    texts = column.cast(pl.String)
    different = texts.unique().drop_nulls().to_list()
    return texts.replace_strict(different, [value_of(text) for text in different], default=None, return_dtype=pl.String)


def counted_texts(column: pl.Series) -> list[str | None]:
    """Each value by `counted_as`, as text."""
    if column.dtype != pl.String:
        return list(counted_as(column).cast(pl.String).to_list())
    return [None if text is None else _value_of(text) for text in column.to_list()]


def counted_codes(column: pl.Series) -> tuple[NDArray[np.int64], int]:
    """The rank of each value among the different ones, by `counted_as`, missing first; and their number."""
    if column.dtype != pl.String:
        ranks = counted_as(column).rank("dense")
        n_missing = ranks.null_count()
        codes = ranks.fill_null(0).to_numpy().astype(np.int64) - (n_missing == 0)
        return codes, int(codes.max(initial=-1)) + 1
    return text_codes(column, _value_of)


_value_of = lru_cache(maxsize=1 << 12)(value_of)
"""Streams ask for the same few values again and again."""


def _bits(column: pl.Series) -> list[pl.Series]:
    """The same column; for floats, the bits of what is not missing, because polars treats -0.0 as 0.0."""
    if not column.dtype.is_float():
        return [column]
    numbers = column.fill_null(0.0).to_numpy()
    return [column.is_null(), pl.Series(numbers.view(f"u{numbers.itemsize}"))]
