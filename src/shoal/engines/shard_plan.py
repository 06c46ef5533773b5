"""The shard of each series: a plan learned on a sample and repaired from exact counts.

Similar subjects go into the same shard: a subject's place is the mean of its series, seen along the leading directions
of the sample. With an attribute that shards must not cross, each large value has a plan of its own, and small values
share a shard whole. Everything follows from the data and the requested size, nothing from the machine, so every engine
forms the same shards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.attribute_bins import CELL, FIRST, AttributeCells, Bins, Rows, find_bins
from shoal.engines.contract import Blocks, Engine, Shared, Table
from shoal.engines.reading.key_counts import KeyCounts, count_keys
from shoal.engines.rows import ID, ROW, SUBJECT, pack, unpack
from shoal.engines.series import DrawSubjects, SeriesTable, chances, draw_subjects, shaped
from shoal.engines.split_tree import Coordinates, SplitTree, learn_tree
from shoal.engines.work import Chain, Columns, whole_keys
from shoal.errors import ParameterError
from shoal.features import Features, find_features
from shoal.model import Panel, ShardPlan, Whole

SHARD = "shard"

SHARD_BYTES = 64 * 2**20
"""About how many bytes of readings a shard holds by default; up to twice as many."""

MOST_SUBJECTS = 50_000
"""About how many subjects a shard has by default; up to twice as many. More would cost more time than they save."""

SAMPLE = 65_536
"""Series that a plan is learned from, however large the panel."""

SAMPLE_BYTES = 8 * 2**20
"""Bytes of the sample at the driver. Fewer long series are drawn to learn directions; cuts need only their places."""

_PLACE, _KEY = "n place", "n key"
_FEWEST = 512  # series: fewer say little about directions
_PER_SHARD = 48  # places in the sample for each shard; the two halves of a cut are then within a third of each other
_MOST_DRAWN = 1_000_000
_TOO_LARGE = 2.5  # times the planned size: then the sample was not representative
_ROWS = 8192
_DRAW, _WALK, _NAME = 7, 11, 13  # separate seeds: being in the sample must say nothing about where a subject goes


@dataclass(frozen=True, eq=False)
class Assigned:
    """Every series with the number of its shard, in the column `shard`."""

    table: Table
    n_shards: int
    values: tuple[int, ...]


def default_size(whole: Whole) -> int:
    """Subjects of a shard by default: it follows from the data alone."""
    per_subject = 8 * whole.n_instants * whole.n_channels * whole.n_series / whole.n_subjects
    return max(1, min(MOST_SUBJECTS, int(SHARD_BYTES / per_subject)))


def assign_shards(series: SeriesTable, plan: ShardPlan) -> Assigned:
    """Learn a plan for the panel and assign each series to a shard."""
    engine, schema, whole = series.engine, series.table.schema, series.whole
    cells = AttributeCells.of(plan.within)
    for name in cells.attributes:
        if name not in whole.attributes:
            raise ParameterError(
                f"within={name!r} is not among the {len(whole.attributes)} attributes of the panel. "
                "Name it as quasi when reading."
            )
    size = max(plan.least, default_size(whole) if plan.size is None else plan.size)
    numbered = schema.append(pa.field(SHARD, pa.int64()))
    if whole.n_subjects < 2 * size:
        return Assigned(engine.map(series.table, _OneShard(), numbered), 1, (-1,))
    features = _FeaturesOf(find_features(plan.features), whole)
    few = _few(series, cells)
    place = _Place(features, Coordinates.learn(features(few)))
    table = series.table
    narrow = [ID, SUBJECT, *cells.attributes, _PLACE]
    if whole.one_series_per_subject:
        placed = pa.schema([*(schema.field(name) for name in narrow[:-1]), (_PLACE, pa.binary())])
        places = engine.keep(engine.map(table, _AddPlaces(place, tuple(narrow)), placed))
    else:
        narrow.append(FIRST)
        located = pa.schema([*schema, (_PLACE, pa.binary()), (FIRST, pa.bool_())])
        table = engine.keep(engine.together(table, [SUBJECT], _Locate(place, cells), located, order=[ID]))
        places = engine.map(table, Columns(tuple(narrow)), pa.schema([located.field(name) for name in narrow]))
    bins = find_bins(series, places, plan, size)
    rule = _learn(place.coordinates, _sample(series, places, few, place, cells, size), bins, size)
    most = max(int(_TOO_LARGE * size), 2 * plan.least)
    counts = _count(engine, places, rule, place)
    for _ in range(2):
        if counts.max() <= most:
            break
        rule = _each(rule, counts, lambda one, own: one.divided(own, most))
        counts = _count(engine, places, rule, place)
    rule = _each(rule, counts, lambda one, own: one.repaired(own, plan.least))
    assigned = engine.map(table, _Assign(engine.share(rule), place, tuple(numbered.names)), numbered)
    of_bin = [bins.value_of(number) for number in range(bins.n_bins)]
    values = tuple(of_bin[b] for b, one in enumerate(rule.plans) for _ in range(one.n_leaves))
    return Assigned(assigned, int(rule.offsets[-1]), values)


@dataclass(frozen=True, eq=False)
class _Rule:
    """Decides on shards: a plan for each bin; shards are numbered through all plans."""

    coordinates: Coordinates
    plans: tuple[SplitTree, ...]
    bins: Bins

    @property
    def offsets(self) -> Rows:
        """The number of the first shard of each plan, then the number of all shards."""
        return np.concatenate([[0], np.cumsum([plan.n_leaves for plan in self.plans])]).astype(np.int64)

    def shards(self, rows: pa.RecordBatch | pa.Table, places: NDArray[np.float64]) -> Rows:
        """The shard of each row from its place."""
        drawn = chances(_one(rows[SUBJECT]), _WALK)
        codes = self.bins.codes(rows)
        shards = self.offsets[codes]
        for code in np.unique(codes):
            if self.plans[code].n_leaves > 1:
                own = np.flatnonzero(codes == code)
                shards[own] += self.plans[code].assign(np.ascontiguousarray(places[own]), drawn[own])
        return shards


@dataclass(frozen=True)
class _OneShard:
    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield block.append_column(SHARD, pa.array(np.zeros(block.num_rows, dtype=np.int64)))


@dataclass(frozen=True)
class _FeaturesOf:
    """Features of rows of a block."""

    features: Features
    whole: Whole

    def __call__(self, rows: pa.RecordBatch | pa.Table) -> NDArray[np.float64]:
        """An array (series, features)."""
        values = shaped(self.whole, unpack(rows[ROW]))
        return self.features(Panel(values, times=self.whole.times, channels=self.whole.channels, copy=False))


@dataclass(frozen=True)
class _Place:
    """Coordinates of rows: those they carry, or else those of their features."""

    features: _FeaturesOf
    coordinates: Coordinates

    def __call__(self, rows: pa.RecordBatch | pa.Table) -> NDArray[np.float64]:
        if _PLACE in rows.schema.names:
            return unpack(rows[_PLACE])
        return self.coordinates.of(self.features(rows))


@dataclass(frozen=True)
class _Locate:
    """For subjects with several series: the mean of their places, and which row represents them in counts."""

    place: _Place
    cells: AttributeCells

    def __call__(self, blocks: Blocks) -> Blocks:
        for rows in whole_keys(blocks, [SUBJECT], rows=_ROWS):
            places = self.place(rows)
            codes = _codes(rows[SUBJECT])
            if self.cells:
                _refuse_crossing(codes, _codes(self.cells(rows)), self.cells.words)
            sums = np.zeros((int(codes.max()) + 1, places.shape[1]))
            np.add.at(sums, codes, places)  # in the order of the rows, which is that of their ids
            means = sums / np.bincount(codes)[:, None]
            first = np.zeros(len(codes), dtype=np.bool_)
            first[np.unique(codes, return_index=True)[1]] = True
            rows = rows.append_column(_PLACE, pack(means[codes])).append_column(FIRST, pa.array(first))
            yield from rows.to_batches()


def _refuse_crossing(subjects: Rows, values: Rows, words: str) -> None:
    """Refuse subjects with several values: all series of a subject go into one shard."""
    both = np.unique(np.stack([subjects, values]), axis=1)
    if n := both.shape[1] - len(np.unique(subjects)):
        raise ParameterError(
            f"At least {n} subject(s) have series with different values of {words}, but in shards all series of a "
            "subject are together. Give each subject one value, or anonymize in memory."
        )


@dataclass(frozen=True)
class _Assign:
    """Add the shard to each row."""

    rule: Shared[_Rule]
    place: _Place
    names: tuple[str, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        rule = self.rule.value
        for block in blocks:
            if block.num_rows:
                shards = rule.shards(block, self.place(block))
                yield block.append_column(SHARD, pa.array(shards)).select(list(self.names))


@dataclass(frozen=True)
class _Count:
    """How many subjects each shard would get."""

    rule: Shared[_Rule]
    place: _Place

    def __call__(self, blocks: Blocks) -> Blocks:
        rule = self.rule.value
        counts = np.zeros(int(rule.offsets[-1]), dtype=np.int64)
        for block in blocks:
            if block.num_rows:
                shards = rule.shards(block, self.place(block))
                if FIRST in block.schema.names:
                    shards = shards[block[FIRST].to_numpy(zero_copy_only=False)]
                counts += np.bincount(shards, minlength=len(counts))
        tally = KeyCounts()
        tally.add_keys(SHARD, np.flatnonzero(counts), counts[counts > 0])
        yield from tally.blocks()


def _count(engine: Engine, table: Table, rule: _Rule, place: _Place) -> Rows:
    # Added up on the engine: with many parts and many shards, the counts of all parts are larger than the plan.
    by_shard = count_keys(engine, table, _Count(engine.share(rule), place))[SHARD]
    return np.array([by_shard.get(number, 0) for number in range(int(rule.offsets[-1]))], dtype=np.int64)


def _few(series: SeriesTable, cells: AttributeCells) -> pa.Table:
    """Series of some subjects, drawn by a hash of their names, the same on every engine. Directions are learned from
    them."""
    row_bytes = 8 * series.whole.n_instants * series.whole.n_channels
    n = min(SAMPLE, max(_FEWEST, SAMPLE_BYTES // row_bytes))
    names = (ID, SUBJECT, ROW, *cells.attributes)
    schema = pa.schema([series.table.schema.field(name) for name in names])
    narrow = series.engine.map(series.table, Columns(names), schema)
    drawn = draw_subjects(series.engine, narrow, min(1.0, n / series.whole.n_series), _DRAW)
    # Far more than will be drawn: if series are long, even the fewest that are useful exceed SAMPLE_BYTES.
    return series.engine.collect(drawn, most=4 * max(SAMPLE_BYTES, n * row_bytes)).sort_by(ID)


def _sample(
    series: SeriesTable, places: Table, few: pa.Table, place: _Place, cells: AttributeCells, size: int
) -> pa.Table:
    """Places of a sample, one row for each series: those of `few`, or of more series if there are many shards."""
    whole, engine = series.whole, series.engine
    wanted = min(_MOST_DRAWN, _PER_SHARD * max(1, whole.n_subjects // size))
    work = _Sampled(place, cells)
    if few.num_rows < min(wanted, whole.n_series // 2):
        cell = [(CELL, cells.kind(places.schema))] if cells else []
        kept = pa.schema([(_KEY, pa.float64()), *cell, (_PLACE, pa.binary())])
        draw = DrawSubjects(min(1.0, wanted / whole.n_series), _DRAW)
        sample = engine.collect(engine.map(places, Chain((draw, work)), kept))
    else:
        sample = pa.Table.from_batches(work(iter(few.combine_chunks().to_batches())))
    # The same order on every engine: means are sums of floats.
    return sample.sort_by([(_KEY, "ascending"), (_PLACE, "ascending")])


@dataclass(frozen=True)
class _AddPlaces:
    """Replace the readings of series by their places."""

    place: _Place
    names: tuple[str, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            if block.num_rows:
                yield block.append_column(_PLACE, pack(self.place(block))).select(list(self.names))


@dataclass(frozen=True)
class _Sampled:
    """Places instead of series, and a number instead of each subject's name, which can be long."""

    place: _Place
    cells: AttributeCells

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            if block.num_rows:
                columns = {_KEY: pa.array(chances(block[SUBJECT], _NAME))}
                if self.cells:
                    columns[CELL] = self.cells(block)
                yield pa.record_batch({**columns, _PLACE: pack(self.place(block))})


def _learn(coordinates: Coordinates, sample: pa.Table, bins: Bins, size: int) -> _Rule:
    """Learn a plan for each bin from the subjects of the sample that are in it."""
    places, codes = unpack(sample[_PLACE]), bins.codes(sample)
    subjects = _codes(sample[_KEY])
    plans = []
    for code, n_subjects in enumerate(bins.sizes):
        own = np.flatnonzero(codes == code) if len(places) else np.empty(0, dtype=np.int64)
        numbers = np.unique(subjects[own], return_inverse=True)[1]
        means = np.zeros((int(numbers.max()) + 1 if len(own) else 0, coordinates.basis.shape[1]))
        np.add.at(means, numbers, places[own] if len(own) else means)
        means /= np.maximum(np.bincount(numbers, minlength=len(means)), 1)[:, None]
        plans.append(learn_tree(means, n_subjects if bins.cut[code] else 1, size))
    return _Rule(coordinates, tuple(plans), bins)


def _each(rule: _Rule, counts: Rows, change: Callable[[SplitTree, Rows], SplitTree]) -> _Rule:
    """Change every plan by the counts of its own shards; what must not be cut stays whole."""
    pieces = np.split(counts, rule.offsets[1:-1])
    plans = tuple(
        change(plan, own) if rule.bins.cut[number] else plan
        for number, (plan, own) in enumerate(zip(rule.plans, pieces, strict=True))
    )
    return _Rule(rule.coordinates, plans, rule.bins)


def _codes(column: pa.Array | pa.ChunkedArray) -> Rows:
    encoded = _one(column).dictionary_encode()
    codes = pc.fill_null(encoded.indices.cast(pa.int64()), len(encoded.dictionary))
    return np.asarray(codes.to_numpy(zero_copy_only=False))


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
