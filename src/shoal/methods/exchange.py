"""Values exchanged between groups until none is too frequent in any: totals stay what they were.

Of the rows of a group g, cap(g) = floor(size / l) may carry the same value. An exchange takes a value v out of a group
where it is in excess, into a group h that has room for it; h gives a value w for it, and so on, until one that the
first group has room for:    v: g -> h,  w: h -> g    or    v: g -> h,  w: h -> i,  x: i -> g    ...

Partners are sought nearby first: in groups of the same envelope, then anywhere. If no pair of groups fits, the shortest
such cycle is sought. There is one as long as a solution exists: the differences between the current state and any
solution form cycles of exactly this kind. So it terminates, with at most one search per row in excess.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from shoal.kernels.arrays import Ints

_TRIES = 24  # rows drawn by chance in search of a partner
_LOOKS = 200  # groups with room for a frequent value that are tried


class Exchanged(NamedTuple):
    """The new value of each row, and how many rows have another one than before."""

    values: Ints
    n_changed: int


def can_be_exchanged(values: Ints, sizes: Ints, l: int) -> bool:
    """Whether values can be dealt out to groups of these sizes with none above its cap in any.

    A group takes at most min(size, q * cap) of any q values: for the q most frequent ones that must suffice, for all
    q; and then it does (Gale and Ryser's condition, for caps above 1).
    """
    totals = np.sort(np.bincount(values))[::-1]
    some, many = np.unique(sizes, return_counts=True)
    q = np.arange(1, len(totals) + 1)
    room = np.zeros(len(totals), dtype=np.int64)
    for size, count in zip(some.tolist(), many.tolist(), strict=True):
        room += count * np.minimum(size, q * (size // l))
    return bool((np.cumsum(totals) <= room).all())


def exchange(values: Ints, classes: Ints, envelopes: Ints, l: int, rng: np.random.Generator) -> Exchanged:
    """Exchange values between groups where that is possible; values, classes and envelopes are numbered from 0."""
    table = _Table(values, classes, envelopes, l, rng)
    for group, value in table.in_excess():
        while table.excess(group, value):
            if not (table.swap_nearby(group, value) or table.swap_anywhere(group, value)):
                table.turn(group, value)
    return Exchanged(table.values, int((table.values != values).sum()))


class _Table:
    """Who carries what in which group."""

    def __init__(self, values: Ints, classes: Ints, envelopes: Ints, l: int, rng: np.random.Generator) -> None:
        self.values = values.copy()
        self._classes: list[int] = classes.tolist()
        self._caps: list[int] = (np.bincount(classes) // l).tolist()
        self._rng = rng
        # For each group the rows of each of its values, in random order: the last one goes first.
        self._held: list[dict[int, list[int]]] = [{} for _ in self._caps]
        for row in rng.permutation(len(values)).tolist():
            self._held[self._classes[row]].setdefault(int(values[row]), []).append(row)
        envelope_of = np.empty(len(self._caps), dtype=np.int64)
        envelope_of[classes] = envelopes
        self._envelope: list[int] = envelope_of.tolist()
        self._nearby: dict[int, list[int]] = {}
        for group, envelope in enumerate(self._envelope):
            self._nearby.setdefault(envelope, []).append(group)
        self._waiting = [
            (group, value)
            for group, held in enumerate(self._held)
            for value, rows in held.items()
            if len(rows) > self._caps[group]
        ]
        self._open: dict[int, deque[int]] = {}

    def in_excess(self) -> list[tuple[int, int]]:
        """Groups and values that had too many at the beginning; nothing else ever has."""
        return self._waiting

    def excess(self, group: int, value: int) -> int:
        """How many more carry the value than may."""
        return max(0, len(self._held[group].get(value, ())) - self._caps[group])

    def _has_room(self, group: int, value: int) -> bool:
        return len(self._held[group].get(value, ())) < self._caps[group]

    def swap_nearby(self, group: int, value: int) -> bool:
        """Swap with a group of the same envelope, best with a value in excess there."""
        fitting = (
            (self.excess(other, back) == 0, other, back)
            for other in self._nearby[self._envelope[group]]
            if other != group and self._has_room(other, value)
            for back in self._held[other]
            if back != value and self._has_room(group, back)
        )
        found = min(fitting, default=None)
        if found is not None:
            self._swap(group, value, *found[1:])
        return found is not None

    def swap_anywhere(self, group: int, value: int) -> bool:
        """Swap with a row drawn from all, or for a frequent value from the groups that have room for it."""
        for row in self._rng.integers(len(self.values), size=_TRIES).tolist():
            other, back = self._classes[row], int(self.values[row])
            if back != value and self._has_room(other, value) and self._has_room(group, back):
                self._swap(group, value, other, back)
                return True
        for other in self._with_room(value):
            given = (back for back in self._held[other] if back != value and self._has_room(group, back))
            if (fitting := next(given, None)) is not None:
                self._swap(group, value, other, fitting)
                return True
        return False

    def _with_room(self, value: int) -> Iterator[int]:
        """Some groups that have room for a value, from a list that is made once and kept."""
        if value not in self._open:
            groups = self._rng.permutation(len(self._caps)).tolist()
            self._open[value] = deque(group for group in groups if self._has_room(group, value))
        listed = self._open[value]
        for _ in range(min(_LOOKS, len(listed))):
            group = listed.popleft()
            if self._has_room(group, value):
                listed.append(group)  # next time it is looked at last
                yield group

    def _swap(self, group: int, value: int, other: int, back: int) -> None:
        self._turn([(group, value), (other, back)])

    def _turn(self, cycle: list[tuple[int, int]]) -> None:
        """Each group gives its value to the next one, the last to the first."""
        rows = [self._held[group][value].pop() for group, value in cycle]
        for (group, value), row, (_, new) in zip(cycle, rows, [cycle[-1], *cycle[:-1]], strict=True):
            if not self._held[group][value]:
                del self._held[group][value]
            if value in self._open:
                self._open[value].append(group)
            self._held[group].setdefault(new, []).append(row)
            self.values[row] = new

    def turn(self, group: int, value: int) -> None:
        """The shortest cycle through more than two groups, by breadth first search over values."""
        came: dict[int, tuple[int, int]] = {}  # of a value: the group that gives it, and the value it takes for it
        unseen = set(range(len(self._caps))) - {group}
        front = [value]
        while front:
            reached: list[int] = []
            for taken in front:
                able = [other for other in unseen if self._has_room(other, taken)]
                unseen.difference_update(able)
                for other in able:
                    for given in self._held[other]:
                        if given == value or given in came:
                            continue
                        came[given] = (other, taken)
                        if self._has_room(group, given):
                            self._turn(self._cycle(group, value, given, came))
                            return
                        reached.append(given)
            front = reached
        raise AssertionError("values that can be dealt out always have a cycle")

    def _cycle(self, group: int, value: int, last: int, came: dict[int, tuple[int, int]]) -> list[tuple[int, int]]:
        back = []
        while last != value:
            other, taken = came[last]
            back.append((other, last))
            last = taken
        return [(group, value), *reversed(back)]
