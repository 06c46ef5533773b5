"""What techniques share on an engine: their candidates, and columns of the table beside what is published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.blocks import GROUP, OF, PUBLISHED, BlockCandidate, BlockPanel, Clock
from shoal.engines.contract import Table, Work
from shoal.engines.rows import ID, SERIES
from shoal.guarantees import NoGuarantee
from shoal.methods.altered import SECRET, public_parameters
from shoal.model import Guarantee, Recipe


def schema_of(panel: BlockPanel, *, parts: bool = False) -> pa.Schema:
    """The columns of a candidate; attributes go along, for steps that group by them."""
    further = [panel.table.schema.field(name) for name in panel.attributes if name in panel.table.schema.names]
    return pa.schema(
        [*SERIES, (PUBLISHED, pa.binary()), (GROUP, pa.int64()), *([(OF, pa.string())] if parts else []), *further]
    )


def with_published(block: pa.RecordBatch, published: pa.Array, **others: pa.Array) -> pa.RecordBatch:
    """A block of series with what is published of them, each its own group."""
    own = dict(zip(block.schema.names, block.columns, strict=True)) | others
    own |= {PUBLISHED: published, GROUP: pa.array(own_groups(own[ID]))}
    return pa.record_batch(list(own.values()), names=list(own))


def own_groups(ids: pa.Array) -> NDArray[np.int64]:
    """A number of its own for each series: nobody is in a group with anybody."""
    return (pl.Series(pl.from_arrow(ids)).hash(seed=11).to_numpy() >> np.uint64(1)).astype(np.int64)


def candidate_of(
    method: Any,
    panel: BlockPanel,
    work: Work,
    *,
    clock: Clock,
    figures: Mapping[str, Any] | None = None,
    n_published: int | None = None,
    parts: bool = False,
) -> BlockCandidate:
    """A candidate of work on every block of the panel."""
    engine = panel.engine
    table = engine.keep(engine.map(panel.table, work, schema_of(panel, parts=parts)))
    return made(method, panel, table, clock=clock, figures=figures, n_published=n_published)


def made(
    method: Any,
    panel: BlockPanel,
    table: Table,
    *,
    clock: Clock,
    figures: Mapping[str, Any] | None = None,
    n_published: int | None = None,
    aims_at: tuple[Guarantee, ...] = (NoGuarantee(),),
) -> BlockCandidate:
    """A candidate of a kept table; secret parameters stay out of the recipe."""
    return BlockCandidate(
        panel=panel,
        table=table,
        clock=clock,
        guarantee=aims_at[0],
        further=aims_at[1:],
        recipe=Recipe(method.name, public_parameters(method), dict(figures or {})),
        n_published=n_published,
        secrets={name: value for name, value in method.parameters.items() if name in SECRET},
    )
