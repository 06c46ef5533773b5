"""How much nearer series are to their own group than to the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.model import Measure, Panel, Score, Tally
from shoal.model.measure import Goal
from shoal.utility.cells import Floats
from shoal.utility.groups import Grouped, GroupMeasure, Sampled, draw, group_series, reduce_distances


@dataclass(frozen=True)
class Silhouette(GroupMeasure):
    """Mean silhouette of the series: how much nearer each is to its own group than to the next one.

    s(i) = (b(i) - a(i)) / max(a(i), b(i)); a(i) = mean distance to the other series of its group, b(i) = the smallest
    mean distance to the series of another group. Groups are the series published exactly alike, distances are those of
    the originals in `features`. 1: groups are tight and far apart; 0: they touch; below 0: series are in the wrong
    group. A series alone in its group has s = 0. So the value is 0 if there is only one group, if all series are alone,
    or if all originals are the same: there is nothing to compare.

    With more than `sample` series, only that many random ones are scored, but each against all series of all groups.
    Leaving out rows would thin the groups, and leaving out whole groups would remove rivals and flatter the rest; this
    keeps the mean unbiased. `note` says so for a release, `per_series` which series were drawn. For a panel in shards,
    a sample of about that many, in whole groups, is scored against all; each shard has its own groups.

    Missing values: distances are over the features both series have, scaled to all, as in Microaggregation; pairs with
    none in common are left out of the means. "haar" refuses series with gaps.

    Parameters
    ----------
    features
        How series are compared: the values as they are, every instant on one scale, shapes without level, or Haar
        energy shares. Choose what the release is for, which need not be what the groups were formed on.
    sample
        The largest number of series scored. More is more exact and takes proportionally more time and memory.
    seed
        Decides which series are drawn.

    Examples
    --------
    >>> original, published = Panel([[0.0], [2.0], [10.0], [12.0]]), Panel([[1.0], [1.0], [11.0], [11.0]])
    >>> round(Silhouette().measure(original, published).value, 4)
    0.798

    References
    ----------
    P. J. Rousseeuw, "Silhouettes: a graphical aid to the interpretation and validation of cluster analysis", 1987;
    "Data-driven anonymization process applied to time series", section 5.3.
    """

    name: ClassVar[str] = "silhouette"
    meaning: ClassVar[str] = "how much nearer series are to their own group than to the next one"
    goal: ClassVar[Goal] = "higher"
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    why_whole: ClassVar[str] = "compares every series with all groups"

    def measure(self, original: Panel, published: Panel) -> Score:
        """Judge the groups of two panels with rows in the same order."""
        values, _ = self.per_series(original, published)
        return self.as_score(values.mean())

    def per_series(self, original: Panel, published: Panel) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The silhouette of each scored series, and its position: all up to `sample`, else those drawn."""
        grouped = group_series(original, published, self.features)
        positions = draw(original.n_series, self.sample, self.seed)
        # scikit-learn refuses these; a series without neighbours or rivals has silhouette 0 by convention.
        if len(grouped.sizes) in (1, original.n_series) or grouped.is_constant:
            return np.zeros(len(positions)), positions
        if len(positions) == original.n_series and not grouped.has_gaps:
            from sklearn.metrics import silhouette_samples

            return np.asarray(silhouette_samples(grouped.features, grouped.labels), dtype=np.float64), positions
        return silhouettes(grouped, positions), positions

    def fixed(self, original: Panel, published: Panel, *, rows: NDArray[np.int64] | None = None) -> Measure:
        """These series, against all."""
        return _OfSample(self.features, self.sample, self.seed, Sampled.of(original, published, self.features))

    def note(self, published: Panel) -> str:
        """What a report must say about sampling; empty if every series was scored."""
        if published.n_series <= self.sample:
            return ""
        return (
            f"estimated from {self.sample} of {published.n_series} series, drawn with seed {self.seed}, "
            "each compared with all"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Nearness(Tally):
    """For some series: sum and number of distances to others of their group, and the mean distance to the nearest other
    group."""

    own: Floats
    n_own: NDArray[np.int64]
    nearest: Floats

    @classmethod
    def of(cls, x: Floats, own: NDArray[np.int64], grouped: Grouped, itself: NDArray[np.int64] | None) -> Nearness:
        """For series with features `x` and groups `own` (-1: none here), also with gaps, which scikit-learn's
        silhouette does not support. `itself` is the position of each among the series of the groups, if known."""
        order = np.argsort(grouped.labels, kind="stable")  # series sorted by group, so that their sums are slices
        starts = np.cumsum(grouped.sizes) - grouped.sizes
        column_of = np.empty_like(order)
        column_of[order] = np.arange(len(order))

        def reduce(distances: Floats, first: int) -> Floats:
            chosen = slice(first, first + len(distances))
            each, group = np.arange(len(distances)), own[chosen]
            if itself is not None:
                distances[each, column_of[itself[chosen]]] = 0.0  # rounding may say otherwise
            counts: NDArray[Any] = np.broadcast_to(grouped.sizes, (len(each), len(starts)))
            if np.isnan(distances).any():
                comparable = ~np.isnan(distances)
                distances[~comparable] = 0.0
                counts = np.add.reduceat(comparable, starts, axis=1, dtype=np.int64)
            sums = np.add.reduceat(distances, starts, axis=1)
            outside = np.divide(sums, counts, out=np.full(sums.shape, np.inf), where=counts > 0)
            here = group >= 0
            outside[each[here], group[here]] = np.inf
            inside = np.where(here, sums[each, group], 0.0), np.where(here, counts[each, group], 0)
            return np.stack([*inside, outside.min(axis=1)], axis=1)

        found = reduce_distances(x, grouped.features[order], reduce)
        return cls(figures={}, own=found[:, 0], n_own=found[:, 1].astype(np.int64), nearest=found[:, 2])

    def __add__(self, other: Tally) -> Nearness:
        assert isinstance(other, Nearness)
        nearest = np.minimum(self.nearest, other.nearest)
        return Nearness(figures={}, own=self.own + other.own, n_own=self.n_own + other.n_own, nearest=nearest)

    @property
    def silhouettes(self) -> Floats:
        """The silhouette of each series, which is itself a member of its group."""
        inside = self.own / np.maximum(self.n_own - 1, 1)
        defined = (self.n_own > 1) & np.isfinite(self.nearest)
        larger = np.maximum(inside, self.nearest)
        values: Floats = np.zeros(len(inside))
        np.divide(self.nearest - inside, larger, out=values, where=defined & (larger > 0.0))
        return values


def silhouettes(grouped: Grouped, positions: NDArray[np.int64]) -> Floats:
    """Silhouettes of some series against all."""
    x, own = grouped.features[positions], grouped.labels[positions]
    return Nearness.of(x, own, grouped, positions).silhouettes


@dataclass(frozen=True)
class _OfSample(Silhouette):
    """Some series against those of all shards."""

    why_whole: ClassVar[str] = ""

    scored: Sampled | None = None

    def tally(self, original: Panel, published: Panel) -> Nearness:
        """Distances to the series of one shard."""
        assert self.scored is not None
        grouped, numbers = self.scored.shard(original, published)
        mine = self.scored.grouped
        return Nearness.of(mine.features, numbers[mine.labels], grouped, None)

    def score(self, tally: Tally) -> Score:
        """The mean silhouette of the series scored."""
        assert isinstance(tally, Nearness)
        return self.as_score(tally.silhouettes.mean())
