"""The first pass over a table, which counts identifiers and times; no row is kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Engine, Table
from shoal.engines.reading.key_counts import Counts, KeyCounts, count_distinct, count_keys
from shoal.errors import InputError
from shoal.read.numbers import NumberColumn
from shoal.read.series import n_respelt, number_ids, read_ids
from shoal.read.tables import empty, plain
from shoal.read.time_reader import TimeReader

_MOST_TIMES = 4_000_000
"""Largest number of different times held in memory; a panel with more of them has no common instants."""

_SKETCH = 64
"""Number of smallest hashes of identifiers kept: enough to know the number of series to about an eighth."""

_TIME, _KIND, _PROBLEM, _HASH, _TOO_MANY, _NO_ID, _ROWS = "time", "kind", "problem", "hash", "too many", "no id", "rows"
_RESPELT, _RUNS = "respelt", "runs"


@dataclass(frozen=True)
class First:
    """The result of the first pass: rows, times, and about how many series."""

    n_rows: int
    n_about: int
    """Number of series, estimated from their smallest hashes; exact below 64."""
    n_runs: int = 0
    """How often a row belongs to another series than the row before."""
    clock: TimeReader | None = None
    times: NDArray[np.int64] | None = None
    """All different times, sorted; without `distinct` at least the first and the last."""


@dataclass(frozen=True)
class _Look:
    id: str
    time: str | None
    timezone: str | None
    distinct: bool

    def __call__(self, blocks: Blocks) -> Blocks:
        counts = KeyCounts()
        clock = None if self.time is None else TimeReader(self.time, self.timezone)
        times: list[NDArray[np.int64]] = []
        n_held = 0
        hashes = np.empty(0, dtype=np.uint64)
        last = None
        for block in blocks:
            counts.add(_ROWS, block.num_rows)
            try:
                encoded = plain([block.column(self.id)])[0].dictionary_encode()
                codes, ids = number_ids(encoded, self.id)
                instants = None if clock is None else clock.read(plain([block.column(self.time)])[0])
            except InputError as error:  # raised at the driver; its message holds no values
                counts.add(f"{_PROBLEM} {error}", 1)
                continue
            counts.add(_NO_ID, np.count_nonzero(codes < 0))
            counts.add(_RESPELT, n_respelt(encoded, self.id))
            counts.add(f"{_KIND} {'number' if pa.types.is_integer(ids.type) else 'text'}", 1)
            hashes = np.union1d(hashes, pl.Series(pl.from_arrow(ids)).hash(seed=7).to_numpy())[:_SKETCH]
            if len(ids):
                counts.add(_RUNS, np.count_nonzero(np.diff(codes)) + (ids[int(codes[0])].as_py() != last))
                last = ids[int(codes[-1])].as_py()
            if instants is None or not len(instants):
                continue
            ends = np.array([instants.min(), instants.max()])
            times.append(pl.Series(instants).unique().to_numpy() if self.distinct else ends)
            n_held += len(times[-1])
            if n_held > 2 * _MOST_TIMES:
                times, n_held = [np.unique(np.concatenate(times))], 0
                if len(times[0]) > _MOST_TIMES:
                    counts.add(_TOO_MANY, 1)
                    times = [times[0][[0, -1]]]
        if clock is not None:
            for name, n in clock.counts().items():
                counts.add(name, n)
        if times:
            held = np.unique(np.concatenate(times))
            counts.add_keys(_TIME, held, np.ones(len(held), dtype=np.int64))
        counts.add_keys(_HASH, hashes.view(np.int64), np.ones(len(hashes), dtype=np.int64))
        yield from counts.blocks()


def look(engine: Engine, table: Table, id_: str, time: str | None, timezone: str | None, *, distinct: bool) -> First:
    """Count, and refuse what cannot be a panel: no rows, rows without identifier or time, mixed kinds."""
    counts = count_keys(engine, table, _Look(id_, time, timezone, distinct))
    for problem in sorted(what for what in counts if what.startswith(_PROBLEM)):
        raise InputError(problem.removeprefix(f"{_PROBLEM} "))
    n_rows = _one(counts, _ROWS)
    if n_rows == 0:
        raise empty()
    if len([what for what in counts if what.startswith(f"{_KIND} ")]) > 1:
        raise InputError(f"Column {id_!r} holds numbers in one part of the source and text in another. Use one type.")
    if n_missing := _one(counts, _NO_ID):
        raise InputError(
            f"{n_missing} of {n_rows} rows have no identifier in column {id_!r}. Complete or remove these rows."
        )
    _refuse_respelt(id_, _one(counts, _RESPELT))
    n_about = _about(np.array(list(counts[_HASH]), dtype=np.int64).view(np.uint64))
    n_runs = _one(counts, _RUNS)
    if time is None:
        return First(n_rows, n_about, n_runs)
    clock = TimeReader(time, timezone)
    clock.take_counts({what: n[0] for what, n in counts.items() if 0 in n})
    clock.verify()
    times = np.sort(np.array(list(counts[_TIME]), dtype=np.int64))
    if distinct and (_TOO_MANY in counts or len(times) > _MOST_TIMES):
        raise InputError(
            f"The times of the series do not line up: there are more than {_MOST_TIMES} different ones. Resample them "
            "with align='resample:STEP', where STEP is the step of one series or a multiple of it."
        )
    return First(n_rows, n_about, n_runs, clock, times)


@dataclass(frozen=True)
class _Spellings:
    column: str

    def __call__(self, blocks: Blocks) -> Blocks:
        counts = KeyCounts()
        for block in blocks:
            counts.add(_RESPELT, n_respelt(plain([block.column(self.column)])[0].dictionary_encode(), self.column))
        yield from counts.blocks()


def refuse_respelt(engine: Engine, table: Table, column: str) -> None:
    """Refuse subject names that reading would change: an engine cannot tell which of them it would merge."""
    kind = table.schema.field(column).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or "view" in str(kind):
        _refuse_respelt(column, _one(count_keys(engine, table, _Spellings(column)), _RESPELT))


def _refuse_respelt(column: str, n_rows: int) -> None:
    if n_rows:
        raise InputError(
            f"{n_rows} rows of column {column!r} have names with spaces at their ends, accents as separate characters "
            "or the .0 of a number, which are other spellings of the same name. Write every name in one spelling, or "
            "omit --engine."
        )


def _one(counts: Counts, what: str) -> int:
    return counts.get(what, {}).get(0, 0)


def _about(hashes: NDArray[np.uint64]) -> int:
    """Estimate the number of identifiers from the density of their smallest hashes."""
    smallest = np.sort(hashes)[:_SKETCH]
    return len(smallest) if len(smallest) < _SKETCH else int((_SKETCH - 1) / (float(smallest[-1]) / 2.0**64))


@dataclass(frozen=True)
class _Texts:
    """The column of identifiers alone, as text."""

    column: str

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            ids = read_ids(plain([block.column(self.column)])[0], self.column)
            yield pa.record_batch([pc.cast(ids, pa.string())], names=["id"])


def count_series(engine: Engine, table: Table, id_: str) -> int:
    """How many different identifiers there are."""
    return count_distinct(engine, engine.map(table, _Texts(id_), pa.schema([("id", pa.string())])), "id")


def refuse_numbers(engine: Engine, table: Table, columns: tuple[str, ...], labels: tuple[str, ...]) -> None:
    """Read every value column again, and say which holds text or an infinite number."""
    counts = count_keys(engine, table, _Numbers(columns))
    for place, label in enumerate(labels):
        column = NumberColumn(label)
        column.take_counts({what: n.get(place, 0) for what, n in counts.items()})
        column.verify()


@dataclass(frozen=True)
class _Numbers:
    columns: tuple[str, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        readers = [NumberColumn(name) for name in self.columns]
        for block in blocks:
            for reader in readers:
                reader.read(plain([block.column(reader.label)])[0])
        counts = KeyCounts()
        for place, reader in enumerate(readers):
            for what, n in reader.counts().items():
                counts.add(what, n, place)
        yield from counts.blocks()
