"""The exact check of (n, l, k)-anonymity, and what given known instants infer.

    holds  <=>  no series f and no set K of n instants let l - n or more instants be inferred   (see nlk_search)

An instant can be inferred only if f's own group there is below k, for f is its own candidate. So the panel is accepted
at once if every series has fewer than l - n such instants. Otherwise, those with l - n or more are searched one by one,
those with most such instants first: each with a few nodes, in case a breach is easy to find, then each until it is
decided. Of series that are equal at all instants, only one is searched.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.arrays import Bools, Ints
from shoal.kernels.equal_rows import row_classes
from shoal.kernels.nlk_labels import Groups, make_groups, small_instants
from shoal.kernels.nlk_search import FOUND, NOTHING, RAN_OUT, Work, add_group, make_work, search

# Nodes of a first look at a series: enough for a greedy descent and a few turns.
_FIRST_LOOK = 50


class Breach(NamedTuple):
    """The result of a check."""

    status: int  # NOTHING: it holds; FOUND: it does not; RAN_OUT: the limit ran out, undecided
    series: int  # position, -1 without a breach
    known: Ints  # n instants, ascending
    inferred: Ints  # l - n or more instants, ascending
    at_most: int  # no adversary with n instants infers more than this, if nothing was found
    nodes: int


def find_breach(labels: NDArray[np.int32], subjects: Ints, n: int, l: int, k: int, limit: int) -> Breach:
    """Search a panel of labels (series, instants) for a breach, opening at most `limit` nodes; n < l <= instants."""
    groups = make_groups(labels, subjects)
    small = small_instants(groups, k)
    counts = small.sum(axis=1)
    most = int(counts.max())
    nobody = np.empty(0, dtype=np.int64)
    if most < l - n:
        return Breach(NOTHING, -1, nobody, nobody, most, 0)
    one_of_each = row_classes(labels.astype(np.uint64)) == np.arange(labels.shape[0])
    suspects = np.flatnonzero(one_of_each & (counts >= l - n))
    suspects = suspects[np.argsort(-counts[suspects], kind="stable")]
    work = make_work(labels.shape[0], labels.shape[1], n)
    status, series, n_known, nodes = _search_all(groups, small, suspects, n, l - n, k, -1, limit, work)
    if status != FOUND:
        return Breach(status, -1, nobody, nobody, l - n - 1 if status == NOTHING else most, nodes)
    known, inferred = fill_up(groups, small[series], series, work.known[:n_known].astype(np.int64), n, l - n, k, work)
    return Breach(FOUND, int(series), known, inferred, 0, nodes)


def fill_up(groups: Groups, small: Bools, f: int, known: Ints, n: int, r: int, k: int, work: Work) -> tuple[Ints, Ints]:
    """`known` and further instants, n in all, so that r stay inferred if they were; and what is inferred then.

    Needs n + r instants.
    """
    inferred = np.flatnonzero(inferred_by(groups, small, f, known, k, work))
    # First what is not inferred anyway, then what is inferred beyond the r that are wanted.
    spare = np.setdiff1d(np.arange(small.shape[0]), np.concatenate([known, inferred]))
    filled = np.sort(np.concatenate([known, spare, inferred[r:]])[:n]) if len(known) < n else np.sort(known)
    return filled, np.flatnonzero(inferred_by(groups, small, f, filled, k, work)).astype(np.int64)


@njit(cache=True)
def _search_all(
    groups: Groups, small: Bools, suspects: Ints, n: int, r: int, k: int, nowhere: int, limit: int, work: Work
) -> tuple[int, int, int, int]:
    # `nowhere` is -1: as a literal it would make numba compile the search once more.
    undecided = np.ones(suspects.shape[0], dtype=np.bool_)
    nodes = 0
    for look in range(2):
        for i in range(suspects.shape[0]):
            if undecided[i]:
                f = suspects[i]
                allowance = min(_FIRST_LOOK, limit - nodes) if look == 0 else limit - nodes
                if allowance < 1:
                    return RAN_OUT, -1, 0, nodes
                status, n_known, used = search(groups, small[f], f, n, r, k, nowhere, nowhere, allowance, work)
                nodes += used
                if status == FOUND:
                    return FOUND, f, n_known, nodes
                undecided[i] = status == RAN_OUT
    return (RAN_OUT if np.any(undecided) else NOTHING), -1, 0, nodes


@njit(cache=True)
def candidates(groups: Groups, f: int, known: Ints, most: int, out: Ints) -> int:
    """Write the series equal to f at all known instants to `out`; their number, or most + 1 if it is above `most`."""
    if known.shape[0] == 0:
        if out.shape[0] > most:
            return most + 1
        for i in range(out.shape[0]):
            out[i] = i
        return len(out)
    best = known[0]
    for t in known:
        s, b = groups.start[t, f], groups.start[best, f]
        if groups.stop[t, s] - s < groups.stop[best, b] - b:
            best = t
    count = 0
    begin = groups.start[best, f]
    for p in range(begin, groups.stop[best, begin]):
        i = groups.order[best, p]
        equal = True
        for t in known:
            if groups.start[t, i] != groups.start[t, f]:
                equal = False
                break
        if equal:
            if count == most:
                return most + 1
            out[count] = i
            count += 1
    return count


@njit(cache=True)
def inferred_by(groups: Groups, small: Bools, f: int, known: Ints, k: int, work: Work) -> Bools:
    """The instants that someone who knows exactly these instants infers about series f."""
    inferred = np.zeros(small.shape[0], dtype=np.bool_)
    out = np.empty(groups.order.shape[1], dtype=np.int64)
    most = (k - 1) * groups.most  # with more candidates nothing is inferred
    count = candidates(groups, f, known, most, out)
    if count > most:
        return inferred
    for t in range(small.shape[0]):
        if small[t]:
            work.clock[0] += 1
            total = 0
            for c in range(count):
                total = add_group(groups, t, out[c], total, work)
            inferred[t] = total < k
    for t in known:
        inferred[t] = False
    return inferred
