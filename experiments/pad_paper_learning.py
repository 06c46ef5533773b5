"""Learned metrics in experiments/pad_paper.py: loss by k, correlation with the true distances, labels against loss."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from pad_paper_data import INTERESTS, KINDS, Floats
from pad_paper_plan import Plan

from shoal import Microaggregation, Panel
from shoal.features import DeepMetric, Learned, LinearMetric
from shoal.features.interests import Interest, LabelledPairs, label_pairs
from shoal.features.labelled import FEWEST_OF_EACH
from shoal.utility import InterestLoss

GENERIC, LINEAR, DEEP, TRUTH, DEFAULT = "generic", "linear", "deep", "wanted", "default"
VALUES, TIME = "values", "time"
INPUTS = (VALUES, TIME)


def named(kind: str, inputs: str) -> str:
    """A metric and what it is given."""
    return f"{kind}, {inputs}"


LEARNED = tuple(named(kind, inputs) for inputs in INPUTS for kind in (LINEAR, DEEP))  # always used, as in the paper
METRICS = (GENERIC, *LEARNED, DEFAULT, TRUTH)
PUBLIC, PRESANITISED = "public", "pre-sanitised"
TRAININGS = (PUBLIC, PRESANITISED)


class Judgement(NamedTuple):
    """What held-out labels said of a learned metric: its expected gain over Euclidean distance, and the error."""

    gain: float
    error: float


@dataclass
class Task:
    """One interest on one set; every list has one figure for each repetition."""

    name: str
    interest: str
    loss: dict[tuple[str, str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    """By training, metric and k. From pre-sanitised days, groups are formed within those shown, by every metric."""
    correlation: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    judged: dict[tuple[str, str, int], list[Judgement | None]] = field(default_factory=lambda: defaultdict(list))
    """None where pairs were too few to learn from, so that the generic metric took the place of the learned one."""
    by_labels: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    n_curves: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By k: how many different curves a label task showed."""
    n_private: int = 0
    n_pairs: int = 0

    def add(self, other: "Task") -> None:
        """Append further repetitions."""
        for name in ("loss", "correlation", "judged", "by_labels", "n_curves"):
            mine = getattr(self, name)
            for place, figures in getattr(other, name).items():
                mine[place].extend(figures)
        self.n_private, self.n_pairs = other.n_private, other.n_pairs

    def learned(self, training: str, k: int) -> bool:
        """Whether there were enough pairs to learn from in any repetition; else learned metrics are the generic one."""
        return any(judged is not None for judged in self.judged[training, LEARNED[0], 0 if training == PUBLIC else k])

    def mean(self, training: str, metric: str, k: int) -> float:
        """Mean loss over the repetitions."""
        return float(np.mean(self.loss[training, metric, k]))

    def spread(self, training: str, metric: str, k: int) -> float:
        """Standard deviation of the loss over the repetitions."""
        return float(np.std(self.loss[training, metric, k]))

    def ratio(self, training: str, metric: str, k: int) -> float:
        """Mean over the repetitions of the loss as a share of that of a generic release without a label task."""
        return float(np.mean(shares(self.loss[training, metric, k], self.loss[PUBLIC, GENERIC, k])))

    def correlated(self, training: str, metric: str) -> float:
        """Mean correlation over the repetitions."""
        return float(np.mean(self.correlation[training, metric]))


def shares(own: list[float], generic: list[float]) -> list[float]:
    """Losses as shares of others; where those are nothing there is nothing to gain."""
    return [a / b if b > 0.0 else 1.0 for a, b in zip(own, generic, strict=True)]


def repeat(name: str, interest: str, days: Floats, plan: Plan, seed: int, repetition: int, *, count: bool) -> Task:
    """One repetition: the days are halved by chance, one half is to be published, the other is public."""
    task, source = Task(name, interest), np.random.SeedSequence([seed, repetition])
    order = np.random.default_rng(source).permutation(len(days))
    private, public = (days[half] for half in np.array_split(order, 2))
    of, number = INTERESTS[interest], int(source.generate_state(1)[0] % 2**31)
    pairs = label_pairs(public, of, n_pairs=plan.n_pairs, seed=number)
    task.n_private, task.n_pairs = len(private), len(pairs.left)
    yardsticks = {GENERIC: "raw", TRUTH: wanted(of)}
    metrics = yardsticks | _learn(task, PUBLIC, 0, pairs, number)
    truth = _pair_distances(private, of.of)
    for metric in (GENERIC, *LEARNED):
        task.correlation[PUBLIC, metric].append(_correlate(metrics[metric], private, truth))
    for k in plan.ks:
        groups, curves = show(private, plan.multiple * k)
        task.n_curves[k].append(len(curves))
        of_curves = label_pairs(curves, of, n_pairs=plan.n_pairs, seed=number) if len(curves) > 1 else None
        own = yardsticks | _learn(task, PRESANITISED, k, of_curves, number)
        if k == plan.middle:
            for metric in LEARNED:
                task.correlation[PRESANITISED, metric].append(_correlate(own[metric], private, truth))
        for training, features, within in ((PUBLIC, metrics, None), (PRESANITISED, own, groups)):
            for metric, lost in losses(name, interest, private, features, k, within).items():
                task.loss[training, metric, k].append(lost)
    if count:
        _by_labels(task, private, pairs, plan, number)
    return task


def _by_labels(task: Task, private: Floats, pairs: LabelledPairs, plan: Plan, seed: int) -> None:
    """Loss when only some of the pairs were labelled."""
    order = np.random.default_rng([seed, 1]).permutation(len(pairs.left))
    for n in plan.labels:
        if n > len(order):
            continue
        some = LabelledPairs(*(part[order[:n]] for part in pairs))
        learned = _learn(task, "labels", n, some, seed)
        for metric, lost in losses(task.name, task.interest, private, learned, plan.middle, None).items():
            task.by_labels[metric, n].append(lost)


def _learn(task: Task, training: str, k: int, pairs: LabelledPairs | None, seed: int) -> dict[str, Any]:
    """Each metric from each inputs, always used, and what Shoal does by default; the generic one if pairs are few."""
    if pairs is None or too_few(pairs):
        for metric in LEARNED:
            task.judged[training, metric, k].append(None)
        return dict.fromkeys((*LEARNED, DEFAULT), "raw")
    found: dict[str, Any] = {}
    for inputs in INPUTS:
        for method in (LinearMetric(inputs=inputs, seed=seed), DeepMetric(inputs=inputs, seed=seed)):
            metric = named(LINEAR if isinstance(method, LinearMetric) else DEEP, inputs)
            learned = method.learn(*pairs)
            figures = learned.figures
            gain = figures["held_out_learned"] - figures["held_out_euclidean"]
            task.judged[training, metric, k].append(Judgement(gain, figures["held_out_error"]))
            found[metric] = replace(learned, figures=figures | {"used": True})
    return found | {DEFAULT: LinearMetric(seed=seed).learn(*pairs)}


def too_few(pairs: LabelledPairs) -> bool:
    """Whether one of the labels is too rare to learn from."""
    n_similar = int(pairs.similar.sum())
    return min(n_similar, len(pairs.similar) - n_similar) < FEWEST_OF_EACH


def wanted(interest: Interest) -> Any:
    """What matters itself, as features."""
    return lambda panel: interest.of(panel.values)


def show(private: Floats, size: int) -> tuple[Floats, Floats]:
    """What a label task shows: the group of each day, and the different curves."""
    candidate = Microaggregation(k=size).anonymize(Panel(private))
    assert candidate.check().holds
    return candidate.private.groups, np.unique(candidate.values, axis=0)


def publish(name: str, private: Floats, features: Any, k: int, within: Floats | None) -> Any:
    """A candidate that passed its check, its groups within others where any are given."""
    rounding: Any = "binary" if KINDS[name] == "presence" else None
    panel = Panel(private) if within is None else Panel(private, attributes={"shown": within.astype(str)})
    method = Microaggregation(k=k, features=features, round_to=rounding, within=None if within is None else "shown")
    candidate = method.anonymize(panel)
    assert candidate.check().holds
    return candidate


def losses(
    name: str, interest: str, private: Floats, metrics: dict[str, Any], k: int, within: Floats | None
) -> dict[str, float]:
    """Loss on the interest under each metric; the same metric under two names is asked once."""
    found: dict[int, float] = {}
    measure = InterestLoss(INTERESTS[interest].of)
    for features in metrics.values():
        if id(features) not in found:
            published = Panel(publish(name, private, features, k, within).values)
            found[id(features)] = measure.measure(Panel(private), published).value
    return {metric: found[id(features)] for metric, features in metrics.items()}


def _pair_distances(values: Floats, of: Any) -> Floats:
    i, j = np.triu_indices(len(values), 1)
    mapped = of(values)
    apart: Floats = np.sqrt(((mapped[i] - mapped[j]) ** 2).sum(axis=1))
    return apart


def _correlate(features: Learned | str, private: Floats, truth: Floats) -> float:
    """Pearson correlation with the true distances over all pairs of the private days."""
    found = _pair_distances(private, features.transform if isinstance(features, Learned) else np.asarray)
    return float(np.corrcoef(found, truth)[0, 1])
