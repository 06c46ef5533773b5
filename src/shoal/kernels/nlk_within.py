"""The exact check of (n, l, k)-anonymity against someone who knows values only to within some error.

    candidates of f and K   the series whose values differ from f's by at most `within` at every instant of K
    holds  <=>              no series f and no set K of n instants let l - n or more instants be inferred

There are more candidates than with exact knowledge, so nothing is inferred that exact knowledge would not infer.
Closeness is not transitive, so candidates are not an intersection of groups: sets of instants are tried one after
another, depth first. A branch is abandoned if even knowing all instants that could still be added would not infer
enough.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arrays import Bools, Floats, Ints
from shoal.kernels.equal_rows import row_classes
from shoal.kernels.nlk_check import Breach
from shoal.kernels.nlk_labels import make_groups, small_instants
from shoal.kernels.nlk_search import FOUND, NOTHING, RAN_OUT

_SURELY = 1.0 + 2.0**-51  # differences round: anything not certainly within counts as beyond, which infers more


class _Panel(NamedTuple):
    labels: NDArray[np.int32]
    subjects: Ints
    k: int


def find_breach_within(
    values: Floats, labels: NDArray[np.int32], subjects: Ints, n: int, l: int, k: int, within: float, limit: int
) -> Breach:
    """Search values (series, instants, channels) for a breach, examining at most `limit` sets; n < l <= instants.

    `labels` number the values that are published bit for bit alike at each instant.
    """
    small = small_instants(make_groups(labels, subjects), k)
    counts = small.sum(axis=1)
    nobody = np.empty(0, dtype=np.int64)
    one_of_each = row_classes(labels.astype(np.uint64)) == np.arange(len(labels))
    suspects = np.flatnonzero(one_of_each & (counts >= l - n))
    panel = _Panel(labels, subjects, k)
    nodes = 0
    for f in suspects[np.argsort(-counts[suspects], kind="stable")].tolist():
        near = (np.abs(values - values[f]) * _SURELY <= within).all(axis=2) | (labels == labels[f])
        status, known, used = _search(panel, f, near, np.flatnonzero(small[f]), n, l - n, limit - nodes)
        nodes += used
        if status == FOUND:
            filled, inferred = _filled(panel, near, np.flatnonzero(small[f]), known, n, l - n)
            return Breach(FOUND, f, filled, inferred, 0, nodes)
        if status == RAN_OUT:
            return Breach(RAN_OUT, -1, nobody, nobody, int(counts.max(initial=0)), nodes)
    return Breach(NOTHING, -1, nobody, nobody, min(l - n - 1, int(counts.max(initial=0))), nodes)


def _search(panel: _Panel, f: int, near: Bools, small: Ints, n: int, r: int, limit: int) -> tuple[int, list[int], int]:
    """Search for at most n known instants by which r of the small instants are inferred."""
    everyone = np.ones(len(near), dtype=np.bool_)
    waiting: list[tuple[list[int], Bools, int]] = [([], everyone, 0)]
    used = 0
    while waiting:
        known, candidates, start = waiting.pop()
        if used == limit:
            return RAN_OUT, [], used
        used += 1
        if len(_inferred(panel, candidates, small, known)) >= r:
            return FOUND, known, used
        if len(known) == n:
            continue
        telling = start + np.flatnonzero((candidates[:, None] & ~near[:, start:]).any(axis=0))
        least = candidates & near[:, telling].all(axis=1)
        if len(_inferred(panel, least, small, known)) < r:
            continue
        waiting += [([*known, t], candidates & near[:, t], t + 1) for t in telling[::-1].tolist()]
    return NOTHING, [], used


def _inferred(panel: _Panel, candidates: Bools, small: Ints, known: list[int]) -> Ints:
    """Which of the small instants are inferred from these candidates."""
    inferred = []
    rows = np.flatnonzero(candidates)
    for t in small.tolist():
        if t not in known:
            column = panel.labels[:, t]
            alike = np.isin(column, np.unique(column[rows]))
            if len(np.unique(panel.subjects[alike])) < panel.k:
                inferred.append(t)
    return np.array(inferred, dtype=np.int64)


def _filled(panel: _Panel, near: Bools, small: Ints, known: list[int], n: int, r: int) -> tuple[Ints, Ints]:
    """n known instants, so that r are still inferred, and what is inferred then."""
    inferred = _inferred(panel, np.logical_and.reduce(near[:, known], axis=1), small, known)
    spare = np.setdiff1d(np.arange(near.shape[1]), np.concatenate([known, inferred]))
    filled = np.sort(np.concatenate([known, spare, inferred[r:]])[:n]).astype(np.int64)
    return filled, _inferred(panel, np.logical_and.reduce(near[:, filled], axis=1), small, filled.tolist())
