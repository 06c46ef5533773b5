"""What releases under (n, l, k)-anonymity reveal together: all their instants side by side, as one release.

Such a release forms new groups at each instant. Combine several: one row per subject in any of them, and a column for
each instant of each, with the group there, or missing if the subject is absent. The adversary knows n readings of a
target in total, in any of the releases, and which rows belong together across releases. The releases are safe together
if this table is (n, l, k)-anonymous, for the n, l and k of each.

Someone who knows readings only to within an error infers no more than someone who knows them exactly. So tables that
hold for exact knowledge hold for `within` as well. The converse does not follow, and the ledger stores no values to
decide it: that case is not judged. Nor are releases whose periods overlap, because one reading may be known in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.guarantees import NLKAnonymity
from shoal.model import Panel

Promise = tuple[int, int, int, float]
"""n, l, k and within."""

MOST_CELLS = 4_000_000
"""Largest number of groups (series times instants) that is stored for a release."""


@dataclass(frozen=True, eq=False)
class InstantGroups:
    """The group of each series at each instant, and what was promised.

    Parameters
    ----------
    subjects
        For each series, the hash of its subject, which has no other series.
    groups
        (series, instants): numbers drawn at random.
    n, l, k, within
        The promise.
    first, last, clock
        The period in microseconds or whole numbers; which of the two, with the time zone.
    further
        Other promises of the release: n, l, k and within of each.
    """

    subjects: NDArray[np.uint64]
    groups: NDArray[np.int64]
    n: int
    l: int
    k: int
    within: float
    first: int
    last: int
    clock: str
    further: tuple[Promise, ...] = ()

    @property
    def promises(self) -> tuple[Promise, ...]:
        """The promised guarantees."""
        return (self.n, self.l, self.k, self.within), *self.further


@dataclass(frozen=True)
class JointInference:
    """Whether releases are safe together: what is broken, or why that is unknown; both empty if they are safe."""

    broken: str = ""
    unknown: str = ""


def judge_together(several: Sequence[InstantGroups]) -> JointInference:
    """Judge releases of the same subjects as one.

    Examples
    --------
    In each of two releases, two groups hide everyone from an adversary who knows one reading. Together they reveal
    more: one reading of the first release leads to one group of two in the second.

    >>> people = np.arange(4, dtype=np.uint64)
    >>> def release(columns, first):
    ...     return InstantGroups(people, np.array(columns).T, 1, 2, 3, 0.0, first, first + 1, "number")
    >>> one, two = release([[0, 0, 1, 1], [0, 1, 0, 1]], 0), release([[0, 0, 1, 1], [0, 1, 0, 1]], 5)
    >>> judge_together([one]).broken
    ''
    >>> judge_together([one, two]).broken
    'someone who knows 1 reading(s) in all infers 1 other(s) to fewer than 3 subjects, at most 0 were promised'
    """
    periods = sorted((one.first, one.last) for one in several)
    if len({one.clock for one in several}) > 1 or any(a[1] >= b[0] for a, b in pairwise(periods)):
        return JointInference(
            unknown="releases under (n, l, k)-anonymity are judged where their periods do not overlap"
        )
    panel = _side_by_side(several)
    unknown = ""
    for n, l, k, within in sorted({promise for one in several for promise in one.promises}):
        verdict = NLKAnonymity(n, l, k).check(panel)
        if verdict.holds:
            continue
        if within:
            unknown = unknown or (
                f"someone who knows readings exactly could infer too much, and whether one who knows them to within "
                f"{within:g} could is not known without the values"
            )
        elif verdict.witness is None:
            unknown = unknown or "the search for what (n, l, k)-anonymity forbids used up its limit"
        else:
            return JointInference(
                f"someone who knows {n} reading(s) in all infers {verdict.measured} other(s) to fewer than {k} "
                f"subjects, at most {verdict.required} were promised"
            )
    return JointInference(unknown=unknown)


def _side_by_side(several: Sequence[InstantGroups]) -> Panel:
    """One row per subject, one column per instant of each release; missing if a subject is absent."""
    subjects = np.unique(np.concatenate([one.subjects for one in several]))
    columns = []
    for one in several:
        own = np.full((len(subjects), one.groups.shape[1]), np.nan)
        own[np.searchsorted(subjects, one.subjects)] = one.groups
        columns.append(own)
    return Panel(np.concatenate(columns, axis=1))
