"""Learned metrics in experiments/pad_paper.py: loss by k, correlation with the true distances, labels against loss."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from pad_paper_data import ASKED, INTERESTS, KINDS, Floats, Sets
from pad_paper_plan import Plan

from shoal import Microaggregation, Panel
from shoal.features import DeepMetric, Learned, LinearMetric
from shoal.features.interests import Interest, LabelledPairs, label_pairs
from shoal.features.labelled import FEWEST_OF_EACH
from shoal.utility import InterestLoss

GENERIC, LINEAR, DEEP, TRUTH = "generic", "linear", "deep", "wanted"
METRICS = (GENERIC, LINEAR, DEEP, TRUTH)
LEARNED = (LINEAR, DEEP)  # always used, as in the paper
RULED = {LINEAR: "linear, if sure", DEEP: "deep, if sure"}  # Shoal's rule: where better beyond chance, else generic
PUBLIC, PRESANITISED = "public", "pre-sanitised"
TRAININGS = (PUBLIC, PRESANITISED)


@dataclass
class Task:
    """One interest on one set; every list has one figure for each repetition."""

    name: str
    interest: str
    loss: dict[tuple[str, str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    correlation: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    few: dict[tuple[str, str, int], int] = field(default_factory=lambda: defaultdict(int))
    """How often pairs were too few to learn from, so that the generic metric took the place of the learned one."""
    unsure: dict[tuple[str, str, int], int] = field(default_factory=lambda: defaultdict(int))
    """How often a metric was learned, and not better than the Euclidean distance beyond chance."""
    by_labels: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    n_private: int = 0
    n_pairs: int = 0

    def mean(self, training: str, metric: str, k: int) -> float:
        """Mean loss over the repetitions."""
        return float(np.mean(self.loss[training, metric, k]))

    def spread(self, training: str, metric: str, k: int) -> float:
        """Standard deviation of the loss over the repetitions."""
        return float(np.std(self.loss[training, metric, k]))

    def ratio(self, training: str, metric: str, k: int) -> float:
        """Mean over the repetitions of the loss as a share of the generic metric's."""
        pairs = zip(self.loss[training, metric, k], self.loss[training, GENERIC, k], strict=True)
        # Where the generic metric loses nothing there is nothing to gain.
        return float(np.mean([own / generic if generic > 0.0 else 1.0 for own, generic in pairs]))

    def correlated(self, training: str, metric: str) -> float:
        """Mean correlation over the repetitions."""
        return float(np.mean(self.correlation[training, metric]))


def learn_all(sets: Sets, plan: Plan, seed: int) -> dict[tuple[str, str], Task]:
    """Every interest on every set."""
    tasks = {}
    for name, days in sets.days.items():
        for interest in ASKED[KINDS[name]]:
            task = tasks[name, interest] = Task(name, interest)
            for repetition in range(plan.repetitions):
                source = np.random.SeedSequence([seed, repetition])
                repeat(task, days, plan, source, count_labels=name == sets.main(KINDS[name]))
    return tasks


def repeat(task: Task, days: Floats, plan: Plan, source: np.random.SeedSequence, *, count_labels: bool) -> None:
    """One repetition: the days are halved by chance, one half is to be published, the other is public."""
    order = np.random.default_rng(source).permutation(len(days))
    private, public = (days[half] for half in np.array_split(order, 2))
    interest, number = INTERESTS[task.interest], int(source.generate_state(1)[0] % 2**31)
    pairs = label_pairs(public, interest, n_pairs=plan.n_pairs, seed=number)
    task.n_private, task.n_pairs = len(private), len(pairs.left)
    metrics = {GENERIC: "raw", TRUTH: _wanted(interest)}
    for kind in LEARNED:
        metrics |= _learn(task, kind, PUBLIC, 0, pairs, number)
    truth = _pair_distances(private, interest.of)
    for kind in (GENERIC, *LEARNED):
        task.correlation[PUBLIC, kind].append(_correlate(metrics[kind], private, truth))
    for k in plan.ks:
        shown = _publish(task, private, "raw", k).values
        again = label_pairs(np.unique(shown, axis=0), interest, n_pairs=plan.n_pairs, seed=number)
        own = {GENERIC: metrics[GENERIC], TRUTH: metrics[TRUTH]}
        for kind in LEARNED:
            own |= _learn(task, kind, PRESANITISED, k, again, number)
            if k == plan.middle:
                task.correlation[PRESANITISED, kind].append(_correlate(own[kind], private, truth))
        for training, features in ((PUBLIC, metrics), (PRESANITISED, own)):
            for kind, lost in _losses(task, private, features, k).items():
                task.loss[training, kind, k].append(lost)
    if count_labels:
        _by_labels(task, private, pairs, plan, number)


def _by_labels(task: Task, private: Floats, pairs: LabelledPairs, plan: Plan, seed: int) -> None:
    """Loss when only some of the pairs were labelled."""
    order = np.random.default_rng([seed, 1]).permutation(len(pairs.left))
    for n in plan.labels:
        if n > len(order):
            continue
        some = LabelledPairs(*(part[order[:n]] for part in pairs))
        for kind in LEARNED:
            found = _losses(task, private, _learn(task, kind, "labels", n, some, seed), plan.middle)
            for metric, lost in found.items():
                task.by_labels[metric, n].append(lost)


def _learn(task: Task, kind: str, training: str, k: int, pairs: LabelledPairs, seed: int) -> dict[str, Any]:
    """The learned metric as it is and under Shoal's rule; the generic one for both where pairs are too few."""
    n_similar = int(pairs.similar.sum())
    if min(n_similar, len(pairs.similar) - n_similar) < FEWEST_OF_EACH:
        task.few[training, kind, k] += 1
        return {kind: "raw", RULED[kind]: "raw"}
    learned = (LinearMetric(seed=seed) if kind == LINEAR else DeepMetric(seed=seed)).learn(*pairs)
    if learned.used:
        return {kind: learned, RULED[kind]: learned}
    task.unsure[training, kind, k] += 1
    return {kind: replace(learned, figures=learned.figures | {"used": True}), RULED[kind]: "raw"}


def _wanted(interest: Interest) -> Any:
    return lambda panel: interest.of(panel.values)


def _publish(task: Task, private: Floats, features: Any, k: int) -> Panel:
    rounding: Any = "binary" if KINDS[task.name] == "presence" else None
    candidate = Microaggregation(k=k, features=features, round_to=rounding).anonymize(Panel(private))
    assert candidate.check().holds
    return Panel(candidate.values)


def _losses(task: Task, private: Floats, metrics: dict[str, Any], k: int) -> dict[str, float]:
    """Loss on the interest under each metric; the same metric under two names is asked once."""
    found: dict[int, float] = {}
    measure = InterestLoss(INTERESTS[task.interest].of)
    for features in metrics.values():
        if id(features) not in found:
            published = _publish(task, private, features, k)
            found[id(features)] = measure.measure(Panel(private), published).value
    return {name: found[id(features)] for name, features in metrics.items()}


def _pair_distances(values: Floats, of: Any) -> Floats:
    i, j = np.triu_indices(len(values), 1)
    mapped = of(values)
    apart: Floats = np.sqrt(((mapped[i] - mapped[j]) ** 2).sum(axis=1))
    return apart


def _correlate(features: Learned | str, private: Floats, truth: Floats) -> float:
    """Pearson correlation with the true distances over all pairs of the private days."""
    found = _pair_distances(private, features.transform if isinstance(features, Learned) else np.asarray)
    return float(np.corrcoef(found, truth)[0, 1])
