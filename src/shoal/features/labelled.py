"""Pairs of series labelled similar or dissimilar: checked, partly held out, and used for judging."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.features.figures import LARGEST_SEED
from shoal.model.parameters import is_whole

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]
Booleans = NDArray[np.bool_]

FEWEST_OF_EACH = 5
"""The fewest similar and dissimilar pairs to learn from: a part of them must be held out."""

FEWEST_CURVES = 10
"""The fewest different series for which a learned metric is used."""

FOLDS = 3
"""Number of parts held out in turn; learning sees four ninths of the pairs, judging a third in total."""

COMMON = 3.0
"""A series is common if it occurs in more than this many times as many pairs as the median one: several rows are the
same series."""

JUDGED = 200
"""The desired number of held-out pairs: if one draw of the folds has fewer, folds are drawn repeatedly."""

_DRAWS = 50
_MOST_DRAWN = 4
_FEWEST_IN_FOLD = 1
_MOST_JACKKNIFE_GROUPS = 50


@dataclass(frozen=True, eq=False)
class Pairs:
    """Labelled pairs over different series.

    `series` has one row per different series, instants and channels side by side; `left` and `right` are positions in
    it.
    """

    series: Floats
    shape: tuple[int, ...]
    """Instants, and channels if there are any."""
    left: Positions
    right: Positions
    similar: Booleans

    @property
    def n_pairs(self) -> int:
        """How many pairs."""
        return len(self.left)

    def scale_of(self, inputs: Floats) -> float:
        """Root mean square of the differences in a pair over √2: about the deviation of one input, 1 if there is
        none."""
        apart = inputs[self.left] - inputs[self.right]
        return float(np.sqrt(np.mean(apart * apart) / 2)) or 1.0

    @cached_property
    def common(self) -> Booleans:
        """Which series occur in far more pairs than others."""
        times = np.bincount(np.concatenate([self.left, self.right]), minlength=len(self.series))
        common: Booleans = times > COMMON * np.median(times)
        return common

    def take(self, chosen: Booleans) -> Pairs:
        """Some of the pairs, over the same series."""
        return Pairs(self.series, self.shape, self.left[chosen], self.right[chosen], self.similar[chosen])

    def distances(self, mapped: Floats) -> Floats:
        """Distance of each pair, from the features of the series."""
        return row_norms(mapped[self.left] - mapped[self.right])

    def folds(self, seed: int) -> tuple[Fold, ...]:
        """Pairs to learn from and pairs to judge on, several times; each with both labels.

        A metric is biased on series it has seen, so the two have no series in common, and pairs with one series from
        each belong to neither; except for series that are COMMON, such as an empty day, which no metric will meet for
        the first time. Single pairs are held out only if this would leave a label out.
        """
        random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
        parts = self._parts()
        apart = int(np.bincount(parts).max()) <= self.n_pairs / (2 * FOLDS)
        for _ in range(_DRAWS):
            if apart:
                first = second = _evenly(random, int(parts.max()) + 1)[parts]
            else:
                number = np.where(self.common, -1, _evenly(random, len(self.series)))
                first, second = number[self.left], number[self.right]
            if found := self._cut(first, second):
                return found
        single = np.empty(self.n_pairs, dtype=np.int64)
        for label in (True, False):
            single[self.similar == label] = _evenly(random, int((self.similar == label).sum()))
        return self._cut(single, single)

    def drawn_folds(self, seed: int) -> tuple[tuple[Fold, ...], ...]:
        """The folds, drawn several times if labels are few: one draw says too little to choose by."""
        n_draws = min(_MOST_DRAWN, -(-JUDGED * FOLDS // self.n_pairs))
        seeds = np.random.SeedSequence(seed, spawn_key=(3,)).generate_state(n_draws)
        return (self.folds(seed), *(self.folds(int(other)) for other in seeds[1:]))

    def _cut(self, first: Positions, second: Positions) -> tuple[Fold, ...]:
        """The folds, from the fold of either end of each pair; none if a label is too rare in one."""
        folds = []
        for fold in range(FOLDS):
            kept = (first != fold) & (second != fold)
            held = np.isin(first, (fold, -1)) & np.isin(second, (fold, -1)) & ~kept
            if any(
                (self.similar[part] == label).sum() < _FEWEST_IN_FOLD
                for part in (kept, held)
                for label in (True, False)
            ):
                return ()
            folds.append(Fold(self.take(kept), self.take(held)))
        return tuple(folds)

    def _parts(self) -> Positions:
        """For each pair, the connected component of the graph it lies in; components have no series in common."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        n = len(self.series)
        graph = coo_matrix((np.ones(self.n_pairs), (self.left, self.right)), shape=(n, n))
        labels = connected_components(graph, directed=False)[1]
        return np.unique(labels[self.left], return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Fold:
    """Pairs to learn from, and others to judge on."""

    train: Pairs
    held: Pairs


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out pairs with their learned distances."""

    held: Pairs
    learned: Floats

    @cached_property
    def euclidean(self) -> Floats:
        """Their distances without learning."""
        return self.held.distances(self.held.series)


def _evenly(random: np.random.Generator, n: int) -> Positions:
    """A fold for each of n, as balanced as possible."""
    return random.permutation(n) % FOLDS


def as_pairs(left: Any, right: Any, similar: Any) -> Pairs:
    """Check what someone labelled."""
    a, b = as_series(left, "left"), as_series(right, "right")
    if a.shape != b.shape:
        raise InputError(f"left and right must have the same shape, found {a.shape} and {b.shape}.")
    labels = np.asarray(similar)
    if labels.shape != a.shape[:1]:
        raise InputError(f"similar needs one label for each of {len(a)} pairs, found an array of shape {labels.shape}.")
    if labels.dtype.kind != "b":
        if labels.dtype.kind not in "iuf" or not np.isin(labels, (0, 1)).all():
            raise InputError("similar must be booleans: True if the two series of a pair are alike.")
        labels = labels.astype(bool)
    n_similar = int(labels.sum())
    if min(n_similar, len(labels) - n_similar) < FEWEST_OF_EACH:
        raise ParameterError(
            f"Learning needs at least {FEWEST_OF_EACH} similar and {FEWEST_OF_EACH} dissimilar pairs, found "
            f"{n_similar} and {len(labels) - n_similar}. Label more pairs."
        )
    both = np.concatenate([a, b]).reshape(2 * len(a), -1)
    series, where = np.unique(both, axis=0, return_inverse=True)
    where = where.reshape(-1).astype(np.int64)
    return Pairs(series, a.shape[1:], where[: len(a)], where[len(a) :], labels)


def as_series(values: Any, what: str = "values") -> Floats:
    """An array (series, instants) or (series, instants, channels) without gaps, as float64."""
    try:
        found = np.asarray(values)
    except (TypeError, ValueError):  # numpy may quote values; ours must not
        found = np.empty(0, dtype=object)
    if found.dtype.kind not in "biuf" or found.ndim not in (2, 3) or 0 in found.shape:
        raise InputError(f"{what} must be an array of numbers (series, instants) or (series, instants, channels).")
    x = np.ascontiguousarray(found, dtype=np.float64)
    bad = ~np.isfinite(x.reshape(len(x), -1)).all(axis=1)
    if n_bad := int(bad.sum()):
        raise InputError(
            f"Learned metrics and interests need complete series; {n_bad} of {len(x)} series of {what} have missing or "
            f"infinite values, the first at position {int(bad.argmax())}. Read the panel with `missing` set to "
            "'drop-series', 'drop-instants' or 'interpolate:2h'."
        )
    return x


def row_norms(x: Floats) -> Floats:
    """Euclidean length of each row."""
    norms: Floats = np.sqrt(np.einsum("ij,ij->i", x, x))
    return norms


def score(distances: Floats, similar: Booleans) -> float:
    """The chance that a dissimilar pair is farther apart than a similar one, ties counting half: 1 is perfect."""
    from scipy.stats import rankdata

    n_apart, n_similar = int((~similar).sum()), int(similar.sum())
    if not n_apart or not n_similar:
        return 0.5
    ranks = rankdata(distances)
    return float((ranks[~similar].sum() - n_apart * (n_apart + 1) / 2) / (n_apart * n_similar))


def expected_gain(pairs: Pairs, folds: Sequence[HeldOut]) -> tuple[float, float]:
    """How much better the learned distances score than Euclidean ones on held-out pairs, and the standard error.

    The mean over the folds of score(learned) - score(Euclidean), of pairs whose series nothing was learned from.
    The error is the jackknife's over groups of series: pairs that share a series do not count as independent. Common
    series stay in: they are not one but many.
    """
    n_groups = min(int((~pairs.common).sum()), _MOST_JACKKNIFE_GROUPS)
    group = np.full(len(pairs.series), -2)
    # Series are sorted, so neighbours are similar: every group gets some of each kind.
    group[~pairs.common] = np.arange(int((~pairs.common).sum())) % n_groups

    def gain(without: int) -> float:
        gains = []
        for fold in folds:
            rest = (group[fold.held.left] != without) & (group[fold.held.right] != without)
            labels = fold.held.similar[rest]
            gains.append(score(fold.learned[rest], labels) - score(fold.euclidean[rest], labels))
        return float(np.mean(gains))

    leave_out = np.array([gain(g) for g in range(n_groups)])
    spread = leave_out - leave_out.mean()
    return gain(-1), float(np.sqrt((n_groups - 1) / n_groups * np.sum(spread * spread)))


def conclude(pairs: Pairs, folds: Sequence[HeldOut]) -> dict[str, Any]:
    """The figures of a learned metric, from its distances on held-out pairs; it is used if its expected gain is
    positive.

    No margin is required: choosing between two metrics is a decision under uncertainty, and the one that scores better
    on held-out pairs is used, however uncertain. A margin of two standard errors does no better on public days, and
    forgoes the gain from label tasks with ten curves or more. With fewer curves, the score says little about the loss,
    which was 13 % larger with metrics chosen this way: none is used (docs/results/pad.md).
    """
    gain, error = expected_gain(pairs, folds)
    return {
        "used": bool(gain > 0.0 and len(pairs.series) >= FEWEST_CURVES),
        "n_curves": len(pairs.series),
        "n_pairs": pairs.n_pairs,
        "n_similar": int(pairs.similar.sum()),
        "n_held_out": len({pair for fold in folds for pair in zip(fold.held.left, fold.held.right, strict=True)}),
        "held_out_learned": round(float(np.mean([score(fold.learned, fold.held.similar) for fold in folds])), 6),
        "held_out_euclidean": round(float(np.mean([score(fold.euclidean, fold.held.similar) for fold in folds])), 6),
        "held_out_error": round(error, 6),
    }


def refuse_seed(seed: int) -> None:
    """Refuse seeds that are not whole numbers in the range the figures can hold."""
    if not is_whole(seed, 0) or seed >= LARGEST_SEED:
        raise ParameterError("seed must be a whole number of at least 0 and below 2**128.")


@contextmanager
def one_thread() -> Iterator[None]:
    """Run small products on one thread: faster than synchronising, and the same bits on any number of cores."""
    # These bring their own BLAS and OpenMP, which can be limited only once loaded.
    import scipy.optimize  # noqa: F401
    import sklearn.cluster  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield
