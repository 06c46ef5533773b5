"""Search for known instants that let too much be inferred about one series: exact, by branch and bound over bitsets.

    G(t)     the series equal to f at instant t                    C(K) = intersection of G(t) over t in K
    I(t, C)  the series that share a value at t with a member of C
    t is inferred by K when t is not in K and I(t, C(K)) has fewer than k subjects
    wanted   K with at most n instants that infers at least r = l - n

At most n is enough: further instants shrink C, so nothing stops being inferred; and if l <= T, there are n - |K|
instants outside K, and outside any r inferred ones, to fill K up with.

A node is K with C(K), the instants still allowed in K and the *targets*: instants that may yet be inferred below it.
All others are *free*, knowing them costs nothing. C only shrinks on the way down, and every I with it. So with m picks
left

    target     t stays one only if it is inferred by the smallest C in reach, that of all allowed instants but t; and
               only if the m picks that remove most could remove all members whose group at t is too large to be in I
    bound      fewer than r targets, or no C below k subjects in m picks: nothing to find below
    useless    an instant that removes no member of C is not tried
    dominated  an instant u is not tried where a free v leaves a part of what u leaves: v can take its place in any K
    spending   a target is tried only if r others remain
    at once    if q free instants, found greedily, leave no more than all free ones together, and q plus the number of
               targets that may be spent is at most m: take these q, whatever else K has there is room for them

Instants are tried by what they leave, the least first, so the first descent is the greedy one; those tried before are
no longer allowed. Ties: free before targets, then the earlier instant.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.arrays import Bools, Ints
from shoal.kernels.nlk_labels import Groups

NOTHING, FOUND, RAN_OUT = 0, 1, 2
ONE = np.uint64(1)


class Work(NamedTuple):
    """Work space for a search, made once; `levels` below is one more than the depth of the tree."""

    equal: NDArray[np.uint64]  # (instants, words): G(t)
    members: NDArray[np.uint64]  # (levels, words): C
    target: Bools  # (levels, instants)
    allowed: NDArray[np.int32]  # (levels, instants): instants to try, in order
    level: Ints  # (levels, 3): how many are allowed, which is next, how many are in K
    known: NDArray[np.int32]  # K
    words: NDArray[np.uint64]  # (3, words)
    counts: Ints  # (2, instants)
    marks: Ints  # (2, series): groups and subjects already counted
    clock: Ints  # the last mark given out


def make_work(n_series: int, n_instants: int, n: int) -> Work:
    """Work space for searches with n known instants."""
    words = (n_series + 63) // 64
    levels = min(n, n_series) + 2
    return Work(
        np.zeros((n_instants, words), dtype=np.uint64),
        np.zeros((levels, words), dtype=np.uint64),
        np.zeros((levels, n_instants), dtype=np.bool_),
        np.zeros((levels, n_instants), dtype=np.int32),
        np.zeros((levels, 3), dtype=np.int64),
        np.zeros(n + 1, dtype=np.int32),
        np.zeros((3, words), dtype=np.uint64),
        np.zeros((2, n_instants), dtype=np.int64),
        np.full((2, n_series), -1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@njit(cache=True)
def _ones(word: Any) -> Any:
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
def _size(members: NDArray[np.uint64]) -> int:
    total = 0
    for w in range(members.shape[0]):
        total += _ones(members[w])
    return total


@njit(cache=True)
def add_group(groups: Groups, t: int, i: int, total: Any, work: Work) -> Any:
    """`total` with the subjects of i's group at t that the current mark has not counted yet."""
    s = groups.start[t, i]
    mark = work.clock[0]
    if work.marks[0, s] == mark:
        return total
    work.marks[0, s] = mark
    if groups.most == 1:
        return total + groups.crowd[t, s]
    for p in range(s, groups.stop[t, s]):
        subject = groups.subject[groups.order[t, p]]
        if work.marks[1, subject] != mark:
            work.marks[1, subject] = mark
            total += 1
    return total


@njit(cache=True)
def _infers(groups: Groups, members: NDArray[np.uint64], t: int, k: int, work: Work) -> bool:
    """Whether I(t, members) has fewer than k subjects."""
    work.clock[0] += 1
    total = 0
    for w in range(members.shape[0]):
        word = members[w]
        while word != np.uint64(0):
            lowest = word & (~word + ONE)
            total = add_group(groups, t, 64 * w + _ones(lowest - ONE), total, work)
            if total >= k:
                return False
            word ^= lowest
    return True


@njit(cache=True)
def _removable(groups: Groups, members: NDArray[np.uint64], f: int, t: int, k: int, most: int) -> bool:
    """Whether at most `most` members are in groups that, with f's, have k subjects at t."""
    own = groups.start[t, f]
    count = 0
    for w in range(members.shape[0]):
        word = members[w]
        while word != np.uint64(0):
            lowest = word & (~word + ONE)
            s = groups.start[t, 64 * w + _ones(lowest - ONE)]
            if s != own:
                crowd = groups.crowd[t, s]
                if groups.most == 1:  # no subject is in both groups
                    crowd += groups.crowd[t, own]
                if crowd >= k:
                    count += 1
                    if count > most:
                        return False
            word ^= lowest
    return True


@njit(cache=True)
def _shrink_targets(groups: Groups, f: int, r: int, k: int, must: int, d: int, m: int, size: int, work: Work) -> int:
    """Remove the targets that cannot be inferred below level d; returns how many are left, 0 if too few."""
    members, target, words = work.members[d], work.target[d], work.words
    n_allowed = work.level[d, 0]
    allowed = work.allowed[d, :n_allowed]
    # words[0]: removed by some allowed instant; words[1]: by two or more
    words[0] = np.uint64(0)
    words[1] = np.uint64(0)
    removed = work.counts[1, :n_allowed]
    is_allowed = work.counts[0]
    is_allowed[:] = 0
    for a in range(n_allowed):
        equal = work.equal[allowed[a]]
        is_allowed[allowed[a]] = 1
        count = 0
        for w in range(members.shape[0]):
            out = members[w] & ~equal[w]
            words[1, w] |= words[0, w] & out
            words[0, w] |= out
            count += _ones(out)
        removed[a] = count
    best = 0  # what the m picks that remove most remove, at most
    if m < n_allowed:
        removed.sort()
        for a in range(n_allowed - m, n_allowed):
            best += removed[a]
    else:
        best = size
    if size - best > (k - 1) * groups.most:
        return 0
    n_targets = 0
    for t in range(target.shape[0]):
        if not target[t]:
            continue
        for w in range(members.shape[0]):
            words[2, w] = members[w] & ~words[0, w]
            if is_allowed[t] == 1:
                words[2, w] |= members[w] & ~work.equal[t, w] & ~words[1, w]
        target[t] = _infers(groups, words[2], t, k, work) and (
            best >= size - 1 or _removable(groups, members, f, t, k, best)
        )
        n_targets += target[t]
    return n_targets if n_targets >= r and (must < 0 or target[must]) else 0


@njit(cache=True)
def _rank(d: int, size: int, spend: bool, work: Work) -> int:
    """Put the instants worth trying at level d in order; returns their number."""
    members, target, allowed = work.members[d], work.target[d], work.allowed[d]
    n_instants = target.shape[0]
    keys = work.counts[0]
    n_keys = 0
    for a in range(work.level[d, 0]):
        t = allowed[a]
        left = 0
        for w in range(members.shape[0]):
            left += _ones(members[w] & work.equal[t, w])
        if left < size and (spend or not target[t]):
            keys[n_keys] = (2 * left + target[t]) * n_instants + t
            n_keys += 1
    kept = 0
    for key in np.sort(keys[:n_keys]):
        t = key % n_instants
        dominated = False
        for b in range(kept):
            v = allowed[b]
            if not target[v]:
                dominated = True
                for w in range(members.shape[0]):
                    if members[w] & work.equal[v, w] & ~work.equal[t, w] != np.uint64(0):
                        dominated = False
                        break
                if dominated:
                    break
        if not dominated:
            allowed[kept] = t
            kept += 1
    return kept


@njit(cache=True)
def _take_free(d: Any, m: int, slack: int, work: Work) -> int:
    """Append to K, greedily, free instants that leave what all free ones leave; returns how many, 0 without room."""
    members, target, allowed, words = work.members[d], work.target[d], work.allowed[d], work.words
    n_allowed, n_known = work.level[d, 0], work.level[d, 2]
    n_words = members.shape[0]
    n_targets = 0
    words[0] = members
    for a in range(n_allowed):
        if target[allowed[a]]:
            n_targets += 1
        else:
            for w in range(n_words):
                words[0, w] &= work.equal[allowed[a], w]
    least = _size(words[0])
    words[1] = members
    left = _size(members)
    taken = 0
    while left > least:
        if taken + 1 + min(slack, n_targets) > m:
            return 0
        best = -1
        for a in range(n_allowed):
            if not target[allowed[a]]:
                count = 0
                for w in range(n_words):
                    count += _ones(words[1, w] & work.equal[allowed[a], w])
                if count < left:
                    best, left = a, count
        for w in range(n_words):
            words[1, w] &= work.equal[allowed[best], w]
        work.known[n_known + taken] = allowed[best]
        taken += 1
    return taken


@njit(cache=True)
def _open(groups: Groups, f: int, n: int, r: int, k: int, must: int, d: Any, work: Work) -> int:
    """Look at level d: FOUND, or NOTHING with the instants to try next (none, if nothing can be below)."""
    members, target = work.members[d], work.target[d]
    size = _size(members)
    n_known = work.level[d, 2]
    if size <= (k - 1) * groups.most:
        count = 0
        for t in range(target.shape[0]):
            if target[t] and _infers(groups, members, t, k, work):
                count += 1
            elif t == must:
                count = -target.shape[0]
        if count >= r:
            return FOUND
    m = n - n_known
    n_targets = _shrink_targets(groups, f, r, k, must, d, m, size, work) if m > 0 else 0
    work.level[d, 0] = _rank(d, size, n_targets > r, work) if n_targets > 0 else 0
    work.level[d, 1] = 0
    return NOTHING


@njit(cache=True)
def search(
    groups: Groups, small: Bools, f: int, n: int, r: int, k: int, first: int, must: int, limit: int, work: Work
) -> tuple[int, int, int]:
    """Search for K with at most n instants that infers r about series f: status, size of K (in work.known), nodes.

    `small` are the instants at which f's own group is below k. Only K that contain `first`, and only K that infer
    `must`, where these are not -1.
    """
    n_instants = groups.order.shape[0]
    n_words = work.members.shape[1]
    work.equal[:] = np.uint64(0)
    work.members[0] = np.uint64(0)
    for i in range(groups.order.shape[1]):
        work.members[0, i >> 6] |= ONE << np.uint64(i & 63)
    n_allowed = 0
    for t in range(n_instants):
        s = groups.start[t, f]
        for p in range(s, groups.stop[t, s]):
            i = groups.order[t, p]
            work.equal[t, i >> 6] |= ONE << np.uint64(i & 63)
        work.target[0, t] = small[t] and t != first
        if t not in (first, must):
            work.allowed[0, n_allowed] = t
            n_allowed += 1
    work.level[0, 0], work.level[0, 2] = n_allowed, 0
    if first >= 0:
        for w in range(n_words):
            work.members[0, w] &= work.equal[first, w]
        work.known[0] = first
        work.level[0, 2] = 1

    d, nodes = np.int64(0), 0  # the literal 0 would make numba compile functions of d twice
    arrived = True
    while d >= 0:
        n_known = work.level[d, 2]
        taken = 0
        if arrived:
            if nodes == limit:
                return RAN_OUT, 0, nodes
            nodes += 1
            if _open(groups, f, n, r, k, must, d, work) == FOUND:
                return FOUND, n_known, nodes
            if work.level[d, 0] > 0:
                taken = _take_free(d, n - n_known, np.sum(work.target[d]) - r, work)
            arrived = False
        n_allowed, tried = work.level[d, 0], work.level[d, 1]
        if tried >= n_allowed:
            d -= 1
            continue
        left = 0
        for w in range(n_words):
            work.members[d + 1, w] = work.members[d, w]
        work.target[d + 1] = work.target[d]
        if taken > 0:
            for a in range(n_known, n_known + taken):
                for w in range(n_words):
                    work.members[d + 1, w] &= work.equal[work.known[a], w]
            for a in range(n_allowed):
                if work.target[d, work.allowed[d, a]]:
                    work.allowed[d + 1, left] = work.allowed[d, a]
                    left += 1
            work.level[d, 1] = n_allowed  # nothing else needs to be tried here
        else:
            taken = 1
            t = work.allowed[d, tried]
            work.known[n_known] = t
            work.target[d + 1, t] = False
            for w in range(n_words):
                work.members[d + 1, w] &= work.equal[t, w]
            for a in range(tried + 1, n_allowed):
                work.allowed[d + 1, left] = work.allowed[d, a]
                left += 1
            work.level[d, 1] = tried + 1
        work.level[d + 1, 0], work.level[d + 1, 2] = left, n_known + taken
        d += 1
        arrived = True
    return NOTHING, 0, nodes
