"""How wide groups are relative to the distance between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.model import Measure, Panel, Score, Tally
from shoal.utility.cells import Floats
from shoal.utility.groups import (
    Grouped,
    GroupMeasure,
    Sampled,
    draw,
    group_series,
    published_labels,
    reduce_distances,
)


@dataclass(frozen=True)
class DaviesBouldin(GroupMeasure):
    """Mean similarity of each group to its most similar group: how wide groups are relative to their distance.

    DB = mean over groups i of max over other groups j of (S_i + S_j) / M_ij; S_i = mean distance of the series of group
    i from the group's mean, M_ij = distance of the two means. Groups are the series published exactly alike, distances
    are those of the originals in `features`. 0: every group is one point; larger: wider and closer groups. It is 0 if
    every series is alone or all originals are the same, and infinite if there is only one group although the originals
    differ. Groups with exactly the same mean are not compared, as in scikit-learn.

    With more than `sample` groups, only that many random ones are scored, but each against all groups, and groups are
    always whole: leaving some out would remove rivals and flatter the rest, while this keeps the mean unbiased. `note`
    says so for a release. For a panel in shards, the groups of about that many series are scored against all; each
    shard has its own groups.

    Missing values: the mean of a group is over observed values; distances are over the features both have, scaled to
    all, as in Microaggregation; pairs with none in common are left out. "haar" refuses series with gaps.

    Parameters
    ----------
    features
        How series are compared: the values as they are, every instant on one scale, shapes without level, or Haar
        energy shares. Choose what the release is for, which need not be what the groups were formed on.
    sample
        The largest number of groups scored. More is more exact and takes proportionally more time and memory.
    seed
        Decides which groups are drawn.

    Examples
    --------
    >>> original, published = Panel([[0.0], [2.0], [10.0], [12.0]]), Panel([[1.0], [1.0], [11.0], [11.0]])
    >>> round(DaviesBouldin().measure(original, published).value, 4)
    0.2

    References
    ----------
    D. L. Davies and D. W. Bouldin, "A cluster separation measure", 1979; "Data-driven anonymization process applied to
    time series", section 5.3.
    """

    name: ClassVar[str] = "davies-bouldin"
    meaning: ClassVar[str] = "width of groups relative to the distance between them"
    why_whole: ClassVar[str] = "compares every group with all groups"

    def measure(self, original: Panel, published: Panel) -> Score:
        """Judge the groups of two panels with rows in the same order."""
        grouped = group_series(original, published, self.features)
        return self.as_score(self._value(grouped))

    def fixed(self, original: Panel, published: Panel, *, rows: NDArray[np.int64] | None = None) -> Measure:
        """The groups of these series, against all."""
        return _OfSample(self.features, self.sample, self.seed, Sampled.of(original, published, self.features))

    def note(self, published: Panel) -> str:
        """What a report must say about sampling; empty if every group was scored."""
        n_groups = int(published_labels(published).max()) + 1
        if n_groups <= self.sample:
            return ""
        return f"estimated from {self.sample} of {n_groups} groups, drawn with seed {self.seed}, each compared with all"

    def _value(self, grouped: Grouped) -> float:
        n_groups = len(grouped.sizes)
        if grouped.is_constant or n_groups == len(grouped.labels):
            return 0.0
        if n_groups == 1:
            return float("inf")
        if n_groups <= self.sample and not grouped.has_gaps:
            from sklearn.metrics import davies_bouldin_score

            return float(davies_bouldin_score(grouped.features, grouped.labels))
        return float(likeness(grouped, draw(n_groups, self.sample, self.seed)).mean())


def likeness(grouped: Grouped, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """For some groups, the largest (S_i + S_j) / M_ij over all groups."""
    scatter = _scatter(grouped)
    return _largest(grouped.means[chosen], scatter[chosen], chosen, grouped.means, scatter)


def _largest(
    mine: Floats, scattered: Floats, numbers: NDArray[np.int64], means: Floats, scatter: Floats
) -> NDArray[np.float64]:
    """`likeness`, also with gaps, which scikit-learn does not offer; `numbers` are their own positions among the
    others, or -1."""

    def reduce(distances: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        rows = slice(first, first + len(distances))
        here = np.flatnonzero(numbers[rows] >= 0)
        distances[here, numbers[rows][here]] = 0.0  # from itself; rounding may say otherwise
        ratios = np.zeros(distances.shape)
        np.divide(scattered[rows, None] + scatter, distances, out=ratios, where=distances > 0.0)
        largest: NDArray[np.float64] = ratios.max(axis=1)
        return largest

    return reduce_distances(mine, means, reduce)


@dataclass(frozen=True, eq=False, kw_only=True)
class Likeness(Tally):
    """For some groups, the largest ratio so far."""

    largest: Floats

    def __add__(self, other: Tally) -> Likeness:
        assert isinstance(other, Likeness)
        return Likeness(figures={}, largest=np.maximum(self.largest, other.largest))


@dataclass(frozen=True)
class _OfSample(DaviesBouldin):
    """Some groups against those of all shards."""

    why_whole: ClassVar[str] = ""

    scored: Sampled | None = None

    def tally(self, original: Panel, published: Panel) -> Likeness:
        """The largest ratio to a group of one shard."""
        assert self.scored is not None
        mine = self.scored.grouped
        grouped, numbers = self.scored.shard(original, published)
        found = _largest(mine.means, _scatter(mine), numbers, grouped.means, _scatter(grouped))
        return Likeness(figures={}, largest=found)

    def score(self, tally: Tally) -> Score:
        """Their mean."""
        assert isinstance(tally, Likeness)
        return self.as_score(tally.largest.mean())


def _scatter(grouped: Grouped) -> NDArray[np.float64]:
    """Mean distance of the series of each group from its mean; 0 for a group without any observed value."""
    squares = (grouped.features - grouped.means[grouped.labels]) ** 2
    observed = np.sum(~np.isnan(squares), axis=1)
    scale = squares.shape[1] / np.maximum(observed, 1)
    distances = np.sqrt(np.nansum(squares, axis=1) * scale)
    comparable = np.bincount(grouped.labels, weights=observed > 0, minlength=len(grouped.sizes))
    sums = np.bincount(grouped.labels, weights=distances, minlength=len(grouped.sizes))
    scatter: NDArray[np.float64] = sums / np.maximum(comparable, 1.0)
    return scatter
