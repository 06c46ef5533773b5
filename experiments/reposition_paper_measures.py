"""What experiments/reposition_paper.py measures: eligible snapshots, distances, losses, queries, risks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from offline_reposition import Offline, offline
from reposition_paper_data import Sets, Stream
from reposition_yardsticks import (
    Counts,
    Merged,
    as_they_come,
    at_most,
    counts_of,
    eligible,
    in_one_piece,
    merge,
    suppression_alone,
    with_hindsight,
)

from shoal import Reposition, simulate
from shoal.attacks import Homogeneity
from shoal.attacks.homogeneity import HomogeneityRisk
from shoal.kernels.reposition import admit
from shoal.methods.relay_window import RelayWindow
from shoal.methods.reposition_costs import delay_costs
from shoal.model import EventsCandidate
from shoal.queries import WindowCount, random_windows

REPOSITIONED, GENERALISED, SUPPRESSED = "repositioned", "repositioned, generalised", "suppression alone"
MERGED, HINDSIGHT, LIMITED = "merged", "merged with hindsight", "merged, limited"
RELEASES = (REPOSITIONED, GENERALISED, SUPPRESSED, MERGED, HINDSIGHT, LIMITED)
COSTS = ("linear", "quadratic")
ENDLESS = 0  # stands for a window that nothing ever leaves
SIZE_CLASSES = ((1, 5), (6, 20), (21, 50), (51, 100), (101, 10_000))


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    window: int = 7
    windows: tuple[int, ...] = (1, 2, 3, 5, 7, 12, 20, 30)
    lost_like: int = 30  # where windows are compared, suppression costs what so many snapshots late cost
    lost_likes: tuple[int, ...] = (7, 30, 90)
    ls: tuple[int, ...] = (2, 3, 4)
    sizes: tuple[int, ...] = (3, 5, 10, 20, 50, 100, 200, 500)
    size_days: int = 365
    longest: tuple[int, ...] = (1, 3, 7, 14)
    n_queries: int = 400
    gap: float = 0.001  # of the program over a whole stream
    nodes: int = 200


QUICK = Plan(windows=(1, 2, 3, 5, 7), sizes=(3, 10, 50), size_days=20, longest=(1, 7), n_queries=25, gap=0.05, nodes=5)


@dataclass(frozen=True)
class Placed:
    """Where the events of a stream went."""

    late: NDArray[np.int64]
    """How many are published 0, 1, … snapshots late."""
    suppressed: int
    loss: float
    """Per event."""
    proven: bool = True
    """Whether the program of the first window came to its end."""

    @property
    def n_events(self) -> int:
        """Published or not."""
        return int(self.late.sum()) + self.suppressed

    @property
    def lost(self) -> float:
        """Share of suppressed events."""
        return self.suppressed / self.n_events

    @property
    def moved(self) -> float:
        """Share of the published ones that are late."""
        return float(self.late[1:].sum() / self.late.sum())

    @property
    def mean(self) -> float:
        """Mean distance of the published ones, those that stayed included."""
        return float(self.late @ np.arange(len(self.late)) / self.late.sum())

    @property
    def furthest(self) -> int:
        """The largest distance."""
        return int(np.flatnonzero(self.late).max())

    def within(self, distance: int) -> float:
        """Share of the published ones that are at most so late."""
        return float(self.late[: distance + 1].sum() / self.late.sum())


@dataclass(frozen=True)
class Released:
    """What was found about one way to publish a stream."""

    suppressed: float
    holds: bool
    by_value: dict[int, float]
    """Mean relative error of counting a value in a window, by the longest window."""
    by_all: dict[int, float]
    """The same with conditions on quasi-identifiers."""
    risk: HomogeneityRisk
    alike: float
    """Share of the suppressed events that have the value which most of the suppressed of their snapshot have."""
    length: float = 1.0
    """Mean length of an event's interval."""


@dataclass
class Results:
    """Everything."""

    sets: Sets
    plan: Plan
    sizes: dict[tuple[int, int], float] = field(default_factory=dict)
    """Share of eligible snapshots, by mean size and l."""
    size_most: float = 0.0
    """Share of the most frequent value in the largest of those."""
    placed: dict[tuple[str, str, int, int], Placed] = field(default_factory=dict)
    """By stream, cost, window and what suppression is like."""
    offline: dict[tuple[str, str], Offline] = field(default_factory=dict)
    """Losses per event, by stream and kind: "window", "far", "both"."""
    released: dict[str, dict[str, Released]] = field(default_factory=dict)

    def place(self, name: str, window: int, cost: str = "linear", lost_like: int | None = None) -> Placed:
        """One of the placements."""
        return self.placed[name, cost, window, self.plan.lost_like if lost_like is None else lost_like]

    def all_hold(self) -> tuple[int, int]:
        """How many releases passed the check, of how many."""
        checked = [found.holds for by_kind in self.released.values() for found in by_kind.values()]
        return sum(checked), len(checked)


def measure(sets: Sets, plan: Plan, seed: int) -> Results:
    """All of it."""
    results = Results(sets, plan)
    for size in plan.sizes:
        counts = counts_of(simulate.events(days=plan.size_days, per_day=size, seed=seed))
        for l in plan.ls:
            results.sizes[size, l] = float(eligible(counts, l).mean())
        results.size_most = float(counts.sum(axis=0).max() / counts.sum())
    for name, stream in sets.streams.items():
        for cost in COSTS:
            for window in (*plan.windows, ENDLESS):
                results.placed[name, cost, window, plan.lost_like] = place(stream, window, cost, plan.lost_like)
        for lost_like in plan.lost_likes:
            for window in (plan.window, ENDLESS):
                results.placed[name, "linear", window, lost_like] = place(stream, window, "linear", lost_like)
        best = whole(stream, plan.window, plan)
        results.offline[name, "window"] = best
        for kind, found in (
            ("far", whole(stream, plan.lost_like, plan)),
            ("both", whole(stream, plan.window, plan, both=True)),
        ):
            # What is possible within the window is possible here, even where the search ended before it found it.
            results.offline[name, kind] = Offline(min(found.loss, best.loss), found.bound)
        results.released[name] = dict(releases(stream, plan, seed))
        print(f"measured {name}", flush=True)
    return results


def place(stream: Stream, window: int, cost: str, lost_like: int) -> Placed:
    """Events through the window of the method, by counts alone."""
    counts = stream.counts
    beta = np.full(counts.shape[1], delay_costs(cost, lost_like + 1)[-1])
    proven = True
    if window == ENDLESS:
        delays = delay_costs(cost, len(counts))
        late, suppressed = _endless(counts, stream.l, delays, beta)
    else:
        delays = delay_costs(cost, window)
        run = RelayWindow(stream.l, delays)
        departures = [departure for row in counts if (departure := run.push(row, beta)) is not None]
        departures += run.flush(beta)
        late = np.zeros(window, dtype=np.int64)
        for departure in departures:
            for distance, n in departure.moved.items():
                late[distance] += n
        suppressed = sum(len(rows) for departure in departures for _, rows in departure.suppressed)
        proven = bool(run.optimal_start)
    loss = float(late @ delays + suppressed * beta[0]) / int(counts.sum())
    return Placed(late, suppressed, loss, proven)


def _endless(
    counts: Counts, l: int, delays: NDArray[np.float64], beta: NDArray[np.float64]
) -> tuple[NDArray[np.int64], int]:
    """The paper's step for every snapshot, with none that ever leaves."""
    n, n_values = counts.shape
    placed, suppressed = np.zeros((n_values, n, n), dtype=np.int64), np.zeros((n_values, n), dtype=np.int64)
    for j in range(n):
        admit(placed, suppressed, j, counts[j], l, delays, beta)
    return placed.sum(axis=(0, 1)), int(suppressed.sum())


def whole(stream: Stream, window: int, plan: Plan, *, both: bool = False) -> Offline:
    """The least loss per event for somebody who knows the whole stream."""
    counts = stream.counts
    beta = np.full(counts.shape[1], float(plan.lost_like))
    found = offline(
        counts, window, stream.l, delay_costs("linear", window), beta, gap=plan.gap, nodes=plan.nodes, both=both
    )
    n = int(counts.sum())
    return Offline(found.loss / n, found.bound / n)


def releases(stream: Stream, plan: Plan, seed: int) -> Iterator[tuple[str, Released]]:
    """Publish a stream in all ways, ask, attack."""
    asked = {n: random_windows(stream.events, plan.n_queries, seed, longest=n) for n in plan.longest}
    sensitive = stream.events.sensitive
    by_value = {
        n: [WindowCount(query.start, query.end, {sensitive: query.where[sensitive]}) for query in queries]
        for n, queries in asked.items()
    }
    truth = [
        {n: np.array([query.count(stream.events) for query in queries]) for n, queries in kind.items()}
        for kind in (by_value, asked)
    ]

    def found(candidate: EventsCandidate, count: Callable[[WindowCount], float], risk: HomogeneityRisk) -> Released:
        errors = [
            {n: _error(true[n], np.array([count(query) for query in queries])) for n, queries in kind.items()}
            for kind, true in zip((by_value, asked), truth, strict=True)
        ]
        lost = candidate.recipe.figures["suppressed"] / len(stream.events)
        return Released(lost, candidate.check().holds, errors[0], errors[1], risk, _alike(candidate))

    def moved(window: int, proposed: EventsCandidate) -> Released:
        candidate = in_one_piece(proposed)
        tables = candidate.published
        risk = Homogeneity(window=window).attack(stream.events, tables)
        return found(candidate, lambda query: query.count(tables), risk)

    def coarse(merged: Merged) -> Released:
        # The adversary knows the interval; what stands in its place is compared with events as they are elsewhere.
        risk = Homogeneity().attack(merged.coarse, merged.published)
        return replace(found(merged.candidate, merged.count, risk), length=merged.mean_length)

    l, w, events = stream.l, plan.window, stream.events
    yield REPOSITIONED, moved(w, Reposition(l=l, window=w, plan="paper", seed=seed).anonymize(events))
    ranges = Reposition(l=l, window=w, plan="paper", publish="generalised", seed=seed)
    yield GENERALISED, moved(w, ranges.anonymize(events))
    yield SUPPRESSED, moved(1, suppression_alone(events, l, seed))
    if stream.fair:
        yield MERGED, coarse(merge(events, l, as_they_come(stream.counts, l), seed))
        yield HINDSIGHT, coarse(merge(events, l, with_hindsight(stream.counts, l), seed))
    yield LIMITED, coarse(merge(events, l, at_most(stream.counts, l, w), seed))


def _error(true: NDArray[np.float64], estimated: NDArray[np.float64]) -> float:
    """As shoal.utility.WindowError has it."""
    return float(np.mean(np.abs(estimated - true) / true))


def _alike(candidate: EventsCandidate) -> float:
    """0 where nothing is suppressed."""
    events = candidate.private.original
    lost = events.frame.filter(pl.Series(candidate.private.snapshots < 0))
    counts = lost.group_by(events.time, events.sensitive).len().group_by(events.time).agg(pl.col("len").max())
    return float(counts["len"].sum() / len(lost)) if len(lost) else 0.0
