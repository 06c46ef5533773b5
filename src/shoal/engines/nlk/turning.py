"""A panel turned around on an engine: all series at one instant lie in one place, in the order of their ids.

    1  ids are cut into ranges by ids of a sample, so that the ranges are in order and about equally large
    2  the rows of a range come together, sorted by id, and leave as one piece for each instant
    3  the pieces of an instant come together in the order of their ranges: place i belongs to the i-th id of all

Nobody has to number the series, and nothing but the sample of ids comes to the driver. Each value moves twice.
Instants go by blocks, so that what is summed up over a part covers several of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numba
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.blocks import chances
from shoal.engines.contract import Blocks, Engine, Shared, Table, Work
from shoal.engines.rows import ID, unpack
from shoal.engines.work import each_key
from shoal.errors import ParameterError

A = TypeVar("A")
B = TypeVar("B")

RANGE, BLOCK, INSTANT, VALUES = "range", "block", "instant", "values"
NOBODY = -1
"""The instant of a row that tells who the series of a range are, and the range of a row of figures."""

PIECES = pa.schema([(BLOCK, pa.int32()), (INSTANT, pa.int32()), (RANGE, pa.int32()), (VALUES, pa.binary())])
"""The values of a range of series at an instant."""

_SHARE = 8  # of what a worker may hold, for one range: it is turned, and comes back with what is published
_PARTS_PER_CORE = 4
_LEAST_SERIES = 64  # of a range, where there is a choice
_IDS_PER_RANGE = 256  # of the sample
_MOST_IDS = 200_000


@dataclass(frozen=True)
class Layout:
    """How a panel is cut.

    Parameters
    ----------
    n_series, n_instants, n_channels
        Of the whole panel.
    n_ranges
        Into how many ranges of ids, about.
    per_block
        How many instants a block has.
    """

    n_series: int
    n_instants: int
    n_channels: int
    n_ranges: int
    per_block: int

    @classmethod
    def of(cls, engine: Engine, n_series: int, n_instants: int, n_channels: int) -> Layout:
        """Ranges that a worker can hold several times, and as many blocks of instants as keep the cores busy."""
        parts = _PARTS_PER_CORE * engine.cores
        ranges = -(-8 * n_series * n_instants * n_channels * _SHARE // engine.part_bytes)
        per_block = -(-n_instants // parts)
        if engine.name == "local":
            # It holds the rows of a part at once to sort them; Spark has them one after another.
            per_block = min(per_block, engine.part_bytes // (2 * _SHARE * n_series * n_channels))
        at_least = min(parts, n_series // _LEAST_SERIES)
        return cls(n_series, n_instants, n_channels, max(1, ranges, at_least), max(1, per_block))

    @property
    def instants(self) -> np.dtype[Any]:
        """The type of an instant's number where there are many."""
        return np.dtype(np.uint16 if self.n_instants < 2**16 else np.int32)


def turned(
    engine: Engine, table: Table, column: str, layout: Layout, work: Work, schema: pa.Schema, *, who: bool
) -> Table:
    """The rows of `column` turned around; `work` gets PIECES by block, instant and range.

    With `who`, what else is known of the series comes as pieces at the instant NOBODY, see `who_is`.
    """
    splitters = engine.share(_splitters(engine, table, layout))
    others = tuple(name for name in table.schema.names if name != column) if who else ()
    kept = tuple(name for name in table.schema.names if name in (ID, column, *others))
    ranged = pa.schema([(RANGE, pa.int32()), *(table.schema.field(name) for name in kept)])
    by_range = engine.map(table, _Assign(splitters, kept), ranged)
    pieces = engine.together(by_range, [RANGE], _Turn(column, others, layout), PIECES, order=[ID])
    return engine.together(pieces, [BLOCK], work, schema, order=[INSTANT, RANGE])


def _splitters(engine: Engine, table: Table, layout: Layout) -> list[str]:
    """Ids at which ranges begin."""
    share = min(_IDS_PER_RANGE * layout.n_ranges, _MOST_IDS) / layout.n_series
    drawn = engine.collect(engine.map(table, _DrawIds(share), pa.schema([(ID, pa.string())])))
    ids = sorted(drawn[ID].to_pylist())
    cuts = (ids[i * len(ids) // layout.n_ranges] for i in range(1, layout.n_ranges) if ids)
    return sorted(set(cuts))


@dataclass(frozen=True)
class _DrawIds:
    share: float

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            ids = block.select([ID])
            yield ids.filter(pa.array(chances(ids.column(ID), 0) < self.share))


@dataclass(frozen=True)
class _Assign:
    splitters: Shared[list[str]]
    names: tuple[str, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        splitters = pl.Series(self.splitters.value, dtype=pl.String)
        for block in blocks:
            ids = pl.Series(pl.from_arrow(block.column(ID))).cast(pl.String)
            numbers = splitters.search_sorted(ids, side="right").cast(pl.Int32).to_arrow()
            yield pa.RecordBatch.from_arrays(
                [numbers, *(block.column(name) for name in self.names)], [RANGE, *self.names]
            )


@dataclass(frozen=True)
class _Turn:
    column: str
    others: tuple[str, ...]
    layout: Layout

    def __call__(self, blocks: Blocks) -> Blocks:
        for rows in each_key(blocks, [RANGE]):
            number = rows[RANGE][0].as_py()
            values = unpack(rows[self.column])
            # Instants first; the channels of a series stay together.
            cells = values.reshape(len(values), self.layout.n_instants, self.layout.n_channels).swapaxes(0, 1)
            instants = np.arange(self.layout.n_instants, dtype=np.int32)
            ranges = np.full(len(instants), number, dtype=np.int32)
            yield pieces(instants // self.layout.per_block, instants, ranges, as_rows(cells))
            if self.others:
                told = pa.BufferOutputStream()
                with pa.ipc.new_stream(told, rows.select(list(self.others)).schema) as writer:
                    writer.write_table(rows.select(list(self.others)))
                # A block of its own: all of them together would not fit into one.
                yield pieces(
                    [NOBODY - number], [NOBODY], [number], pa.array([told.getvalue().to_pybytes()], pa.binary())
                )


def pieces(blocks: Any, instants: Any, ranges: Any, values: pa.Array) -> pa.RecordBatch:
    """Rows of PIECES."""
    numbers = [pa.array(some, pa.int32()) for some in (blocks, instants, ranges)]
    return pa.RecordBatch.from_arrays([*numbers, values], schema=PIECES)


def who_is(told: bytes | pa.Buffer) -> pa.Table:
    """The columns of a range of series that are no values, as `turned` sends them along."""
    with pa.ipc.open_stream(pa.py_buffer(told)) as reader:
        return reader.read_all()


def as_rows(values: NDArray[Any]) -> pa.Array:
    """One row of bytes for each entry of the first axis."""
    flat = np.ascontiguousarray(values)
    size = flat[0].nbytes if len(flat) else 0
    return as_slices(flat.reshape(-1), np.full(len(flat), size // max(1, flat.itemsize)))


def as_slices(values: NDArray[Any], lengths: Sequence[int] | NDArray[Any]) -> pa.Array:
    """One row of bytes for each of the stretches of so many values (or rows of values), one after another."""
    flat = np.ascontiguousarray(values)
    if flat.nbytes >= 2**31:
        raise ParameterError("Rows of (n, l, k) are above 2 GiB at once. Give the engine less memory or more cores.")
    size = flat.nbytes // max(1, len(flat))
    offsets = np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64) * size)]).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(flat)])


def joined(column: pa.Array | pa.ChunkedArray, dtype: Any) -> NDArray[Any]:
    """The numbers of all rows of bytes of a column, one after another; read-only."""
    if isinstance(column, pa.ChunkedArray):
        return np.concatenate([np.empty(0, dtype), *(joined(chunk, dtype) for chunk in column.chunks)])
    if not len(column):
        return np.empty(0, dtype)
    _, bounds, data = column.buffers()
    offsets = np.frombuffer(bounds, np.int32)[column.offset : column.offset + len(column) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    return np.frombuffer(data or b"", np.uint8)[first:last].view(dtype)


def lengths_of(column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """How many bytes each row has."""
    return np.asarray(pc.binary_length(column).to_numpy(), dtype=np.int64)


def each_instant(blocks: Blocks) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each instant, of blocks sorted by it; nothing is copied."""
    waiting: list[pa.RecordBatch] = []
    current = NOBODY
    for block in blocks:
        if not block.num_rows:
            continue
        numbers = block.column(INSTANT).to_numpy()
        bounds = [0, *(np.flatnonzero(np.diff(numbers)) + 1), len(numbers)]
        for first, last in itertools.pairwise(bounds):
            t = int(numbers[first])
            if waiting and t != current:
                yield current, pa.Table.from_batches(waiting)
                waiting = []
            current = t
            waiting.append(block.slice(first, last - first))
    if waiting:
        yield current, pa.Table.from_batches(waiting)


def several(items: Iterator[A]) -> Iterator[list[A]]:
    """As many at once as there are threads."""
    while some := list(itertools.islice(items, numba.get_num_threads())):
        yield some


def side_by_side(work: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """The work on each of a few items, in threads: for kernels and sorting that let others run meanwhile."""
    if len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(work, items))
