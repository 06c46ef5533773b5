"""How much nearer series are to their own group than to the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.features import FeatureName
from shoal.model import Measure, Panel, Score
from shoal.model.measure import Goal
from shoal.model.score import Unit
from shoal.utility.groups import WORKING_MEMORY, Grouped, check_parameters, draw, group_series


@dataclass(frozen=True)
class Silhouette(Measure):
    """Mean silhouette of the series: how much nearer each is to its own group than to the next one.

    s(i) = (b(i) - a(i)) / max(a(i), b(i)); a(i) = mean distance to the other series of its group, b(i) = the smallest
    mean distance to the series of another group. Groups are the series published exactly alike, distances are those
    of the originals in `features`. 1: groups are tight and far apart; 0: they touch; below 0: series sit in the wrong
    group. A series alone in its group has s = 0. So the value is 0 when there is one group only, when all are alone,
    and when all originals are the same: there is nothing to compare.

    Above `sample` series only that many, drawn at random, are scored, but each against all series of all groups.
    Leaving out rows would thin the groups, and leaving out whole groups would remove rivals and flatter the rest;
    this leaves the mean without bias. `note` says so for a release, `per_series` which series were drawn.

    Missing values: distances are over the features both series have, scaled to all, as Microaggregation takes them;
    pairs with none in common are left out of the means. "haar" refuses series with gaps.

    Parameters
    ----------
    features
        In what series are compared: the values as they are, every instant on one scale, shapes without level, or Haar
        energy shares. Choose what the release is for, which need not be what the groups were formed on.
    sample
        Most series scored. More is more exact and takes time and memory in proportion.
    seed
        Which series are drawn, where they are.

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
    judges: ClassVar[Literal["groups"]] = "groups"
    purpose: ClassVar[str] = "what goes together"
    unit: ClassVar[Unit] = "number"
    goal: ClassVar[Goal] = "higher"
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    why_whole: ClassVar[str] = "compares every series with all groups, and on a part of them it would flatter"

    features: FeatureName = "raw"
    sample: int = 5000
    seed: int = 0

    def __post_init__(self) -> None:
        check_parameters(self.features, self.sample, self.seed)

    def measure(self, original: Panel, published: Panel) -> Score:
        """Judge the groups of panels whose rows are in the same order."""
        values, _ = self.per_series(original, published)
        return self.as_score(values.mean())

    def per_series(self, original: Panel, published: Panel) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The silhouette of each scored series and its position: all positions up to `sample`, else those drawn."""
        grouped = group_series(original, published, self.features)
        positions = draw(original.n_series, self.sample, self.seed)
        # scikit-learn refuses these; a series without neighbours or rivals has silhouette 0 by convention.
        if len(grouped.sizes) in (1, original.n_series) or grouped.is_constant:
            return np.zeros(len(positions)), positions
        if len(positions) == original.n_series and not grouped.has_gaps:
            from sklearn.metrics import silhouette_samples

            return np.asarray(silhouette_samples(grouped.features, grouped.labels), dtype=np.float64), positions
        return silhouettes(grouped, positions), positions

    def note(self, published: Panel) -> str:
        """What a report must say about sampling; empty when every series was scored."""
        if published.n_series <= self.sample:
            return ""
        return (
            f"estimated from {self.sample} of {published.n_series} series, drawn with seed {self.seed}, "
            "each compared with all"
        )


def silhouettes(grouped: Grouped, positions: NDArray[np.int64]) -> NDArray[np.float64]:
    """Silhouettes of some series against all, also with gaps: what scikit-learn's silhouette does not offer."""
    from sklearn.metrics import pairwise_distances_chunked

    order = np.argsort(grouped.labels, kind="stable")  # groups side by side, so that their sums are slices
    starts = np.cumsum(grouped.sizes) - grouped.sizes
    column_of = np.empty_like(order)
    column_of[order] = np.arange(len(order))

    def reduce(distances: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        chosen = positions[first : first + len(distances)]
        each, own = np.arange(len(chosen)), grouped.labels[chosen]
        distances[each, column_of[chosen]] = 0.0  # from itself; rounding may say otherwise
        counts: NDArray[Any] = np.broadcast_to(grouped.sizes, (len(chosen), len(starts)))
        if grouped.has_gaps:
            comparable = ~np.isnan(distances)
            distances[~comparable] = 0.0
            counts = np.add.reduceat(comparable, starts, axis=1, dtype=np.int64)
        sums = np.add.reduceat(distances, starts, axis=1)
        inside = sums[each, own] / np.maximum(counts[each, own] - 1, 1)
        outside = np.divide(sums, counts, out=np.full(sums.shape, np.inf), where=counts > 0)
        outside[each, own] = np.inf
        nearest = outside.min(axis=1)
        defined = (counts[each, own] > 1) & np.isfinite(nearest)
        larger = np.maximum(inside, nearest)
        found: NDArray[np.float64] = np.zeros(len(chosen))
        np.divide(nearest - inside, larger, out=found, where=defined & (larger > 0.0))
        return found

    x = grouped.features
    chunks = pairwise_distances_chunked(
        x[positions], x[order], reduce_func=reduce, metric=grouped.metric, working_memory=WORKING_MEMORY
    )
    return np.concatenate(list(chunks))
