"""All series of a panel as rows of a table on an engine, before they are split into shards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Engine, Table
from shoal.engines.rows import ID, LARGEST_BLOCK, ROW, SERIES, SUBJECT, pack, unpack
from shoal.engines.store import EngineStore
from shoal.engines.work import Columns, Having
from shoal.errors import ParameterError
from shoal.model import Panel, PanelShards, ShardPlan, Whole
from shoal.read.series import as_array

RESERVED = frozenset({ID, SUBJECT, ROW, "shard"})
"""Names an attribute cannot have on an engine."""


@dataclass(frozen=True, eq=False, repr=False)
class SeriesTable:
    """Many series over the same instants.

    Parameters
    ----------
    engine
        Where they are stored.
    table
        `id`, `subject` and `row` of each series, then attributes and sensitive columns. Ids are unique.
    whole
        Instants, channels and counts over all of them.
    """

    engine: Engine
    table: Table
    whole: Whole

    def split(self, plan: ShardPlan) -> tuple[EngineStore[Panel], tuple[int, ...]]:
        """Split into shards of similar subjects; also gives each shard's only attribute value by number, -1 for
        several."""
        from shoal.engines.shard_plan import SHARD, assign_shards

        assigned = assign_shards(self, plan)
        store = EngineStore.of(self.engine, assigned.table, SHARD, partial(panel_of, self.whole), assigned.n_shards)
        return store, assigned.values

    def hold_out(self, share: float, seed: int) -> tuple[SeriesTable, SeriesTable]:
        """Hold out about `share` of the subjects, drawn by the seed and the readings; returns the others, then
        those."""
        from shoal.engines.held_out import hold_out

        return hold_out(self, share, seed)

    def names(self) -> list[str]:
        """The ids of all series, sorted."""
        only = self.engine.map(self.table, Columns((ID,)), pa.schema([self.table.schema.field(ID)]))
        return sorted(self.engine.collect(only)[ID].to_pylist())

    def sample(self, n_series: int, seed: int) -> Panel:
        """About this many series in memory, of subjects drawn by a hash of their names, sorted by id."""
        share = min(1.0, n_series / max(1, self.whole.n_series))
        drawn = draw_subjects(self.engine, self.table, share, seed)
        return panel_of(self.whole, self.engine.collect(drawn, most=2**31).sort_by(ID))


def in_shards(panel: Panel, engine: Engine, *, size: int | None = None) -> PanelShards:
    """Prepare a panel in memory to be anonymized in shards on an engine. Its ids become texts."""
    ids = [str(name) for name in panel.ids]
    subjects = ids if panel.subjects is None else [str(name) for name in panel.subjects]
    extra: dict[str, Any] = {**panel.attributes, **panel.sensitive}
    if taken := sorted(name for name in extra if name in RESERVED or name.startswith("n ")):
        raise ParameterError(f"Column {taken[0]!r} has a name that shards use themselves. Rename it to keep it.")
    if panel.values.nbytes > LARGEST_BLOCK:
        raise ParameterError(
            f"The panel has {panel.values.nbytes / 2**30:.1f} GiB of readings; shards in memory hold at most 2 GiB. "
            "Write the table as Parquet and read it with --engine local, in Python engine=shoal.engines.Local()."
        )
    columns = {name: pa.array(column.tolist()) for name, column in extra.items()}
    schema = pa.schema([*SERIES, *(pa.field(name, column.type) for name, column in columns.items())])
    table = pa.table({ID: ids, SUBJECT: subjects, ROW: pack(panel.rows), **columns}).cast(schema)
    whole = Whole(
        n_series=panel.n_series,
        n_subjects=panel.n_subjects,
        n_missing=panel.n_missing,
        times=panel.times,
        channels=panel.channels,
        timezone=panel.timezone,
        attributes=tuple(panel.attributes),
        sensitive=tuple(panel.sensitive),
        origin=panel.origin,
        roles=panel.roles,
    )
    return PanelShards.of(SeriesTable(engine, engine.scatter(table, 4 * engine.cores), whole), size)


def panel_of(whole: Whole, rows: pa.Table) -> Panel:
    """Rows of the table as a panel, with their ids and subjects."""
    names = rows.column_names
    return Panel(
        shaped(whole, unpack(rows[ROW])),
        ids=rows[ID].to_pylist(),
        times=whole.times,
        # Subjects that were not given equal the ids and need not be compared as texts again.
        subjects=None if rows[SUBJECT].equals(rows[ID]) else rows[SUBJECT].to_pylist(),
        attributes={name: _static(rows[name]) for name in whole.attributes if name in names},
        sensitive={name: _static(rows[name]) for name in whole.sensitive if name in names},
        channels=whole.channels,
        timezone=whole.timezone,
        roles=whole.roles,
        origin=whole.origin,
        copy=False,
    )


def shaped(whole: Whole, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows in the shape of a panel: (series, instants), or (series, instants, channels)."""
    if whole.n_channels == 1:
        return rows.reshape(len(rows), whole.n_instants)
    return rows.reshape(len(rows), whole.n_instants, whole.n_channels)


def _static(column: pa.ChunkedArray) -> NDArray[Any]:
    """An attribute's entries, typed by the column: a shard with no entry at all does not show what the others are."""
    if pa.types.is_floating(column.type) or (pa.types.is_integer(column.type) and column.null_count):
        return np.asarray(column.cast(pa.float64(), safe=False), dtype=np.float64)
    return as_array(column.to_pylist(), untyped=False)


def draw_subjects(engine: Engine, table: Table, share: float, seed: int) -> Table:
    """All rows of the subjects whose hash is low enough. The names are drawn first, so that no other row is read."""
    names = pa.schema([table.schema.field(SUBJECT)])
    few = engine.map(engine.map(table, Columns((SUBJECT,)), names), DrawSubjects(share, seed), names)
    return engine.map(table, Having(SUBJECT, engine.collect(few)[SUBJECT].unique()), table.schema)


@dataclass(frozen=True)
class DrawSubjects:
    """Keep all rows of the subjects whose hash is low enough."""

    share: float
    seed: int

    def __call__(self, blocks: Blocks) -> Blocks:
        """The rows that are drawn."""
        for block in blocks:
            yield block.filter(pa.array(chances(block.column(SUBJECT), self.seed) < self.share))


def chances(names: pa.Array, seed: int) -> NDArray[np.float64]:
    """A number in [0, 1) for each name, the same for the same name and seed wherever it is computed."""
    hashed = pl.Series(pl.from_arrow(names)).hash(seed=seed).to_numpy()
    return (hashed >> np.uint64(11)).astype(np.float64) / 2.0**53
