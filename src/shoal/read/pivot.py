"""Long tables: one row per series and instant, in any order.

Two passes, batch by batch: the first finds the series and the instants, the second puts every value into its cell.
Memory is the array itself, one more byte per cell, and one batch. To resample readings, the pass holds the rows of as
many series as make 16 million on average, and reads the table again for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.read.align import Exact, Resample, Rules, make_buckets, require_even
from shoal.read.autumn import Autumn
from shoal.read.buckets import Gathered, StepCount, require_step
from shoal.read.cells import ExactCells, refuse_sparse
from shoal.read.columns import Placement
from shoal.read.draft import PanelDraft, gathered, noted, text_troubles
from shoal.read.numbers import NumberColumn
from shoal.read.repeats import refuse_conflicts, settle
from shoal.read.series import IdColumn, StaticColumn, changed, read_values
from shoal.read.tables import SourceTable, empty
from shoal.read.time_reader import TimeReader

_MANY_TIMES = 4_000_000
"""Different times held before they are merged."""

_MANY_CELLS = 50_000_000
"""Largest number of cells for which a table with uneven instants is read anyway, to report what else is wrong."""

_LARGEST = 2**62
"""Upper bound of a number that encodes series and instant."""

_HELD_ROWS = 16_000_000
"""Number of rows held for resampling; a longer table is read again for further series."""

_AT_ONCE = 1 << 19
"""About how many of them are processed at a time."""

SeriesRows = tuple[int, int, NDArray[np.int64], NDArray[np.int64], list[NDArray[np.float64]]]
"""The first of some series, how many they are, and of each row the series, counted from there, instant and readings."""


def read_long(table: SourceTable, plan: Placement, rules: Rules, timezone: str | None) -> PanelDraft:
    """Read and pivot a long table."""
    rows, times = settle_rows(table, plan, rules, timezone)
    ids, clock = rows.ids, rows.clock
    names = [column.name for column in plan.values]
    draft = (_gathered if isinstance(rules.align, Resample) else _exact)(rows, times, rules, names)
    draft.troubles = [*rows.troubles, *draft.troubles]
    draft.ids = ids.texts()
    draft.on_clock = clock.on_clock
    draft.timezone = None if clock.zone is None else clock.zone.name
    draft.channels = tuple(names)
    draft.n_rows = clock.n_rows
    draft.notes = ids.spellings.notes()
    attach_static(draft, plan, rows.static)
    return draft


def settle_rows(table: SourceTable, plan: Placement, rules: Rules, timezone: str | None) -> tuple[LongRows, Times]:
    """The first pass: which series and which times exist. The rows then come with both settled."""
    if plan.id is None or plan.time is None:
        raise InputError("A long table needs an id and a time column.")
    ids, clock = IdColumn(plan.id.name), TimeReader(plan.time.name, timezone)
    times, autumn = Times(distinct=isinstance(rules.align, Exact)), Autumn()
    for id_batch, time_batch in table.batches([plan.id.position, plan.time.position]):
        ids.add(id_batch)
        instants = clock.read(time_batch)
        autumn.see(instants)
        if clock.twice is not None:
            autumn.add(id_batch.filter(pa.array(clock.twice)), instants[clock.twice])
            instants = instants[~clock.twice]
        times.add(instants)
    if clock.n_rows == 0:
        raise empty()
    stopping: list[InputError] = []
    with noted(stopping):
        ids.finish()
    second, troubles = None, []
    if autumn.n_rows:
        second, n_open = autumn.settle(rules.dst)
        clock.refuse(n_open)
        times.add(autumn.instants(second, clock.zone))
    if clock.n_twice and not clock.n_never:
        # The rest is examined as if the first hour were meant, to report all problems at once.
        troubles.append(clock.misplaced())
        clock.refuse(0)
    with noted(stopping):
        clock.verify()
    if stopping:
        raise gathered(stopping)
    return LongRows(table, plan, ids, clock, second, tuple(troubles)), times


def _exact(rows: LongRows, times: Times, rules: Rules, names: list[str]) -> PanelDraft:
    """The times of the table as instants."""
    found, clock, n_series = times.sorted(), rows.clock, rows.ids.n_series
    uneven: list[InputError] = []
    try:
        require_even(
            found[:0] if rules.uneven else found,
            on_clock=clock.on_clock,
            zone=clock.zone,
            n_series=n_series,
            n_filled=clock.n_rows,
            by=rules.by(names, len(names))[0],
            own_step=lambda: rows.own_step((int(found[0]), int(found[-1]))),
        )
    except InputError as error:
        if n_series * len(found) > _MANY_CELLS:
            raise
        uneven = [error]
    refuse_sparse(n_series, len(found), clock.n_rows)
    cells = ExactCells((n_series, len(found), len(names)), rules.duplicates)
    for series, instants, readings in rows.read():
        places = np.minimum(np.searchsorted(found, instants), len(found) - 1)
        if np.any(found[places] != instants):
            raise changed()
        cells.add(series * len(found) + places, readings)
    draft = PanelDraft(values=cells.finish(), times=found, printed=cells.printed)
    draft.count(repeated=cells.n_repeated, merged=cells.n_merged)
    n_doubtful = int(cells.repeated_at[clock.doubtful(found)].sum()) if cells.n_repeated else 0
    with noted(draft.troubles):
        refuse_conflicts(cells.n_merged, cells.n_repeated, n_doubtful, clock.n_rows, rules.duplicates)
    draft.troubles += uneven
    return draft


def _gathered(rows: LongRows, times: Times, rules: Rules, names: list[str]) -> PanelDraft:
    """Buckets as instants. Rows are held, whole series at a time, since duplicates can be anywhere in the table."""
    assert isinstance(rules.align, Resample)
    found, clock, n_series = times.sorted(), rows.clock, rows.ids.n_series
    ends = int(found[0]), int(found[-1])
    buckets = make_buckets(*ends, rules.align.step, on_clock=clock.on_clock, zone=clock.zone)
    refuse_sparse(n_series, buckets.n_buckets, clock.n_rows)
    by = rules.by(names, len(names))
    filled = Gathered(n_series, buckets, by)
    n_repeated = n_merged = n_doubtful = 0
    for first, n_here, series, instants, readings in rows.by_series(ends):
        settled = settle(series, instants, readings, rules.duplicates)
        n_repeated += len(settled.repeated)
        n_merged += len(settled.merged)
        n_doubtful += int(clock.doubtful(settled.repeated_at).sum())
        filled.add(first, n_here, settled.series, settled.instants, settled.readings)
    refuse_conflicts(n_merged, n_repeated, n_doubtful, clock.n_rows, rules.duplicates)
    step = None
    if rules.complete is not None:
        step = require_step(filled.steps, buckets.step, by[0], on_clock=clock.on_clock)
    values, incomplete = filled.finish(rules.complete, step)
    draft = PanelDraft(values=values, times=buckets.times())
    draft.count(repeated=n_repeated, merged=n_merged, **incomplete.account())
    return draft


class LongRows:
    """The second pass, and further ones: every row with its series, instant and readings."""

    def __init__(
        self,
        table: SourceTable,
        plan: Placement,
        ids: IdColumn,
        clock: TimeReader,
        second: NDArray[np.bool_] | None = None,
        found: tuple[InputError, ...] = (),
    ) -> None:
        self._table, self._plan, self._second, self._found = table, plan, second, found
        self.ids, self.clock = ids, clock
        self.static: list[StaticColumn] = []
        self.troubles: list[InputError] = list(found)

    def read(
        self, *, keys_only: bool = False
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], list[NDArray[np.float64]]]]:
        """Batch by batch; static columns are read alongside. Refuses what is not a number or changes within a
        series."""
        plan = self._plan
        values, further = ((), ()) if keys_only else (plan.values, plan.static)
        n_values = len(values)
        numbers = [NumberColumn(f"Column {column.name!r}") for column in values]
        static = static_columns(plan, self.ids.n_series, untyped=self._table.untyped) if further else []
        columns: list[Any] = [plan.id, plan.time, *values, *further]
        clock, n_twice = self.clock.again(), 0
        for id_batch, time_batch, *rest in self._table.batches([column.position for column in columns]):
            series = self.ids.positions(id_batch)
            instants = clock.read(time_batch)
            if clock.twice is not None and self._second is not None and clock.zone is not None:
                places = np.flatnonzero(clock.twice)
                later = places[self._second[n_twice : n_twice + len(places)]]
                instants[later] = clock.zone.second_of(instants[later])
                n_twice += len(places)
            readings = [number.read(batch) for number, batch in zip(numbers, rest[:n_values], strict=True)]
            for column, batch in zip(static, rest[n_values:], strict=True):
                column.add(series, batch)
            yield series, instants, readings
        if clock.n_rows != self.clock.n_rows:
            raise changed()
        if not keys_only:
            self.troubles = [*text_troubles(numbers), *self._found]
        for entry in static:
            with noted(self.troubles):
                entry.verify()
        self.static = static

    def by_series(self, ends: tuple[int, int], *, keys_only: bool = False) -> Iterator[SeriesRows]:
        """Some whole series at a time: rows by series and instant, equal ones in the order of the table."""
        n_series, span = self.ids.n_series, ends[1] - ends[0] + 1
        n_held = min(-(-n_series // -(-self.clock.n_rows // _HELD_ROWS)), max(1, _LARGEST // span))
        for first in range(0, n_series, n_held):
            here = min(n_held, n_series - first)
            keys, *values = self._held(first, here, ends, keys_only=keys_only)
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            at_once = max(1, here * _AT_ONCE // max(1, len(keys)))
            for start in range(0, here, at_once):
                n_here = min(at_once, here - start)
                some = slice(*np.searchsorted(keys, [start * span, (start + n_here) * span]).tolist())
                series, instants = np.divmod(keys[some], span)
                yield first + start, n_here, series - start, instants + ends[0], [each[order[some]] for each in values]

    def _held(self, first: int, n_series: int, ends: tuple[int, int], *, keys_only: bool) -> list[NDArray[Any]]:
        """The rows of some series in the order of the table: a number for series and instant, and the readings."""
        span = ends[1] - ends[0] + 1
        parts: list[list[NDArray[Any]]] = []
        for series, instants, readings in self.read(keys_only=keys_only):
            if len(instants) and not ends[0] <= instants.min() <= instants.max() <= ends[1]:
                raise changed()
            ours = (series >= first) & (series < first + n_series)
            keys = (series[ours] - first) * span + (instants[ours] - ends[0])
            parts.append([keys, *(numbers[ours] for numbers in readings)])
        # One column at a time, so that little is held twice.
        return [np.concatenate([part.pop(0) for part in parts]) for _ in range(len(parts[0]))]

    def own_step(self, ends: tuple[int, int]) -> int | None:
        """The most frequent difference between successive instants of a series."""
        steps = StepCount(1)
        for _, n_series, series, instants, _ in self.by_series(ends, keys_only=True):
            new = np.diff(series, prepend=-1) != 0
            new[1:] |= np.diff(instants) != 0
            steps.add(series[new], instants[new], n_series)
        return steps.usual


class Times:
    """The distinct times of a table, or only the first and the last."""

    def __init__(self, *, distinct: bool) -> None:
        self._distinct = distinct
        self._parts: list[NDArray[np.int64]] = []
        self._n_held = 0

    def add(self, instants: NDArray[np.int64]) -> None:
        """See a batch."""
        if not len(instants):
            return
        if self._distinct:
            self._parts.append(pc.unique(pa.array(instants)).to_numpy())
        else:
            self._parts.append(np.array([instants.min(), instants.max()]))
        self._n_held += len(self._parts[-1])
        if self._n_held > _MANY_TIMES:
            self.sorted()

    def sorted(self) -> NDArray[np.int64]:
        """The times in order."""
        merged = np.unique(np.concatenate(self._parts))
        self._parts = [merged]
        # Merge again only after as many new ones have arrived, so that the work stays n log n.
        self._n_held = 0
        return merged


def static_columns(plan: Placement, n_series: int, *, untyped: bool) -> list[StaticColumn]:
    """Columns with one entry per series, still empty; the subjects among them are names."""
    return [StaticColumn(c.name, n_series, untyped=untyped, names=c == plan.subject) for c in plan.static]


def attach_static(draft: PanelDraft, plan: Placement, static: list[StaticColumn]) -> None:
    """Attach static columns to a draft."""
    by_name = {column.column: column for column in static}
    if plan.subject is not None:
        column = by_name[plan.subject.name]
        if column.n_missing:
            raise InputError(
                f"{column.n_missing} of {draft.values.shape[0]} series have no subject in column {column.column!r}. "
                "Complete it, or rename it if it does not hold subjects."
            )
        draft.subjects = column.entries()
        draft.notes += () if column.spellings is None else column.spellings.notes()
    draft.attributes = {c.name: by_name[c.name].array() for c in (*plan.quasi, *plan.other)}
    draft.sensitive = {c.name: by_name[c.name].array() for c in plan.sensitive}
    for name, entries in draft.sensitive.items():
        if entries.dtype == object and all(entry is None or isinstance(entry, str) for entry in entries):
            read, told = read_values(pa.array(entries, pa.large_string()), name)
            entries[:] = read.to_pylist()
            draft.notes += told
