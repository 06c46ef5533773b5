"""The reposition window, replanned with every snapshot that arrives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, get_args

import numpy as np

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.reposition import loss, retire
from shoal.methods.relay_window import DueSnapshot, RelayWindow, are_counts
from shoal.methods.rolling_plan import How, WindowPlan, roll, settle

SHARES = (0.8, 0.1)
"""Prices of leaving an event to future snapshots, as shares of its suppression cost; the first is used until the past
decides."""

_FORGET = 0.99  # what the loss of a snapshot counts one snapshot later
_CLEARLY = 0.95  # another price is taken if its loss is below this share of the present one's


class _Trial(NamedTuple):
    """A window that always takes one price, for comparison."""

    placed: Ints
    unplaced: Ints


class RollingWindow(RelayWindow):
    """Like `RelayWindow`, but everything not yet published is placed again whenever a snapshot arrives.

    The paper's step leaves the counts of waiting snapshots as they are; here they are free until they leave, with the
    same delay. Events whose last chance has not arrived may be left to it, at a price. Two prices are tried in parallel
    on the stream so far, and the window switches to the one that would have lost clearly less; events that wait without
    a place count as lost, and old losses count less. If a program is too large, or its solution is unproven and worse,
    the paper's step is used.
    """

    def __init__(self, l: int, cost: Floats) -> None:
        super().__init__(l, cost)
        self._trials: list[_Trial] = []
        self._losses = np.zeros(len(SHARES))
        self._price = 0
        self._how: Counter[str] = Counter()

    @property
    def _n_past(self) -> int:
        return self.window - 1

    @property
    def figures(self) -> dict[str, Any]:
        """How many windows were planned in which way."""
        return super().figures | {"windows": {how: self._how[how] for how in get_args(How)}}

    def _advance(self, counts: Ints, beta: Floats) -> DueSnapshot:
        done: dict[tuple[float, bytes, bytes], WindowPlan] = {}

        def plan(placed: Ints, unplaced: Ints, share: float) -> WindowPlan:
            key = share, placed.tobytes(), unplaced.tobytes()
            if key not in done:
                done[key] = roll(placed.copy(), unplaced.copy(), counts, self.l, self.cost, beta, share)
            return done[key]

        waiting = [loss(*trial, self.cost, beta) for trial in self._trials]
        losses = self._losses + waiting
        if losses.min() < _CLEARLY * losses[self._price]:
            self._price = int(losses.argmin())
        chosen = plan(self._placed, self._suppressed, SHARES[self._price])
        for at, share in enumerate(SHARES):
            tried = plan(*self._trials[at], share)
            lost = float(tried.published.sum(axis=0) @ self.cost + tried.lost @ beta)
            self._losses[at] = _FORGET * self._losses[at] + lost
            self._trials[at] = _Trial(tried.placed, tried.unplaced)
        self._placed, self._suppressed = chosen.placed, chosen.unplaced
        self._how[chosen.how] += 1
        return self._departed(chosen.published, chosen.lost)

    def flush(self, beta: Floats) -> Iterator[DueSnapshot]:
        """Everything still in the window; nothing may be pushed after it."""
        if self.optimal_start is None and self._waiting:
            self._begin(beta)
        n = self._entered - self._left
        if not n:
            return
        self._how[settle(self._placed, self._suppressed, n, self.l, self.cost, beta)] += 1
        nothing = np.zeros((len(self._placed), self.window), dtype=np.int64)
        for at in range(n):
            departure = self._departed(retire(self._placed, nothing)[0], self._suppressed[:, at])
            if at == n - 1:
                rest = [(home, kept.rest()) for home, kept in self._homes.items()]
                departure = replace(
                    departure, suppressed=(*departure.suppressed, *((home, rows) for home, rows in rest if len(rows)))
                )
            yield departure

    def _begin(self, beta: Floats) -> None:
        super()._begin(beta)
        self._trials = [_Trial(self._placed, self._suppressed) for _ in SHARES]

    def _widen(self, n_values: int) -> None:
        more = n_values - len(self._placed)
        super()._widen(n_values)
        if more > 0:
            self._trials = [
                _Trial(np.pad(trial.placed, ((0, more), (0, 0), (0, 0))), np.pad(trial.unplaced, ((0, more), (0, 0))))
                for trial in self._trials
            ]

    def _departed(self, published: Ints, lost: Ints) -> DueSnapshot:
        """The next departure; what is lost came `window` - 1 snapshots before it."""
        home = self._left - self.window + 1
        rows = self._homes[home].last(lost) if home in self._homes else lost[:0]
        departure = self._departure(published, lost[:0])
        return replace(departure, suppressed=((home, rows),) if len(rows) else ())

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        trials = [[part.tolist() for part in trial] for trial in self._trials]
        return super().state() | {
            "trials": trials,
            "losses": self._losses.tolist(),
            "price": self._price,
            "how": dict(self._how),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore `state`; l and cost must be the same."""
        super().restore(state)
        w = self.window
        self._trials = [
            _Trial(
                np.array(placed, dtype=np.int64).reshape(-1, w, w),
                np.array(unplaced, dtype=np.int64).reshape(-1, self._n_past + w),
            )
            for placed, unplaced in state["trials"]
        ]
        self._losses = np.array(state["losses"], dtype=np.float64)
        self._price = int(state["price"])
        self._how = Counter(state["how"])

    def is_sound(self, counts: Mapping[int, Ints]) -> bool:
        """Whether a restored window is one on these events; those tried beside it need only be windows."""
        n_events = sum(int(own.sum()) for own in counts.values())
        begun = self.optimal_start is not None
        return (
            super().is_sound(counts)
            and len(self._trials) == (len(SHARES) if begun else 0)
            and all(len(part) == len(self._placed) for trial in self._trials for part in trial)
            and all(are_counts(part, n_events) for trial in self._trials for part in trial)
            and self._losses.shape == (len(SHARES),)
            and bool(np.isfinite(self._losses).all())
            and self._price in range(len(SHARES))
            and set(self._how) <= set(get_args(How))
            and all(type(number) is int for number in self._how.values())
        )
