"""Wide tables: one row per series with a column per instant, or one row per instant with a column per series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.model.names import text_of
from shoal.read.align import Exact, Rules, make_buckets, require_even
from shoal.read.buckets import Gathered, require_step
from shoal.read.cells import ExactCells, refuse_sparse
from shoal.read.columns import Column, Placement
from shoal.read.draft import PanelDraft, noted, text_troubles
from shoal.read.numbers import NumberColumn
from shoal.read.pivot import attach_static, static_columns
from shoal.read.repeats import Duplicates
from shoal.read.series import IdColumn, Spellings, changed
from shoal.read.subjects import are_channels, mean_sizes, refuse_unlike
from shoal.read.tables import SourceTable, empty
from shoal.read.time_reader import TimeReader
from shoal.read.zones import find_zone

Places = NDArray[np.int64]

_ROWS = 4096


def read_wide(table: SourceTable, plan: Placement, rules: Rules, timezone: str | None) -> PanelDraft:
    """Read a wide table of either kind."""
    if plan.id is not None:
        draft = _rows_are_series(table, plan, plan.id, timezone, rules.duplicates)
    elif plan.time is not None:
        draft = _rows_are_instants(table, plan, plan.time, timezone, rules.duplicates)
    else:
        raise InputError("A wide table needs an id or a time column.")
    return align_draft(draft, rules)


def _rows_are_series(
    table: SourceTable, plan: Placement, id_: Column, timezone: str | None, duplicates: Duplicates
) -> PanelDraft:
    ids = IdColumn(id_.name)
    for (batch,) in table.batches([id_.position]):
        ids.add(batch)
    if ids.n_rows == 0:
        raise empty()
    ids.finish()
    unique = ids.n_series == ids.n_rows
    matrix = table.matrix([column.position for column in plan.values]) if unique else None
    read = plan.values if matrix is None else ()
    cells = ExactCells((ids.n_series if read else 0, len(plan.values), 1), duplicates)
    numbers = [NumberColumn(_label(column.position)) for column in read]
    static = static_columns(plan, ids.n_series, untyped=table.untyped)
    columns = [id_, *read, *plan.static]
    n_rows = 0
    places = np.empty(ids.n_rows, dtype=np.int64)
    for id_batch, *rest in table.batches([column.position for column in columns]):
        rows = ids.positions(id_batch)
        if n_rows + len(rows) > ids.n_rows:
            raise changed()
        places[n_rows : n_rows + len(rows)] = rows
        n_rows += len(rows)
        if read:
            block = np.empty((len(rows), len(numbers)))
            for place, number in enumerate(numbers):
                block[:, place] = number.read(rest[place])
            cells.add((rows[:, None] * len(numbers) + np.arange(len(numbers))).ravel(), [block.ravel()])
        for column, batch in zip(static, rest[len(numbers) :], strict=True):
            column.add(rows, batch)
    if n_rows != ids.n_rows:
        raise changed()
    values = cells.finish() if matrix is None else _take(matrix, np.argsort(places))
    draft = PanelDraft(values=values, ids=ids.texts(), n_rows=n_rows, notes=ids.spellings.notes())
    with noted(draft.troubles):
        name_instants(draft, [column.name for column in plan.values], timezone, guessed=plan.guessed)
    draft.troubles += text_troubles(numbers)
    if cells.n_merged and duplicates is Duplicates.FAIL:
        draft.troubles.append(
            InputError(
                f"{ids.n_rows - ids.n_series} of {ids.n_rows} rows repeat the id of another, with {cells.n_merged} "
                "other readings; a wide table has one row per series. Give a long table, or a unique id with the "
                "person as subject=; or choose a reading with duplicates='first', 'last' or 'mean'."
            )
        )
    draft.count(repeated=cells.n_repeated, merged=cells.n_merged)
    for entry in static:
        with noted(draft.troubles):
            entry.verify()
    with noted(draft.troubles):
        attach_static(draft, plan, static)
    return draft


def name_instants(draft: PanelDraft, names: list[str], timezone: str | None, *, guessed: bool) -> None:
    """Take the instants from the column names if these are timestamps; if none of them is, they are positions."""
    clock = TimeReader("the column names", timezone)
    instants = clock.read(pa.array(names, pa.string()))
    n_other = clock.n_unreadable + clock.n_integer + clock.n_missing
    if n_other == len(names):
        if guessed and clock.n_unreadable:
            # A table of attributes such as age and income would otherwise pass for a panel, and be published.
            raise InputError(
                f"The names of {clock.n_unreadable} of {len(names)} columns next to the id are neither timestamps nor "
                "numbers. If the columns are instants in order, say so with layout='wide'; for a long table, name "
                "time= and value=."
            )
        if timezone is not None:
            raise ParameterError("timezone: the names of the columns are not timestamps. Omit it.")
        return
    if n_other:
        # Never positions here: a forgotten column such as an age would pass for a reading.
        raise InputError(
            f"{n_other} of {len(names)} columns have names that are not timestamps. Name them as quasi=, sensitive= "
            "or other=, or name the columns with values as value=."
        )
    clock.verify()
    order = np.argsort(instants, kind="stable")
    times = instants[order]
    if n_again := int((np.diff(times) == 0).sum()):
        raise InputError(f"{n_again} of {len(names)} columns repeat the time of another. Remove or rename them.")
    if np.any(order[1:] < order[:-1]):
        draft.values = np.take(draft.values, order, axis=1)
    draft.times, draft.on_clock = times, True
    draft.timezone = None if clock.zone is None else clock.zone.name


def _rows_are_instants(
    table: SourceTable, plan: Placement, time: Column, timezone: str | None, duplicates: Duplicates
) -> PanelDraft:
    names = [text_of(column.name) for column in plan.values]
    troubles: list[InputError] = []
    if n_again := len(names) - len(set(names)):
        troubles.append(
            InputError(
                f"{n_again} of {len(names)} series columns repeat the name of another, ignoring spaces at its ends. "
                "Rename them so that they differ."
            )
        )
    spellings = Spellings("the names of the columns")
    spellings.see(pa.array([column.name for column in plan.values], pa.large_string()), None)
    clock = TimeReader(time.name, timezone)
    parts = [clock.read(batch) for (batch,) in table.batches([time.position])]
    if clock.n_rows == 0:
        raise empty()
    clock.verify()
    shown = np.concatenate(parts)
    times = np.unique(shown)
    order = np.argsort(np.array(names, dtype=object), kind="stable")
    # Many columns: all at once, if the table is an array already and no instant occurs twice.
    matrix = table.matrix([column.position for column in plan.values]) if len(times) == len(shown) else None
    cells = ExactCells((len(names) if matrix is None else 0, len(times), 1), duplicates)
    rows = np.arange(len(names), dtype=np.int64) * len(times)
    numbers = [NumberColumn(_label(plan.values[place].position)) for place in order]
    positions = [plan.values[place].position for place in order]
    second = clock.again()
    for time_batch, *rest in table.batches([time.position, *positions]) if matrix is None else ():
        instants = second.read(time_batch)
        places = np.minimum(np.searchsorted(times, instants), len(times) - 1)
        if np.any(times[places] != instants):
            raise changed()
        block = np.array([number.read(batch) for number, batch in zip(numbers, rest, strict=True)])
        cells.add((rows[:, None] + places).ravel(), [block.ravel()])
    if matrix is None and second.n_rows != clock.n_rows:
        raise changed()
    values = cells.finish() if matrix is None else _take(matrix.T, order, np.argsort(shown))
    one_series = not plan.asked and are_channels(names)
    if not plan.asked and not one_series:
        with noted(troubles):
            refuse_unlike([names[place] for place in order], mean_sizes(values), time.name)
    troubles += text_troubles(sorted(numbers, key=lambda number: number.label))
    n_doubtful = int(cells.repeated_at[clock.doubtful(times)].sum()) if cells.n_repeated else 0
    if (cells.n_merged or n_doubtful) and duplicates is Duplicates.FAIL:
        troubles.append(
            InputError(
                f"{clock.n_rows - len(times)} of {clock.n_rows} rows repeat the time of another, with "
                f"{cells.n_merged} other readings; a wide table has one row per instant. If they lie in the hour that "
                "the clock shows twice at the end of summer time, give timezone=; otherwise choose a reading with "
                "duplicates='first', 'last' or 'mean'."
            )
        )
    draft = PanelDraft(
        values=values,
        ids=[names[place] for place in order],
        times=times,
        on_clock=clock.on_clock,
        timezone=None if clock.zone is None else clock.zone.name,
        n_rows=clock.n_rows,
        notes=spellings.notes(),
        troubles=troubles,
    )
    draft.count(repeated=cells.n_repeated, merged=cells.n_merged)
    if one_series:
        draft.ids = ["series"]
        if len(names) > 1:
            draft.channels = tuple(column.name for column in plan.values)
            draft.values = np.ascontiguousarray(values[np.argsort(order)].T)[None]
    return draft


def _take(matrix: NDArray[Any], rows: Places, columns: Places | None = None) -> NDArray[np.float64]:
    """Readings in order, in their own memory."""
    values = np.empty((len(rows), matrix.shape[1]))
    for first in range(0, len(rows), _ROWS):  # block by block, so that nothing is held twice
        some = matrix[rows[first : first + _ROWS]].astype(np.float64)
        some[np.isnan(some)] = np.nan  # one bit pattern for every missing value
        values[first : first + _ROWS] = some if columns is None else some[:, columns]
    return values


def _label(position: int) -> str:
    return f"Column number {position + 1}, counted from 1,"


def align_draft(draft: PanelDraft, rules: Rules) -> PanelDraft:
    """Check the instants of a dense draft, or resample them."""
    n_series, n_instants = draft.values.shape[:2]
    by = rules.by(None, draft.n_channels)
    clock: NDArray[np.int64] = np.arange(n_instants, dtype=np.int64) if draft.times is None else draft.times
    zone = find_zone(draft.timezone) if draft.timezone is not None else None
    if isinstance(rules.align, Exact):
        with noted(draft.troubles):
            shown = clock[:0] if rules.uneven else clock
            require_even(shown, on_clock=draft.on_clock, zone=zone, n_series=1, n_filled=n_instants, by=by[0])
        return draft
    if draft.troubles:
        return draft
    buckets = make_buckets(int(clock[0]), int(clock[-1]), rules.align.step, on_clock=draft.on_clock, zone=zone)
    refuse_sparse(n_series, buckets.n_buckets, n_series * n_instants)
    filled = Gathered(n_series, buckets, by)
    filled.add_dense(draft.values, clock)
    step = None
    if rules.complete is not None:
        step = require_step(filled.steps, buckets.step, by[0], on_clock=draft.on_clock)
    draft.values, incomplete = filled.finish(rules.complete, step)
    draft.times = buckets.times()
    draft.count(**incomplete.account())
    return draft
