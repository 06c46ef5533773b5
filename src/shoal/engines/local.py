"""The engine for one machine: blocks of rows that fit into the memory allowed, scratch files for the rest."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from shoal.engines.contract import MOST_COLLECTED, PanelReading, Shared, Table, Work, refuse_large
from shoal.engines.parts import (
    FilePartition,
    MappedPart,
    ParquetPart,
    Partition,
    RowsPart,
    Scratch,
    SortedPart,
    open_parquet,
    write_part,
)
from shoal.engines.scatter import N_BUCKETS, BucketFile, Distribute
from shoal.engines.work_errors import WorkFailedError, told
from shoal.errors import InputError, ParameterError
from shoal.files.scratch import ScratchFolder
from shoal.read.locations import locate
from shoal.read.remote_files import is_address
from shoal.read.source_files import SourceFile, kind_of_bytes, shown

V = TypeVar("V")

DEFAULT_MEMORY = 2 * 2**30

_SHARE = 16  # blocks in the memory allowed: several are held while sorting, grouping and writing
_SMALL = 4 * 2**20  # bytes: less is not worth many buckets
_LARGEST = 3  # blocks in a bucket, whose rows are read from its files block by block
_DEEPEST = 9  # levels of buckets: each uses six bits of the hash
_AGAIN = 2  # retries after a process has died
_TASKS = 4  # for each process, so that none waits long for the slowest


@dataclass(frozen=True)
class LocalTable:
    """Parts, each with the work that is done when it is read."""

    parts: tuple[Partition, ...]
    schema: pa.Schema


class Local(PanelReading):
    """Runs on this machine, with scratch files for rows that are not being processed.

    Parameters
    ----------
    memory
        Bytes for blocks of rows that are being assembled into series and shards, as a number or a text such as "2GB". A
        block is a sixteenth of it, divided among the processes. The shard that a process works on takes memory in
        addition. Kept rows are in scratch files; their pages count as cache, which the system reclaims when needed.
    processes
        Number of processes that work at once. One means this process, whose kernels use all cores with threads. With
        more, a script needs `if __name__ == "__main__":`, because each process imports it.
    scratch
        Folder for scratch files. They hold raw data, so they go into a new folder inside it, with mode 0700. Files are
        removed as soon as no table needs them, the rest at the end.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from shoal.engines import Local, Same
    >>> with Local() as engine:
    ...     table = engine.scatter(pa.table({"key": [2, 1, 2]}), parts=2)
    ...     engine.collect(engine.together(table, ["key"], Same(), table.schema))["key"].to_pylist().count(2)
    2
    """

    name: ClassVar[str] = "local"

    def __init__(
        self, *, memory: int | str = DEFAULT_MEMORY, processes: int = 1, scratch: str | Path | None = None
    ) -> None:
        if isinstance(processes, bool) or not isinstance(processes, int) or processes < 1:
            raise ParameterError("processes must be a whole number of at least 1.")
        self.memory = as_bytes(memory)
        self.processes = processes
        self.block_bytes = max(2**20, self.memory // _SHARE // processes)
        self._parent = None if scratch is None else Path(scratch)
        self._aside: ScratchFolder | None = None
        self._n_folders = 0
        self._found: dict[str, list[SourceFile]] = {}
        self._pool: ProcessPoolExecutor | None = None

    @property
    def cores(self) -> int:
        """Number of parts processed at once."""
        return self.processes

    def read(self, path: str, columns: Sequence[str] | None = None) -> LocalTable:
        """Row groups of Parquet files, some at a time. Object stores are read in place; files from the web are fetched
        once."""
        files = self._located(path) if is_address(path) else parquet_files(Path(path))
        names = None if columns is None else tuple(columns)
        parts = [part for file in files for part in self._parts_of(file, names)]
        with open_parquet(files[0]) as first:
            schema = first.schema_arrow
        if names is not None:
            for name in names:
                if name not in schema.names:
                    raise InputError(f"There is no column {name!r} in the table.")
            schema = pa.schema([schema.field(name) for name in names])
        return LocalTable(tuple(parts), schema.remove_metadata())

    def scatter(self, rows: pa.Table, parts: int | None = None) -> LocalTable:
        """Slices of a small table."""
        n = max(1, min(parts or rows.num_rows, rows.num_rows))
        bounds = [i * rows.num_rows // n for i in range(n + 1)]
        slices = (RowsPart(rows.slice(first, last - first)) for first, last in itertools.pairwise(bounds))
        return LocalTable(tuple(slices), rows.schema)

    def map(self, table: Table, work: Work, schema: pa.Schema) -> LocalTable:
        """The work is done when the rows are read."""
        return LocalTable(tuple(MappedPart(part, work, schema) for part in _mine(table).parts), schema)

    def together(
        self, table: Table, keys: Sequence[str], work: Work, schema: pa.Schema, *, order: Sequence[str] = ()
    ) -> LocalTable:
        """Write rows to scratch files by a hash of their keys; a file that is too large is split by further bits."""
        mine = _mine(table)
        buckets = self._distribute(mine.parts, tuple(keys), mine.schema)
        # Starting work on a part costs time, so no tiny parts; but at least as many parts as processes.
        enough = min(self.block_bytes, max(_SMALL, sum(b.size for b in buckets) // (_TASKS * self.processes)))
        sorted_parts = []
        some: list[_Bucket] = []
        for bucket in [*buckets, None]:
            if some and (bucket is None or sum(b.size for b in some) + bucket.size > enough):
                files = tuple(file for b in some for file in b.files)
                size = sum(b.size for b in some)
                sorted_parts.append(SortedPart(files, (*keys, *order), mine.schema, size, self.block_bytes // 4))
                some = []
            if bucket is not None:
                some.append(bucket)
        return LocalTable(tuple(MappedPart(part, work, schema) for part in sorted_parts), schema)

    def concat(self, tables: Sequence[Table]) -> LocalTable:
        """Their parts, one after another."""
        return LocalTable(tuple(part for table in tables for part in _mine(table).parts), _mine(tables[0]).schema)

    def keep(self, table: Table) -> LocalTable:
        """Write the rows to scratch files, which are mapped into memory when read."""
        mine = _mine(table)
        scratch = self._new_scratch()
        numbered = [_Numbered(i, part, scratch.path) for i, part in enumerate(mine.parts)]
        files = [FilePartition(Path(file), mine.schema, scratch) for file in self._run(_write, numbered)]
        return LocalTable(tuple(files), mine.schema)

    def collect(self, table: Table, *, most: int = MOST_COLLECTED) -> pa.Table:
        """All rows, in the order of the parts."""
        mine = _mine(table)
        tables: list[pa.Table] = []
        size = 0
        for rows in self._run(_Gather(most), mine.parts):
            size += rows.nbytes
            refuse_large(size, most)
            tables.append(rows)
        return pa.concat_tables(tables) if tables else mine.schema.empty_table()

    def share(self, value: V) -> Shared[V]:
        """The value itself; with several processes, a file that each of them reads once."""
        if self.processes == 1:
            return _Value(value)
        scratch = self._new_scratch()
        path = scratch.path / "value"
        path.write_bytes(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
        return _FileValue(str(path), scratch)

    def scratch(self) -> Path:
        """A new folder for files, removed at the end."""
        folder = self._next_folder()
        folder.mkdir()
        return folder

    def close(self) -> None:
        """End the processes and remove the scratch folder."""
        self._found = {}
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
        if self._aside is not None:
            self._aside.remove()
            self._aside = None

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _distribute(self, parts: Sequence[Partition], keys: tuple[str, ...], schema: pa.Schema) -> list[_Bucket]:
        """Distribute rows by their keys into buckets, each small enough or of one key only."""
        finished: list[_Bucket] = []
        # Work may turn few bytes into many: a bucket that is larger than expected is split once more.
        n_buckets = N_BUCKETS if sum(part.size for part in parts) > _SMALL else 1
        waiting: list[tuple[Sequence[Partition], int, int]] = [(parts, 0, n_buckets)]
        again: set[Path] = set()
        while waiting:
            some, depth, n_buckets = waiting.pop()
            scratch = self._new_scratch()
            written: dict[int, list[BucketFile]] = defaultdict(list)
            for files in self._run(Distribute(scratch.path, keys, depth, n_buckets), self._shares(some)):
                for file in files:
                    written[file.bucket].append(file)
            for part in some:
                if isinstance(part, FilePartition) and part.path in again:
                    part.path.unlink()  # its rows are written again
            for own in (written[number] for number in sorted(written)):
                mapped = tuple(FilePartition(file.path, schema, scratch) for file in own)
                bucket = _Bucket(mapped, sum(file.size for file in mapped))
                one_key = min(file.low for file in own) == max(file.high for file in own)
                if bucket.size <= _LARGEST * self.block_bytes or one_key or depth == _DEEPEST:
                    finished.append(bucket)
                else:
                    again |= {file.path for file in mapped}
                    waiting.append((mapped, depth + (n_buckets > 1), N_BUCKETS))
        return finished

    def _shares(self, parts: Sequence[Partition]) -> list[Sequence[Partition]]:
        """Divide the parts among tasks; each task writes its own files."""
        n = min(len(parts), 1 if self.processes == 1 else _TASKS * self.processes)
        bounds = [i * len(parts) // max(1, n) for i in range(n + 1)]
        return [parts[first:last] for first, last in itertools.pairwise(bounds)]

    def _run(self, task: Callable[[Any], Any], items: Sequence[Any], *, again: int = _AGAIN) -> Iterator[Any]:
        """Run the task on each item and yield results in order, as they come."""
        if self.processes == 1 or len(items) < 2:
            yield from map(_Told(task), items)
            return
        if self._pool is None:
            # Spawned, not forked: a fork would copy locks whose threads it does not copy, so nothing would release
            # them.
            self._pool = ProcessPoolExecutor(
                self.processes,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_use_one_core,
            )
        done = 0
        try:
            for result in self._pool.map(_Told(task), items):
                done += 1
                yield result
        except BrokenProcessPool:
            self._pool = None
            if again:
                # Work depends on its items alone, so what was lost with a process can be done again.
                yield from self._run(task, items[done:], again=again - 1)
                return
            raise WorkFailedError(
                "A process of the engine ended in the middle of its work, perhaps for lack of memory. Use fewer "
                "processes or less memory."
            ) from None

    def _new_scratch(self) -> Scratch:
        return Scratch(self._next_folder())

    def _next_folder(self) -> Path:
        if self._aside is None:
            self._aside = ScratchFolder.make("shoal-local-", self._parent)
        self._n_folders += 1
        return self._aside.path / str(self._n_folders)

    def _located(self, address: str) -> list[Path | str]:
        """The files of an address, located once: a fetched file lives as long as this engine."""
        if address not in self._found:
            self._found[address] = locate(address)
        files = self._found[address]
        if any(kind_of_bytes(file.head()) != "parquet" or (file.path or file.address) is None for file in files):
            raise InputError("An engine reads Parquet. Write the table as Parquet first, or omit --engine.")
        places = [file.path or file.address or "" for file in files]
        refuse_other_columns(places, shown(address))
        return places

    def _parts_of(self, file: Path | str, columns: tuple[str, ...] | None) -> list[ParquetPart]:
        try:
            with open_parquet(file) as parquet:
                metadata = parquet.metadata
        except (pa.ArrowException, OSError):
            own = file.name if isinstance(file, Path) else "An object"
            raise InputError(f"{own} is not a Parquet file.") from None
        parts: list[ParquetPart] = []
        groups: list[int] = []
        size = 0
        for i in range(metadata.num_row_groups):
            size += metadata.row_group(i).total_byte_size
            groups.append(i)
            if size >= self.block_bytes or i == metadata.num_row_groups - 1:
                parts.append(ParquetPart(file, tuple(groups), columns, size, self.block_bytes))
                groups, size = [], 0
        return parts


@dataclass(frozen=True)
class _Bucket:
    files: tuple[FilePartition, ...]
    size: int


@dataclass(frozen=True)
class _Numbered:
    number: int
    part: Partition
    folder: Path


def _write(item: _Numbered) -> str:
    path = item.folder / f"{item.number:06}.arrow"
    write_part(item.part, path)
    return str(path)


@dataclass(frozen=True)
class _Gather:
    most: int

    def __call__(self, part: Partition) -> pa.Table:
        blocks: list[pa.RecordBatch] = []
        size = 0
        for block in part.blocks():
            size += block.nbytes
            refuse_large(size, self.most)
            blocks.append(block)
        return pa.Table.from_batches(blocks, part.schema)


def _use_one_core() -> None:
    """Limit a worker process to one core: there are as many processes as cores are wanted."""
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ[name] = "1"


@dataclass(frozen=True)
class _Told:
    """A task whose errors quote no data."""

    task: Callable[[Any], Any]

    def __call__(self, item: Any) -> Any:
        try:
            return self.task(item)
        except Exception as error:
            raise told(error) from None


@dataclass(frozen=True)
class _Value(Generic[V]):
    value: V


@dataclass(frozen=True)
class _FileValue:
    path: str
    scratch: Scratch | None = None

    @property
    def value(self) -> Any:
        return _read_value(self.path)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_FileValue, (self.path,))


@lru_cache(maxsize=8)
def _read_value(path: str) -> Any:
    return pickle.loads(Path(path).read_bytes())  # written by this engine, in a folder of its own


def _mine(table: Table) -> LocalTable:
    if not isinstance(table, LocalTable):
        raise TypeError("This table belongs to another engine.")
    return table


def parquet_files(path: Path) -> list[Path]:
    """The Parquet files of a path, in the order of their names."""
    files = [path] if path.is_file() else []
    if path.is_dir():
        # As Spark does: `_temporary` is the output of an unfinished job. Links to folders may form a circle.
        candidates = sorted(Path(folder, name) for folder, _, names in os.walk(path) for name in names)
        candidates = [file for file in candidates if file.suffix == ".parquet" and file.is_file()]
        files = [file for file in candidates if not any(part[0] in "._" for part in file.relative_to(path).parts)]
    if not files:
        raise InputError("There is no Parquet file at the path given.")
    return files


def refuse_other_columns(files: Sequence[Path | str], source: str) -> None:
    """Refuse files with different columns; `source` is what a message may call them."""
    first: set[str] | None = None
    for position, file in enumerate(files):
        with open_parquet(file) as parquet:
            names = parquet.schema_arrow.names
        first = set(names) if first is None else first
        if set(names) != first:
            # A file may be named after the person it is about, so a message shows only what the user typed.
            raise InputError(
                f"File {position + 1} of {len(files)} in {source} has other columns than the first ({len(names)} "
                f"against {len(first)}). Read files with the same columns together."
            )


def as_bytes(memory: int | str) -> int:
    """A number of bytes from "2GB", "512 MiB" or a plain number."""
    units = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
    text = str(memory).strip().lower()
    digits = text.rstrip("bigkm ").strip()
    unit = text[len(digits) :].strip()
    try:
        n_bytes = int(float(digits) * units[unit])
    except (KeyError, ValueError):
        raise ParameterError('memory must be a number of bytes or a text such as "2GB".') from None
    if n_bytes < 16 * 2**20:
        raise ParameterError("memory must be at least 16 MiB.")
    return n_bytes
