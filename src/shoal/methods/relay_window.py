"""The reposition window: snapshots enter, and leave l-eligible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.reposition import advance, retire
from shoal.methods.first_window import first_window
from shoal.methods.rolling_plan import supply_of


@dataclass(frozen=True, eq=False)
class DueSnapshot:
    """A snapshot that may be published, by rows of the snapshots its events came from.

    Rows are numbered within their home snapshot, whose events are sorted by sensitive value.
    """

    number: int
    rows: tuple[tuple[int, Ints], ...]
    """Home snapshot and rows, the home itself first, then the ones before it."""
    suppressed: tuple[tuple[int, Ints], ...]
    """Home snapshot and rows of events that, as is known now, are never published."""

    @property
    def moved(self) -> dict[int, int]:
        """How many events came from how many snapshots before; 0 for those that stayed."""
        return {self.number - home: len(rows) for home, rows in self.rows}


class RelayWindow:
    """Accepts the counts of each sensitive value in a snapshot, and says which events may leave.

    The first window is solved as an integer program, every later snapshot enters by the linear step of the paper. A
    snapshot leaves when `window` others have entered after it, or by `flush`.

    Parameters
    ----------
    l
        No value may be more than 1/l of a snapshot that leaves.
    cost
        What it costs to publish an event 0, 1, ... window - 1 snapshots late.
    """

    def __init__(self, l: int, cost: Floats) -> None:
        self.l = l
        self.cost = cost
        self.optimal_start: bool | None = None
        """Whether the first window was solved to the optimum; None before that."""
        self._left = 0
        self._waiting: list[Ints] = []
        self._placed = np.zeros((0, self.window, self.window), dtype=np.int64)
        self._suppressed = np.zeros((0, self._n_past + self.window), dtype=np.int64)
        self._homes: dict[int, _Home] = {}
        self._entered = 0

    @property
    def _n_past(self) -> int:
        """How many snapshots that have left may have events without a place."""
        return 0

    @property
    def window(self) -> int:
        """How many snapshots it holds."""
        return len(self.cost)

    @property
    def figures(self) -> dict[str, Any]:
        """How the window was planned, for the recipe."""
        return {"first_window_optimal": bool(self.optimal_start)}

    @property
    def entered(self) -> int:
        """How many snapshots were pushed."""
        return self._entered

    @property
    def homes(self) -> tuple[int, ...]:
        """Snapshots with events that may still be published."""
        return tuple(self._homes)

    def push(self, counts: Ints, beta: Floats) -> DueSnapshot | None:
        """A snapshot arrives with `counts` events of each value; suppressing one costs `beta`.

        Values may be added at the end from one push to the next.
        """
        self._homes[self._entered] = _Home(counts)
        self._entered += 1
        self._widen(len(counts))
        if self.optimal_start is None:
            self._waiting.append(counts)
            if len(self._waiting) == self.window:
                self._begin(beta)
            return None
        return self._advance(counts, beta)

    def _advance(self, counts: Ints, beta: Floats) -> DueSnapshot:
        """One snapshot enters a full window, and one leaves it."""
        return self._departure(*advance(self._placed, self._suppressed, counts, self.l, self.cost, beta))

    def flush(self, beta: Floats) -> Iterator[DueSnapshot]:
        """Everything still in the window; nothing may be pushed after it."""
        if self.optimal_start is None and self._waiting:
            self._begin(beta)
        while self._left < self._entered:
            yield self._departure(*retire(self._placed, self._suppressed))

    def _begin(self, beta: Floats) -> None:
        n_values = len(self._placed)
        counts = np.zeros((len(self._waiting), n_values), dtype=np.int64)
        for row, waiting in zip(counts, self._waiting, strict=True):
            row[: len(waiting)] = waiting
        self._waiting = []
        n = len(counts)
        placed, suppressed, self.optimal_start = first_window(counts, self.l, self.cost[:n], beta)
        self._placed[:, :n, :n] = placed
        self._suppressed[:, self._n_past : self._n_past + n] = suppressed

    def _departure(self, published: Ints, lost: Ints) -> DueSnapshot:
        number = self._left
        self._left += 1
        rows = tuple(
            (number - late, self._homes[number - late].take(published[:, late]))
            for late in np.flatnonzero(published.any(axis=0)).tolist()
        )
        suppressed = ((number, self._homes[number].last(lost)),) if lost.any() else ()
        # An event of a snapshot this far back has left, or never will.
        self._homes.pop(number - self.window + 1, None)
        return DueSnapshot(number, rows, suppressed)

    def _widen(self, n_values: int) -> None:
        if n_values > len(self._placed):
            more = n_values - len(self._placed)
            self._placed = np.pad(self._placed, ((0, more), (0, 0), (0, 0)))
            self._suppressed = np.pad(self._suppressed, ((0, more), (0, 0)))

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "left": self._left,
            "entered": self._entered,
            "optimal_start": self.optimal_start,
            "waiting": [counts.tolist() for counts in self._waiting],
            "placed": self._placed.tolist(),
            "suppressed": self._suppressed.tolist(),
            "homes": {str(number): home.state() for number, home in self._homes.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore `state`; l and cost must be the same."""
        self._left, self._entered = int(state["left"]), int(state["entered"])
        self.optimal_start = state["optimal_start"]
        self._waiting = [np.array(counts, dtype=np.int64) for counts in state["waiting"]]
        self._placed = np.array(state["placed"], dtype=np.int64).reshape(-1, self.window, self.window)
        self._suppressed = np.array(state["suppressed"], dtype=np.int64).reshape(-1, self._n_past + self.window)
        self._homes = {int(number): _Home.of(home) for number, home in state["homes"].items()}

    def is_sound(self, counts: Mapping[int, Ints]) -> bool:
        """Whether a restored window is one on these events, which it has by home and by value.

        Every event is placed once, waits once or has left; otherwise rows would be published that are not there.
        """
        w, n_values, n_events = self.window, len(self._placed), sum(int(own.sum()) for own in counts.values())
        begun = self.optimal_start is not None
        homes = list(range(max(0, self._left - w + 1), self._left + (w if begun else len(self._waiting))))
        if (
            not are_counts(self._placed, n_events)
            or not are_counts(self._suppressed, n_events)
            or len(self._suppressed) != n_values
            or self._left < 0
            or self._entered != self._left + (w if begun else len(self._waiting))
            or (self._waiting if begun else self._left or len(self._waiting) >= w)
            or list(self._homes) != homes
            or list(counts) != homes
            or not all(self._homes[home].is_sound(counts[home], n_values) for home in homes)
        ):
            return False
        if not begun:
            same = all(np.array_equal(own, self._homes[at].left) for at, own in enumerate(self._waiting))
            return same and not self._placed.any() and not self._suppressed.any()
        planned = supply_of(self._placed, np.pad(self._suppressed, ((0, 0), (w - 1 - self._n_past, 0))))
        for place, own in enumerate(planned):
            home = self._left - (w - 1) + place
            left = np.zeros(n_values, dtype=np.int64)
            if home in self._homes:
                left[: len(self._homes[home].left)] = self._homes[home].left
            # Of a snapshot that has left, the plain window forgets what found no place.
            if (own > left).any() or (home >= self._left - self._n_past and (own != left).any()):
                return False
        return True


class _Home:
    """The events of one snapshot, sorted by value: which are still to be published."""

    def __init__(self, counts: Ints) -> None:
        self.ends = np.cumsum(counts)
        self.next = self.ends - counts

    def take(self, counts: Ints) -> Ints:
        """The next rows of each value."""
        n = counts[: len(self.next)]
        rows = _ranges(self.next, n)
        self.next = self.next + n
        return rows

    def last(self, counts: Ints) -> Ints:
        """The last rows of each value, which nobody takes."""
        n = counts[: len(self.ends)]
        return _ranges(self.ends - n, n)

    @property
    def left(self) -> Ints:
        """How many of each value were not taken."""
        return self.ends - self.next

    def rest(self) -> Ints:
        """All rows that were not taken."""
        return self.last(self.left)

    def is_sound(self, counts: Ints, n_values: int) -> bool:
        """Whether these are rows of a snapshot with so many events of each value."""
        own = counts[: len(self.ends)]
        return (
            len(self.ends) <= n_values
            and self.next.shape == self.ends.shape == own.shape
            and not counts[len(self.ends) :].any()
            and np.array_equal(self.ends, np.cumsum(own))
            and bool(((self.ends - own <= self.next) & (self.next <= self.ends)).all())
        )

    def state(self) -> list[list[int]]:
        return [self.ends.tolist(), self.next.tolist()]

    @classmethod
    def of(cls, state: list[list[int]]) -> _Home:
        home = cls(np.zeros(0, dtype=np.int64))
        home.ends, home.next = (np.array(part, dtype=np.int64) for part in state)
        return home


def are_counts(numbers: Ints, most: int) -> bool:
    """Whether all are from 0 to `most`."""
    return bool(((numbers >= 0) & (numbers <= most)).all())


def _ranges(starts: Ints, lengths: Ints) -> Ints:
    """All numbers from each start on, as many as its length."""
    before = np.cumsum(lengths) - lengths
    numbers: Ints = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return numbers
