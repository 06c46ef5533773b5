"""What a candidate on an engine is still good for.

Measures that are sums over cells or over series are exact: sums are not rounded, so the figure is the same on every
engine, and that in memory differs by its own rounding. Measures of the mean of all series (`of="all"`) make that mean
first, exactly. Pairwise `correlation-loss`, `prediction` and `forecast-error` are taken on series drawn by a hash of
their names (of groups by a hash of what is published), which `note` says. Measures that need all rows in one place
(`of="pooled"`, `silhouette`, `davies-bouldin`, `query-error`, `window-error`) are refused.

Sums take one pass over the candidate's table and bring a few numbers for each column to the driver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.blocks import LEVEL, OF, PUBLISHED, WORD, BlockCandidate, Clock, chances
from shoal.engines.contract import MOST_COLLECTED, Blocks, Shared
from shoal.engines.measuring.kinds import SUMS, correlation_sums
from shoal.engines.measuring.sums import Added, Block, Curves, Floats, Sums
from shoal.engines.rows import ID, ROW, unpack
from shoal.engines.summing import Numbers, add_up
from shoal.errors import ParameterError
from shoal.kernels.exact_sums import LIMBS, add_columns, add_squares, carry, no_sums, totals
from shoal.methods import TimeAggregation
from shoal.methods.instants import positions
from shoal.model import Panel, Score

CELLS = 2_000_000
"""Values of each side that are worked on at a time."""

FORECAST_SAMPLE = 5000
"""Series that forecasts learn from and are tested on."""

_TOGETHER = {
    "silhouette": "compares every series with all groups, and on a part of them it would flatter",
    "davies-bouldin": "compares every group with all groups, and on a part of them it would flatter",
    "query-error": "asks its queries of all series in one place",
    "window-error": "is about events",
}


def measure(measure: Any, candidate: BlockCandidate) -> Score:
    """What `measure.measure` finds in memory, found where the blocks are.

    Examples
    --------
    >>> from shoal import Microaggregation, simulate
    >>> from shoal.engines import BlockPanel, Local, anonymize, measure
    >>> from shoal.utility import InformationLoss
    >>> with Local() as engine:
    ...     panel = BlockPanel.of(simulate.meters(200, days=7, seed=1), engine)
    ...     score = measure(InformationLoss(), anonymize(Microaggregation(k=10), panel))
    >>> 0.0 < score.value < 1.0
    True
    """
    _refuse(measure, candidate)
    pairs = _pairs(candidate, unfolded=measure.judges != "envelopes")
    if (drawn := _draw(measure, candidate)) is not None:
        found: Score = measure.measure(*_sample(candidate, pairs, drawn))
        return found
    if getattr(measure, "of", None) == "all":
        score: Score = measure.measure(*_mean_curves(candidate, pairs))
        return score
    sums = _sums(measure, candidate, pairs)
    return sums.conclude(_added(candidate, pairs, sums))


def note(measure: Any, candidate: BlockCandidate) -> str:
    """What a report must say about sampling; empty when every series was measured."""
    drawn = _draw(measure, candidate)
    if drawn is None or candidate.n_series <= drawn.n:
        return ""
    groups = ", whole groups" if drawn.by == PUBLISHED else ""
    return f"estimated from at most {drawn.n} of {candidate.n_series} series{groups}, drawn with seed {drawn.seed}"


def _refuse(measure: Any, candidate: BlockCandidate) -> None:
    if measure.name in _TOGETHER:
        raise ParameterError(
            f"{measure.name} {_TOGETHER[measure.name]}: it does not run on an engine. Measure a smaller release of the "
            "same kind in memory, without --engine, or use information-loss."
        )
    if measure.name not in SUMS and measure.name not in _SAMPLES:
        able = ", ".join(sorted({*SUMS, *_SAMPLES}))
        raise ParameterError(f"{measure.name} does not run on an engine. Those that do: {able}.")
    if getattr(measure, "of", None) == "pooled":
        raise ParameterError(
            f"{measure.name} with of='pooled' sorts the values of all series in one place and does not run on an "
            "engine. Use of='series' or of='all'."
        )
    if measure.name == "value-loss" and candidate.form != "envelopes":
        raise ParameterError("ValueLoss measures the width of envelopes; other forms of release have none.")
    if OF in candidate.table.schema.names:
        raise ParameterError(
            f"{measure.name} compares whole series with their originals; this candidate has slices of them. Measure a "
            "part of the series in memory, without --engine."
        )


@dataclass(frozen=True, eq=False)
class _Pairs:
    """How rows of a candidate become series before and after, at the same instants."""

    original: Clock
    published: Clock
    compared: Clock
    columns: NDArray[np.int64]
    """Positions in the original of the instants compared."""
    envelopes: bool = False
    pattern_times: NDArray[Any] | None = None
    unfold: TimeAggregation | None = None

    def __call__(self, block: pa.RecordBatch) -> Block:
        """Rows that stand for nobody are left out."""
        block = block.filter(pc.is_valid(block.column(ROW)))
        rows = unpack(block.column(ROW)) if block.num_rows else np.zeros((0, 0))
        x = rows.reshape(block.num_rows, self.original.n_instants, self.original.n_channels)
        p = unpack(block.column(PUBLISHED)) if block.num_rows else rows
        after = p.reshape(block.num_rows, self.published.n_instants, self.published.n_channels)
        before = x if len(self.columns) == x.shape[1] else x[:, self.columns]
        if self.envelopes:
            return self._of_envelopes(block, x, before, after)
        if self.unfold is not None and block.num_rows:
            sides = (_panel(x, self.original), _panel(after, self.published))
            after = self.unfold.unfold(*sides).values.reshape(x.shape)
        # As in memory: no score may depend on a reading that was withheld.
        return Block(np.where(np.isnan(after), np.nan, before), after)

    def _of_envelopes(self, block: pa.RecordBatch, x: Floats, before: Floats, after: Floats) -> Block:
        low, high = after[:, :, 0], after[:, :, 1]
        further = {
            "low": low,
            "high": high,
            "levels": block.column(LEVEL).to_numpy(zero_copy_only=False),
            "words": block.column(WORD).to_pylist(),
            "original": x[:, :, 0],
            "times": self.original.times,
            "pattern_times": self.pattern_times,
        }
        return Block(before, (low + 0.5 * (high - low))[:, :, None], further)


def _pairs(candidate: BlockCandidate, *, unfolded: bool) -> _Pairs:
    original, published = candidate.panel.clock, candidate.clock
    parameters = candidate.recipe.parameters
    if candidate.recipe.method == TimeAggregation.name and unfolded:
        unfold = TimeAggregation(**parameters)
        return _Pairs(original, published, original, np.arange(original.n_instants), unfold=unfold)
    columns = np.flatnonzero(np.isin(original.times, published.times))
    envelopes = candidate.form == "envelopes"
    coarse = candidate.recipe.method == TimeAggregation.name
    if len(columns) != published.n_instants or not (envelopes or coarse or candidate.row_by_row):
        raise ParameterError(
            f"{candidate.recipe.method} publishes other instants or channels than the originals have, so that series "
            "cannot be compared one by one on an engine. Measure a part of them in memory, without --engine."
        )
    compared = replace(published, channels=original.channels)
    pattern_times = None
    if envelopes:
        shown = positions("pattern_instants", parameters.get("pattern_instants"), original.n_instants)
        pattern_times = original.times[shown]
    return _Pairs(original, published, compared, columns, envelopes, pattern_times)


def _sums(measure: Any, candidate: BlockCandidate, pairs: _Pairs) -> Sums:
    if measure.name != "correlation-loss":
        return SUMS[measure.name](measure, pairs.compared)
    later = measure.lags if measure.between == "instants" else 0
    if pairs.compared.n_instants < later + 2:
        raise ParameterError(
            f"correlation-loss needs at least {later + 2} instants; the panel has {pairs.compared.n_instants}. Read a "
            f"longer stretch{' or lower lags' if later else ''}."
        )
    means = _means(candidate, pairs, _BothCurves()) if measure.between == "mean" else None
    return correlation_sums(measure, means)


@dataclass(frozen=True)
class _BothCurves:
    def __call__(self, block: Block) -> tuple[Floats, Floats]:
        before, after = block.both
        return Curves()(Block(before, after))


def _mean_curves(candidate: BlockCandidate, pairs: _Pairs) -> tuple[Panel, Panel]:
    """Two panels of one series each: the mean of all."""
    one, other = _means(candidate, pairs, Curves())
    return _panel(one[None], pairs.compared), _panel(other[None], pairs.compared)


def _means(candidate: BlockCandidate, pairs: _Pairs, summarise: Any) -> tuple[Floats, Floats]:
    """The means of both sides, (instants, channels), NaN where nothing is observed."""
    added = _added(candidate, pairs, Sums(summarise, lambda _: Score(0.0, "lower", (0.0, 0.0))))
    means = [float(total / int(n)) if n else np.nan for total, n in zip(added.sums, added.counts, strict=True)]
    one, other = np.array(means).reshape(2, pairs.compared.n_instants, pairs.compared.n_channels)
    return one, other


def _added(candidate: BlockCandidate, pairs: _Pairs, sums: Sums) -> Added:
    """Exact sums over all series, in one pass."""
    engine = candidate.panel.engine
    plain, squares = _widths(pairs, sums)
    shared = engine.share((pairs, sums.summarise))
    found = add_up(engine, candidate.table, _AddUp(shared, plain, squares), plain + LIMBS * (plain + squares))
    limbs = found[plain:].reshape(LIMBS, plain + squares)
    everything: list[Fraction] = totals(limbs)
    return Added(found[:plain], everything[:plain], everything[plain:])


def _widths(pairs: _Pairs, sums: Sums) -> tuple[int, int]:
    """How many columns are added and how many squared, from one series of zeros."""
    n, channels = pairs.compared.n_instants, pairs.compared.n_channels
    zeros = np.zeros((1, n, channels))
    further: dict[str, Any] = {}
    if pairs.envelopes:
        whole = pairs.original.n_instants
        further = {
            "low": zeros[:, :, 0],
            "high": zeros[:, :, 0],
            "levels": np.ones(1, dtype=np.int64),
            "words": ["a" * len(pairs.pattern_times if pairs.pattern_times is not None else pairs.compared.times)],
            "original": np.zeros((1, whole)),
            "times": pairs.original.times,
            "pattern_times": pairs.pattern_times,
        }
    plain, squares = sums.summarise(Block(zeros, zeros, further))
    return plain.shape[1], squares.shape[1]


@dataclass(frozen=True)
class _AddUp:
    shared: Shared[tuple[_Pairs, Callable[[Block], tuple[Floats, Floats]]]]
    plain: int
    squares: int

    def __call__(self, blocks: Blocks) -> Numbers:
        pairs, summarise = self.shared.value
        counts = np.zeros(self.plain, dtype=np.int64)
        sums, squares = no_sums(self.plain), no_sums(self.squares)
        for piece in _pieces(blocks, pairs.original):
            found = pairs(piece)
            if not len(found.before):
                continue
            numbers, squared = (np.ascontiguousarray(part) for part in summarise(found))
            counts += np.count_nonzero(~np.isnan(numbers), axis=0)
            add_columns(sums, numbers)
            carry(sums)
            if self.squares:
                add_squares(squares, squared)
                carry(squares)
        return np.concatenate([counts, np.concatenate([sums, squares], axis=1).ravel()])


def _pieces(blocks: Blocks, clock: Clock) -> Blocks:
    height = max(1, CELLS // max(1, clock.n_instants * clock.n_channels))
    for block in blocks:
        for first in range(0, block.num_rows, height):
            yield block.slice(first, height)


def _panel(values: Floats, clock: Clock) -> Panel:
    rows = clock.shaped(np.ascontiguousarray(values).reshape(len(values), -1))
    return Panel(rows, times=clock.times, channels=clock.channels, timezone=clock.timezone, copy=False)


@dataclass(frozen=True)
class _Draw:
    """Which series a measure is taken on: those with the lowest hash of a column."""

    n: int
    seed: int
    by: str = ID

    def kept(self, rows: pa.Table) -> pa.Table:
        """At most n rows, all of a key or none, sorted by id."""
        names, codes = np.unique(chances(rows[self.by].combine_chunks(), self.seed), return_inverse=True)
        ends = np.cumsum(np.bincount(codes, minlength=len(names)))
        return rows.filter(pa.array(ends[codes] <= max(self.n, int(ends[0])))).sort_by(ID)


@dataclass(frozen=True)
class _Low:
    by: str
    share: float
    seed: int

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            low = chances(block.column(self.by), self.seed) < self.share
            yield block.filter(pc.and_(pa.array(low), pc.is_valid(block.column(ROW))))


_SAMPLES: dict[str, Callable[[Any], _Draw | None]] = {
    "correlation-loss": lambda asked: _Draw(asked.sample, asked.seed) if asked.between == "series" else None,
    "prediction": lambda asked: _Draw(asked.sample, asked.seed, PUBLISHED),
    "forecast-error": lambda asked: _Draw(FORECAST_SAMPLE, 0),
}


def _draw(measure: Any, candidate: BlockCandidate) -> _Draw | None:
    """Which series a measure is taken on; None: all of them. Of long series fewer: both sides come to the driver."""
    drawn = _SAMPLES[measure.name](measure) if measure.name in _SAMPLES else None
    if drawn is None:
        return None
    clock = candidate.panel.clock
    return replace(drawn, n=max(2, min(drawn.n, MOST_COLLECTED // (16 * clock.n_instants * clock.n_channels))))


def _sample(candidate: BlockCandidate, pairs: _Pairs, draw: _Draw) -> tuple[Panel, Panel]:
    engine = candidate.panel.engine
    # A few more than wanted, so that there are enough: of groups by the group.
    share = min(1.0, 1.2 * (draw.n + 100) / max(1, candidate.n_series))
    table = engine.map(candidate.table, _Low(draw.by, share, draw.seed), candidate.table.schema)
    rows = draw.kept(engine.collect(table, most=4 * MOST_COLLECTED))
    block = pairs(rows.combine_chunks().to_batches()[0])
    return _panel(block.before, pairs.compared), _panel(block.after, pairs.compared)
