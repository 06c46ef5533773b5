"""Values of an attribute that shards do not cross, in bins: each bin has a split plan of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Table
from shoal.engines.rows import ID
from shoal.engines.series import SeriesTable
from shoal.errors import ParameterError
from shoal.model import ShardPlan

MOST_VALUES = 10_000
"""Largest number of different values of an attribute in a plan."""

LARGEST_VALUE = 8
"""Shards' worth of subjects that a value may have which must not be cut."""

FIRST = "n first"
"""A column of subjects with several series: which row stands for them in counts."""

_N, _ALL = "n subjects", "n all"

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Bins:
    """Values of an attribute in bins: a large one has a bin of its own, which may be cut; small ones share one.

    Parameters
    ----------
    within
        Name of the attribute; None for one bin of all.
    values, numbers
        Each value and the number of its bin.
    sizes
        Subjects of each bin.
    whole
        Whether no bin may be cut.
    """

    within: str | None
    values: pa.Array | None
    numbers: Rows
    sizes: tuple[int, ...]
    whole: bool = False

    @property
    def n_bins(self) -> int:
        """How many there are."""
        return len(self.sizes)

    def codes(self, rows: pa.RecordBatch | pa.Table) -> Rows:
        """The bin of each row."""
        if self.within is None:
            return np.zeros(rows.num_rows, dtype=np.int64)
        places = pc.index_in(_plain(rows[self.within]), value_set=self.values)
        return self.numbers[np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)]

    def may_be_cut(self, number: int) -> bool:
        """Only a bin of one value, or of everyone."""
        return not self.whole and (self.within is None or int((self.numbers == number).sum()) == 1)

    def value_of(self, number: int) -> int:
        """The one value in a bin; -1 if there are several, or no attribute."""
        own = np.flatnonzero(self.numbers == number)
        return int(own[0]) if self.within is not None and len(own) == 1 else -1


def find_bins(series: SeriesTable, table: Table, plan: ShardPlan, size: int) -> Bins:
    """Values with their counts of subjects, smallest first into common bins."""
    within, whole, engine = plan.within, series.whole, series.engine
    if within is None:
        return Bins(None, None, np.zeros(1, dtype=np.int64), (whole.n_subjects,))
    kind = table.schema.field(within).type
    schema = pa.schema([(within, kind), (_N, pa.int64()), (ID, pa.string()), (_ALL, pa.int32())])
    tallies = engine.map(table, _Tally(within), schema)
    merged = engine.collect(engine.together(tallies, [_ALL], _Tally(within), schema))
    if merged.num_rows > MOST_VALUES:
        raise ParameterError(
            f"within={within!r} has more than {MOST_VALUES} different values: most groups would be too small. Name an "
            "attribute with fewer."
        )
    merged = merged.sort_by(ID)  # by their first series, as in memory
    sizes = merged[_N].to_numpy()
    if plan.whole_values and sizes.max() > LARGEST_VALUE * size:
        raise ParameterError(
            f"The largest value of {within!r} has {sizes.max()} subjects, and all of them must be in one shard; at "
            f"{size} subjects each that is more than {LARGEST_VALUE} shards. Name a finer attribute, or give a larger "
            "shard size."
        )
    numbers = pack_values(sizes, size, plan.least)
    totals = np.bincount(numbers, weights=sizes).astype(np.int64)
    return Bins(within, merged[within].combine_chunks(), numbers, tuple(totals.tolist()), plan.whole_values)


def pack_values(sizes: Rows, size: int, least: int) -> Rows:
    """The bin of each value. The smallest values come first; a bin is full at `size`, and has at least `least`.

    Examples
    --------
    >>> pack_values(np.array([900, 3, 4, 50, 60]), size=100, least=30).tolist()
    [1, 0, 0, 0, 0]
    """
    numbers = np.zeros(len(sizes), dtype=np.int64)
    number, total = 0, 0
    for value in sorted(range(len(sizes)), key=lambda i: (sizes[i], i)):
        if total >= size or (sizes[value] >= size and total >= least):
            number, total = number + 1, 0
        numbers[value] = number
        total += int(sizes[value])
    if number and total < least:
        numbers[numbers == number] = number - 1
    return numbers


@dataclass(frozen=True)
class _Tally:
    """Subjects and the first id of each value: of series, or of tallies. No more values than show that they are too
    many."""

    within: str

    def __call__(self, blocks: Blocks) -> Blocks:
        found: pa.Table | None = None
        for block in blocks:
            own = pa.table({self.within: _plain(block[self.within]), _N: _counted(block), ID: block[ID]})
            found = _tally(own if found is None else pa.concat_tables([found, own]), self.within)
            found = found.slice(0, MOST_VALUES + 1)
        if found is not None:
            together = pa.array(np.zeros(found.num_rows, dtype=np.int32))
            yield from found.append_column(_ALL, together).combine_chunks().to_batches()


def _counted(block: pa.RecordBatch) -> pa.Array:
    if _N in block.schema.names:
        return block[_N]
    if FIRST in block.schema.names:
        return block[FIRST].cast(pa.int64())
    return pa.array(np.ones(block.num_rows, dtype=np.int64))


def _tally(rows: pa.Table, within: str) -> pa.Table:
    counted = rows.group_by(within).aggregate([(_N, "sum"), (ID, "min")])
    return pa.table({within: counted[within], _N: counted[f"{_N}_sum"], ID: counted[f"{ID}_min"]})


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Values with one kind of missing."""
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column
