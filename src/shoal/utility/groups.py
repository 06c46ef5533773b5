"""Groups as a release shows them, and the distances that judge them: shared by the measures of groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.features import FeatureName, Features, Standardized, find_features
from shoal.guarantees.crowds import published_classes
from shoal.model import Measure, Moments, Panel
from shoal.model.parameters import check_choice, check_whole
from shoal.model.score import Unit
from shoal.utility.cells import refuse_other_shapes
from shoal.utility.days import means_by

WORKING_MEMORY = 256  # MB of distances at a time


@dataclass(frozen=True, eq=False)
class Grouped:
    """Original series in features, and the group each was published in.

    Features are centred on the middle of their range and scaled so that the widest reaches from -1 to 1. Both indices
    are ratios of distances and are not affected; but scikit-learn computes distances from squares, which large offsets
    would swamp, and treats anything below 1e-8 as zero.
    """

    features: NDArray[np.float64]
    labels: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @cached_property
    def has_gaps(self) -> bool:
        """Whether some feature is missing."""
        return bool(np.isnan(self.features).any())

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """The mean of each group over what is observed, (groups, features); NaN where nothing is."""
        means: NDArray[np.float64] = means_by(self.labels, self.features[None])[0]
        return means

    @property
    def is_constant(self) -> bool:
        """Whether no feature distinguishes any two series."""
        return not np.any(self.features[~np.isnan(self.features)])


def group_series(original: Panel, published: Panel, features: FeatureName) -> Grouped:
    """Groups are the series published exactly alike; the originals say how well they belong together."""
    refuse_other_shapes(original, published)
    labels = published_labels(published)
    x = find_features(features)(original)
    return Grouped(_scaled(x, *_range(x)), labels, np.bincount(labels))


@dataclass(frozen=True, eq=False)
class Sampled:
    """Some series with their groups, for comparison with those of every shard on the scale of the sample."""

    features: Features
    middle: NDArray[np.float64]
    widest: float
    grouped: Grouped
    published: NDArray[np.float64]

    @classmethod
    def of(cls, original: Panel, published: Panel, name: FeatureName) -> Sampled:
        """Series of whole groups."""
        features = find_features(name)
        if isinstance(features, Standardized):
            features = Standardized(Moments.of(original.rows))
        x, labels = features(original), published_labels(published)
        middle, widest = _range(x)
        grouped = Grouped(_scaled(x, middle, widest), labels, np.bincount(labels))
        return cls(features, middle, widest, grouped, published.rows)

    def shard(self, original: Panel, published: Panel) -> tuple[Grouped, NDArray[np.int64]]:
        """The series of a shard in their groups, and for each group of the sample its number there, or -1."""
        refuse_other_shapes(original, published)
        both = published_labels(Panel(np.concatenate([self.published, published.rows]), copy=False))
        there, labels = np.unique(both[len(self.published) :], return_inverse=True)
        first = np.unique(self.grouped.labels, return_index=True)[1]
        numbers = np.searchsorted(there, both[first])
        known = there[np.minimum(numbers, len(there) - 1)] == both[first]
        x = _scaled(self.features(original), self.middle, self.widest)
        return Grouped(x, labels, np.bincount(labels)), np.where(known, numbers, -1)


@dataclass(frozen=True)
class GroupMeasure(Measure):
    """A measure of how well the series published alike belong together: of some series or groups against all."""

    judges: ClassVar[Literal["groups"]] = "groups"
    purpose: ClassVar[str] = "what goes together"
    unit: ClassVar[Unit] = "number"

    features: FeatureName = "raw"
    sample: int = 5000
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("features", self.features, FeatureName)
        check_whole("sample", self.sample, 1, "how many to measure")
        check_whole("seed", self.seed, 0)

    @property
    def sampled(self) -> int | None:
        """Series, in whole groups."""
        return int(self.sample)


def reduce_distances(
    x: NDArray[np.float64],
    others: NDArray[np.float64],
    reduce: Callable[[NDArray[np.float64], int], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """What `reduce` makes of the distances of rows from all others, given in chunks with the position of the first.

    Distances are over the features both have, scaled to all, as the methods take them.
    """
    from sklearn.metrics import pairwise_distances_chunked

    metric = "nan_euclidean" if np.isnan(x).any() or np.isnan(others).any() else "euclidean"
    chunks = pairwise_distances_chunked(x, others, reduce_func=reduce, metric=metric, working_memory=WORKING_MEMORY)
    return np.concatenate(list(chunks))


def published_labels(published: Panel) -> NDArray[np.int64]:
    """The group of each series as a number, by order of first appearance."""
    return np.unique(published_classes(published), return_inverse=True)[1].astype(np.int64)


def draw(n: int, sample: int, seed: int) -> NDArray[np.int64]:
    """All of n positions, or a random `sample` of them, in order."""
    if n <= sample:
        return np.arange(n, dtype=np.int64)
    return np.sort(np.random.default_rng(seed).choice(n, size=sample, replace=False)).astype(np.int64)


def _range(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """The middle of each feature, and half of the widest range."""
    low, high = np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)  # NaN only where nothing is observed
    return low / 2 + high / 2, float(np.fmax.reduce(high / 2 - low / 2))


def _scaled(x: NDArray[np.float64], middle: NDArray[np.float64], widest: float) -> NDArray[np.float64]:
    scaled: NDArray[np.float64] = x - middle
    if widest > 0.0:
        scaled /= widest
    return scaled
