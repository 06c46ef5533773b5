"""Groups of published events: how many events each has, and how many of them share a sensitive value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.model import EventTables
from shoal.model.event_tables import COUNT, GROUP, TIME

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
    """Why some groups cannot be counted; empty where all can."""


def event_groups(tables: EventTables) -> EventGroups:
    """Count the groups that a reader of the published tables sees.

    Bucketised: the records of one time and group number are a group, and its values are as often as the table of counts
    says in all; where that is not as often as there are records, or a count is no whole number above 0, or a value is
    missing, the group cannot be counted. Generalised: a group are the records that are equal, bit for bit, in all
    columns but the sensitive one; a missing sensitive value may be any, and the group cannot be counted.
    """
    if tables.records.is_empty():
        return _nothing("no event is published")
    if tables.counts is None:
        return _generalised(tables)
    keys = [tables.records.schema[name] for name in (TIME, GROUP)]
    if any(kind.is_float() for kind in keys):
        # 0.0 and -0.0 would be one group to us, and two to whoever reads the table.
        return _nothing("times or group numbers are no whole numbers")
    if keys != [tables.counts.schema[name] for name in (TIME, GROUP)]:
        return _nothing("records and counts have times or group numbers of different types")
    # Lazily, in one go: streams ask this of every small snapshot.
    records = tables.records.lazy().select(TIME, GROUP).with_row_index(_ROW)
    sizes = records.group_by(TIME, GROUP).agg(pl.len().alias(_SIZE), pl.col(_ROW).first())
    value = _one_zero(tables.counts[tables.sensitive])
    whole = tables.counts[COUNT].dtype.is_integer()
    counted = pl.col(COUNT).cast(pl.Int64, strict=False) if whole else pl.lit(0, dtype=pl.Int64).alias(COUNT)
    counts = tables.counts.lazy().select(TIME, GROUP, value.alias("value"), counted)
    # More than there are records is wrong in any case, and could not be summed up.
    sound = pl.col(COUNT).is_between(1, len(tables.records)).fill_null(False) & pl.col("value").is_not_null()
    by_value = counts.group_by(TIME, GROUP, "value").agg(pl.col(COUNT).filter(sound).sum(), sound.all().alias("sound"))
    totals = by_value.group_by(TIME, GROUP).agg(
        pl.col(COUNT).sum().alias("total"), pl.col(COUNT).max().alias(_MOST), pl.col("sound").all()
    )
    both = sizes.join(totals, on=[TIME, GROUP], how="full", coalesce=True)
    agree = pl.col("sound").fill_null(False) & (pl.col(_SIZE) == pl.col("total")).fill_null(False)
    return _result(both.with_columns(agree.alias("agree")).collect(), "records and counts of")


def _nothing(why: str) -> EventGroups:
    one = np.ones(1, dtype=np.int64)
    return EventGroups(0 * one, one, -one, why)


def _generalised(tables: EventTables) -> EventGroups:
    keys = [key for name in tables.alike for key in _bits(tables.records[name])]
    columns = {str(place): key for place, key in enumerate(keys)}
    frame = pl.DataFrame(columns | {"value": _one_zero(tables.records[tables.sensitive])}).with_row_index(_ROW)
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
    n_odd = int((~agree).sum())
    note = f"{what} {n_odd} group{'s' * (n_odd != 1)} do not fit together" if n_odd else ""
    return EventGroups(np.where(agree, sizes, 0), np.where(agree, most, 1), rows, note)


def _one_zero(column: pl.Series) -> pl.Series:
    """Sensitive values with 0.0 and -0.0 as one: telling them apart would err towards "holds"."""
    return column + 0.0 if column.dtype.is_float() else column


def _bits(column: pl.Series) -> list[pl.Series]:
    """The same column, or of floats the bits of what is not missing and whether it is: polars takes -0.0 for 0.0."""
    if not column.dtype.is_float():
        return [column]
    numbers = column.fill_null(0.0).to_numpy()
    return [column.is_null(), pl.Series(numbers.view(f"u{numbers.itemsize}"))]
