"""Microaggregation on an engine: subjects go to leaves by a split plan, and each leaf is anonymized as in memory.

Exact: inside a leaf the groups and what is published are those of `Microaggregation.anonymize` on the leaf's series
sorted by id, so every group has at least k subjects; with a single leaf the whole result is the one in memory, bit for
bit. Bounded: groups do not cross the borders of leaves, which costs a few per cent of the loss: 2 to 3 % for leaves of
50 000 (docs/results/scale.md). Leaves are numbered, and groups numbered within them.

Rows are read three times: for the sample, for exact counts of the plan's leaves, and to be sent to them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.blocks import GROUP, PUBLISHED, BlockCandidate, BlockPanel, Clock
from shoal.engines.contract import Blocks, Engine, Table
from shoal.engines.microaggregation.plans import LEAF, plan_leaves
from shoal.engines.microaggregation.scaling import features_on
from shoal.engines.rows import ID, ROW, pack, unpack
from shoal.engines.work import Columns, each_key
from shoal.errors import ParameterError
from shoal.features import find_features
from shoal.methods.microaggregation import Microaggregation
from shoal.model import Recipe

DEFAULT_LEAF = 50_000
"""The fewest subjects a leaf is planned to have; up to twice as many."""

_LIKENESS = "n likeness"
_GROUPS_OF_LEAF = 2**32
_BATCH_BYTES = 2**28  # of the rows of a leaf that are handed on at once; a column of Arrow's ends at 2 GiB


def anonymize(method: Microaggregation, panel: BlockPanel, *, leaf: int = DEFAULT_LEAF) -> BlockCandidate:
    """What `method.anonymize` does, leaf by leaf.

    Parameters
    ----------
    method
        As in memory. form="profiles", aggregate="quantiles", algorithm="best" and features that are functions are
        refused.
    panel
        The series, in blocks.
    leaf
        The fewest subjects of a leaf, up to twice as many. Larger costs less of the loss and more time, by about the
        power 0.7. Less where so many series would not fit into a worker's memory, but at least 3k.
    """
    _refuse(method, panel)
    engine = panel.engine
    features = features_on(panel, method.features)
    plan = plan_leaves(
        panel, features, k=int(method.k), leaf=leaf, within=method.stratum, merge_small=method.merge_small
    )
    if plan.n_leaves == 1:
        features = find_features(method.features)  # all series are together: as in memory to the last bit
    inside = replace(
        method, features=features, within=None, merge_small=False, threads=1 if engine.cores > 1 else method.threads
    )
    columns = panel.table.schema
    further = [(PUBLISHED, pa.binary()), (GROUP, pa.int64())]
    if method.aggregate == "median":
        further.append((_LIKENESS, pa.float64()))
    schema = pa.schema([*columns, *(pa.field(*column) for column in further)])
    work = AnonymizeLeaves(inside, panel.clock, tuple(schema.names))
    table = engine.keep(engine.together(plan.table, [LEAF], work, schema, order=[ID]))
    figures = _figures(engine, table, panel)  # also computes the table, so that what is refused is refused here
    return BlockCandidate(
        panel=panel,
        table=table,
        clock=panel.clock,
        guarantee=method.aims_at,
        recipe=Recipe(method.name, method.parameters, {**figures, **plan.figures}),
    )


@dataclass(frozen=True)
class AnonymizeLeaves:
    """Each leaf as a panel of its own."""

    method: Microaggregation
    clock: Clock
    names: tuple[str, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        """The rows of a leaf with what is published for them, groups one after another."""
        for rows in each_key(blocks, [LEAF]):
            yield from self._leaf(rows)

    def _leaf(self, rows: pa.Table) -> Blocks:
        number = int(rows[LEAF][0].as_py())
        candidate = self.method.anonymize(self.clock.panel(rows))
        groups = candidate.private.groups
        # Equal rows next to each other: a check then moves each of them once.
        order = np.argsort(groups, kind="stable")
        others = rows.select([name for name in rows.column_names if name not in (LEAF, ROW)])
        columns = {name: others[name].combine_chunks().take(pa.array(order)) for name in others.column_names}
        columns[GROUP] = pa.array(number * _GROUPS_OF_LEAF + groups[order])
        if _LIKENESS in self.names:
            columns[_LIKENESS] = pa.array(np.full(len(groups), candidate.recipe.figures["largest_likeness"]))
        originals, values = candidate.private.original.rows, candidate.values.reshape(len(groups), -1)
        at_once = max(1, _BATCH_BYTES // (8 * values.shape[1]))
        for first in range(0, len(groups), at_once):
            some = slice(first, first + at_once)
            # The two large columns by numpy: Arrow would make a copy of each first.
            large = {ROW: pack(originals[order[some]]), PUBLISHED: pack(values[order[some]])}
            batch = {name: column[some] for name, column in columns.items()} | large
            yield pa.record_batch([batch[name] for name in self.names], names=list(self.names))


def _refuse(method: Microaggregation, panel: BlockPanel) -> None:
    if panel.n_subjects < method.k:
        raise ParameterError(
            f"k={method.k} needs at least {method.k} subjects, the panel has {panel.n_subjects}. "
            "Lower k or read more series."
        )
    if method.shown_groups:
        raise ParameterError(
            "Groups within those that analysts were shown are not formed on an engine. Anonymize in memory, or learn "
            "the metric from public series."
        )
    if method.form == "profiles" or method.aggregate == "quantiles":
        asked = "form='profiles'" if method.form == "profiles" else "aggregate='quantiles'"
        raise ParameterError(
            f"{asked} is not made on an engine, which publishes one row of values per series. Use form='values' with "
            "aggregate='mean', 'median' or 'trimmed-mean'; or anonymize in memory."
        )
    if method.algorithm == "best":
        raise ParameterError(
            "algorithm 'best' searches until its time is over, so that a part computed again would have other groups. "
            "On an engine use 'auto' or 'mdav', with refine=True for less loss."
        )


_SUMMARY = pa.schema([(name, pa.int64()) for name in ("groups", "withheld", "covered")] + [(_LIKENESS, pa.float64())])


@dataclass(frozen=True)
class _Summarise:
    """Groups, and cells that are missing on one side only."""

    gaps: bool

    def __call__(self, blocks: Blocks) -> Blocks:
        groups: list[NDArray[Any]] = []
        withheld = covered = 0
        likeness = 0.0
        for block in blocks:
            groups.append(np.unique(block[GROUP].to_numpy()))
            if self.gaps:
                before, after = np.isnan(unpack(block[ROW])), np.isnan(unpack(block[PUBLISHED]))
                withheld += int((after & ~before).sum())
                covered += int((before & ~after).sum())
            if _LIKENESS in block.schema.names:
                likeness = max(likeness, pc.max(block[_LIKENESS]).as_py())
        # Leaves are whole in a part, and groups do not cross leaves.
        n_groups = len(np.unique(np.concatenate(groups))) if groups else 0
        yield pa.record_batch([[n_groups], [withheld], [covered], [likeness]], schema=_SUMMARY)


def _figures(engine: Engine, table: Table, panel: BlockPanel) -> dict[str, float]:
    """The figures of the recipe in memory, from all leaves."""
    wanted = [GROUP, *((ROW, PUBLISHED) if panel.n_missing else ())]
    wanted += [name for name in table.schema.names if name == _LIKENESS]
    schema = pa.schema([table.schema.field(name) for name in wanted])
    narrow = engine.map(table, Columns(tuple(wanted)), schema)
    found = engine.collect(engine.map(narrow, _Summarise(bool(panel.n_missing)), _SUMMARY))
    figures: dict[str, float] = {
        "cells_withheld": pc.sum(found["withheld"]).as_py() or 0,
        "gaps_covered": pc.sum(found["covered"]).as_py() or 0,
    }
    if _LIKENESS in table.schema.names:
        figures["largest_likeness"] = pc.max(found[_LIKENESS]).as_py()
    return figures | {"groups": pc.sum(found["groups"]).as_py()}
