"""Segments: how a row for each series and instant becomes one row for each series.

First, the readings of a series within a block are put together into one segment, with instants and values as bytes. So
only a few rows for each series travel, rather than one for each reading. Then the segments of a series are brought
together, and all series of a block are filled into one array at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Engine, Shared, Table
from shoal.engines.reading.key_counts import KEY_COUNTS, KeyCounts, add_up
from shoal.engines.reading.static import Entries, one_entry_each
from shoal.engines.reading.summary import counted
from shoal.engines.rows import ID, pack
from shoal.engines.work import starts_of_keys, whole_keys
from shoal.read.align import Buckets, By
from shoal.read.buckets import Gathered, StepCount
from shoal.read.numbers import NumberColumn
from shoal.read.repeats import Duplicates, settle
from shoal.read.series import changed, number_ids, read_ids
from shoal.read.tables import plain
from shoal.read.time_reader import TimeReader
from shoal.read.zones import shown_twice

FIRST, STEP, N, INSTANTS = "first", "step", "n", "instants"
"""The instants of a segment: the first, the step to the next, their number; and all of them if steps differ."""

CONFLICTS = "conflicts"

_CELLS = 1 << 20
"""Cells filled at once: 8 MiB, whatever the size of the block."""


def values_name(channel: int) -> str:
    """The column of a segment with the readings of a channel."""
    return f"values {channel}"


def static_name(number: int) -> str:
    """The column of a segment with a static entry."""
    return f"static {number}"


@dataclass(frozen=True)
class LongColumns:
    """The role of each column of a long table."""

    id: str
    time: str
    values: tuple[str, ...]
    static: tuple[str, ...]
    timezone: str | None


def as_texts(array: Any, column: str) -> pa.Array:
    """Identifiers as text; missing ones as null."""
    return pc.cast(read_ids(plain([array])[0], column), pa.string())


def numbers_of(block: pa.RecordBatch, column: str) -> NDArray[np.float64]:
    """The numbers of a column. If one is text, the first becomes infinite, so that a later check refuses the column."""
    reader = NumberColumn(column)
    numbers = reader.read(plain([block.column(column)])[0])
    if reader.n_refused and len(numbers):
        numbers[0] = np.inf
    return numbers


def segment_schema(n_channels: int, static: tuple[pa.DataType, ...]) -> pa.Schema:
    """The columns of segments."""
    return pa.schema(
        [
            (ID, pa.string()),
            *((name, pa.int64()) for name in (FIRST, STEP, N)),
            (INSTANTS, pa.binary()),
            *((values_name(c), pa.binary()) for c in range(n_channels)),
            *((static_name(i), kind) for i, kind in enumerate(static)),
            (CONFLICTS, pa.int64()),
        ]
    )


@dataclass(frozen=True)
class Segments:
    """Put together the readings of a series that are in one block."""

    columns: LongColumns
    schema: pa.Schema

    def __call__(self, blocks: Blocks) -> Blocks:
        """Segments of all blocks."""
        for block in blocks:
            if block.num_rows:
                yield self._segments(block)

    def _segments(self, block: pa.RecordBatch) -> pa.RecordBatch:
        columns = self.columns
        codes, names = number_ids(plain([block.column(columns.id)])[0].dictionary_encode(), columns.id)
        instants = TimeReader(columns.time, columns.timezone).read(plain([block.column(columns.time)])[0])
        readings = [numbers_of(block, name) for name in columns.values]
        static = [plain([block.column(name)])[0] for name in columns.static]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        if len(starts) > len(names):
            # A series occurs several times in this block: sort its readings together, so that they make one segment.
            order = np.argsort(codes, kind="stable")
            codes, instants = codes[order], instants[order]
            readings = [values[order] for values in readings]
            static = [array.take(pa.array(order)) for array in static]
            starts = np.flatnonzero(np.diff(codes, prepend=-1))
        entries = [Entries.of(array, self.schema.field(static_name(i)).type) for i, array in enumerate(static)]
        of_series = [one_entry_each(entry, starts) for entry in entries]
        conflicts = np.zeros(len(starts), dtype=np.int64)
        for i, (_, conflict) in enumerate(of_series):
            conflicts |= conflict.astype(np.int64) << i
        return pa.record_batch(
            [
                pc.cast(names, pa.string()).take(pa.array(codes[starts])),
                *_packed_instants(instants, starts),
                *(_as_bytes(values, starts) for values in readings),
                *(array for array, _ in of_series),
                pa.array(conflicts),
            ],
            schema=self.schema,
        )


def _as_bytes(numbers: NDArray[Any], starts: NDArray[np.int64]) -> pa.Array:
    """Consecutive stretches of 64-bit numbers as one column of bytes, without a loop."""
    offsets = np.append(starts, len(numbers)).astype(np.int32) * np.int32(8)
    data = np.ascontiguousarray(numbers)
    return pa.Array.from_buffers(pa.binary(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _packed_instants(instants: NDArray[np.int64], starts: NDArray[np.int64]) -> tuple[pa.Array, ...]:
    """The columns of instants. Most segments have a constant step, so their instants take no space."""
    n = np.diff(starts, append=len(instants))
    first = instants[starts]
    step = np.where(n > 1, instants[np.minimum(starts + 1, len(instants) - 1)] - first, 0)
    even = np.logical_and.reduceat(_even(first, step, n) == instants, starts)
    offsets = np.append(0, np.cumsum(np.where(even, 0, n))).astype(np.int32) * np.int32(8)
    uneven = np.ascontiguousarray(instants[np.repeat(~even, n)])
    data = pa.Array.from_buffers(pa.binary(), len(n), [None, pa.py_buffer(offsets), pa.py_buffer(uneven)])
    return pa.array(first), pa.array(step), pa.array(n), data


def _instants_of(segments: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The instants of all segments, one after another, and where each segment begins."""
    first, step, n = (segments[name].to_numpy() for name in (FIRST, STEP, N))
    instants = _even(first, step, n)
    uneven, starts = _of_bytes(segments[INSTANTS], "<i8")
    instants[np.repeat(np.diff(starts) > 0, n)] = uneven
    return instants, np.append(0, np.cumsum(n))


def _even(first: NDArray[np.int64], step: NDArray[np.int64], n: NDArray[np.int64]) -> NDArray[np.int64]:
    places = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    instants: NDArray[np.int64] = np.repeat(first, n) + np.repeat(step, n) * places
    return instants


def _of_bytes(column: pa.ChunkedArray, kind: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The numbers of a column of bytes, one after another, and where each row begins."""
    array = column.combine_chunks()
    _, bounds, data = array.buffers()
    offsets = np.frombuffer(bounds, np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    numbers = np.frombuffer(data, kind, count=int(offsets[-1] - offsets[0]) // 8, offset=int(offsets[0]))
    return numbers, (offsets - offsets[0]) // 8


@dataclass(frozen=True)
class InstantGrid:
    """The instants of the panel, and the position of each time among them."""

    times: NDArray[np.int64]
    duplicates: Duplicates
    local: bool
    """Whether times come from a clock of unknown zone: then an hour may occur twice."""
    buckets: Buckets | None = None
    by: tuple[By, ...] = ()
    complete: Fraction | None = None
    step: int | None = None
    """The step of the table, for series without their own."""

    def positions(self, instants: NDArray[np.int64]) -> NDArray[np.int64]:
        """The instant of the panel at each time."""
        places = np.minimum(np.searchsorted(self.times, instants), len(self.times) - 1)
        if np.any(self.times[places] != instants):
            raise changed()
        return places


@dataclass(frozen=True)
class Assemble:
    """Fill the segments of each series into its row. The same rows whatever the order of segments."""

    grid: Shared[InstantGrid]
    n_channels: int
    n_static: int
    schema: pa.Schema

    def __call__(self, blocks: Blocks) -> Blocks:
        """Series, some at a time."""
        for table in whole_keys(blocks, [ID]):
            yield from self._series(table.combine_chunks())

    def _series(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        grid = self.grid.value
        firsts = np.flatnonzero(starts_of_keys(table, [ID]))
        bounds = np.append(firsts, table.num_rows)
        instants, offsets = _instants_of(table)
        readings = [_of_bytes(table[values_name(c)], "<f8")[0] for c in range(self.n_channels)]
        entries = [Entries.of(table[static_name(i)]) for i in range(self.n_static)]
        conflicts = table[CONFLICTS].to_numpy()
        at_once = max(1, _CELLS // (len(grid.times) * self.n_channels))
        for start in range(0, len(firsts), at_once):
            first, last = bounds[start], bounds[min(start + at_once, len(firsts))]
            own = bounds[start : start + at_once + 1]
            series = np.repeat(np.arange(len(own) - 1), np.diff(offsets[own]))
            some = slice(int(offsets[first]), int(offsets[last]))
            values, done = fill(grid, series, instants[some], [r[some] for r in readings], len(own) - 1)
            static = [one_entry_each(entry.slice(first, last), own[:-1] - first) for entry in entries]
            conflicting = np.bitwise_or.reduceat(conflicts[first:last], own[:-1] - first)
            for i, (_, conflict) in enumerate(static):
                conflicting |= conflict.astype(np.int64) << i
            infinite = np.zeros(len(own) - 1, dtype=np.int64)
            for numbers in readings:
                infinite += np.bincount(series, weights=np.isinf(numbers[some]), minlength=len(infinite)).astype(int)
            yield pa.record_batch(
                [
                    table[ID].combine_chunks().take(pa.array(own[:-1])),
                    pack(values),
                    *(array for array, _ in static),
                    *counted(values, self.n_channels, infinite=infinite, conflicts=conflicting, **done),
                ],
                schema=self.schema,
            )


def fill(
    grid: InstantGrid,
    series: NDArray[np.int64],
    instants: NDArray[np.int64],
    readings: list[NDArray[np.float64]],
    n_series: int,
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.int64]]]:
    """Fill readings into rows (series, instants x channels); also returns what was done to those of each series."""
    n_instants, n_channels = len(grid.times), len(readings)
    done: dict[str, NDArray[np.int64]] = {}
    cells = None if grid.buckets is not None else series * n_instants + grid.positions(instants)
    if cells is None or _has_repeats(cells):
        # Rows have no order here, so those with the same series and instant are sorted by their readings.
        order = np.lexsort((*reversed(readings), instants, series))
        settled = settle(series[order], instants[order], [numbers[order] for numbers in readings], grid.duplicates)
        doubtful = settled.repeated[shown_twice(settled.repeated_at)] if grid.local else settled.repeated[:0]
        for name, rows in (("repeated", settled.repeated), ("merged", settled.merged), ("doubtful", doubtful)):
            done[name] = np.bincount(rows, minlength=n_series)
        series, instants, readings = settled.series, settled.instants, settled.readings
        cells = None if cells is None else series * n_instants + grid.positions(instants)
    if grid.buckets is None:
        values = np.full((n_series * n_instants, n_channels), np.nan)
        for channel, numbers in enumerate(readings):
            values[cells, channel] = numbers
        return values.reshape(n_series, -1), done
    places = grid.buckets.positions(instants)
    if len(places) and (places.min() < 0 or places.max() >= n_instants):
        raise changed()
    gathered = Gathered(n_series, grid.buckets, grid.by)
    gathered.add(0, n_series, series, instants, readings)
    values, lacking = gathered.finish(grid.complete, grid.step)
    done |= {"incomplete": lacking.incomplete, "scaled": lacking.scaled, "partial": lacking.partial}
    return values.reshape(n_series, -1), done


def _has_repeats(places: NDArray[np.int64]) -> bool:
    return bool(pl.Series(places).n_unique() < len(places))


@dataclass(frozen=True)
class CountSteps:
    """Count the differences between successive instants of each series, from segments that are brought together."""

    bucket: int

    def __call__(self, blocks: Blocks) -> Blocks:
        """The counts of all series of a part."""
        steps = StepCount(self.bucket)
        for table in whole_keys(blocks, [ID]):
            segments = table.combine_chunks()
            instants, offsets = _instants_of(segments)
            numbers = np.cumsum(starts_of_keys(segments, [ID])) - 1
            series = np.repeat(numbers, np.diff(offsets))
            order = np.lexsort((instants, series))
            series, instants = series[order], instants[order]
            new = (np.diff(series, prepend=-1) != 0) | (np.diff(instants, prepend=-1) != 0)
            steps.add(series[new], instants[new], int(numbers[-1]) + 1)
        tally = KeyCounts()
        for name, counts in steps.counts.items():
            lengths, n = list(counts), list(counts.values())
            tally.add_keys(name, np.array(lengths, dtype=np.int64), np.array(n, dtype=np.int64))
        yield from tally.blocks()


def count_steps(engine: Engine, keys: Table, columns: LongColumns, bucket: int) -> StepCount:
    """The steps of all series."""
    bare = replace(columns, values=(), static=())
    schema = segment_schema(0, ())
    parts = engine.map(keys, Segments(bare, schema), schema)
    return StepCount.of(add_up(engine, engine.together(parts, [ID], CountSteps(bucket), KEY_COUNTS)))
