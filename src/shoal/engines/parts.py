"""Parts of a table on one machine, and where their blocks come from."""

from __future__ import annotations

import itertools
import shutil
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Work
from shoal.engines.work_errors import guard
from shoal.errors import InputError
from shoal.read.files import open_parquet as open_file
from shoal.read.locations import locate
from shoal.read.source_files import local_file

_ROWS_OF_BLOCK = 1 << 16


class Scratch:
    """A folder that is removed as soon as no part of a table is in it any more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self._end = weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)


class Partition(Protocol):
    """Rows that fit into memory block by block."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        ...

    @property
    def size(self) -> int:
        """About how many bytes it is made from."""
        ...

    def blocks(self) -> Blocks:
        """The rows."""
        ...


@dataclass(frozen=True)
class RowsPart:
    """Rows in memory."""

    rows: pa.Table

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.rows.schema

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return int(self.rows.nbytes)

    def blocks(self) -> Blocks:
        """The rows."""
        yield from self.rows.to_batches()

    def __reduce__(self) -> tuple[Any, ...]:
        # As a message: an ordinary pickle of a slice would include the whole table.
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.rows.schema) as writer:
            writer.write_table(self.rows)
        return (_rows_of_message, (sink.getvalue().to_pybytes(),))


def _rows_of_message(message: bytes) -> RowsPart:
    return RowsPart(pa.ipc.open_stream(message).read_all())


@contextmanager
def open_parquet(place: Path | str) -> Iterator[pq.ParquetFile]:
    """A Parquet file by its path or its address."""
    file = local_file(place) if isinstance(place, Path) else locate(place)[0]
    with open_file(file, pre_buffer=False) as parquet:
        yield parquet


@dataclass(frozen=True)
class ParquetPart:
    """Some row groups of a Parquet file on this machine or in an object store."""

    path: Path | str
    groups: tuple[int, ...]
    columns: tuple[str, ...] | None
    size: int
    block_bytes: int

    @property
    def schema(self) -> pa.Schema:
        """As in the file."""
        with open_parquet(self.path) as file:
            schema = file.schema_arrow
        return schema if self.columns is None else pa.schema([schema.field(name) for name in self.columns])

    def blocks(self) -> Blocks:
        """Blocks are read as they are needed; a row group may be larger than the memory allowed at once."""
        with open_parquet(self.path) as file:
            columns = None if self.columns is None else list(self.columns)
            rows = sum(file.metadata.row_group(i).num_rows for i in self.groups)
            at_once = max(1, min(_ROWS_OF_BLOCK, rows * self.block_bytes // max(1, 4 * self.size)))
            blocks = file.iter_batches(at_once, row_groups=list(self.groups), columns=columns, use_threads=False)
            while (block := _checked(blocks)) is not None:
                yield block.replace_schema_metadata(None)


def _checked(blocks: Blocks) -> pa.RecordBatch | None:
    """The next block; None after the last."""
    try:
        block = next(blocks, None)
        if block is not None:
            block.validate(full=True)  # Parquet does not ensure that text is UTF-8
    except (pa.ArrowException, OSError):
        raise InputError("A Parquet file cannot be read: it is damaged.") from None
    return block


@dataclass(frozen=True)
class FilePartition:
    """A scratch file, mapped into memory while its blocks are used."""

    path: Path
    schema: pa.Schema
    scratch: Scratch | None = None

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self.path.stat().st_size

    def blocks(self) -> Blocks:
        """The rows, without copying: they are the file's own pages, which the system reclaims when needed."""
        with pa.memory_map(str(self.path)) as source:
            reader = pa.ipc.open_file(source)
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i)

    def __reduce__(self) -> tuple[Any, ...]:
        # The folder belongs to the process that made it: a worker that has finished with a part must not remove it.
        return (FilePartition, (self.path, self.schema))


@dataclass(frozen=True)
class MappedPart:
    """A part and the work done on it."""

    part: Partition
    work: Work
    schema: pa.Schema

    @property
    def size(self) -> int:
        """The size of the part it is made from."""
        return self.part.size

    def blocks(self) -> Blocks:
        """The work's blocks, with exactly the columns promised."""
        for block in guard(self.work(self.part.blocks())):
            if block.num_rows:
                yield block.select(self.schema.names).cast(self.schema)


@dataclass(frozen=True)
class SortedPart:
    """Scratch files of some buckets, sorted by their keys when they are read."""

    files: tuple[FilePartition, ...]
    order: tuple[str, ...]
    schema: pa.Schema
    size: int
    block_bytes: int

    def blocks(self) -> Blocks:
        """Sorts all keys at once, which is why the size of a bucket is limited; then takes rows block by block."""
        pieces = [block for file in self.files for block in file.blocks() if block.num_rows]
        if not pieces:
            return
        keys = pa.Table.from_batches(pieces).select(list(self.order))
        order = pc.sort_indices(keys, [(name, "ascending") for name in self.order]).to_numpy().astype(np.int64)
        at_once = max(1, min(_ROWS_OF_BLOCK, self.block_bytes * len(order) // max(1, self.size)))
        starts = np.cumsum([0, *(piece.num_rows for piece in pieces)])
        for first in range(0, len(order), at_once):
            yield _picked(pieces, starts, order[first : first + at_once])


def _picked(pieces: list[pa.RecordBatch], starts: NDArray[np.int64], rows: NDArray[np.int64]) -> pa.RecordBatch:
    """Rows by their numbers over all pieces, taken from one piece after another: Arrow would first copy all of them."""
    piece_of = np.searchsorted(starts, rows, side="right") - 1
    by_piece = np.argsort(piece_of, kind="stable")
    bounds = np.searchsorted(piece_of[by_piece], np.arange(len(pieces) + 1))
    taken = [
        pieces[i].take(pa.array(rows[by_piece[first:last]] - starts[i]))
        for i, (first, last) in enumerate(itertools.pairwise(bounds.tolist()))
        if last > first
    ]
    back = np.empty(len(rows), dtype=np.int64)
    back[by_piece] = np.arange(len(rows))
    picked = pa.Table.from_batches(taken).combine_chunks().to_batches()[0]
    return picked.take(pa.array(back))


def write_part(part: Partition, path: Path) -> None:
    """Write the blocks of a part to a scratch file."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, part.schema) as writer:
        for block in part.blocks():
            writer.write_batch(block)
