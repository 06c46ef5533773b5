"""Whom an attack on an engine is after, and what all blocks together say about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.blocks import OF, PUBLISHED, BlockCandidate, BlockPanel, Clock, DrawSubjects, chances
from shoal.engines.contract import MOST_COLLECTED, Blocks, Engine, Shared, Table
from shoal.engines.rows import ID, ROW, SERIES, SUBJECT, unpack
from shoal.engines.summing import Numbers, add_up
from shoal.errors import ParameterError
from shoal.kernels.exact_sums import LIMBS, add_columns, add_squares, carry, no_sums, totals

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

CELLS = 4_000_000
"""Values, and pairs of target and series, that are worked on at a time: 32 MB."""


@dataclass(frozen=True, eq=False, repr=False)
class Targets:
    """The originals under attack, sorted by id."""

    values: Floats
    """(targets, instants, channels)"""
    ids: pa.Array
    positions: Rows
    """Where each stands among all originals, sorted by id."""
    subjects: pa.Array
    """The different subjects of the targets."""
    of_targets: Rows
    """Which of them each target is."""

    def kept(self, there: NDArray[np.bool_]) -> Targets:
        """Those whose subject is published: the adversary is taken to know that."""
        use = there[self.of_targets]
        ids = self.ids.filter(pa.array(use))
        return Targets(self.values[use], ids, self.positions[use], self.subjects, self.of_targets[use])


def draw_targets(panel: BlockPanel, n: int | None, seed: int) -> Targets:
    """All series of n subjects, those with the lowest hash of their names: the same on every engine."""
    size = panel.n_series * panel.clock.n_instants * panel.clock.n_channels * 8
    wanted = panel.n_subjects if n is None else min(n, panel.n_subjects)
    if size * wanted / max(1, panel.n_subjects) > MOST_COLLECTED:
        most = MOST_COLLECTED * panel.n_subjects // max(1, size)
        raise ParameterError(
            f"{wanted} targets are more than fit in one place; every worker gets them all. Draw at most {most} with "
            "targets=..., every published series stays a candidate."
        )
    # A few more than wanted, so that there are enough: the number drawn varies by its root.
    share = min(1.0, (wanted + 6.0 * sqrt(wanted) + 20.0) / max(1, panel.n_subjects))
    drawn = panel.engine.map(panel.table, _Drawn(share, seed), SERIES)
    rows = panel.engine.collect(drawn, most=4 * MOST_COLLECTED).sort_by(ID)
    names = rows[SUBJECT].combine_chunks().unique()
    order = np.argsort(chances(names, seed), kind="stable")[:wanted]
    subjects = names.take(pa.array(np.sort(order)))
    rows = rows.filter(pc.is_in(rows[SUBJECT], value_set=subjects))
    ids = rows[ID].combine_chunks()
    counts = add_up(panel.engine, panel.table, _Below(panel.engine.share(ids)), len(ids) + 1)
    return Targets(
        values=deep(unpack(rows[ROW]), panel.clock),
        ids=ids,
        positions=np.cumsum(counts)[:-1],
        subjects=subjects,
        of_targets=pc.index_in(rows[SUBJECT].combine_chunks(), value_set=subjects).to_numpy().astype(np.int64),
    )


@dataclass(frozen=True)
class _Drawn:
    share: float
    seed: int

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in DrawSubjects(self.share, self.seed)(blocks):
            yield block.select([ID, SUBJECT, ROW])


@dataclass(frozen=True)
class _Below:
    """Of all ids, how many come before the first target, between it and the next, and so on."""

    ids: Shared[pa.Array]

    def __call__(self, blocks: Blocks) -> Numbers:
        ordered = pl.Series(pl.from_arrow(self.ids.value)).cast(pl.String)
        counts = np.zeros(len(ordered) + 1, dtype=np.int64)
        for block in blocks:
            names = pl.Series(pl.from_arrow(block.column(ID))).cast(pl.String)
            if len(names):
                places = ordered.search_sorted(names, side="right").to_numpy()
                counts += np.bincount(places, minlength=len(counts))
        return counts


def deep(rows: Floats, clock: Clock) -> Floats:
    """Rows as (series, instants, channels)."""
    return rows.reshape(len(rows), clock.n_instants, clock.n_channels)


def pieces(blocks: Blocks, column: str, clock: Clock) -> Iterator[tuple[pa.RecordBatch, Floats]]:
    """Blocks of a bounded number of values, with these as (series, instants, channels)."""
    height = max(1, CELLS // max(1, clock.n_instants * clock.n_channels))
    for block in blocks:
        for first in range(0, block.num_rows, height):
            piece = block.slice(first, height)
            yield piece, deep(unpack(piece.column(column)), clock)


@dataclass(frozen=True, eq=False, repr=False)
class Present:
    """What the published rows are, counted."""

    rows: Rows
    """Of each of the targets' subjects."""
    n_rows: int
    """Of everybody, fictive ones too."""
    gaps: int
    """Rows that show a gap to the adversary."""

    def guesses(self, targets: Targets) -> Floats:
        """For every target the chance to pick one of its own among all published rows."""
        return self.rows[targets.of_targets] / self.n_rows


def count_present(candidate: BlockCandidate, targets: Targets, shown: Callable[[Floats], Floats]) -> Present:
    """Count the published rows; `shown` is what the adversary makes of them."""
    engine = candidate.panel.engine
    count = _CountPresent(engine.share(targets.subjects), candidate.clock, shown)
    found = add_up(engine, candidate.table, count, len(targets.subjects) + 2)
    return Present(found[:-2], int(found[-2]), int(found[-1]))


@dataclass(frozen=True)
class _CountPresent:
    subjects: Shared[pa.Array]
    clock: Clock
    shown: Callable[[Floats], Floats]

    def __call__(self, blocks: Blocks) -> Numbers:
        n = len(self.subjects.value)
        counts = np.zeros(n + 2, dtype=np.int64)
        for piece, values in pieces(blocks, PUBLISHED, self.clock):
            whose = owners_of(piece, self.subjects.value)
            counts[:n] += np.bincount(whose[whose >= 0], minlength=n)
            counts[n] += piece.num_rows
            counts[n + 1] += np.count_nonzero(np.isnan(self.shown(values)).any(axis=1))
        return counts


def left_out(candidate: BlockCandidate) -> int:
    """Originals of which nothing is published, and so no targets; of slices there are none."""
    if candidate.n_published is None or OF in candidate.table.schema.names:
        return 0
    return candidate.panel.n_series - int(add_up(candidate.panel.engine, candidate.table, _n_originals, 1)[0])


def _n_originals(blocks: Blocks) -> Numbers:
    """Rows that stand for somebody."""
    return np.array([sum(block.num_rows - block.column(ROW).null_count for block in blocks)])


def owners_of(block: pa.RecordBatch, subjects: pa.Array) -> Rows:
    """Which of the targets' subjects is behind each row, -1 for anybody else and for nobody."""
    found = pc.index_in(block.column(SUBJECT), value_set=subjects, skip_nulls=True)
    whose: Rows = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return whose


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """How many numbers there are in each column, their mean and their standard deviation; NaN where there are none."""

    counts: Rows
    means: Floats
    deviations: Floats


def moments(
    engine: Engine, table: Table, column: str, clock: Clock, make: Callable[[Floats], Floats], width: int
) -> Moments:
    """Of the numbers that `make` finds in series, (rows, columns), over all blocks. Exact up to the last rounding."""
    sums = add_up(engine, table, _Moments(column, clock, make, width), (1 + 2 * LIMBS) * width)
    counts = sums[:width]
    plain, squares = (totals(part.reshape(LIMBS, width)) for part in np.split(sums[width:], 2))
    means, deviations = np.full(width, np.nan), np.full(width, np.nan)
    for c, n in enumerate(counts.tolist()):
        if n:
            means[c] = float(plain[c] / n)
            deviations[c] = sqrt(squares[c] / n - (plain[c] / n) ** 2)
    return Moments(counts, means, deviations)


@dataclass(frozen=True)
class _Moments:
    column: str
    clock: Clock
    make: Callable[[Floats], Floats]
    width: int

    def __call__(self, blocks: Blocks) -> Numbers:
        counts, plain, squares = np.zeros(self.width, dtype=np.int64), no_sums(self.width), no_sums(self.width)
        for _, values in pieces(blocks, self.column, self.clock):
            numbers = np.ascontiguousarray(self.make(values))
            counts += np.count_nonzero(~np.isnan(numbers), axis=0)
            add_columns(plain, numbers)
            add_squares(squares, numbers)
            carry(plain)
            carry(squares)
        return np.concatenate([counts, plain.ravel(), squares.ravel()])
