"""Shards on an engine: each is an item that is pickled, cut into pieces and kept by the engine.

The pieces of a shard are adjacent in one part of the table, so that a worker assembles an item, does its work and drops
it. Arrays of an item travel beside its pickle, without a copy in between. Small facts that are recorded about an item
when it is made are in a separate column, which engines read without the rest.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.contract import Blocks, Engine, Table
from shoal.engines.work import Columns, Same, each_key, starts_of_keys, whole_keys
from shoal.model import panel_shards
from shoal.model.panel_shards import Store

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R")

SHARD = "shard"
_PART, _PLACE, _BUFFER, _BYTES, _TOLD, _RUN = "part", "place", "buffer", "bytes", "told", "run"

_ALIGNED = 16  # bytes: the alignment of NumPy's own arrays; for others, kernels would be compiled again
_PIECE = 8 * 2**20  # bytes: a shard has many pieces, and one is no burden for a row in Spark
_PIECES = pa.schema([(SHARD, pa.int64()), (_BUFFER, pa.int64()), (_BYTES, pa.binary()), (_TOLD, pa.binary())])
_GATHERED = pa.schema([(_PART, pa.int64()), (_PLACE, pa.int64()), *list(_PIECES)[:3]])
_RESULTS = pa.schema([(SHARD, pa.int64()), (_BYTES, pa.binary())])
_IN_RUNS = pa.schema([(_RUN, pa.int64()), *_RESULTS])
_TELLING = pa.schema([(SHARD, pa.int64()), (_TOLD, pa.binary())])

Items = Callable[[Blocks], Iterator[tuple[int, Any]]]
"""Numbers of shards and their items, one after another."""


class EngineStore(Store[T]):
    """Items of one kind on an engine, numbered from 0.

    Parameters
    ----------
    engine, table
        Where they are stored.
    n_shards
        Number of items.
    items
        Makes items from blocks of the table; None means that they are assembled from their pieces.
    """

    def __init__(self, engine: Engine, table: Table, n_shards: int, items: Items | None = None) -> None:
        self.engine = engine
        self.n_shards = n_shards
        self._table = table
        self._items: Items = items or _items
        self._kept = items is None

    @classmethod
    def of(
        cls, engine: Engine, table: Table, keys: str, make: Callable[[pa.Table], T], n_shards: int
    ) -> EngineStore[T]:
        """Items made of all rows with the same key, which is the number of the shard; rows are sorted by id."""
        rows = engine.together(table, [keys], Same(), table.schema, order=["id"])
        return cls(engine, rows, n_shards, _Made(keys, make))

    def persist(self) -> None:
        """Assemble the items now, instead of again for each use."""
        if not self._kept:
            pieces = self.engine.map(self._table, _Each(self._items, _same), _PIECES)
            self._table, self._items, self._kept = self.engine.keep(pieces), _items, True

    def map(self, work: Callable[[int, T], R]) -> list[R]:
        """Small results of all shards, in their order."""
        self.persist()
        return _in_order(self.engine.collect(self.engine.map(self._table, _Map(self._items, work), _RESULTS)))

    def reduce(self, work: Callable[[int, T], R], merge: Callable[[Sequence[R]], R]) -> R:
        """One result of all shards, merged in runs on the engine."""
        self.persist()
        results = self.engine.map(self._table, _Map(self._items, work), _RESULTS)
        run, n_results = panel_shards.RUN, self.n_shards
        while n_results > run:
            in_runs = self.engine.map(results, _Runs(run), _IN_RUNS)
            results = self.engine.together(in_runs, [_RUN], _MergeRuns(merge), _RESULTS, order=[SHARD])
            n_results = -(-n_results // run)
        return merge(_in_order(self.engine.collect(results)))

    def each(self, work: Callable[[int, T], U], tell: Callable[[int, U], Any] | None = None) -> EngineStore[U]:
        """Large results, which stay on the engine."""
        made = self.engine.map(self._table, _Each(self._items, work, tell), _PIECES)
        return EngineStore(self.engine, self.engine.keep(made), self.n_shards)

    def told(self) -> list[Any]:
        """What was recorded about each item when it was made."""
        rows = self.engine.collect(self.engine.map(self._table, Columns((SHARD, _TOLD)), _TELLING))
        return _in_order(rows.filter(pc.is_valid(rows[_TOLD])))

    def gather(self, parts: Sequence[Sequence[int]], work: Callable[[int, list[tuple[int, T]]], R]) -> list[R]:
        """Process several shards together in one place, in the given order; small results, in the order of the
        parts."""
        of, place = np.full(self.n_shards, -1), np.zeros(self.n_shards, dtype=np.int64)
        for number, shards in enumerate(parts):
            of[list(shards)], place[list(shards)] = number, np.arange(len(shards))
        self.persist()
        placed = self.engine.map(self._table, _Place(tuple(of.tolist()), tuple(place.tolist())), _GATHERED)
        table = self.engine.together(placed, [_PART], _Gather(work), _RESULTS, order=[_PLACE, _BUFFER])
        return _in_order(self.engine.collect(table))


def _in_order(rows: pa.Table) -> list[Any]:
    order = np.argsort(rows[SHARD].to_numpy(), kind="stable")
    results = rows.column(1).to_pylist()
    return [pickle.loads(results[i]) for i in order]


def _pieces(number: int, item: Any, told: bytes | None) -> Blocks:
    """An item as rows: the pickle first, then its arrays."""
    beside: list[pickle.PickleBuffer] = []
    head = pickle.dumps(item, protocol=5, buffer_callback=beside.append)
    place = 0
    for raw in (memoryview(head), *(buffer.raw() for buffer in beside)):
        for first in range(0, max(1, raw.nbytes), _PIECE):
            data = _entry(raw[first : first + _PIECE])
            said = pa.array([told if place == 0 else None], pa.binary())
            # The number of the piece, with a lowest bit that says whether a new buffer begins.
            yield pa.record_batch([[number], [2 * place + (first == 0)], data, said], schema=_PIECES)
            place += 1


def _entry(raw: memoryview) -> pa.Array:
    """A column of one entry that refers to the bytes themselves: `pa.array` would never release a memoryview."""
    bounds = pa.py_buffer(np.array([0, raw.nbytes], dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, bounds, pa.py_buffer(raw)])


def _item(rows: pa.Table) -> Any:
    """Assemble the item from all rows of a shard, in order."""
    buffers: list[list[pa.Buffer]] = []
    for place, data in zip(rows[_BUFFER].to_pylist(), rows[_BYTES], strict=True):
        if place % 2:
            buffers.append([])
        buffers[-1].append(data.as_buffer())
    joined = [_joined(pieces) for pieces in buffers]
    return pickle.loads(joined[0], buffers=joined[1:])


def _joined(pieces: list[pa.Buffer]) -> pa.Buffer | bytes:
    """One buffer; copied only if it is in several pieces, or not aligned."""
    if len(pieces) > 1:
        return b"".join(pieces)
    return pieces[0].to_pybytes() if pieces[0].address % _ALIGNED else pieces[0]


def _items(blocks: Blocks) -> Iterator[tuple[int, Any]]:
    for rows in each_key(blocks, [SHARD]):
        yield int(rows[SHARD][0].as_py()), _item(rows)


def _same(number: int, item: Any) -> Any:
    return item


def _result(number: int, result: Any) -> pa.RecordBatch:
    return pa.record_batch([[number], pa.array([pickle.dumps(result, protocol=5)], pa.binary())], schema=_RESULTS)


@dataclass(frozen=True)
class _Made:
    keys: str
    make: Callable[[pa.Table], Any]

    def __call__(self, blocks: Blocks) -> Iterator[tuple[int, Any]]:
        for rows in each_key(blocks, [self.keys]):
            yield int(rows[self.keys][0].as_py()), self.make(rows)


@dataclass(frozen=True)
class _Map:
    items: Items
    work: Callable[[int, Any], Any]

    def __call__(self, blocks: Blocks) -> Blocks:
        for number, item in self.items(blocks):
            yield _result(number, self.work(number, item))


@dataclass(frozen=True)
class _Runs:
    """Results with the number of their run."""

    length: int

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            runs = pa.array(block.column(SHARD).to_numpy() // self.length)
            yield pa.record_batch([runs, *block.columns], schema=_IN_RUNS)


@dataclass(frozen=True)
class _MergeRuns:
    merge: Callable[[Sequence[Any]], Any]

    def __call__(self, blocks: Blocks) -> Blocks:
        for rows in each_key(blocks, [_RUN]):
            results = [pickle.loads(result) for result in rows[_BYTES].to_pylist()]
            yield _result(int(rows[_RUN][0].as_py()), self.merge(results))


@dataclass(frozen=True)
class _Each:
    items: Items
    work: Callable[[int, Any], Any]
    tell: Callable[[int, Any], Any] | None = None

    def __call__(self, blocks: Blocks) -> Blocks:
        for number, item in self.items(blocks):
            made = self.work(number, item)
            told = None if self.tell is None else pickle.dumps(self.tell(number, made), protocol=5)
            yield from _pieces(number, made, told)


@dataclass(frozen=True)
class _Place:
    """Add to each piece the number of the part it goes to and the place of its shard there; drop those that go to none,
    -1."""

    parts: tuple[int, ...]
    places: tuple[int, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            numbers = block.column(SHARD).to_numpy()
            parts, places = np.asarray(self.parts)[numbers], np.asarray(self.places)[numbers]
            placed = pa.record_batch([pa.array(parts), pa.array(places), *block.columns[:3]], schema=_GATHERED)
            yield placed if (parts >= 0).all() else placed.filter(pa.array(parts >= 0))


@dataclass(frozen=True)
class _Gather:
    work: Callable[[int, list[tuple[int, Any]]], Any]

    def __call__(self, blocks: Blocks) -> Blocks:
        for rows in each_key(blocks, [_PART]):
            items = list(_items(iter(rows.to_batches())))
            number = int(rows[_PART][0].as_py())
            del rows
            yield _result(number, self.work(number, items))


def run_on(engine: Engine, items: Sequence[U], work: Callable[[int, U], R]) -> list[R]:
    """Run work on small items from the driver, such as file names; results in the order of the items."""
    rows = [pickle.dumps(item, protocol=5) for item in items]
    table = pa.table([pa.array(range(len(rows)), pa.int64()), pa.array(rows, pa.binary())], schema=_RESULTS)
    return _in_order(engine.collect(engine.map(engine.scatter(table), _OnItems(work), _RESULTS)))


@dataclass(frozen=True)
class _OnItems:
    work: Callable[[int, Any], Any]

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            for number, item in zip(block[SHARD].to_pylist(), block[_BYTES].to_pylist(), strict=True):
                yield _result(number, self.work(number, pickle.loads(item)))


def count_repeated(engine: Engine, names: Callable[[int, U], Sequence[str]], items: Sequence[U]) -> int:
    """How many names repeat another, over all items; names are brought together on the engine."""
    rows = [pickle.dumps(item, protocol=5) for item in items]
    table = pa.table([pa.array(range(len(rows)), pa.int64()), pa.array(rows, pa.binary())], schema=_RESULTS)
    listed = engine.map(engine.scatter(table), _Names(names), _NAMES)
    counts = engine.collect(engine.together(listed, [_NAME], _CountRepeated(), _COUNT))
    return int(sum(counts[_N].to_pylist()))


_NAME, _N = "name", "n"
_NAMES = pa.schema([(_NAME, pa.string())])
_COUNT = pa.schema([(_N, pa.int64())])
_ROWS = 1 << 14


@dataclass(frozen=True)
class _Names:
    names: Callable[[int, Any], Sequence[str]]

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            for number, item in zip(block[SHARD].to_pylist(), block[_BYTES].to_pylist(), strict=True):
                yield pa.record_batch([pa.array(self.names(number, pickle.loads(item)), pa.string())], schema=_NAMES)


@dataclass(frozen=True)
class _CountRepeated:
    def __call__(self, blocks: Blocks) -> Blocks:
        for rows in whole_keys(blocks, [_NAME], rows=_ROWS):
            n_again = rows.num_rows - int(np.count_nonzero(starts_of_keys(rows, [_NAME])))
            if n_again:
                yield pa.record_batch([pa.array([n_again], pa.int64())], schema=_COUNT)
