"""The order in which points are tried, on how many subjects, and when to stop.

A policy has a grid of points and a budget: how many points may be tried on the whole sample.

**Halving.** If the grid has more points than the budget, all of them are tried on a small part of the sample first, and
the better half goes on to one about twice as large, until no more than the budget are left for the whole sample. A
point is better if fewer others beat it: one beats another if it is no worse in risk and in every measure that decides,
and better in one of them. Ties go to the one nearer to the limits, then the more useful one, then the first.

**Bisection.** If a range is all that is open in an alternative, and risk only rises or only falls along it, the step in
which the risk limit is crossed is halved until nothing lies between, as far as the budget goes.

What is tried next depends only on the results of earlier trials. So an interrupted search that replays
its earlier trials continues as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from shoal.model.watcher import Watcher, never, silent
from shoal.process.search.frontier import Limits, Point, Stopped
from shoal.process.search.points import Choices, Setting

FEWEST_IN_SAMPLE = 100
"""Smallest number of subjects in a sample that says anything about the whole."""

Trial = Callable[[int, Setting, int], Point]
"""Tries a point, by its number and setting, on a part of the sample: 0 is the smallest."""


@dataclass(frozen=True)
class Tried:
    """The result of a search on the sample."""

    choices: Choices
    settings: Mapping[int, Setting]
    """Points by number: those of the grid in the order of the policy, then those between them."""
    points: Mapping[int, Point]
    """The result of each on the largest part of the sample it was tried on."""
    stopped: Stopped | None = None

    def in_order(self) -> list[int]:
        """Numbers of the points by alternative, those between two others of a range where they belong."""

        def place(number: int) -> tuple[int, float, int]:
            setting = self.settings[number]
            along = self.choices.alternatives[setting.alternative].span is not None
            return setting.alternative, setting.values[0] if along else 0.0, number

        return sorted(self.points, key=place)


def round_lengths(n_points: int, budget: int) -> list[int]:
    """How many points are tried on each part of the sample, the smallest part first.

    Examples
    --------
    >>> round_lengths(200, 60), round_lengths(7, 60)
    ([200, 100, 50], [7])
    """
    lengths = [n_points]
    while lengths[-1] > budget:
        lengths.append((lengths[-1] + 1) // 2)
    return lengths


def sample_sizes(n_rounds: int, n_subjects: int) -> list[int]:
    """Subjects of each part of the sample that points are tried on, the whole of it last.

    Examples
    --------
    >>> sample_sizes(3, 2000), sample_sizes(1, 2000), sample_sizes(3, 300)
    ([500, 1000, 2000], [2000], [100, 150, 300])
    """
    sizes = [n_subjects]
    for _ in range(n_rounds - 1):
        sizes.append(min(n_subjects, max(sizes[-1] // 2, FEWEST_IN_SAMPLE)))
    return sizes[::-1]


def try_points(
    choices: Choices,
    limits: Limits,
    budget: int,
    trial: Trial,
    *,
    steps: Watcher = silent,
    stop: Callable[[], bool] = never,
) -> Tried:
    """Try points until the rule above or `stop` ends it; the first is always tried."""
    settings = dict(enumerate(choices.settings()))
    points: dict[int, Point] = {}
    n_rounds = len(round_lengths(len(settings), budget))
    going, done = list(settings), 0
    for part in range(n_rounds):
        found: dict[int, Point] = {}
        planned = done + sum(round_lengths(len(going), budget)[: n_rounds - part])
        for number in going:
            if done and stop():
                return Tried(choices, settings, points, Stopped(done, planned, halved=n_rounds > 1))
            steps.advance(done, planned)
            found[number] = points[number] = trial(number, settings[number], part)
            done += 1
        if part < n_rounds - 1:
            going = better_half(found, limits)
    for at, alternative in enumerate(choices.alternatives):
        if (span := alternative.span) is None:
            continue
        along = {number: settings[number].values[0] for number in going if settings[number].alternative == at}
        while (crossing := _crossing(along, points, limits)) and (middle := span.between(*crossing)) is not None:
            if len(going) >= budget:
                break
            if stop():
                return Tried(choices, settings, points, Stopped(done, done + 1, halved=n_rounds > 1))
            number = len(settings)
            settings[number] = Setting(at, (middle,))
            along[number] = middle
            points[number] = trial(number, settings[number], n_rounds - 1)
            going.append(number)
            done += 1
            steps.advance(done, done + 1)
    return Tried(choices, settings, points)


def better_half(found: Mapping[int, Point], limits: Limits) -> list[int]:
    """The numbers of the points that go on, in their order.

    A point that fails on so few subjects is not judged by them: it goes on if there is room, after the others.
    """
    judged = {number: point for number, point in found.items() if point.refused is None}
    names = dict.fromkeys([limits.first, *limits.utility])
    beaten = {number: sum(other.beats(point, names) for other in judged.values()) for number, point in judged.items()}

    def rank(number: int) -> tuple[int, float, float, int]:
        return beaten[number], judged[number].excess(limits), judged[number].loss(limits), number

    order = sorted(judged, key=rank)
    order += [number for number, point in found.items() if point.impossible]
    return sorted(order[: (len(found) + 1) // 2])


def _crossing(along: Mapping[int, float], points: Mapping[int, Point], limits: Limits) -> tuple[float, float] | None:
    """Two neighbours, one within the risk limit, if risk only rises or only falls; else none."""
    ordered = sorted((value, points[number].risk) for number, value in along.items() if points[number].refused is None)
    risks = [risk for _, risk in ordered]
    if len(ordered) < 2 or not (risks == sorted(risks) or risks == sorted(risks, reverse=True)):
        return None
    for (low, one), (high, other) in pairwise(ordered):
        if (one <= limits.risk) != (other <= limits.risk):
            return low, high
    return None
