"""Several methods one after the other on an engine, each on what the former would publish.

Originals are brought back to what is published in the end by the ids of their series. Where a step cuts series into
slices, `row` stays what was cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from shoal.engines.blocks import GROUP, OF, PUBLISHED, BlockCandidate, BlockPanel
from shoal.engines.checks import check
from shoal.engines.contract import Blocks, Table
from shoal.engines.reading.tally import TALLY, count_distinct
from shoal.engines.rows import ID, ROW, SERIES, SUBJECT, unpack
from shoal.engines.work import Columns, starts_of_keys, whole_keys
from shoal.guarantees import NoGuarantee
from shoal.methods.steps import Steps
from shoal.model import Guarantee, Recipe

_SIDE = "side"


def apply_steps(method: Steps, panel: BlockPanel) -> BlockCandidate:
    """Apply the steps; then see which guarantees are left."""
    from shoal.engines.methods import anonymize  # it names this module

    made: list[BlockCandidate] = []
    working = panel
    for step in method.steps:
        made.append(anonymize(step, working))
        if len(made) < len(method.steps):
            working = _next(made[-1])
    last = made[-1]
    draft = BlockCandidate(
        panel=panel,
        table=_with_originals(method, panel, last),
        clock=last.clock,
        guarantee=NoGuarantee(),
        recipe=_recipe(method, made, ()),
        form=last.form,
        n_published=last.n_series,
        secrets={"steps": [dict(candidate.secrets) for candidate in made]},
    )
    claimed, broken = _claims(method, made, draft)
    return BlockCandidate(
        panel=panel,
        table=draft.table,
        clock=draft.clock,
        guarantee=claimed[0] if claimed else NoGuarantee(),
        further=tuple(claimed[1:]),
        recipe=_recipe(method, made, [guarantee.name for guarantee in broken]),
        form=draft.form,
        n_published=draft.n_published,
        secrets=draft.secrets,
    )


def _next(candidate: BlockCandidate) -> BlockPanel:
    """What would be published, as the next step gets it: with the attributes, which only grouping looks at."""
    before, engine = candidate.panel, candidate.panel.engine
    kept = tuple(name for name in before.attributes if name in candidate.table.schema.names)
    schema = pa.schema([*SERIES, *(candidate.table.schema.field(name) for name in kept)])
    table = engine.map(candidate.table, _Published(schema), schema)
    fewer = candidate.n_published is not None and OF not in candidate.table.schema.names
    gaps = engine.collect(engine.map(table, _Gaps(), TALLY))["n"].to_pylist()
    return BlockPanel(
        engine=engine,
        table=table,
        clock=candidate.clock,
        n_series=candidate.n_series,
        n_subjects=count_distinct(engine, table, SUBJECT) if fewer else before.n_subjects,
        n_missing=int(sum(gaps)),
        attributes=kept,
        origin=before.origin,
        roles=before.roles,
    )


@dataclass(frozen=True)
class _Published:
    """What is published becomes what is read."""

    schema: pa.Schema

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            columns = [block.column(PUBLISHED if name == ROW else name) for name in self.schema.names]
            yield pa.record_batch(columns, schema=self.schema)


@dataclass(frozen=True)
class _Gaps:
    def __call__(self, blocks: Blocks) -> Blocks:
        n = sum(int(np.isnan(unpack(block.column(ROW))).sum()) for block in blocks)
        yield pa.record_batch([["missing"], [0], [n]], schema=TALLY)


def _with_originals(method: Steps, panel: BlockPanel, last: BlockCandidate) -> Table:
    """The table of the last step, with the series as they were before the first."""
    if last.panel is panel:
        return last.table
    n_cuts = sum(step.name == "time-slicing" for step in method.steps)
    engine = panel.engine
    names = [ID, SUBJECT, ROW, PUBLISHED, GROUP]
    of_group = last.table.schema.field(GROUP)  # a number, or for (n, l, k) one for each instant
    plain = pa.schema([*SERIES, (PUBLISHED, pa.binary()), of_group])
    if n_cuts:
        parts = plain.append(pa.field(OF, pa.string()))
        return engine.keep(engine.map(engine.map(last.table, Columns(tuple(names)), plain), _Of(n_cuts), parts))
    both = plain.append(pa.field(_SIDE, pa.int64()))
    originals = engine.map(engine.map(panel.table, Columns((ID, SUBJECT, ROW)), SERIES), _Original(of_group.type), both)
    found = engine.map(engine.map(last.table, Columns(tuple(names)), plain), _Made(), both)
    return engine.keep(engine.together(engine.concat([originals, found]), [ID], _Join(), plain, order=[_SIDE]))


@dataclass(frozen=True)
class _Of:
    """The id of the series each slice, or slice of a slice, was cut from."""

    n_cuts: int

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            ids = pl.Series(pl.from_arrow(block.column(ID)))
            of = ids.str.replace(rf"(?:#\d+){{{self.n_cuts}}}$", "")
            yield block.append_column(OF, of.to_arrow().cast(pa.string()))


@dataclass(frozen=True)
class _Original:
    group: pa.DataType

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            n = block.num_rows
            nothing = [pa.array([b""] * n, pa.binary()), pa.nulls(n, self.group)]
            yield pa.record_batch(
                [*block.columns, *nothing, pa.array(np.zeros(n, dtype=np.int64))],
                names=[ID, SUBJECT, ROW, PUBLISHED, GROUP, _SIDE],
            )


@dataclass(frozen=True)
class _Made:
    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            own = dict(zip(block.schema.names, block.columns, strict=True))
            own |= {ROW: pa.array([b""] * block.num_rows, pa.binary())}
            own |= {_SIDE: pa.array(np.ones(block.num_rows, dtype=np.int64))}
            yield pa.record_batch(list(own.values()), names=list(own))


@dataclass(frozen=True)
class _Join:
    """Of the two rows of an id, the original first, make one; an original without the other is not published."""

    def __call__(self, blocks: Blocks) -> Blocks:
        for table in whole_keys(blocks, [ID]):
            starts = np.flatnonzero(starts_of_keys(table, [ID]))
            sizes = np.diff(np.append(starts, table.num_rows))
            first = starts[sizes > 1]
            originals = table[ROW].combine_chunks().take(pa.array(first))
            done = table.take(pa.array(first + 1)).drop_columns([_SIDE])
            yield from done.set_column(done.column_names.index(ROW), ROW, originals).combine_chunks().to_batches()


def _claims(
    method: Steps, made: list[BlockCandidate], draft: BlockCandidate
) -> tuple[list[Guarantee], list[Guarantee]]:
    """The guarantees of all steps, latest first: those that hold in the end, and those that do not."""
    claimed: list[Guarantee] = []
    broken: list[Guarantee] = []
    for at in reversed(range(len(made))):
        kept = all(getattr(step, "keeps_equal", False) for step in method.steps[at + 1 :])
        for guarantee in made[at].guarantees:
            if guarantee.name == NoGuarantee.name or guarantee in claimed:
                continue
            (claimed if kept and check(guarantee, draft).holds else broken).append(guarantee)
    return claimed, broken


def _recipe(method: Steps, made: list[BlockCandidate], broken: list[str] | tuple[str, ...]) -> Recipe:
    recipes = [candidate.recipe for candidate in made]
    return Recipe(
        method.name,
        {"steps": [{"name": recipe.method, **recipe.parameters} for recipe in recipes]},
        {"steps": [recipe.figures for recipe in recipes], "not_claimed": list(broken)},
    )
