"""Panels and candidates whose series lie in blocks on an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Engine, Table
from shoal.engines.rows import ID, ROW, SERIES, SUBJECT, pack, unpack
from shoal.engines.work import Columns
from shoal.errors import ParameterError
from shoal.model import Guarantee, Panel, Recipe
from shoal.model.panel import Origin
from shoal.model.roles import Roles
from shoal.read.series import as_array

PUBLISHED, GROUP, LEVEL, WORD = "published", "group", "level", "word"

OF = "of"
"""Where published rows are not the series one by one: the id of the series a row is part of."""

RESERVED = frozenset({ID, SUBJECT, ROW, PUBLISHED, GROUP, LEVEL, WORD, OF, "name", "leaf"})
"""Names an attribute cannot have on an engine."""

BlockForm = Literal["values", "envelopes"]


@dataclass(frozen=True, eq=False)
class Clock:
    """What all series have in common: instants, channels and the zone the instants are read in."""

    times: NDArray[Any]
    channels: tuple[str, ...] = ("value",)
    timezone: str | None = None

    @property
    def n_instants(self) -> int:
        """How many instants there are."""
        return len(self.times)

    @property
    def n_channels(self) -> int:
        """How many values each series has at an instant."""
        return len(self.channels)

    def shaped(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows as a panel has them: (series, instants), or (series, instants, channels)."""
        if self.n_channels == 1:
            return rows.reshape(len(rows), self.n_instants)
        return rows.reshape(len(rows), self.n_instants, self.n_channels)

    def panel(
        self,
        table: pa.Table,
        column: str = ROW,
        attributes: tuple[str, ...] = (),
        sensitive: tuple[str, ...] = (),
    ) -> Panel:
        """Rows of a block as a panel, with their ids and subjects."""
        return Panel(
            self.shaped(unpack(table[column])),
            ids=table[ID].to_pylist(),
            times=self.times,
            subjects=table[SUBJECT].to_pylist(),
            attributes={name: as_array(table[name].to_pylist(), untyped=False) for name in attributes},
            sensitive={name: as_array(table[name].to_pylist(), untyped=False) for name in sensitive},
            channels=self.channels,
            timezone=self.timezone,
        )


@dataclass(frozen=True, eq=False, repr=False)
class BlockPanel:
    """Many series over the same instants, in blocks.

    Parameters
    ----------
    engine
        Where they lie.
    table
        `id`, `subject` and `row` of each series, then attributes. Ids are unique.
    clock
        Instants and channels.
    n_series, n_subjects, n_missing
        Counts over the whole panel.
    attributes
        Names of the further columns.
    origin, roles
        For the certificate, as of a `Panel`.
    """

    engine: Engine
    table: Table
    clock: Clock
    n_series: int
    n_subjects: int
    n_missing: int = 0
    attributes: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    origin: Origin | None = None
    roles: Roles = field(default_factory=Roles)

    @property
    def one_series_per_subject(self) -> bool:
        """Whether series and subjects are the same."""
        return self.n_series == self.n_subjects

    @classmethod
    def of(cls, panel: Panel, engine: Engine, *, parts: int | None = None) -> BlockPanel:
        """A panel that is in memory, spread over the engine. Its ids become texts."""
        ids = [str(name) for name in panel.ids]
        if len(set(ids)) < len(ids):
            raise ParameterError("Ids are not unique as texts. Give them names that are.")
        subjects = ids if panel.subjects is None else [str(name) for name in panel.subjects]
        extra: dict[str, Any] = {**panel.attributes, **panel.sensitive}
        table = pa.table(
            {ID: ids, SUBJECT: subjects, ROW: pack(panel.rows)} | {name: pa.array(c) for name, c in extra.items()}
        ).cast(pa.schema([*SERIES, *(pa.field(name, pa.array(c).type) for name, c in extra.items())]))
        return cls(
            engine=engine,
            table=engine.scatter(table, parts or 4 * engine.cores),
            clock=Clock(panel.times, panel.channels, panel.timezone),
            n_series=panel.n_series,
            n_subjects=panel.n_subjects,
            n_missing=panel.n_missing,
            attributes=tuple(panel.attributes),
            sensitive=tuple(panel.sensitive),
            origin=panel.origin,
            roles=panel.roles,
        )

    def sample(self, n: int, seed: int = 0) -> Panel:
        """About n series of subjects drawn by a hash of their names, the same on every engine; sorted by id."""
        share = min(1.0, n / max(1, self.n_series))
        drawn = self.engine.map(self.table, DrawSubjects(share, seed), self.table.schema)
        rows = self.engine.collect(drawn, most=2**31).sort_by(ID)
        return self.clock.panel(rows, attributes=self.attributes, sensitive=self.sensitive)

    def panel(self) -> Panel:
        """All of it in memory, sorted by id: for tests and small panels."""
        rows = self.engine.collect(self.table).sort_by(ID)
        return self.clock.panel(rows, attributes=self.attributes, sensitive=self.sensitive)

    def __repr__(self) -> str:
        return f"BlockPanel({self.n_series} series, {self.clock.n_instants} instants, on {self.engine.name})"


@dataclass(frozen=True)
class DrawSubjects:
    """Keep all series of the subjects whose hash is low enough."""

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


@dataclass(frozen=True, eq=False, repr=False)
class BlockPublished:
    """What is published, in blocks: what a check judges, of a candidate as of a release.

    Parameters
    ----------
    engine, clock
        Where it lies; instants and channels of what is published.
    table
        `id`, `subject` and `published` (the bytes of the values; of envelopes low and high at each instant). Of
        envelopes also `level` and `word`. In a release the subject is the pseudonym: nobody knows more.
    form
        What the bytes are.
    n_series
        How many rows there are.
    """

    engine: Engine
    table: Table
    clock: Clock
    form: BlockForm
    n_series: int


@dataclass(frozen=True, eq=False, repr=False)
class BlockCandidate:
    """The output of a method on an engine, not yet checked.

    Parameters
    ----------
    panel
        The originals: private.
    table
        Kept on the engine: `id`, `subject`, `row` (the original), `published` and `group` (private); of envelopes also
        `level` and `word`. One row for each published series. Where these are parts of series, such as slices, each
        has an id of its own, `of` is the id of the series, and `row` that part of it.
    clock
        Instants and channels of what is published.
    guarantee, recipe, further
        As of a `Candidate`.
    form
        What is published.
    """

    panel: BlockPanel
    table: Table
    clock: Clock
    guarantee: Guarantee
    recipe: Recipe
    form: BlockForm = "values"
    further: tuple[Guarantee, ...] = ()
    n_published: int | None = None
    secrets: Mapping[str, Any] = field(default_factory=dict)

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """Everything the method aims at; all of it must hold."""
        return (self.guarantee, *self.further)

    @property
    def n_series(self) -> int:
        """How many series are published."""
        return self.panel.n_series if self.n_published is None else self.n_published

    @property
    def row_by_row(self) -> bool:
        """Whether each row is published at the instants of its original: what comparing the two needs."""
        same = np.array_equal(self.clock.times, self.panel.clock.times)
        return same and self.clock.channels == self.panel.clock.channels and OF not in self.table.schema.names

    @property
    def shows_everybody(self) -> bool:
        """Whether every series and every reading surely has a part in what is published; only gaps make for others."""
        return self.n_published is None and self.panel.n_missing == 0

    @property
    def shown(self) -> BlockCandidate:
        """The same with the originals behind it alone, without readings that were withheld: what attacks are scored on.

        Of slices it is the candidate itself: each is published whole.
        """
        if self.shows_everybody or OF in self.table.schema.names:
            return self
        engine, schema = self.panel.engine, self.table.schema
        table = engine.map(self.table, _Shown(self.row_by_row and self.form == "values"), schema)
        series = pa.schema([schema.field(name) for name in (ID, SUBJECT, ROW)])
        originals = engine.map(table, _Originals(), series)
        return replace(self, table=table, panel=replace(self.panel, table=originals))

    @property
    def published(self) -> BlockPublished:
        """What a check may see."""
        names = [ID, SUBJECT, PUBLISHED, *((LEVEL, WORD) if self.form == "envelopes" else ())]
        schema = pa.schema([self.table.schema.field(name) for name in names])
        table = self.panel.engine.map(self.table, Columns(tuple(names)), schema)
        return BlockPublished(self.panel.engine, table, self.clock, self.form, self.n_series)

    def values(self) -> NDArray[np.float64]:
        """What is published, in memory, sorted by id: for tests and small panels."""
        rows = self.panel.engine.collect(self.published.table).sort_by(ID)
        return self.clock.shaped(unpack(rows[PUBLISHED]))

    def groups(self) -> NDArray[np.int64]:
        """The private groups, sorted by id: for tests."""
        rows = self.panel.engine.collect(self.panel.engine.map(self.table, Columns((ID, GROUP)), _GROUPS)).sort_by(ID)
        return np.asarray(pc.cast(rows[GROUP], pa.int64()).to_numpy())

    def __repr__(self) -> str:
        return f"BlockCandidate({self.recipe.method}, {self.n_series} series, on {self.panel.engine.name})"


_GROUPS = pa.schema([(ID, pa.string()), (GROUP, pa.int64())])


@dataclass(frozen=True)
class _Shown:
    """Rows whose originals lack what was withheld."""

    cell_by_cell: bool

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            real = pc.is_valid(block.column(ROW))
            if not self.cell_by_cell or not pc.any(real).as_py():
                yield block
                continue
            before, after = (unpack(block.column(name).filter(real)) for name in (ROW, PUBLISHED))
            shown = pc.replace_with_mask(block.column(ROW), real, pack(np.where(np.isnan(after), np.nan, before)))
            yield block.set_column(block.schema.get_field_index(ROW), block.schema.field(ROW), shown)


@dataclass(frozen=True)
class _Originals:
    """The originals of rows that stand for somebody."""

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield block.filter(pc.is_valid(block.column(ROW))).select([ID, SUBJECT, ROW])
