"""Instants of (n, l, k) on an engine: sorted once, then solved again and again at prices that come from the driver.

Each instant is a problem of its own, given the prices (`shoal.kernels.nlk_prices`). What the prices need is a summary
of each series over the instants: its largest gains, or where a permission helps least and where it would help most.
Every part sums up the instants it has, and the summaries of a range of series come together.

Memory: one instant of N series at a time for each thread, about N (24 k + 80) bytes, and N (l - n + 1) 12 bytes for the
summary.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Shared
from shoal.engines.nlk.turning import (
    BLOCK,
    INSTANT,
    NOBODY,
    RANGE,
    VALUES,
    as_slices,
    each_instant,
    joined,
    lengths_of,
    several,
    side_by_side,
)
from shoal.kernels.nlk_instant import added_up, cluster_sorted, keep_ends, keep_largest, solve_several
from shoal.kernels.nlk_intervals import Floats, Labels, Representative, best_runs, publish_labels

PIECE, ROWS, LENGTHS = "piece", "rows", "lengths"
FIRST, WIDTH, GAINS, AT = "first", "width", "gains", "at"
ORIGINALS, PUBLISHED, GROUPS, MIXED = "originals", "published", "groups", "mixed"

SORTED = pa.schema(
    [(BLOCK, pa.int32()), (INSTANT, pa.int32()), (PIECE, pa.int32())]
    + [(name, pa.binary()) for name in (VALUES, ROWS, LENGTHS)]
)
"""Values of an instant in order, the series they belong to, and (in the first piece) how many series a range has."""

GAINED = pa.schema(
    [(RANGE, pa.int32()), (FIRST, pa.int32()), (WIDTH, pa.int32()), (GAINS, pa.binary()), (AT, pa.binary())]
)
"""Summaries of a range of series over the instants of a part, so many numbers for each; the first instant names it."""

GROUPED = pa.schema(
    [(RANGE, pa.int32()), (INSTANT, pa.int32())]
    + [(name, pa.binary()) for name in (ORIGINALS, PUBLISHED, GROUPS, MIXED)]
)
"""A range of series at an instant, as it was and as it will be published."""

_PIECE_LENGTH = 2**18  # values in a row of SORTED: Spark's rows should stay small


class Instant(NamedTuple):
    """All series at one instant."""

    t: int
    v: Floats  # in order
    rows: NDArray[np.int32]  # the series each belongs to
    lengths: NDArray[np.int64]  # of the ranges


@dataclass(frozen=True)
class Terms:
    """What stays the same in all rounds."""

    k: int
    budget: int
    squared: bool
    representative: Representative
    instants: Any  # the type of the number of an instant

    @property
    def median(self) -> bool:
        """Whether groups are published as their median."""
        return self.representative == "median"


@dataclass(frozen=True, eq=False)
class Plan:
    """Prices of being alone, or where each series may be alone for nothing (series, times); nowhere else then."""

    prices: Floats | None = None
    where: NDArray[Any] | None = None

    def allowed(self, t: int) -> NDArray[np.bool_]:
        """Which series may be alone at an instant."""
        if self.where is None:
            raise ValueError("there are prices instead")
        return np.asarray((self.where == t).any(axis=1))

    def price(self, instant: Instant) -> Floats:
        """By place in the sorted values."""
        if self.prices is not None:
            return self.prices[instant.rows]
        return np.where(self.allowed(instant.t)[instant.rows], 0.0, np.inf)


@dataclass(frozen=True)
class SortInstants:
    """Pieces of a turned panel to sorted instants. Who the series are passes through."""

    def __call__(self, blocks: Blocks) -> Blocks:
        """Rows of SORTED."""
        for some in several(each_instant(blocks)):
            for rows in side_by_side(_sorted, some):
                yield from rows


def _sorted(item: tuple[int, pa.Table]) -> list[pa.RecordBatch]:
    t, table = item
    if t == NOBODY:
        nothing = pa.array([b""] * table.num_rows, pa.binary())
        columns = [table[name] for name in (BLOCK, INSTANT, RANGE, VALUES)]
        told: list[pa.RecordBatch] = pa.Table.from_arrays([*columns, nothing, nothing], schema=SORTED).to_batches()
        return told
    x = joined(table[VALUES], np.float64)
    rows = np.argsort(x, kind="stable")
    v = x[rows]
    lengths = lengths_of(table[VALUES]) // x.itemsize
    block = table[BLOCK][0].as_py()
    found = []
    for piece, first in enumerate(range(0, len(x), _PIECE_LENGTH)):
        part = slice(first, first + _PIECE_LENGTH)
        values = [v[part], rows[part].astype(np.int32), lengths if first == 0 else lengths[:0]]
        numbers = [pa.array([number], pa.int32()) for number in (block, t, piece)]
        told = [pa.array([some.tobytes()], pa.binary()) for some in values]
        found.append(pa.RecordBatch.from_arrays([*numbers, *told], schema=SORTED))
    return found


def sorted_instants(blocks: Blocks) -> Iterator[Instant | pa.Table]:
    """Instants one by one; rows that tell who the series are as tables."""
    for t, table in each_instant(blocks):
        if t == NOBODY:
            yield table
        else:
            v, rows = joined(table[VALUES], np.float64), joined(table[ROWS], np.int32)
            yield Instant(t, v, rows, joined(table[LENGTHS], np.int64))


class _Solved(NamedTuple):
    gains: Floats  # (instants, series)
    labels: Labels
    lowest: Floats


def _solve(some: list[Instant], plan: Plan, terms: Terms, *, with_holes: bool) -> _Solved:
    shape = len(some), len(some[0].v)
    found = _Solved(np.empty(shape), np.empty(shape, dtype=np.int32), np.empty(shape[0]))
    v, rows = np.stack([instant.v for instant in some]), np.stack([instant.rows for instant in some])
    price = np.stack([plan.price(instant) for instant in some])
    solve_several(v, rows, price, (terms.k, terms.squared, terms.median, with_holes), *found)
    return found


@dataclass(frozen=True)
class Solve:
    """Solve every instant by the plan and sum up the gains of each series: its largest, or the ends of its moves."""

    terms: Terms
    plan: Shared[Plan]
    with_holes: bool
    ends: Literal["largest", "moves"]

    def __call__(self, blocks: Blocks) -> Blocks:
        """Rows of GAINED; the least loss plus prices of each instant as rows of range NOBODY."""
        plan = self.plan.value
        summary: _Largest | _Ends | None = None
        first = 0
        lengths = np.empty(0, dtype=np.int64)
        instants = (instant for instant in sorted_instants(blocks) if isinstance(instant, Instant))
        for some in several(instants):
            solved = _solve(some, plan, self.terms, with_holes=self.with_holes)
            if summary is None:
                n, first, lengths = len(some[0].v), some[0].t, some[0].lengths
                summary = _Largest(n, self.terms) if self.ends == "largest" else _Ends(n, plan)
            for instant, gains in zip(some, solved.gains, strict=True):
                summary.add(instant.t, gains)
            ts = [instant.t for instant in some]
            nothing = pa.array([b""] * len(ts), pa.binary())
            yield _gained([NOBODY] * len(ts), ts, 1, as_slices(solved.lowest, [1] * len(ts)), nothing)
        if summary is not None:
            gains, at = summary.told()
            told = as_slices(gains, lengths), as_slices(at, lengths)
            yield _gained(np.arange(len(lengths)), [first] * len(lengths), gains.shape[1], *told)


def _gained(ranges: Any, first: Any, width: int, gains: pa.Array, at: pa.Array) -> pa.RecordBatch:
    numbers = [pa.array(some, pa.int32()) for some in (ranges, first, [width] * len(first))]
    return pa.RecordBatch.from_arrays([*numbers, gains, at], schema=GAINED)


class _Largest:
    """The budget + 1 largest gains of each series: the price lies between the last two of them."""

    def __init__(self, n: int, terms: Terms) -> None:
        self.best = np.full((n, terms.budget + 1), -np.inf)
        self.at = np.zeros(self.best.shape, dtype=np.int32)
        self.filled = 0
        self.type = terms.instants

    def add(self, t: int, gains: Floats) -> None:
        at = np.full((len(gains), 1), t, dtype=np.int32)
        keep_largest(gains[:, None], at, self.filled, self.best, self.at)
        self.filled = min(self.filled + 1, self.best.shape[1])

    def told(self) -> tuple[Floats, NDArray[Any]]:
        return self.best[:, : self.filled], self.at[:, : self.filled].astype(self.type)


class _Ends:
    """Where a permission of each series helps least, and where it has none and would gain most."""

    def __init__(self, n: int, plan: Plan) -> None:
        self.plan = plan
        self.held, self.wanted = np.full(n, np.inf), np.full(n, -np.inf)
        self.source = np.full(n, np.iinfo(np.int32).max, dtype=np.int32)
        self.target = self.source.copy()

    def add(self, t: int, gains: Floats) -> None:
        keep_ends(gains, self.plan.allowed(t), t, self.held, self.source, self.wanted, self.target)

    def told(self) -> tuple[Floats, NDArray[Any]]:
        return np.stack([self.held, self.wanted], axis=1), np.stack([self.source, self.target], axis=1)


@dataclass(frozen=True)
class Publish:
    """The groups of every instant by the last plan, or the paper's clusters, and what they are published as.

    Without a plan nobody is alone.
    """

    terms: Terms
    plan: Shared[Plan]
    clusters: bool

    def __call__(self, blocks: Blocks) -> Blocks:
        """Rows of GROUPED; of range NOBODY the losses of both groupings and the number of series alone."""
        for some in several(sorted_instants(blocks)):
            instants = [instant for instant in some if isinstance(instant, Instant)]
            for who in some:
                if not isinstance(who, Instant):
                    nothing = pa.array([b""] * who.num_rows, pa.binary())
                    told = [who[PIECE], who[INSTANT], who[VALUES], nothing, nothing, nothing]
                    yield from pa.Table.from_arrays(told, schema=GROUPED).to_batches()
            if instants:
                for rows in side_by_side(self._published, list(zip(instants, self._labels(instants), strict=True))):
                    yield from rows

    def _labels(self, some: list[Instant]) -> list[Labels]:
        terms = self.terms
        if self.clusters:
            return [cluster_sorted(instant.v, instant.rows, terms.k) for instant in some]
        if terms.budget == 0:
            v, rows = np.stack([instant.v for instant in some]), np.stack([instant.rows for instant in some])
            return list(best_runs(v, rows, terms.k, terms.squared, terms.median)[0])
        return list(_solve(some, self.plan.value, terms, with_holes=True).labels)

    def _published(self, item: tuple[Instant, Labels]) -> list[pa.RecordBatch]:
        instant, labels = item
        x = np.empty(len(instant.v))
        x[instant.rows] = instant.v
        published = self._represented(x, labels)
        losses = [added_up(x, published, self.terms.squared)] * 2
        if not self.clusters:
            # Absolute loss may prefer groups of 2k or more, which only the clusters have.
            other = cluster_sorted(instant.v, instant.rows, self.terms.k)
            other_published = self._represented(x, other)
            losses[1] = added_up(x, other_published, self.terms.squared)
            if losses[1] < losses[0]:
                labels, published = other, other_published
        lengths = instant.lengths
        told = [as_slices(x, lengths), as_slices(published, lengths), as_slices(labels, lengths)]
        mixed = pa.array([b""] * len(lengths), pa.binary())
        if self.terms.median:
            moved = np.bincount(labels, weights=x != published)
            mixed = as_slices(moved[labels] > 0, lengths)
        numbers = [pa.array(some, pa.int32()) for some in (np.arange(len(lengths)), [instant.t] * len(lengths))]
        series = pa.RecordBatch.from_arrays([*numbers, *told, mixed], schema=GROUPED)
        figures = np.array([*losses, np.count_nonzero(np.bincount(labels) == 1)], dtype=np.float64)
        nothing = pa.array([b""], pa.binary())
        numbers = [pa.array([number], pa.int32()) for number in (NOBODY, instant.t)]
        told = [as_slices(figures, [3]), nothing, nothing, nothing]
        return [series, pa.RecordBatch.from_arrays([*numbers, *told], schema=GROUPED)]

    def _represented(self, x: Floats, labels: Labels) -> Floats:
        return publish_labels(x[:, None], labels[:, None], self.terms.representative)[:, 0]
