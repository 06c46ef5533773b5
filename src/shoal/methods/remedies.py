"""Alternatives to suppressing events that no snapshot of the window has room for.

Only values that are too frequent are suppressed, so a person who is seen to be missing probably had one of them. Each
remedy works on a snapshot that leaves, with the events that found no place:

    suppress          they are not published
    delay             they wait up to `window` snapshots more, and join the first that has room
    merge             the snapshot waits, with them, and is published together with the next, up to `window` of them
    generalise        they are published with a coarser value, from a given tree, where a snapshot has room for that
    counterbalance    others are suppressed as well, drawn from what would be published: l - 1 for each, as far as
                      the snapshot has them and stays l-eligible
    spread            others are suppressed as well, so that shares of values stay as they were, within a distance, or
                      within the least that is possible

No event is made up. All keep snapshots l-eligible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from shoal.kernels.arrays import Ints
from shoal.kernels.reposition import first_level

HOME = "__home"
"""Column with the number of the snapshot an event came with."""

Kind = Literal["suppress", "delay", "merge", "generalise", "counterbalance", "spread"]
Codes = Callable[[pl.Series], Ints]


def reach_of(parameters: Mapping[str, Any]) -> int:
    """In how many snapshots, its own first, an event of a release with these parameters may be published."""
    window = int(parameters.get("window", 1))
    return 2 * window - 1 if parameters.get("remedy") in ("delay", "merge") else window


class Left(NamedTuple):
    """What a remedy makes of a snapshot."""

    events: pl.DataFrame
    suppressed: pl.DataFrame


@dataclass
class Remedy:
    """One remedy on a stream of snapshots that leave.

    Parameters
    ----------
    kind
        Which remedy.
    l, window
        As in `Reposition`.
    sensitive
        The sensitive column.
    codes
        Gives each of its values a number from 0.
    tree
        For "generalise": the coarser value of a value, written as text.
    within
        For "spread": how far the share of a value among published events may be from its share among all.
    """

    kind: Kind
    l: int
    window: int
    sensitive: str
    codes: Codes
    tree: Mapping[str, str] = field(default_factory=dict)
    within: float = 0.0
    held: pl.DataFrame | None = None
    """Events that wait."""
    n_merged: int = 0
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    """Events so far, and published ones, by value."""

    def apply(
        self, number: int, events: pl.DataFrame, lost: pl.DataFrame, rng: np.random.Generator, *, last: bool
    ) -> Left:
        """Apply the remedy to snapshot `number`, which leaves; after the `last` nothing may wait."""
        if self.kind == "suppress":
            return Left(events, lost)
        remedies = {
            "delay": self._delay,
            "merge": self._merge,
            "generalise": self._generalise,
            "counterbalance": self._counterbalance,
            "spread": self._spread,
        }
        return remedies[self.kind](number, events, lost, rng, last)

    def _counts(self, frame: pl.DataFrame) -> tuple[Ints, Ints]:
        codes = self._codes(frame)
        return codes, np.bincount(codes, minlength=1).astype(np.int64)

    def _codes(self, frame: pl.DataFrame) -> Ints:
        return self.codes(frame[self.sensitive]) if len(frame) else np.zeros(0, dtype=np.int64)

    def _delay(
        self, number: int, events: pl.DataFrame, lost: pl.DataFrame, rng: np.random.Generator, last: bool
    ) -> Left:
        pool = lost if self.held is None else pl.concat([self.held, lost])
        taken = self._room(events, pool)
        rest = pool.filter(~taken)
        late = pl.Series([True] * len(rest), dtype=pl.Boolean) if last else rest[HOME] <= number - 2 * self.window + 2
        self.held = rest.filter(~late)
        return Left(pl.concat([events, pool.filter(taken)]), rest.filter(late))

    def _room(self, events: pl.DataFrame, pool: pl.DataFrame) -> pl.Series:
        """Which of the pool, the first of each value, a snapshot has room for; the rarest values first."""
        codes, _ = self._counts(pool)
        n = 1 + max(int(codes.max(initial=0)), int(self._codes(events).max(initial=0)))
        counts = np.bincount(self._codes(events), minlength=n)
        waiting, size = np.bincount(codes, minlength=n), len(events)
        taken = np.zeros(n, dtype=np.int64)
        changed = True
        while changed:
            changed = False
            for value in np.argsort(counts, kind="stable"):
                more = min((size - self.l * int(counts[value])) // (self.l - 1), int(waiting[value] - taken[value]))
                if more > 0:
                    counts[value] += more
                    taken[value] += more
                    size += more
                    changed = True
        return _first(codes, taken, np.arange(len(codes)))

    def _merge(
        self, number: int, events: pl.DataFrame, lost: pl.DataFrame, rng: np.random.Generator, last: bool
    ) -> Left:
        union = pl.concat([events, lost] if self.held is None else [self.held, events, lost])
        self.n_merged += 1
        codes, counts = self._counts(union)
        eligible = int(counts.max()) * self.l <= len(union)
        if not (eligible or last or self.n_merged == self.window):
            self.held = union
            return Left(union.head(0), union.head(0))
        self.held, self.n_merged = None, 0
        return self._cut(union, codes, counts, rng)

    def _cut(self, union: pl.DataFrame, codes: Ints, counts: Ints, rng: np.random.Generator) -> Left:
        """The excess of a value is suppressed, at random."""
        level, _ = first_level(counts, self.l)
        kept = _first(codes, np.full(len(counts), level), rng.permutation(len(codes)))
        return Left(union.filter(kept), union.filter(~kept))

    def _generalise(
        self, number: int, events: pl.DataFrame, lost: pl.DataFrame, rng: np.random.Generator, last: bool
    ) -> Left:
        texts = lost[self.sensitive].cast(pl.String)
        coarse = pl.Series(self.sensitive, [self.tree.get(text) for text in texts.to_list()], dtype=pl.String)
        can = coarse.is_not_null()
        pool = lost.with_columns(coarse.cast(lost.schema[self.sensitive])).filter(can)
        taken = self._room(events, pool)
        kept = pl.Series([False] * len(lost), dtype=pl.Boolean)
        kept = kept.scatter(can.arg_true().filter(taken), True)
        return Left(pl.concat([events, pool.filter(taken)]), lost.filter(~kept))

    def _counterbalance(
        self, number: int, events: pl.DataFrame, lost: pl.DataFrame, rng: np.random.Generator, last: bool
    ) -> Left:
        if lost.is_empty() or events.is_empty():
            return Left(events, lost)
        beside = np.bincount(self._codes(lost))
        top = int(beside.argmax())
        codes = self._codes(events)
        others = rng.permutation(np.flatnonzero(codes != top))
        n = min(len(others) // 2, (self.l - 1) * len(lost))
        gone = np.zeros(len(events), dtype=np.bool_)
        gone[others[:n]] = True
        kept = events.filter(pl.Series(~gone))
        cut = self._cut(kept, *self._counts(kept), rng)
        return Left(cut.events, pl.concat([lost, events.filter(pl.Series(gone)), cut.suppressed]))

    def _spread(
        self, number: int, events: pl.DataFrame, lost: pl.DataFrame, rng: np.random.Generator, last: bool
    ) -> Left:
        codes, counts = self._counts(events)
        n = max(len(self.before), len(counts), 1 + int(self._codes(lost).max(initial=0)))
        before, after, here = (np.zeros(n, dtype=np.int64) for _ in range(3))
        before[: len(self.before)] = self.before
        after[: len(self.after)] = self.after
        here[: len(counts)] = counts
        before += here + np.bincount(self._codes(lost), minlength=n)
        shares = before / max(int(before.sum()), 1)
        # The least possible distance is always allowed: else nothing would be published.
        allowed = max(self.within, float(shares.max()) - 1.0 / self.l)
        kept = here.copy()
        while kept.any():
            total = after + kept
            over = np.where(kept > 0, total / int(total.sum()) - shares, -np.inf)
            value = int(over.argmax())
            if over[value] <= allowed:
                break
            kept[value] -= 1
            while int(kept.max()) * self.l > int(kept.sum()):
                kept[int(kept.argmax())] -= 1
        stays = _first(codes, kept, rng.permutation(len(codes)))
        self.before, self.after = before.tolist(), (after + kept).tolist()
        return Left(events.filter(stays), pl.concat([lost, events.filter(~stays)]))

    def figures(self) -> dict[str, Any]:
        """What was requested and what resulted, if there is something to say."""
        if self.kind != "spread" or not sum(self.after):
            return {}
        before, after = (np.array(part) / sum(part) for part in (self.before, self.after))
        most = np.argsort(-before, kind="stable")
        return {
            "shares": {
                "within": self.within,
                "distance": float(np.abs(before - after).max()),
                "least_distance": max(0.0, float(before.max()) - 1.0 / self.l),
                "in_order": bool((np.diff(after[most]) <= 0).all()),
            }
        }

    def facts(self) -> dict[str, Any]:
        """All but the events that wait, as JSON."""
        return {"n_merged": self.n_merged, "before": self.before, "after": self.after}

    def restore(self, held: pl.DataFrame | None, facts: Mapping[str, Any]) -> None:
        """Restore the state."""
        self.held, self.n_merged = held, int(facts["n_merged"])
        self.before, self.after = list(facts["before"]), list(facts["after"])

    def is_sound(self, n_values: int) -> bool:
        """Whether the stream can continue from what was restored."""
        waits = self.held is not None and len(self.held) > 0
        counts = (self.before, self.after)
        return (
            (not waits or self.kind in ("delay", "merge"))
            and 0 <= self.n_merged <= self.window
            and len(self.before) == len(self.after) <= n_values
            and all(type(number) is int and number >= 0 for numbers in counts for number in numbers)
            and all(after <= before for before, after in zip(*counts, strict=True))
        )


def _first(codes: Ints, n: Ints, order: Ints) -> pl.Series:
    """Which rows are among the first n[value] of their value, in an order."""
    by_value = order[np.argsort(codes[order], kind="stable")]
    rank = np.empty(len(codes), dtype=np.int64)
    rank[by_value] = np.arange(len(codes)) - np.searchsorted(codes[by_value], codes[by_value])
    return pl.Series(rank < n[codes], dtype=pl.Boolean)
