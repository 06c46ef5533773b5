"""Counts of what must be known about a table before it is read, added up on the engine.

A count is a row: `what` is counted, a `key` within it (an instant, the number of a column) and how often, `n`. Equal
keys are brought together and added up on the engine, so that ten thousand parts with the same instants send them to the
driver once. Sums of whole numbers do not depend on the order of parts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Engine, Table, Work
from shoal.engines.work import Columns, starts_of_keys, whole_keys

KEY_COUNTS = pa.schema([("what", pa.string()), ("key", pa.int64()), ("n", pa.int64())])

_ROWS = 1 << 16


@dataclass
class KeyCounts:
    """Counts that are being made."""

    single: Counter[tuple[str, int]] = field(default_factory=Counter)
    many: list[pa.RecordBatch] = field(default_factory=list)

    def add(self, what: str, n: int | np.integer[Any], key: int = 0) -> None:
        """Add `n` to one count."""
        if n:
            self.single[what, key] += int(n)

    def add_keys(self, what: str, keys: NDArray[np.int64], n: NDArray[np.int64]) -> None:
        """Add to the count of each key."""
        words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(keys), dtype=np.int32)), [what])
        self.many.append(pa.record_batch([words.cast(pa.string()), pa.array(keys), pa.array(n)], schema=KEY_COUNTS))

    def blocks(self) -> Iterable[pa.RecordBatch]:
        """As rows."""
        names, keys = [what for what, _ in self.single], [key for _, key in self.single]
        yield pa.record_batch([names, keys, list(self.single.values())], schema=KEY_COUNTS)
        yield from self.many


Counts = Mapping[str, Mapping[int, int]]
"""How often, by what and key; what was never counted is absent."""


def count_keys(engine: Engine, table: Table, work: Work) -> Counts:
    """Let the work count in all parts, and add up its counts."""
    return add_up(engine, engine.map(table, work, KEY_COUNTS))


def add_up(engine: Engine, counted: Table) -> Counts:
    """Add up the counts of all parts."""
    rows = engine.collect(engine.together(counted, ["what", "key"], _AddUp(), KEY_COUNTS))
    counts: dict[str, dict[int, int]] = defaultdict(dict)
    for what in rows["what"].unique().to_pylist():
        some = rows.filter(pa.compute.equal(rows["what"], what))
        counts[what] = dict(zip(some["key"].to_pylist(), some["n"].to_pylist(), strict=True))
    return counts


@dataclass(frozen=True)
class _AddUp:
    def __call__(self, blocks: Blocks) -> Blocks:
        for rows in whole_keys(blocks, ["what", "key"], rows=_ROWS):
            starts = np.flatnonzero(starts_of_keys(rows, ["what", "key"]))
            sums = np.add.reduceat(rows["n"].to_numpy(), starts)
            first = rows.take(pa.array(starts)).set_column(2, "n", pa.array(sums))
            yield from first.to_batches()


def count_distinct(engine: Engine, table: Table, column: str) -> int:
    """How many different entries a column has; missing ones are not counted."""
    schema = pa.schema([pa.field("entry", table.schema.field(column).type)])
    some = engine.map(engine.map(table, Columns((column,)), pa.schema([table.schema.field(column)])), _Once(), schema)
    counts = engine.collect(engine.together(some, ["entry"], _CountStarts(), KEY_COUNTS))
    return int(sum(counts["n"].to_pylist()))


@dataclass(frozen=True)
class _Once:
    """Each entry once per block, so that less travels."""

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield pa.record_batch([block.column(0).unique().drop_null()], names=["entry"])


@dataclass(frozen=True)
class _CountStarts:
    def __call__(self, blocks: Blocks) -> Blocks:
        n = 0
        for rows in whole_keys(blocks, ["entry"], rows=_ROWS):
            n += int(np.count_nonzero(starts_of_keys(rows, ["entry"])))
        yield pa.record_batch([["entries"], [0], [n]], schema=KEY_COUNTS)
