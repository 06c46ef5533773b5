"""Long tables: one row per series and instant, in any order.

Two readings, batch by batch: the first finds the series and the instants, the second puts every value into its cell.
Memory is the array itself, one byte per cell beside it, and one batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.read.align import Buckets, Exact, Resample, make_buckets, require_even
from shoal.read.cells import Cells, ExactCells, gather, refuse_sparse
from shoal.read.clock import Clock
from shoal.read.columns import Plan
from shoal.read.draft import Draft
from shoal.read.numbers import NumberColumn
from shoal.read.series import IdColumn, StaticColumn, changed
from shoal.read.tables import Table, empty

_MANY_TIMES = 4_000_000
"""Different times held before they are merged."""


def read_long(table: Table, plan: Plan, align: Exact | Resample, timezone: str | None) -> Draft:
    """Read and pivot a long table."""
    if plan.id is None or plan.time is None:
        raise InputError("A long table needs an id and a time column.")
    ids, clock = IdColumn(plan.id.name), Clock(plan.time.name, timezone)
    times = _Times(distinct=isinstance(align, Exact))
    for id_batch, time_batch in table.batches([plan.id.position, plan.time.position]):
        ids.add(id_batch)
        times.add(clock.read(time_batch))
    if clock.n_rows == 0:
        raise empty()
    ids.finish()
    clock.verify()
    grid = _Grid(times, clock, align, ids.n_series)
    numbers = [NumberColumn(f"Column {column.name!r}") for column in plan.values]
    static = static_columns(plan, ids.n_series, untyped=table.untyped)
    cells = grid.cells((ids.n_series, grid.n_instants, len(numbers)), clock.n_rows)
    _fill(table, plan, ids, clock.again(), grid, cells, numbers, static, clock.n_rows)
    for number in numbers:
        number.verify()
    for entry in static:
        entry.verify()
    values = cells.finish()
    zone = clock.zone
    draft = Draft(
        values=values,
        ids=ids.texts(),
        times=grid.times,
        on_clock=clock.on_clock,
        timezone=None if zone is None else zone.name,
        channels=tuple(column.name for column in plan.values),
        n_rows=clock.n_rows,
        told=ids.spellings.told(),
    )
    attach_static(draft, plan, static)
    return draft


def _fill(
    table: Table,
    plan: Plan,
    ids: IdColumn,
    clock: Clock,
    grid: _Grid,
    cells: Cells,
    numbers: list[NumberColumn],
    static: list[StaticColumn],
    n_rows: int,
) -> None:
    columns: list[Any] = [plan.id, plan.time, *plan.values, *plan.static]
    for id_batch, time_batch, *rest in table.batches([column.position for column in columns]):
        rows = ids.positions(id_batch)
        instants = clock.read(time_batch)
        places = rows * grid.n_instants + grid.positions(instants)
        for channel, number in enumerate(numbers):
            cells.add(places, instants, channel, number.read(rest[channel]))
        for column, batch in zip(static, rest[len(numbers) :], strict=True):
            column.add(rows, batch)
    if clock.n_rows != n_rows:
        raise changed()


class _Times:
    """The different times of a table, or only the first and the last."""

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
        # Merge again only when as many new ones have come, so that the work stays n log n.
        self._n_held = 0
        return merged


class _Grid:
    """The instants of the panel, and where a time falls."""

    def __init__(self, times: _Times, clock: Clock, align: Exact | Resample, n_series: int) -> None:
        found = times.sorted()
        self._buckets: Buckets | None = None
        self._by = None if isinstance(align, Exact) else align.by
        if isinstance(align, Resample):
            ends = int(found[0]), int(found[-1])
            self._buckets = make_buckets(*ends, align.step, on_clock=clock.on_clock, zone=clock.zone)
            refuse_sparse(n_series, self._buckets.n_buckets, clock.n_rows)
            self.times = self._buckets.times()
        else:
            require_even(found, on_clock=clock.on_clock, zone=clock.zone, n_series=n_series, n_filled=clock.n_rows)
            refuse_sparse(n_series, len(found), clock.n_rows)
            self.times = found
        self.n_instants = len(self.times)

    def cells(self, shape: tuple[int, int, int], n_rows: int) -> Cells:
        """Empty cells of that shape."""
        return ExactCells(shape) if self._by is None else gather(self._by, shape)

    def positions(self, instants: NDArray[np.int64]) -> NDArray[np.int64]:
        """The instant of the panel to which each time belongs."""
        if self._buckets is not None:
            places = self._buckets.positions(instants)
            if len(places) and (places.min() < 0 or places.max() >= self.n_instants):
                raise changed()
            return places
        places = np.minimum(np.searchsorted(self.times, instants), self.n_instants - 1)
        if np.any(self.times[places] != instants):
            raise changed()
        return places


def static_columns(plan: Plan, n_series: int, *, untyped: bool) -> list[StaticColumn]:
    """Columns with one entry per series, still empty; the subjects among them are names."""
    return [StaticColumn(c.name, n_series, untyped=untyped, names=c == plan.subject) for c in plan.static]


def attach_static(draft: Draft, plan: Plan, static: list[StaticColumn]) -> None:
    """Put static columns where they belong in a draft."""
    by_name = {column.column: column for column in static}
    if plan.subject is not None:
        column = by_name[plan.subject.name]
        if column.n_missing:
            raise InputError(
                f"{column.n_missing} of {draft.values.shape[0]} series have no subject in column {column.column!r}. "
                "Complete it, or rename it if it is no subject."
            )
        draft.subjects = column.entries()
        draft.told += () if column.spellings is None else column.spellings.told()
    draft.attributes = {c.name: by_name[c.name].array() for c in (*plan.quasi, *plan.other)}
    draft.sensitive = {c.name: by_name[c.name].array() for c in plan.sensitive}
