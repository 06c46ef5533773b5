"""Long tables on an engine, read twice: first to count, then to assemble the readings of each series."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.engines.contract import Blocks, Engine, Table
from shoal.engines.local import parquet_files
from shoal.engines.reading.by_series import assemble_runs, is_by_series
from shoal.engines.reading.first import First, count_series, look, refuse_numbers
from shoal.engines.reading.gaps import GapCounts, PanelInstants, totals
from shoal.engines.reading.segments import (
    Assemble,
    InstantGrid,
    LongColumns,
    Segments,
    count_steps,
    segment_schema,
    static_name,
)
from shoal.engines.reading.static import as_names, kept_as
from shoal.engines.reading.summary import HELPERS
from shoal.engines.rows import ID, ROW, SERIES, SUBJECT
from shoal.engines.work import Chain
from shoal.errors import InputError
from shoal.read.align import Exact, Resample, Rules, count_irregular, make_buckets, require_even
from shoal.read.buckets import StepCount, require_step
from shoal.read.cells import refuse_sparse
from shoal.read.columns import Placement
from shoal.read.numbers import NumberColumn
from shoal.read.repeats import refuse_conflicts
from shoal.read.series import read_ids
from shoal.read.time_reader import TimeReader
from shoal.read.zones import Zone, find_zone

_SUSPECT = 0.02
"""Share of filled cells below which the number of series is counted exactly; tables with less than 1 % are refused."""


@dataclass(frozen=True, eq=False)
class Read:
    """Series in the making: a kept table with counts next to each, and what they have in common."""

    table: Table
    instants: PanelInstants
    totals: GapCounts
    n_rows: int
    channels: tuple[str, ...] | None = None
    zone: Zone | None = None


def read_long(engine: Engine, path: str, plan: Placement, rules: Rules, timezone: str | None) -> Read:
    """Read and pivot a long table."""
    if plan.id is None or plan.time is None:
        raise InputError("A long table needs an id and a time column.")
    columns = LongColumns(
        plan.id.name,
        plan.time.name,
        tuple(column.name for column in plan.values),
        tuple(column.name for column in plan.static),
        timezone,
    )
    table = engine.read(path, (columns.id, columns.time, *columns.values, *columns.static))
    refuse_types(table.schema, columns)
    keys = engine.read(path, (columns.id, columns.time))
    first = look(engine, keys, columns.id, columns.time, timezone, distinct=isinstance(rules.align, Exact))
    assert first.clock is not None
    zone = _zone(path, columns, first.clock)
    grid, steps = _grid(engine, keys, columns, first, rules, zone)
    kinds = tuple(kept_as(table.schema.field(name).type, name) for name in columns.static)
    segments = segment_schema(len(columns.values), kinds)
    plain = pa.schema(
        [(ID, pa.string()), (ROW, pa.binary()), *((static_name(i), kind) for i, kind in enumerate(kinds)), *HELPERS]
    )
    has_subject = plan.subject is not None
    named = name_schema(columns.static, kinds, has_subject=has_subject)
    work = Chain(
        (
            Assemble(engine.share(grid), len(columns.values), len(kinds), plain),
            NameStatic(columns.static, has_subject, named),
        )
    )
    reading = Segments(columns, segments)
    series = assemble_runs(engine, table, reading, segments, work, named) if is_by_series(first) else None
    if series is None:
        series = engine.keep(engine.together(engine.map(table, reading, segments), [ID], work, named))
    counts = totals(engine, series, len(kinds), SUBJECT if has_subject else None)
    if counts.infinite:
        refuse_numbers(engine, table, columns.values, tuple(f"Column {name!r}" for name in columns.values))
    refuse_static(columns.static, counts)
    done = counts.account
    refuse_conflicts(done["merged"], done["repeated"], done["doubtful"], first.n_rows, rules.duplicates)
    if steps is not None and grid.buckets is not None:
        require_step(steps, grid.buckets.step, grid.by[0], on_clock=first.clock.on_clock)
    refuse_without_subject(plan, counts)
    instants = PanelInstants(grid.times, len(grid.times), len(columns.values), first.clock.on_clock)
    return Read(series, instants, counts, first.n_rows, columns.values, zone)


def _zone(path: str, columns: LongColumns, clock: TimeReader) -> Zone | None:
    """The zone of the instants. Spark converts all times to its own zone; a file on this machine still says its own."""
    if clock.zone is None or columns.timezone is not None or not Path(path).exists():
        return clock.zone
    kind = pq.read_schema(parquet_files(Path(path))[0]).field(columns.time).type
    return find_zone(kind.tz) if pa.types.is_timestamp(kind) and kind.tz else clock.zone


def _grid(
    engine: Engine, keys: Table, columns: LongColumns, first: First, rules: Rules, zone: Zone | None
) -> tuple[InstantGrid, StepCount | None]:
    clock, times, align = first.clock, first.times, rules.align
    assert clock is not None
    assert times is not None
    local = clock.on_clock and zone is None
    by = rules.by(columns.values, len(columns.values))
    if isinstance(align, Resample):
        ends = int(times[0]), int(times[-1])
        buckets = make_buckets(*ends, align.step, on_clock=clock.on_clock, zone=zone)
        _refuse_sparse(engine, keys, columns, first, buckets.n_buckets)
        steps = None if rules.complete is None else count_steps(engine, keys, columns, buckets.step)
        step = None if steps is None else steps.usual
        return InstantGrid(buckets.times(), rules.duplicates, local, buckets, by, rules.complete, step), steps
    if not rules.uneven and count_irregular(times, on_clock=clock.on_clock, zone=zone):
        require_even(
            times,
            on_clock=clock.on_clock,
            zone=zone,
            n_series=count_series(engine, keys, columns.id),
            n_filled=first.n_rows,
            by=by[0],
            own_step=lambda: count_steps(engine, keys, columns, 1).usual,
        )
    _refuse_sparse(engine, keys, columns, first, len(times))
    return InstantGrid(times, rules.duplicates, local), None


def _refuse_sparse(engine: Engine, keys: Table, columns: LongColumns, first: First, n_instants: int) -> None:
    if first.n_rows < _SUSPECT * first.n_about * n_instants:
        refuse_sparse(count_series(engine, keys, columns.id), n_instants, first.n_rows)


def refuse_types(schema: pa.Schema, columns: LongColumns) -> None:
    """Refuse columns that cannot be what they are said to be, before anything is read."""
    read_ids(_nothing(schema, columns.id), columns.id)
    for name in columns.values:
        NumberColumn(f"Column {name!r}").read(_nothing(schema, name))
    for name in columns.static:
        kept_as(schema.field(name).type, name)


def _nothing(schema: pa.Schema, name: str) -> pa.Array:
    kind = schema.field(name).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.array([], pa.string() if pa.types.is_null(kind) or "view" in str(kind) else kind)


def name_schema(static: tuple[str, ...], kinds: tuple[pa.DataType, ...], *, has_subject: bool) -> pa.Schema:
    """The columns of a panel in the making; the first static one is the subject, if there is one."""
    further = list(zip(static, kinds, strict=True))[1 if has_subject else 0 :]
    return pa.schema([*SERIES, *further, *HELPERS])


@dataclass(frozen=True)
class NameStatic:
    """Give static columns their own names; subjects become texts, and are the ids if there are none."""

    static: tuple[str, ...]
    has_subject: bool
    schema: pa.Schema

    def __call__(self, blocks: Blocks) -> Blocks:
        """The same rows."""
        for block in blocks:
            own = {name: block.column(static_name(i)) for i, name in enumerate(self.static)}
            subject = as_names(block.column(static_name(0))) if self.has_subject else block.column(ID)
            if self.has_subject:
                del own[self.static[0]]
            own[SUBJECT] = subject
            columns = [own[name] if name in own else block.column(name) for name in self.schema.names]
            yield pa.record_batch(columns, schema=self.schema)


def refuse_static(static: tuple[str, ...], counts: GapCounts) -> None:
    """Refuse static columns that change within a series."""
    for name, n_conflicts in zip(static, counts.conflicts, strict=True):
        if n_conflicts:
            raise InputError(
                f"Column {name!r} changes within {n_conflicts} of {counts.n_series} series; a static column must have "
                "one value per series. Omit it, or give it as value=."
            )


def refuse_without_subject(plan: Placement, counts: GapCounts) -> None:
    """Refuse series without a subject."""
    if counts.no_subject and plan.subject is not None:
        raise InputError(
            f"{counts.no_subject} of {counts.n_series} series have no subject in column {plan.subject.name!r}. "
            "Complete it, or rename it if it does not hold subjects."
        )
