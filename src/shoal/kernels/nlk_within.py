"""The exact check of (n, l, k)-anonymity against someone who knows values only to within some error.

    knowledge    of f at the instants of K: a value a(t) for each, at most `within` from f's in every channel
    candidates   the series at most `within` from a(t) at every instant of K
    holds  <=>   no series f, no set K of n instants and no such a let l - n or more instants be inferred

What a(t) leaves are the series in a window of twice the error with f in it; where the window lies is the adversary's
luck, so every position counts. Only those that leave a set no other position leaves a part of need to be tried. They
are found from one side: if the highest value e below the window is given, the least is left by the window that begins
right above e.

There are at least as many candidates as with exact knowledge, so nothing is inferred that exact knowledge would not
infer. Candidates are not an intersection of groups, so sets of instants, and windows at each, are tried one after
another, depth first. A branch is abandoned if even exact knowledge of all instants that could still be added would not
infer enough.
"""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arrays import Bools, Floats, Ints
from shoal.kernels.equal_rows import row_classes
from shoal.kernels.nlk_check import Breach
from shoal.kernels.nlk_labels import make_groups, small_instants
from shoal.kernels.nlk_search import FOUND, NOTHING, RAN_OUT

_SURELY = 1.0 + 2.0**-51  # differences round: anything not certainly in a window counts as outside, which infers more


class _RanOutError(Exception):
    """The limit was used up."""


class _Knowledge(NamedTuple):
    """Known instants, and the candidates they leave."""

    instants: tuple[int, ...]
    candidates: Bools


def find_breach_within(
    values: Floats,
    labels: NDArray[np.int32],
    kinds: Ints,
    subjects: Ints,
    n: int,
    l: int,
    k: int,
    within: float,
    limit: int,
) -> Breach:
    """Search values (series, instants, channels) for a breach, examining at most `limit` sets; n < l <= instants.

    `labels` number the values that are published bit for bit alike at each instant, by series of one kind; the
    candidates of f are of its kind.
    """
    small = small_instants(make_groups(labels, subjects), k)
    counts = small.sum(axis=1)
    nobody = np.empty(0, dtype=np.int64)
    one_of_each = row_classes(labels.astype(np.uint64)) == np.arange(len(labels))
    suspects = np.flatnonzero(one_of_each & (counts >= l - n))
    nodes = 0
    for f in suspects[np.argsort(-counts[suspects], kind="stable")].tolist():
        search = _Search(
            values, labels, kinds == kinds[f], subjects, k, within, f, np.flatnonzero(small[f]), n, l - n, limit - nodes
        )
        try:
            found = search.breach()
        except _RanOutError:
            return Breach(RAN_OUT, -1, nobody, nobody, int(counts.max(initial=0)), limit)
        nodes += search.used
        if found is not None:
            filled = search.filled(found)
            known = np.array(sorted(filled.instants), dtype=np.int64)
            return Breach(FOUND, f, known, search.inferred(filled), 0, nodes)
    return Breach(NOTHING, -1, nobody, nobody, min(l - n - 1, int(counts.max(initial=0))), nodes)


class _Search:
    """The search for knowledge of one series that infers at least r of the instants at which its group is small."""

    def __init__(
        self,
        values: Floats,
        labels: NDArray[np.int32],
        everyone: Bools,
        subjects: Ints,
        k: int,
        within: float,
        f: int,
        small: Ints,
        n: int,
        r: int,
        limit: int,
    ) -> None:
        self.values, self.labels, self.everyone, self.subjects, self.k = values, labels, everyone, subjects, k
        self.within, self.f, self.small, self.n, self.r, self.limit = within, f, small, n, r, limit
        self.used = 0
        self._alike = labels == labels[f]

    def breach(self) -> _Knowledge | None:
        """Knowledge of at most n instants that infers enough; None if there is none."""
        return self._below(_Knowledge((), self.everyone), 0)

    def _below(self, knowledge: _Knowledge, start: int) -> _Knowledge | None:
        if self.used == self.limit:
            raise _RanOutError
        self.used += 1
        if len(self.inferred(knowledge)) >= self.r:
            return knowledge
        least = knowledge.candidates & self._alike[:, start:].all(axis=1)
        if len(knowledge.instants) == self.n or len(self.inferred(knowledge._replace(candidates=least))) < self.r:
            return None
        for t in range(start, self.values.shape[1]):
            for left in self._leaves(knowledge.candidates, t):
                found = self._below(_Knowledge((*knowledge.instants, t), left), t + 1)
                if found is not None:
                    return found
        return None

    def inferred(self, knowledge: _Knowledge) -> Ints:
        """Which of the small instants are inferred."""
        inferred: list[int] = []
        rows = np.flatnonzero(knowledge.candidates)
        # A candidate shares its own value, so with k subjects among the candidates nothing is inferred.
        if len(rows) and len(np.unique(self.subjects[rows])) < self.k:
            for t in self.small.tolist():
                if t not in knowledge.instants:
                    column = self.labels[:, t]
                    alike = np.isin(column, column[rows])
                    if len(np.unique(self.subjects[alike])) < self.k:
                        inferred.append(t)
        return np.array(inferred, dtype=np.int64)

    def filled(self, knowledge: _Knowledge) -> _Knowledge:
        """The same with n known instants, so that r are still inferred."""
        inferred = self.inferred(knowledge)
        spare = np.setdiff1d(np.arange(self.values.shape[1]), np.concatenate([knowledge.instants, inferred]))
        more = np.concatenate([spare, inferred[self.r :]])[: self.n - len(knowledge.instants)]
        for t in more.astype(np.int64).tolist():
            left = next(self._leaves(knowledge.candidates, t), knowledge.candidates)
            knowledge = _Knowledge((*knowledge.instants, t), left)
        return knowledge

    def _leaves(self, candidates: Bools, t: int) -> Iterator[Bools]:
        """What windows at t leave of the candidates, the least of each; nothing if none leaves fewer."""
        rows = np.flatnonzero(candidates)
        at = self.values[rows, t]
        own = int(np.searchsorted(rows, self.f))
        channels = [_windows(at[:, c], own, self.within) for c in range(at.shape[1])]
        for windows in product(*channels):
            inside = np.logical_and.reduce(windows)
            if not inside.all():
                left = np.zeros_like(candidates)
                left[rows[inside]] = True
                yield left


def _windows(x: Floats, own: int, within: float) -> list[Bools]:
    """The least sets of values that windows of twice the error leave, with the one at `own` among them."""
    if np.isnan(x[own]):
        return [np.isnan(x)]
    width = 2.0 * within
    lowest = (x <= x[own]) & ((x[own] - x) * _SURELY <= width)
    windows = [lowest]
    windows += [(x > below) & ((x - below) * _SURELY <= width) for below in np.unique(x[lowest & (x < x[own])])]
    # Each begins above the one before and ends no lower, so only the next can leave a part of what it leaves.
    return [one for one, after in pairwise(windows) if (after & ~one).any()] + windows[-1:]
