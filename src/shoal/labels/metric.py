"""From labels to a metric, and what each label contributed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features import AutoMetric, DeepMetric, Learned, LinearMetric
from shoal.features.labelled import FEWEST_OF_EACH, Fold, HeldOut, Pairs, as_pairs, expected_gain, one_thread, score
from shoal.features.linear_metric import mixture, scale_inputs
from shoal.features.linear_objectives import SOLVERS
from shoal.labels.labels import Decided, Labels, decided_pairs, labelled_pairs
from shoal.model.parameters import check_choice, check_whole

if TYPE_CHECKING:
    from shoal.labels.task import LabelTask

Metric = Literal["auto", "linear", "deep"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CurvePoint:
    """How well a metric learned from the first labels separates dissimilar from similar pairs of unseen series.

    Parameters
    ----------
    n_labels
        Number of labels given by then, including undecided ones and repetitions.
    learned, euclidean
        The chance that a dissimilar pair is farther apart than a similar one, by the learned distance and by the
        Euclidean one: 0.5 is guessing, 1 perfect.
    error
        Standard error of the difference between the two.
    """

    n_labels: int
    learned: float
    euclidean: float
    error: float


def learn(task: LabelTask, labels: Labels, metric: Metric = "auto", seed: int = 0) -> Learned:
    """Learn a metric from all labels: features for `Microaggregation(features=...)`.

    The metric is used if its expected gain over Euclidean distance on pairs of held-out series is positive
    (`Learned.used`, `Learned.statement`). For a pre-sanitised task, it remembers who was shown together, whether used
    or not: groups by it are formed within those (`Learned.shown`).

    Parameters
    ----------
    task, labels
        What was asked and answered.
    metric
        "auto": `AutoMetric`, whichever does best on held-out pairs. "linear": `LinearMetric`, quick, needs few labels.
        "deep": `DeepMetric`, a network; needs some hundred labels and the extra `deep`.
    seed
        Seeds the learning.
    """
    method, pairs = _method(metric, seed), labelled_pairs(task, labels)
    if not len(pairs.similar):
        raise ParameterError(
            f"Learning needs at least {FEWEST_OF_EACH} similar and {FEWEST_OF_EACH} dissimilar pairs, but none is "
            "decided. Label pairs first."
        )
    return replace(method.learn(*pairs), shown=task.shown_groups)


def curve(
    task: LabelTask, labels: Labels, metric: Metric = "auto", steps: int = 8, *, seed: int = 0
) -> list[CurvePoint]:
    """What each label contributed: the held-out score when only the first labels had been given.

    Points are at all labels, at half of them, at a quarter, … and halfway between. All are judged on the same pairs, of
    series that learning has not seen; with choice="active", on uniformly drawn pairs, because pairs chosen for being
    hard say little about the others. A linear metric uses the settings found with all labels, and "auto" means linear.
    Points with too few labels to learn from are left out; there may be none.

    A deep metric is learned three times for each point, which takes a minute; a linear one a second.
    """
    check_whole("steps", steps, 1)
    method = _method(metric, seed)
    decided = decided_pairs(labels)
    if not _enough(decided.similar):
        return []
    pairs = as_pairs(*labelled_pairs(task, labels))
    number = _numbers(pairs)
    uniform = number[_drawn_uniformly(task, labels, decided)]
    folds = [Fold(fold.train, fold.held.take(np.isin(_numbers(fold.held), uniform))) for fold in pairs.folds(seed)]
    if any(fold.held.similar.all() or not fold.held.similar.any() for fold in folds):
        return []
    given = _first_given(labels, decided)
    distances = _deep(method) if isinstance(method, DeepMetric) else _linear(LinearMetric(seed=seed), pairs)
    points = []
    for n in _sizes(len(labels), steps):
        early = number[given < n]
        trained = [fold.train.take(np.isin(_numbers(fold.train), early)) for fold in folds]
        if all(_enough(train.similar) for train in trained):
            judged = [
                HeldOut(fold.held, distances(train, fold.held)) for fold, train in zip(folds, trained, strict=True)
            ]
            points.append(_point(n, pairs, judged))
    return points


def _method(metric: Metric, seed: int) -> AutoMetric | LinearMetric | DeepMetric:
    check_choice("metric", metric, Metric)
    if metric == "auto":
        return AutoMetric(seed=seed)
    return LinearMetric(seed=seed) if metric == "linear" else DeepMetric(seed=seed)


def _enough(similar: NDArray[np.bool_]) -> bool:
    n_similar = int(similar.sum())
    return min(n_similar, len(similar) - n_similar) >= FEWEST_OF_EACH


def _numbers(pairs: Pairs) -> NDArray[np.int64]:
    """A fold number for each pair, the same in every subset."""
    return pairs.left * len(pairs.series) + pairs.right


def _first_given(labels: Labels, found: Decided) -> NDArray[np.int64]:
    """Number of labels given before the first that decided a pair."""
    first: dict[tuple[int, int], int] = {}
    for at, label in enumerate(labels):
        if label.decided:
            first.setdefault(label.pair, at)
    return np.array([first[pair] for pair in _ends(found)], dtype=np.int64)


def _drawn_uniformly(task: LabelTask, labels: Labels, found: Decided) -> NDArray[np.bool_]:
    """Which pairs were drawn before anyone answered; all if none was, because there is nothing else to judge on."""
    planned = {question.pair for analyst in labels.analysts for question in task.plan(analyst)}
    drawn = np.array([pair in planned for pair in _ends(found)], dtype=np.bool_)
    return drawn if drawn.any() else ~drawn


def _ends(found: Decided) -> list[tuple[int, int]]:
    return list(zip(found.left.tolist(), found.right.tolist(), strict=True))


def _sizes(n_labels: int, steps: int) -> list[int]:
    """All labels, and repeated halves with one step between, smallest first."""
    return sorted({int(n_labels * 2.0 ** (-at / 2)) for at in range(steps)})


def _linear(method: LinearMetric, pairs: Pairs) -> Callable[[Pairs, Pairs], Floats]:
    """Distances of held-out pairs by a linear metric with the settings chosen on all pairs."""
    left, right = (pairs.series[ends].reshape(-1, *pairs.shape) for ends in (pairs.left, pairs.right))
    learned = method.learn(left, right, pairs.similar)
    settings = learned.figures
    solve = SOLVERS[settings["objective"], settings["form"]]
    x, _, _ = scale_inputs(pairs, learned.inputs)

    def distances(train: Pairs, held: Pairs) -> Floats:
        with one_thread():
            mapped = x @ solve(x, train, settings["penalty"]).T
            own, plain = mixture(train, train.distances(mapped), settings["euclidean_share"])
            return np.hypot(own * held.distances(mapped), plain * held.distances(held.series))

    return distances


def _deep(method: DeepMetric) -> Callable[[Pairs, Pairs], Floats]:
    """Distances of held-out pairs by a deep metric, whether or not it would be used."""

    def distances(train: Pairs, held: Pairs) -> Floats:
        series = train.series.reshape(-1, *train.shape)
        learned = method.learn(series[train.left], series[train.right], train.similar)
        tried = replace(learned, figures=learned.figures | {"used": True})
        return tried.distances(series[held.left], series[held.right])

    return distances


def _point(n: int, pairs: Pairs, judged: list[HeldOut]) -> CurvePoint:
    return CurvePoint(
        n_labels=n,
        learned=round(float(np.mean([score(fold.learned, fold.held.similar) for fold in judged])), 6),
        euclidean=round(float(np.mean([score(fold.euclidean, fold.held.similar) for fold in judged])), 6),
        error=round(expected_gain(pairs, judged)[1], 6),
    )
