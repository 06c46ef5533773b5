"""Strata of a panel in blocks: which values of an attribute go together, from counts over all of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.blocks import BlockPanel
from shoal.engines.contract import Blocks, Table
from shoal.engines.rows import ID
from shoal.errors import ParameterError

MOST_STRATA = 10_000
"""Different values of an attribute that a plan may have."""

FIRST = "n first"
"""Of several series of a subject the one that is counted. No attribute is called so, see `reading`."""

_N, _ALL = "n subjects", "n all"


@dataclass(frozen=True, eq=False)
class Strata:
    """The stratum of each value of an attribute.

    Parameters
    ----------
    within
        Name of the attribute; None for one stratum of all.
    values, numbers
        Each value and the number of its stratum; several values may share one.
    sizes
        Subjects of each stratum.
    """

    within: str | None
    values: pa.Array | None
    numbers: NDArray[np.int64]
    sizes: tuple[int, ...]

    def codes(self, rows: pa.RecordBatch | pa.Table) -> NDArray[np.int64]:
        """The stratum of each row."""
        if self.within is None:
            return np.zeros(rows.num_rows, dtype=np.int64)
        places = pc.index_in(_plain(rows[self.within]), value_set=self.values)
        return self.numbers[np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)]


def find_strata(panel: BlockPanel, table: Table, within: str | None, k: int, *, merge_small: bool) -> Strata:
    """Strata with their counts of subjects; the same ones, joined and refused alike, as in memory.

    Where the table has a column FIRST, only those rows count: one for each subject of a stratum.
    """
    if within is None:
        return Strata(None, None, np.zeros(1, dtype=np.int64), (panel.n_subjects,))
    kind = table.schema.field(within).type
    schema = pa.schema([(within, kind), (_N, pa.int64()), (ID, pa.string()), (_ALL, pa.int32())])
    engine = panel.engine
    tallies = engine.map(table, _Tally(within), schema)
    merged = engine.collect(engine.together(tallies, [_ALL], _Tally(within), schema))
    if merged.num_rows > MOST_STRATA:
        raise ParameterError(
            f"within={within!r} has more than {MOST_STRATA} different values: most strata would be too small. Name an "
            "attribute with fewer."
        )
    merged = merged.sort_by(ID)  # by their first series, as in memory
    sizes = merged[_N].to_numpy()
    numbers = _joined(sizes, within, k, merge_small, panel.one_series_per_subject)
    values = merged[within].combine_chunks()
    totals = np.bincount(numbers, weights=sizes).astype(np.int64)
    return Strata(within, values, numbers, tuple(totals.tolist()))


def refuse_unknown(panel: BlockPanel, within: str | None) -> None:
    """The words of memory for an attribute that is none."""
    if within is not None and within not in panel.attributes:
        raise ParameterError(
            f"within={within!r} is not among the {len(panel.attributes)} attributes of the panel. "
            "Name it as quasi when reading."
        )


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
            found = found.slice(0, MOST_STRATA + 1)
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


def _joined(
    sizes: NDArray[np.int64], within: str, k: int, merge_small: bool, one_series_per_subject: bool
) -> NDArray[np.int64]:
    """The stratum of each value: its own, or that of the small ones."""
    numbers = np.arange(len(sizes))
    n_small = int((sizes < k).sum())
    if not n_small:
        return numbers
    if not merge_small:
        raise ParameterError(
            f"{n_small} of {len(sizes)} strata of {within!r} have fewer than k={k} subjects, the smallest "
            f"{sizes.min()}. Lower k, leave these series out, or join them with merge_small=True."
        )
    if not one_series_per_subject:
        raise ParameterError(
            "merge_small=True needs one series per subject on an engine; here subjects have several, and how many are "
            "in several strata is not known there. Join the strata before reading, or anonymize in memory."
        )
    order = sorted(range(len(sizes)), key=lambda i: (sizes[i], i))
    total = 0
    joined: list[int] = []
    while order and (sizes[order[0]] < k or total < k):
        joined.append(order.pop(0))
        total += int(sizes[joined[-1]])
    numbers[joined] = min(joined)
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)
