"""What experiments/pad_paper.py measures without a learned metric: predictions, statistics, times."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pad_paper_data import Floats, Sets
from pad_paper_plan import Plan

from shoal import Microaggregation, Panel
from shoal.features import DeepMetric
from shoal.features.interests import Arrival, Departure, TimeOccupied, label_pairs
from shoal.methods.algorithms import Algorithm
from shoal.utility import OccupancyError, Prediction
from shoal.utility.occupancy_error import Statistic
from shoal.utility.prediction import Learner

LEARNERS: dict[Learner, str] = {"knn": "kNN", "svm": "SVM"}
STATISTICS: dict[Statistic, Any] = {"arrival": Arrival(), "departure": Departure(), "occupied": TimeOccupied()}
ALGORITHMS: tuple[Algorithm, ...] = ("k-ward", "auto")  # the paper's, and what Microaggregation does by default


@dataclass
class Predicted:
    """Accuracies on one set, by learner and k."""

    original: dict[str, float] = field(default_factory=dict)
    published: dict[tuple[str, int], float] = field(default_factory=dict)
    """Days that are asked about were left out before the others were anonymised."""
    together: dict[tuple[str, int], float] = field(default_factory=dict)
    """All days were anonymised together and then split, as in the paper."""


@dataclass
class Described:
    """Statistics of one set: histograms of the originals, and for each k those published and their errors."""

    original: dict[str, Floats] = field(default_factory=dict)
    published: dict[tuple[str, int], Floats] = field(default_factory=dict)
    error: dict[tuple[str, int], float] = field(default_factory=dict)
    apart: dict[tuple[str, int], float] = field(default_factory=dict)
    variety: dict[tuple[str, int], float] = field(default_factory=dict)
    """Standard deviation of the published statistic as a share of the original one's."""


@dataclass
class Times:
    """Seconds of microaggregation by what is varied, and of deep learning by pairs and dimension."""

    grouping: dict[tuple[str, str, int], float] = field(default_factory=dict)
    learning: dict[tuple[int, int], float] = field(default_factory=dict)


def predict(sets: Sets, plan: Plan, seed: int) -> dict[str, Predicted]:
    """Figure 5, on every set of presence."""
    return {name: _predict(sets.days[name], plan, seed) for name in sets.of("presence")}


def _predict(days: Floats, plan: Plan, seed: int) -> Predicted:
    found = Predicted()
    part = np.random.default_rng([seed, 2]).permutation(len(days)) % plan.folds
    whole = {k: _anonymize(days, k) for k in plan.ks}
    for learner in LEARNERS:
        accuracy = Prediction(learner).accuracy

        def over_folds(learned_from: Callable[[Floats], Floats], ask: Callable[[Floats, Floats], float] = accuracy):
            right = [ask(learned_from(part != fold), days[part == fold]) for fold in range(plan.folds)]
            return float(np.average(right, weights=np.bincount(part)))

        found.original[learner] = over_folds(lambda others: days[others])
        for k in plan.ks:
            found.published[learner, k] = over_folds(lambda others, k=k: _anonymize(days[others], k))
            found.together[learner, k] = over_folds(lambda others, k=k: whole[k][others])
    return found


def _anonymize(days: Floats, k: int) -> Floats:
    candidate = Microaggregation(k=k, round_to="binary").anonymize(Panel(days))
    assert candidate.check().holds
    return candidate.values


def describe(sets: Sets, plan: Plan) -> dict[str, Described]:
    """Figures 6 and 7, on every set of presence, all days anonymised."""
    return {name: _describe(sets.days[name], plan) for name in sets.of("presence")}


def _describe(days: Floats, plan: Plan) -> Described:
    found, original = Described(), Panel(days)
    for k in plan.ks:
        published = Panel(_anonymize(days, k))
        for name, interest in STATISTICS.items():
            histogram = OccupancyError(name, "histogram")
            found.original[name] = histogram.histogram(original)
            found.published[name, k] = histogram.histogram(published)
            found.apart[name, k] = histogram.measure(original, published).value
            found.error[name, k] = OccupancyError(name).measure(original, published).value
            before, after = (interest.of(panel.values).std() for panel in (original, published))
            found.variety[name, k] = float(after / before)
    return found


def take_times(plan: Plan, seed: int) -> Times:
    """Figures 12 and 13: seconds of the processor, compiling left out."""
    found = Times()
    rng = np.random.default_rng([seed, 3])
    n, m, k = plan.usual
    varied = {"n": [(size, m, k) for size in plan.sizes], "m": [(n, size, k) for size in plan.dimensions]}
    varied["k"] = [(n, m, crowd) for crowd in plan.crowds]
    for algorithm in ALGORITHMS:
        for what, places in varied.items():
            for place in places:
                panel = Panel(rng.normal(size=place[:2]))
                method = Microaggregation(k=place[2], algorithm=algorithm, threads=1)
                method.anonymize(Panel(panel.values[: 4 * place[2]]))  # compiles
                found.grouping[algorithm, what, place["nmk".index(what)]] = min(
                    _seconds(lambda method=method, panel=panel: method.anonymize(panel)) for _ in range(plan.takes)
                )
    learner = DeepMetric(passes=plan.passes, patience=plan.passes, seed=seed)
    for width in plan.widths:
        days = (rng.random((120, width)) < 8.0 / width).astype(np.float64)
        for n_pairs in plan.pairs:
            pairs = label_pairs(days, Arrival(), n_pairs=n_pairs, seed=seed)
            if (n_pairs, width) == (plan.pairs[0], plan.widths[0]):
                learner.learn(*pairs)  # loads torch
            found.learning[n_pairs, width] = _seconds(lambda pairs=pairs: learner.learn(*pairs))
    return found


def _seconds(call: Callable[[], object]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun
