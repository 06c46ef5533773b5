"""What experiments/nlk_paper.py measures: releases by strategy and (n, l, k), their utility, and times."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np
from nlk_paper_data import Sets
from nlk_paper_enumeration import ALONE, KS, Beyond, beyond_runs

from shoal import NLK, Panel
from shoal.methods.nlk import SPLIT_FURTHER_UP_TO, Strategy
from shoal.utility import DeviationShift, DivergenceClasses, EuclideanLoss, NormalizedDivergence

STRATEGIES: tuple[Strategy, ...] = ("cluster", "mil", "mth", "optimal")


@dataclass(frozen=True)
class Plan:
    """Which parameters are tried. The defaults are the paper's where its text or figures name them."""

    ks: tuple[int, ...] = (4, 6, 8, 10, 12, 14, 16, 18, 20)
    n: int = 10
    small_n: int = 3
    margins: tuple[int, ...] = (1, 2, 3, 4, 5, 10)  # l - n of figures 7 and 9
    shown: tuple[int, ...] = (1, 5, 10)  # of these in the figures
    middle: int = 5  # l - n where only one is tried
    class_ks: tuple[int, ...] = (10, 11, 12, 13, 14, 15)
    class_n: int = 7
    class_l: int = 10
    grid_ks: tuple[int, ...] = (3, 4, 5, 6, 7, 8)
    grid_ns: tuple[int, ...] = (3, 6, 10)
    grid_margins: tuple[int, ...] = tuple(range(1, 13))
    time_n: int = 3
    time_k: int = 4
    repeats: int = 3
    target_ks: tuple[int, ...] = (5, 10, 20)
    target_margins: tuple[int, ...] = (2, 5, 10)
    target_n: int = 5
    synthetic: tuple[int, int] = (1000, 168)
    n_enumerated: int = 500  # small instants of each set, k and number of series alone, whose groupings are all tried

    @property
    def largest_l(self) -> int:
        """No panel may be shorter."""
        ends = (self.n + max(self.margins), max(self.grid_ns) + max(self.grid_margins))
        return max(*ends, self.class_l, self.target_n + max(self.target_margins), self.time_n + max(self.grid_margins))


QUICK = Plan(
    ks=(4, 10, 20),
    margins=(1, 5, 10),
    class_ks=(10, 15),
    grid_ks=(3, 8),
    grid_ns=(3,),
    grid_margins=(1, 6, 12),
    repeats=1,
    target_ks=(5, 20),
    target_margins=(2, 10),
    synthetic=(60, 24),
    n_enumerated=40,
)


@dataclass(frozen=True)
class Measured:
    """One release."""

    holds: bool
    divergence: float
    shift: float
    loss: float
    classes: dict[str, float]
    near: float  # share of the points within 20 % of the original
    top: float  # part of the loss in the group of the largest values of each instant
    splits: int
    gap: float  # at most above the best of the groupings that the bound of "optimal" covers
    seconds: float  # of the processor, measured once


@dataclass(eq=False)
class Runs:
    """Releases of one panel, each made once."""

    panel: Panel
    done: dict[tuple[Strategy, int, int, int], Measured] = field(default_factory=dict)

    def get(self, strategy: Strategy, n: int, l: int, k: int) -> Measured:
        """A release, measured; what does not depend on a parameter is not repeated for it."""
        key = (strategy, n, l - n, k)
        if strategy == "cluster":
            key = (strategy, 0, 0, k)
        elif strategy == "optimal" and n > SPLIT_FURTHER_UP_TO:
            key = (strategy, 0, l - n, k)
        if key not in self.done:
            self.done[key] = self._measure(NLK(n=n, l=l, k=k, strategy=strategy))
        return self.done[key]

    def divergences(self, strategy: Strategy, n: int, margin: int, ks: Sequence[int]) -> list[float]:
        """By k, in per cent."""
        return [100.0 * self.get(strategy, n, n + margin, k).divergence for k in ks]

    def shifts(self, strategy: Strategy, n: int, margin: int, ks: Sequence[int]) -> list[float]:
        """By k, in per cent."""
        return [100.0 * self.get(strategy, n, n + margin, k).shift for k in ks]

    def _measure(self, method: NLK) -> Measured:
        start = time.process_time()
        candidate = method.anonymize(self.panel)
        seconds = time.process_time() - start
        before, after = self.panel, candidate.curves
        apart = np.abs(before.values - after.values)
        highest = after.values == after.values.max(axis=0)
        return Measured(
            holds=bool(candidate.check().holds),
            divergence=NormalizedDivergence().measure(before, after).value,
            shift=DeviationShift().measure(before, after).value,
            loss=EuclideanLoss().measure(before, after).value,
            classes=DivergenceClasses().shares(before, after),
            near=DivergenceClasses(limit=0.2).measure(before, after).value,
            top=float(apart[highest].sum() / apart.sum()) if apart.any() else 0.0,
            splits=int(candidate.recipe.figures.get("splits", 0)),
            gap=float(candidate.recipe.figures.get("at_most_above_best", 0.0)),
            seconds=seconds,
        )


@dataclass(frozen=True)
class Times:
    """Processor seconds of every repeat, by strategy and (n, l, k)."""

    seconds: dict[tuple[Strategy, int, int, int], list[float]]

    def get(self, strategy: Strategy, n: int, l: int, k: int) -> float:
        """The median of the repeats, in milliseconds."""
        return 1000.0 * median(self.seconds[strategy, n, l, k])

    def by_k(self, strategy: Strategy, plan: Plan) -> list[float]:
        """Milliseconds at (n, l, k) for each k."""
        return [self.get(strategy, plan.n, plan.n + plan.middle, k) for k in plan.ks]

    def by_margin(self, strategy: Strategy, plan: Plan) -> list[float]:
        """Milliseconds at (time_n, l, time_k) for each l - n."""
        return [self.get(strategy, plan.time_n, plan.time_n + m, plan.time_k) for m in plan.grid_margins]


def time_places(plan: Plan) -> list[tuple[int, int, int]]:
    """Where times are taken: by k, and by l - n."""
    by_k = [(plan.n, plan.n + plan.middle, k) for k in plan.ks]
    return by_k + [(plan.time_n, plan.time_n + margin, plan.time_k) for margin in plan.grid_margins]


def measure_times(panel: Panel, plan: Plan) -> Times:
    """Whole releases, repeats taking turns. Processor time: time on the wall would measure the neighbours as well."""
    places = time_places(plan)
    for strategy in STRATEGIES:  # compiles what is timed below
        NLK(n=3, l=5, k=3, strategy=strategy).anonymize(Panel(panel.values[:12]))
    seconds: dict[tuple[Strategy, int, int, int], list[float]] = {(s, *p): [] for p in places for s in STRATEGIES}
    for _ in range(plan.repeats):
        for strategy, n, l, k in seconds:
            method = NLK(n=n, l=l, k=k, strategy=strategy)
            start = time.process_time()
            method.anonymize(panel)
            seconds[strategy, n, l, k].append(time.process_time() - start)
    return Times(seconds)


@dataclass(frozen=True)
class Results:
    """Everything measured."""

    plan: Plan
    sets: Sets
    runs: dict[str, Runs]
    times: Times
    beyond: dict[tuple[str, int, int], Beyond]
    """What other groupings than runs of neighbours would save, by set, k and number of series alone."""

    @property
    def main(self) -> Runs:
        """The releases the paper's statements are answered on."""
        return self.runs[self.sets.main]

    def reduction(self, strategy: Strategy, n: int, margin: int, k: int) -> float:
        """Per cent of the Euclidean loss of stage 1 that a strategy takes away."""
        first = self.main.get("cluster", n, n + margin, k).loss
        return 100.0 * (1.0 - self.main.get(strategy, n, n + margin, k).loss / first)

    def reductions(self, strategy: Strategy, *, by: str) -> list[float]:
        """The same, averaged over n and l - n "by k", or over n and k "by margin"."""
        plan = self.plan
        if by == "k":
            lists = [[(n, m, k) for n in plan.grid_ns for m in plan.grid_margins] for k in plan.grid_ks]
        else:
            lists = [[(n, m, k) for n in plan.grid_ns for k in plan.grid_ks] for m in plan.grid_margins]
        return [float(np.mean([self.reduction(strategy, *place) for place in places])) for places in lists]

    def all_hold(self) -> tuple[int, int]:
        """How many releases passed the exact check, and of how many."""
        every = [measured.holds for runs in self.runs.values() for measured in runs.done.values()]
        return sum(every), len(every)


def measure(sets: Sets, plan: Plan, seed: int) -> Results:
    """Times, all groupings of small instants, then all releases of all sets."""
    times = measure_times(sets.meters[sets.main], plan)
    print("measured times", flush=True)
    panels = sets.meters | sets.synthetic
    beyond = {
        (name, k, alone): beyond_runs(panel, k, alone, plan.n_enumerated, seed)
        for name, panel in panels.items()
        for k in KS
        for alone in ALONE
    }
    print("tried all groupings", flush=True)
    results = Results(plan, sets, {name: Runs(panel) for name, panel in panels.items()}, times, beyond)
    for name, (strategy, n, l, k) in _wanted(results):
        results.runs[name].get(strategy, n, l, k)
    return results


def _wanted(results: Results) -> Iterator[tuple[str, tuple[Strategy, int, int, int]]]:
    """Every release that the page speaks of; said here so that progress can be told."""
    plan, sets = results.plan, results.sets
    places: dict[str, list[tuple[int, int, int]]] = {name: [] for name in results.runs}
    main = places[sets.main]
    main += [(n, n + m, k) for n in (plan.n, plan.small_n) for m in plan.margins for k in plan.ks]
    main += [(plan.class_n, plan.class_l, k) for k in plan.class_ks]
    main += [(n, n + m, k) for n in plan.grid_ns for m in plan.grid_margins for k in plan.grid_ks]
    main += time_places(plan)
    for name in sets.synthetic:
        places[name] += [(plan.n, plan.n + plan.middle, k) for k in plan.ks]
    for name in sets.meters:
        n = plan.target_n
        places[name] += [(plan.n, plan.n + plan.middle, k) for k in plan.target_ks]
        places[name] += [(n, n + margin, k) for margin in (1, *plan.target_margins) for k in plan.target_ks]
    for name, wanted in places.items():
        for place in wanted:
            for strategy in STRATEGIES:
                yield name, (strategy, *place)
        print(f"measured {name}", flush=True)
