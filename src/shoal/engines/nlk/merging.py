"""Summaries of (n, l, k) merged for each range of series, and series put together again at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines import blocks as columns
from shoal.engines.contract import Blocks
from shoal.engines.nlk.instants import AT, FIRST, GAINS, GROUPS, MIXED, ORIGINALS, PUBLISHED, WIDTH, Terms
from shoal.engines.nlk.turning import INSTANT, NOBODY, RANGE, as_rows, joined, who_is
from shoal.engines.rows import ROW
from shoal.engines.work import each_key
from shoal.kernels.nlk_instant import keep_largest
from shoal.kernels.nlk_intervals import Floats

NUMBER, MIDDLE, CHOSEN, FIGURES = "number", "middle", "chosen", "figures"

MERGED = pa.schema([(RANGE, pa.int32()), (NUMBER, pa.int32()), (MIDDLE, pa.binary()), (CHOSEN, pa.binary())])
"""For each series of a range a figure and instants; of range NOBODY the number of an instant and its least loss."""


@dataclass(frozen=True)
class Merge:
    """Rows of GAINED of all parts to what the driver needs of each series.

    "largest": the middle between the two gains that its price lies between, and with `where` the instants of its
    largest gains, as many as the budget. "moves": by how much a move pays, its source and its target.
    """

    terms: Terms
    ends: Literal["largest", "moves"]
    where: bool = True

    def __call__(self, blocks: Blocks) -> Blocks:
        """Rows of MERGED."""
        for table in each_key(blocks, [RANGE]):
            number = table[RANGE][0].as_py()
            if number == NOBODY:
                told = [table[name].combine_chunks() for name in (RANGE, FIRST, GAINS, AT)]
                yield pa.RecordBatch.from_arrays(told, schema=MERGED)
                continue
            middle, chosen = self._largest(table) if self.ends == "largest" else self._moves(table)
            numbers = [pa.array([some], pa.int32()) for some in (number, 0)]
            told = [pa.array([some.tobytes()], pa.binary()) for some in (middle, chosen)]
            yield pa.RecordBatch.from_arrays([*numbers, *told], schema=MERGED)

    def _largest(self, table: pa.Table) -> tuple[Floats, NDArray[Any]]:
        budget, kind = self.terms.budget, np.dtype(self.terms.instants)
        best, at = np.empty((0, 0)), np.empty((0, 0), dtype=np.int32)
        filled = 0
        for row in range(table.num_rows):
            part = table.slice(row, 1)
            width = part[WIDTH][0].as_py()
            gains = joined(part[GAINS], np.float64).reshape(-1, width)
            instants = joined(part[AT], kind).astype(np.int32).reshape(-1, width)
            if row == 0:
                best = np.full((len(gains), budget + 1), -np.inf)
                at = np.zeros(best.shape, dtype=np.int32)
            keep_largest(gains, instants, filled, best, at)
            filled = min(filled + width, budget + 1)
        middle = np.maximum(0.0, best[:, [budget, budget - 1]]).mean(axis=1)
        return middle, at[:, : budget if self.where else 0].astype(kind)

    def _moves(self, table: pa.Table) -> tuple[Floats, NDArray[Any]]:
        gains = joined(table[GAINS], np.float64).reshape(table.num_rows, -1, 2)
        at = joined(table[AT], np.int32).reshape(gains.shape)
        held, wanted = gains[0].T.copy()
        source, target = at[0].T.copy()
        for gain, instants in zip(gains[1:], at[1:], strict=True):
            less = (gain[:, 0] < held) | ((gain[:, 0] == held) & (instants[:, 0] < source))
            held[less], source[less] = gain[less, 0], instants[less, 0]
            more = (gain[:, 1] > wanted) | ((gain[:, 1] == wanted) & (instants[:, 1] < target))
            wanted[more], target[more] = gain[more, 1], instants[more, 1]
        return wanted - held, np.stack([source, target], axis=1)


def finished(series: pa.Schema) -> pa.Schema:
    """Columns of a candidate made from a panel with these, and figures, which rows of series have none of."""
    others = [field for field in series if field.name != ROW]
    told = [(name, pa.binary()) for name in (ROW, columns.PUBLISHED, columns.GROUP, FIGURES)]
    return pa.schema([*others, *told])


@dataclass(frozen=True)
class TurnBack:
    """Rows of GROUPED to series: as they were, as they are published, and their group at each instant."""

    schema: pa.Schema
    median: bool

    def __call__(self, blocks: Blocks) -> Blocks:
        """Rows of the schema; those of figures have nothing else."""
        for table in each_key(blocks, [RANGE]):
            if table[RANGE][0].as_py() == NOBODY:
                instants = table[INSTANT].to_numpy()
                figures = np.column_stack([instants, joined(table[ORIGINALS], np.float64).reshape(len(instants), -1)])
                yield figure_rows(self.schema, as_rows(figures))
                continue
            # The first row is before all instants and tells who they are.
            who, table = who_is(table[ORIGINALS][0].as_buffer()), table.slice(1)
            shape = table.num_rows, who.num_rows
            originals = joined(table[ORIGINALS], np.float64).reshape(shape)
            published = joined(table[PUBLISHED], np.float64).reshape(shape)
            told = [originals, published, joined(table[GROUPS], np.int32).reshape(shape)]
            found = {name: who[name].combine_chunks() for name in who.schema.names}
            found |= {
                name: as_rows(some.T) for name, some in zip((ROW, columns.PUBLISHED, columns.GROUP), told, strict=True)
            }
            found[FIGURES] = pa.nulls(who.num_rows, pa.binary())
            yield pa.RecordBatch.from_arrays([found[name] for name in self.schema.names], schema=self.schema)
            if self.median:
                mixed = joined(table[MIXED], np.bool_).reshape(shape)
                yield figure_rows(self.schema, as_rows(np.array([[largest_likeness(originals, published, mixed)]])))


def largest_likeness(originals: Floats, published: Floats, mixed: NDArray[np.bool_]) -> float:
    """The largest share of the instants (first axis) with a mixed group at which a series is published as it was."""
    kept = (mixed & (originals == published)).sum(axis=0)
    return float((kept / np.maximum(mixed.sum(axis=0), 1)).max())


def figure_rows(schema: pa.Schema, figures: pa.Array) -> pa.RecordBatch:
    """Rows that are no series."""
    found = [figures if field.name == FIGURES else pa.nulls(len(figures), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(found, schema=schema)


@dataclass(frozen=True)
class Rows:
    """Series without figures, or figures without series."""

    figures: bool

    def __call__(self, blocks: Blocks) -> Blocks:
        """Some of the rows, without copying where all are of one kind."""
        for block in blocks:
            kept = pc.is_valid(block.column(FIGURES)) if self.figures else pc.is_null(block.column(FIGURES))
            rows = block if pc.all(kept).as_py() else block.filter(kept)
            yield rows.select([FIGURES] if self.figures else [n for n in rows.schema.names if n != FIGURES])
