"""Groups that show a subject with the same set of values in every snapshot: m-invariance without made-up events.

    signature of a subject    the values of the first group it was published in, at least m of them

Values are put into families once they have occurred a few times, the most frequent ones together, and every group shows
all values of one family: so a signature is a family, and returning subjects find others with theirs. Until then, events
of a value are suppressed. In a snapshot, the events of a family are published if each of its values occurs, as long as
no value has a share above 1/l; returning subjects come before new ones. They form as many groups as that allows. Nobody
is published twice in a snapshot.

Reference: X. Xiao, Y. Tao, "m-invariance: towards privacy preserving re-publication of dynamic datasets", 2007; there
counterfeit records fill the gaps, here nobody is made up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.kernels.arrays import Ints
from shoal.kernels.reposition import first_level
from shoal.methods.remedies import Codes, Left

_OFTEN = 5
"""Events of a value, over all snapshots, before it joins a family: a first guess at how frequent it is."""


class Signatures:
    """What subjects were published with.

    Parameters
    ----------
    l
        No value has more than a share of 1/l in a group.
    m
        The least number of values of a group.
    subject, sensitive
        Columns of the events.
    """

    def __init__(self, l: int, m: int, *, subject: str, sensitive: str) -> None:
        self.l, self.size = l, max(l, m)
        self.subject, self.sensitive = subject, sensitive
        self._known: dict[str, int] = {}
        """The family of each subject that was published."""
        self._families: list[tuple[int, ...]] = []
        self._seen: Counter[int] = Counter()
        """Events of each value so far."""
        self.n_repeated = 0
        """Events beyond the first of a subject in a snapshot."""
        self.n_changed = 0
        """Events of subjects whose value is not in their signature."""
        self.n_unmatched = 0
        """Events for which the snapshot had not enough others of their family."""

    def apply(self, left: Left, codes: Codes, rng: np.random.Generator) -> tuple[Left, Ints]:
        """Groups of a snapshot that leaves; what cannot be in one is suppressed."""
        events = left.events
        values = codes(events[self.sensitive]) if len(events) else np.zeros(0, dtype=np.int64)
        names = events[self.subject].cast(pl.String).to_list()
        self._join(values)
        family_of = {value: number for number, family in enumerate(self._families) for value in family}
        returning: dict[int, list[int]] = defaultdict(list)
        fresh: dict[int, list[int]] = defaultdict(list)
        seen: set[str] = set()
        for row in rng.permutation(len(events)).tolist():
            name, value = names[row], int(values[row])
            if name is not None:
                if name in seen:
                    self.n_repeated += 1
                    continue
                seen.add(name)
            family = None if name is None else self._known.get(name)
            if family is None:
                fresh[value].append(row)
            elif family == family_of.get(value):
                returning[value].append(row)
            else:
                self.n_changed += 1
        groups = np.full(len(events), -1, dtype=np.int64)
        n_groups = 0
        for members in self._families:
            n_groups += self._deal([[*returning[value], *fresh[value]] for value in members], groups, n_groups)
        inside = groups >= 0
        self.n_unmatched += sum(len(own) for own in (*returning.values(), *fresh.values())) - int(inside.sum())
        for row in np.flatnonzero(inside).tolist():
            name = names[row]
            if name is not None:
                self._known.setdefault(name, family_of[int(values[row])])
        kept = pl.Series(inside, dtype=pl.Boolean)
        out = Left(events.filter(kept), pl.concat([left.suppressed, events.filter(~kept)]))
        return out, rng.permutation(max(n_groups, 1))[groups[inside]]

    def _join(self, values: Ints) -> None:
        """Values that were seen often enough and have no family form some, the most frequent first.

        A family takes values until no one of them has a share above 1/l among all of theirs so far.
        """
        self._seen.update(values.tolist())
        assigned = {value for family in self._families for value in family}
        new = [value for value, n in self._seen.items() if n >= _OFTEN and value not in assigned]
        new.sort(key=lambda value: (-self._seen[value], value))
        while len(new) >= self.size:
            n = self.size
            while self._seen[new[0]] * self.l > sum(self._seen[value] for value in new[:n]) and n < len(new):
                n += 1
            self._families.append(tuple(sorted(new[:n])))
            new = new[n:]

    def _deal(self, rows: list[list[int]], groups: Ints, first: int) -> int:
        """Deal the first events of each value of a family into as many groups as possible; returns their number."""
        level, _ = first_level(np.array([len(own) for own in rows], dtype=np.int64), self.l)
        taken = [own[:level] for own in rows]
        n = min(len(own) for own in taken)
        while n:
            dealt = np.array([[len(own[at::n]) for own in taken] for at in range(n)])
            if (dealt.max(axis=1) * self.l <= dealt.sum(axis=1)).all():
                break
            n -= 1
        for own in taken if n else ():
            groups[own] = first + np.arange(len(own)) % n
        return n

    def figures(self) -> dict[str, Any]:
        """Events that were suppressed for the sake of invariance, by reason."""
        return {"invariance": {"repeated": self.n_repeated, "changed": self.n_changed, "unmatched": self.n_unmatched}}

    def facts(self) -> dict[str, Any]:
        """Everything, as JSON. As private as the events."""
        return {
            "families": [list(family) for family in self._families],
            "seen": list(self._seen.items()),
            "known": self._known,
            "counts": [self.n_repeated, self.n_changed, self.n_unmatched],
        }

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Restore the state."""
        self._families = [tuple(family) for family in facts["families"]]
        self._seen = Counter(dict(facts["seen"]))
        self._known = {name: int(family) for name, family in facts["known"].items()}
        self.n_repeated, self.n_changed, self.n_unmatched = facts["counts"]

    def is_sound(self, n_values: int) -> bool:
        """Whether the stream can continue from what was restored."""
        members = [value for family in self._families for value in family]
        numbers = [*members, *self._seen, *self._seen.values(), self.n_repeated, self.n_changed, self.n_unmatched]
        return (
            all(type(number) is int and number >= 0 for number in numbers)
            and len(set(members)) == len(members)
            and all(value < n_values for value in (*members, *self._seen))
            and all(len(family) >= self.size for family in self._families)
            and all(0 <= family < len(self._families) for family in self._known.values())
        )
