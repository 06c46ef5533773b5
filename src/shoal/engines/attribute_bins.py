"""Bins of strata that shards avoid crossing; each bin has its own split plan.

The series of a *cell* have the same entries in every attribute that some step must not mix. A large cell has a bin of
its own, which may be cut. Small cells share a bin. Such a bin has, of every stratum, either as many subjects as a shard
must have or all of them, so a step finds there what it would find in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Table
from shoal.engines.rows import ID, SUBJECT
from shoal.engines.series import SeriesTable
from shoal.errors import ParameterError
from shoal.model import SeriesLabels, ShardPlan, Strata

MOST_VALUES = 10_000
"""Largest number of different cells in a plan."""

LARGEST_VALUE = 8
"""Largest size, in shards' worth of subjects, of a bin that is not cut."""

FIRST = "n first"
"""A column for subjects with several series: whether the row represents its subject in counts."""

CELL = "n cell"
"""A column with the cell, for rows that do not carry their attributes."""

_N, _ALL = "n subjects", "n all"

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class AttributeCells:
    """The cell of each series.

    Parameters
    ----------
    attributes
        All attributes that some step must not mix.
    labels
        Rules that classify series by their names.
    """

    attributes: tuple[str, ...] = ()
    labels: tuple[SeriesLabels, ...] = ()

    @staticmethod
    def of(within: Sequence[Strata]) -> AttributeCells:
        """The cells of a plan."""
        names = dict.fromkeys(name for strata in within for name in strata.attributes)
        return AttributeCells(tuple(names), tuple(dict.fromkeys(one for strata in within for one in strata.labels)))

    def __bool__(self) -> bool:
        return bool(self.attributes or self.labels)

    @property
    def words(self) -> str:
        """What must not be mixed, as a message names it."""
        shown = ["the groups that analysts were shown"] if self.labels else []
        return " and ".join([*map(repr, self.attributes), *shown])

    def kind(self, schema: pa.Schema) -> pa.DataType:
        """The type of the column of cells."""
        return schema.field(self.attributes[0]).type if self._is_plain else pa.string()

    @property
    def _is_plain(self) -> bool:
        return len(self.attributes) == 1 and not self.labels

    def __call__(self, rows: pa.RecordBatch | pa.Table) -> pa.Array | pa.ChunkedArray:
        """The cell of each row: its entry in a single attribute, or a text that encodes several, which `parts`
        reads."""
        if CELL in rows.schema.names:
            return rows[CELL]
        if self._is_plain:
            return _plain(rows[self.attributes[0]])
        columns = [_encoded(_plain(rows[name])) for name in self.attributes]
        for one in self.labels:
            numbers = one.labels(rows[ID].to_pylist(), rows[SUBJECT].to_pylist())
            columns.append(_encoded(pa.array(numbers)))
        return pc.binary_join_element_wise(*columns, "")

    def parts(self, cells: Sequence[Any], strata: Strata) -> Rows:
        """The stratum of each cell, as a number."""
        if self._is_plain:
            return np.arange(len(cells))
        places = [self.attributes.index(name) for name in strata.attributes]
        places += [len(self.attributes) + self.labels.index(one) for one in strata.labels]
        numbers: dict[object, int] = {}
        entries = (_decoded(cell) for cell in cells)
        return np.array([numbers.setdefault(tuple(e[at] for at in places), len(numbers)) for e in entries])


def _encoded(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Texts in a form that can be joined unambiguously: length, a colon, the text; "-" for missing."""
    text = column.cast(pa.string())
    length = pc.utf8_length(text).cast(pa.string())
    return pc.fill_null(pc.binary_join_element_wise(length, text, ":"), "-")


def _decoded(cell: str) -> list[str | None]:
    entries: list[str | None] = []
    at = 0
    while at < len(cell):
        if cell[at] == "-":
            entries.append(None)
            at += 1
            continue
        colon = cell.index(":", at)
        end = colon + 1 + int(cell[at:colon])
        entries.append(cell[colon + 1 : end])
        at = end
    return entries


@dataclass(frozen=True, eq=False)
class Bins:
    """The bin of each cell: a large cell has a bin of its own, which may be cut; small cells share one.

    Parameters
    ----------
    cells
        Gives the cell of each row.
    values, numbers
        Each cell and the number of its bin; None means one bin for everything.
    sizes
        Subjects of each bin.
    cut
        Whether each bin may be cut.
    """

    cells: AttributeCells
    values: pa.Array | None
    numbers: Rows
    sizes: tuple[int, ...]
    cut: tuple[bool, ...] = (True,)

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.sizes)

    def codes(self, rows: pa.RecordBatch | pa.Table) -> Rows:
        """The bin of each row."""
        if self.values is None:
            return np.zeros(rows.num_rows, dtype=np.int64)
        places = pc.index_in(self.cells(rows), value_set=self.values)
        return self.numbers[np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)]

    def value_of(self, number: int) -> int:
        """The only cell in a bin; -1 if there are several, or if shards follow no attribute."""
        own = np.flatnonzero(self.numbers == number)
        return int(own[0]) if self.values is not None and len(own) == 1 else -1


def find_bins(series: SeriesTable, table: Table, plan: ShardPlan, size: int) -> Bins:
    """Count the subjects of each cell and pack cells into bins, the smallest first."""
    cells, whole, engine = AttributeCells.of(plan.within), series.whole, series.engine
    if not cells:
        return Bins(cells, None, np.zeros(1, dtype=np.int64), (whole.n_subjects,))
    schema = pa.schema([(CELL, cells.kind(table.schema)), (_N, pa.int64()), (ID, pa.string()), (_ALL, pa.int32())])
    tallies = engine.map(table, _Tally(cells), schema)
    merged = engine.collect(engine.together(tallies, [_ALL], _Tally(cells), schema))
    if merged.num_rows > MOST_VALUES:
        raise ParameterError(
            f"within={cells.words} has more than {MOST_VALUES} different values: most groups would be too small. Name "
            "attributes with fewer."
        )
    merged = merged.sort_by(ID)  # by their first series, as in memory
    sizes = merged[_N].to_numpy()
    strata = [cells.parts(merged[CELL].to_pylist(), one) for one in plan.within]
    units = join_cells(strata, [one.whole for one in plan.within], sizes, plan.least)
    numbers = pack_values(np.bincount(units, weights=sizes).astype(np.int64), size, plan.least)[units]
    totals = np.bincount(numbers, weights=sizes).astype(np.int64)
    alone = np.bincount(numbers) == 1
    large = totals > LARGEST_VALUE * size
    if (large & ~alone).any():
        raise ParameterError(
            f"Steps that stay within {cells.words} have strata so small that {int(totals[~alone].max())} subjects "
            f"would have to be in one shard; at {size} subjects each that is more than {LARGEST_VALUE} shards. Name "
            "coarser attributes, or give a larger shard size."
        )
    # A stratum that should be whole is cut only if it fits nowhere; its method then adds up the shards.
    cut = alone & (large | (not any(one.whole for one in plan.within)))
    return Bins(cells, merged[CELL].combine_chunks(), numbers, tuple(totals.tolist()), tuple(cut.tolist()))


def join_cells(strata: Sequence[Rows], whole: Sequence[bool], sizes: Rows, least: int) -> Rows:
    """Give cells that must be in one bin the same number.

    With one kind of strata, every cell is separate. With several, a bin may have fewer than `least` subjects of a
    stratum while others of that stratum are elsewhere. It is joined with the smallest bin that has some of them, until
    it has `least` or all of them. A bin of one cell has as many subjects of each of its strata as in total, so large
    cells stay separate.

    Examples
    --------
    >>> areas, tariffs = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> join_cells([areas, tariffs], [False, False], np.array([90, 4, 80, 70]), least=9).tolist()
    [0, 0, 1, 0]
    """
    units = np.arange(len(sizes))
    for codes, is_whole in zip(strata, whole, strict=True):
        if is_whole and len(strata) > 1:
            for code in np.unique(codes).tolist():
                units[np.isin(units, units[codes == code])] = units[codes == code].min()
    while len(strata) > 1 and (pair := _too_few(strata, sizes, units, least)) is not None:
        codes, code, unit = pair
        others = np.setdiff1d(units[codes == code], [unit])
        other = min(others.tolist(), key=lambda one: (sizes[units == one].sum(), one))
        units[np.isin(units, [unit, other])] = min(unit, other)
    return np.unique(units, return_inverse=True)[1].reshape(-1)


def _too_few(strata: Sequence[Rows], sizes: Rows, units: Rows, least: int) -> tuple[Rows, int, int] | None:
    """A stratum and a bin with too few of its subjects, but not all of them."""
    for codes in strata:
        everything = np.bincount(codes, weights=sizes)
        pairs, at = np.unique(np.stack([units, codes]), axis=1, return_inverse=True)
        n_inside = np.bincount(at.reshape(-1), weights=sizes)
        if (few := np.flatnonzero((n_inside < least) & (n_inside < everything[pairs[1]]))).size:
            unit, code = pairs[:, few[n_inside[few].argmin()]].tolist()
            return codes, code, unit
    return None


def pack_values(sizes: Rows, size: int, least: int) -> Rows:
    """Put each value into a bin, smallest values first. A bin is full at `size`, and has at least `least` subjects.

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
    """Count subjects and find the first id of each cell, in series or in earlier tallies. One cell above the limit is
    kept, to show that there are too many."""

    cells: AttributeCells

    def __call__(self, blocks: Blocks) -> Blocks:
        merged: pa.Table | None = None
        for block in blocks:
            own = pa.table({CELL: self.cells(block), _N: _counted(block), ID: block[ID]})
            merged = _tally(own if merged is None else pa.concat_tables([merged, own]))
            merged = merged.slice(0, MOST_VALUES + 1)
        if merged is not None:
            together = pa.array(np.zeros(merged.num_rows, dtype=np.int32))
            yield from merged.append_column(_ALL, together).combine_chunks().to_batches()


def _counted(block: pa.RecordBatch) -> pa.Array:
    if _N in block.schema.names:
        return block[_N]
    if FIRST in block.schema.names:
        return block[FIRST].cast(pa.int64())
    return pa.array(np.ones(block.num_rows, dtype=np.int64))


def _tally(rows: pa.Table) -> pa.Table:
    counted = rows.group_by(CELL).aggregate([(_N, "sum"), (ID, "min")])
    return pa.table({CELL: counted[CELL], _N: counted[f"{_N}_sum"], ID: counted[f"{ID}_min"]})


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Values with one kind of missing."""
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column
