"""Which leaf each series of a panel goes to: plans for all strata, from one sample and exact counts.

A subject with several series goes where the mean of them lies. With strata (`within`) each has a plan of its own, so
that no leaf crosses them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.blocks import BlockPanel, DrawSubjects, chances
from shoal.engines.contract import Blocks, Engine, Shared, Table
from shoal.engines.microaggregation.scaling import FeaturesOf
from shoal.engines.microaggregation.splitting import Coordinates, Plan, learn_plan
from shoal.engines.microaggregation.strata import FIRST, Strata, find_strata, refuse_unknown
from shoal.engines.rows import ID, ROW, SUBJECT, pack, unpack
from shoal.engines.summing import add_up
from shoal.engines.work import Chain, Columns, whole_keys
from shoal.features import Features

LEAF = "leaf"
PLACE, KEY = "n place", "n key"

SAMPLE = 65_536
"""Series that a plan is learned from, however many there are."""

SAMPLE_BYTES = 64 * 2**20
"""What they may take at the driver, if its memory allows; several times as much while directions are found. Of long
series fewer are drawn for the directions, and for the cuts places alone, at most four times as many bytes."""

LEAST = 3
"""How many times k subjects a leaf has at least."""

_FEWEST = 512  # series that say something about directions
_PER_LEAF = 48  # places in the sample for each leaf; the halves are then within a third of each other
_MOST_DRAWN = 1_000_000
_TOO_LARGE = 2.5  # times the planned size: a sample that went wrong
_ROWS = 8192
_DRAW, _WALK, _KEY = 7, 11, 13  # seeds: who is in the sample must say nothing about where he goes


@dataclass(frozen=True, eq=False)
class LeafPlan:
    """Every series with the number of its leaf, in the column `leaf`."""

    table: Table
    n_leaves: int
    figures: dict[str, float]


@dataclass(frozen=True, eq=False)
class Rule:
    """What decides on a leaf: a plan for each stratum, whose leaves are numbered one after another."""

    coordinates: Coordinates
    plans: tuple[Plan, ...]
    strata: Strata

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The number of the first leaf of each plan, and of all leaves."""
        return np.concatenate([[0], np.cumsum([plan.n_leaves for plan in self.plans])]).astype(np.int64)

    def leaves(self, rows: pa.RecordBatch | pa.Table, places: NDArray[np.float64]) -> NDArray[np.int64]:
        """The leaf of each row from its place."""
        drawn = chances(_one(rows[SUBJECT]), _WALK)
        codes = self.strata.codes(rows)
        found = self.offsets[codes]
        for code in np.unique(codes):
            if self.plans[code].n_leaves > 1:
                own = np.flatnonzero(codes == code)
                found[own] += self.plans[code].assign(np.ascontiguousarray(places[own]), drawn[own])
        return found


def plan_leaves(
    panel: BlockPanel, features: Features, *, k: int, leaf: int, within: str | None, merge_small: bool
) -> LeafPlan:
    """Learn a plan for the panel and say of each series where it goes."""
    refuse_unknown(panel, within)
    engine, schema = panel.engine, panel.table.schema
    row_bytes = 8 * panel.clock.n_instants * panel.clock.n_channels
    fitting = int(engine.part_bytes / row_bytes * panel.n_subjects / panel.n_series)
    leaf = max(LEAST * k, min(leaf, fitting // 2))
    numbered = schema.append(pa.field(LEAF, pa.int64()))
    if within is None and panel.n_subjects < 2 * leaf:
        return LeafPlan(engine.map(panel.table, _OneLeaf(), numbered), 1, {"leaves": 1})
    sampled = _Sample(panel, FeaturesOf(features, panel.clock), within)
    coordinates, sample = sampled.learn(leaf)
    table = panel.table
    place = _Place(FeaturesOf(features, panel.clock), coordinates)
    if not panel.one_series_per_subject:
        located = pa.schema([*schema, (PLACE, pa.binary()), (FIRST, pa.bool_())])
        table = engine.keep(engine.together(table, [SUBJECT], _Locate(place, within), located, order=[ID]))
    strata = find_strata(panel, table, within, k, merge_small=merge_small)
    rule = _learn(coordinates, sample, strata, leaf)
    most = max(int(_TOO_LARGE * leaf), 2 * LEAST * k)
    counts = _count(engine, table, rule, place)
    for _ in range(2):
        if counts.max() <= most:
            break
        rule = _each(rule, counts, lambda plan, own: plan.divided(own, most))
        counts = _count(engine, table, rule, place)
    rule = _each(rule, counts, lambda plan, own: plan.repaired(own, LEAST * k))
    assigned = engine.map(table, _Assign(engine.share(rule), place, tuple(numbered.names)), numbered)
    n_leaves = int(rule.offsets[-1])
    return LeafPlan(assigned, n_leaves, {"leaves": n_leaves})


@dataclass(frozen=True)
class _OneLeaf:
    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield block.append_column(LEAF, pa.array(np.zeros(block.num_rows, dtype=np.int64)))


@dataclass(frozen=True)
class _Place:
    """Coordinates of rows: those they carry, or those of their features."""

    features: FeaturesOf
    coordinates: Coordinates

    def __call__(self, rows: pa.RecordBatch | pa.Table) -> NDArray[np.float64]:
        if PLACE in rows.schema.names:
            return unpack(rows[PLACE])
        return self.coordinates.of(self.features(rows))


@dataclass(frozen=True)
class _Locate:
    """For subjects with several series: the mean of their places, and which row stands for them in counts."""

    place: _Place
    within: str | None

    def __call__(self, blocks: Blocks) -> Blocks:
        for rows in whole_keys(blocks, [SUBJECT], rows=_ROWS):
            places = self.place(rows)
            codes = _codes(rows[SUBJECT])
            if self.within is not None:
                # A subject in two strata is two: each is in a leaf of its stratum.
                other = _codes(rows[self.within])
                codes = np.unique(codes * (other.max() + 1) + other, return_inverse=True)[1]
            sums = np.zeros((int(codes.max()) + 1, places.shape[1]))
            np.add.at(sums, codes, places)  # in the order of the rows, which is that of their ids
            means = sums / np.bincount(codes)[:, None]
            first = np.zeros(len(codes), dtype=np.bool_)
            first[np.unique(codes, return_index=True)[1]] = True
            rows = rows.append_column(PLACE, pack(means[codes])).append_column(FIRST, pa.array(first))
            yield from rows.to_batches()


@dataclass(frozen=True)
class _Assign:
    """Rows with their leaf."""

    rule: Shared[Rule]
    place: _Place
    names: tuple[str, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        rule = self.rule.value
        for block in blocks:
            if block.num_rows:
                leaves = rule.leaves(block, self.place(block))
                yield block.append_column(LEAF, pa.array(leaves)).select(list(self.names))


@dataclass(frozen=True)
class _Count:
    """How many subjects each leaf would get."""

    rule: Shared[Rule]
    place: _Place

    def __call__(self, blocks: Blocks) -> NDArray[np.int64]:
        rule = self.rule.value
        counts = np.zeros(int(rule.offsets[-1]), dtype=np.int64)
        for block in blocks:
            if block.num_rows:
                leaves = rule.leaves(block, self.place(block))
                if FIRST in block.schema.names:
                    leaves = leaves[block[FIRST].to_numpy(zero_copy_only=False)]
                counts += np.bincount(leaves, minlength=len(counts))
        return counts


def _count(engine: Engine, table: Table, rule: Rule, place: _Place) -> NDArray[np.int64]:
    # Added up where the rows are: with many parts and many leaves, the counts of all parts are more than the plan.
    return add_up(engine, table, _Count(engine.share(rule), place), int(rule.offsets[-1]))


@dataclass(frozen=True)
class _Sample:
    """Subjects drawn by a hash of their names, the same on every engine."""

    panel: BlockPanel
    features: FeaturesOf
    within: str | None

    def learn(self, leaf: int) -> tuple[Coordinates, pa.Table]:
        """The coordinates, and a table with the places of a sample: one row for each subject and stratum."""
        panel = self.panel
        row_bytes = 8 * panel.clock.n_instants * panel.clock.n_channels
        n_leaves = max(1, panel.n_subjects // leaf)
        n_rows = min(SAMPLE, max(_FEWEST, min(SAMPLE_BYTES, panel.engine.part_bytes) // row_bytes))
        rows = self._rows(n_rows)
        coordinates = Coordinates.learn(self.features(rows))
        place = _Place(self.features, coordinates)
        wanted = min(_MOST_DRAWN, _PER_LEAF * n_leaves)
        if rows.num_rows < min(wanted, panel.n_series // 2):
            located = self._places(wanted, place)
        else:
            located = pa.Table.from_batches(_Places(place, self.within)(iter(rows.combine_chunks().to_batches())))
        # The same order on every engine: means are sums of floats.
        return coordinates, located.sort_by([(KEY, "ascending"), (PLACE, "ascending")])

    def _rows(self, n: int) -> pa.Table:
        table, schema, draw = self._drawn(n)
        engine = self.panel.engine
        return engine.collect(engine.map(table, draw, schema), most=4 * SAMPLE_BYTES).sort_by(ID)

    def _places(self, n: int, place: _Place) -> pa.Table:
        table, schema, draw = self._drawn(n)
        engine = self.panel.engine
        kept = [
            (KEY, pa.float64()),
            *(() if self.within is None else [schema.field(self.within)]),
            (PLACE, pa.binary()),
        ]
        work = Chain((draw, _Places(place, self.within)))
        return engine.collect(engine.map(table, work, pa.schema(kept)), most=4 * SAMPLE_BYTES)

    def _drawn(self, n: int) -> tuple[Table, pa.Schema, DrawSubjects]:
        names = [ID, SUBJECT, ROW, *([] if self.within is None else [self.within])]
        schema = pa.schema([self.panel.table.schema.field(name) for name in names])
        narrow = self.panel.engine.map(self.panel.table, Columns(tuple(names)), schema)
        return narrow, schema, DrawSubjects(min(1.0, n / self.panel.n_series), _DRAW)


@dataclass(frozen=True)
class _Places:
    """Places in the stead of series, and a number for each subject: names can be long."""

    place: _Place
    within: str | None

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            if block.num_rows:
                columns = {KEY: pa.array(chances(block[SUBJECT], _KEY))}
                if self.within is not None:
                    columns[self.within] = block[self.within]
                yield pa.record_batch({**columns, PLACE: pack(self.place(block))})


def _learn(coordinates: Coordinates, sample: pa.Table, strata: Strata, leaf: int) -> Rule:
    """A plan for each stratum from the subjects of the sample that are in it."""
    places, codes = unpack(sample[PLACE]), strata.codes(sample)
    subjects = _codes(sample[KEY])
    plans = []
    for code, n_subjects in enumerate(strata.sizes):
        own = np.flatnonzero(codes == code) if len(places) else np.empty(0, dtype=np.int64)
        numbers = np.unique(subjects[own], return_inverse=True)[1]
        means = np.zeros((int(numbers.max()) + 1 if len(own) else 0, coordinates.basis.shape[1]))
        np.add.at(means, numbers, places[own] if len(own) else means)
        means /= np.maximum(np.bincount(numbers, minlength=len(means)), 1)[:, None]
        plans.append(learn_plan(means, n_subjects, leaf))
    return Rule(coordinates, tuple(plans), strata)


def _each(rule: Rule, counts: NDArray[np.int64], change: object) -> Rule:
    """The rule with every plan changed by the counts of its own leaves."""
    pieces = np.split(counts, rule.offsets[1:-1])
    plans = tuple(change(plan, own) for plan, own in zip(rule.plans, pieces, strict=True))  # type: ignore[operator]
    return Rule(rule.coordinates, plans, rule.strata)


def _codes(column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    encoded = _one(column).dictionary_encode()
    found = pc.fill_null(encoded.indices.cast(pa.int64()), len(encoded.dictionary))
    return np.asarray(found.to_numpy(zero_copy_only=False))


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
