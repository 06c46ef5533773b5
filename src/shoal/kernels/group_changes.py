"""The exact change of the loss when groups change, and the best change between two or three groups.

    loss(groups) = sum over groups G, over i in G of |x[i] - m(G)|^2,    m(G) the mean of G

With a, b the sizes of A and B:

    move i: A -> B                 b / (b + 1) |x[i] - m(B)|^2  -  a / (a - 1) |x[i] - m(A)|^2
    replace i in A by j            r(A, i, j) = |x[j] - m(A)|^2 - |x[i] - m(A)|^2 - |x[i] - x[j]|^2 / a
    swap i in A, j in B            r(A, i, j) + r(B, j, i)
    cycle i: A -> B, j: B -> C, l: C -> A    r(B, j, i) + r(C, l, j) + r(A, i, l)
    dissolve A                     the moves of its members one after another, each to the group where it costs least

The same gain in other terms; a bound leaves out the last one, which needs a distance between rows:

    s = 1/a + 1/b,  h(i) = (1 + s) |x[i] - m(A)|^2 - (1 - s) |x[i] - m(B)|^2,  h(j) alike
    gain of a swap                 h(i) + h(j) - s |m(A) - m(B)|^2 - s |x[i] + x[j] - m(A) - m(B)|^2

Means are summed again from the members, in row order, after every change, so they do not drift. Among gains that are
equal up to rounding, the first by position is taken.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.core.options import DefaultOptions

from shoal.kernels.arrays import Floats, Ints

LARGEST_IN_CYCLE = 64  # rows of a group; a cycle of three groups tries the product of their sizes
# In place of rows, where no change helps: plain from the means and radii, or from a bound for each row.
APART, RULED_OUT = -2, -3
CLEARLY = 1.0 + 1e-9  # a gain is larger than another only by more than rounding
# For functions that allocate nothing: numba then counts no references to arrays, which took a quarter of the time.
# The option is numba's own and not documented; a version without it counts them.
LEAN: Any = {"cache": True} | ({"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {})


class State(NamedTuple):
    """Rows (less a common offset) and their groups, as lists in row order that end in -1."""

    y: Floats
    labels: Ints
    first: Ints  # row of each group
    following: Ints  # row in the same group
    sizes: Ints
    means: Floats
    own: Floats  # squared distance of each row to the mean of its group
    radii: Floats  # largest distance, not squared, of a group's rows to its mean
    subjects: Ints  # of each row; no swap and no dissolving brings a subject into a group that has it


@njit(fastmath={"reassoc", "contract"}, **LEAN)
def distance(x: Floats, i: int, y: Floats, j: int) -> np.float64:
    """Squared Euclidean distance of the i-th row of x to the j-th of y, summed in any order so that it vectorises."""
    total = np.float64(0.0)
    for c in range(x.shape[1]):
        difference = x[i, c] - y[j, c]
        total += difference * difference
    return total


@njit(**LEAN)
def _renew_mean(s: State, g: int) -> None:
    """Size and mean of a group from its members."""
    size = 0
    for c in range(s.y.shape[1]):
        s.means[g, c] = 0.0
    row = s.first[g]
    while row >= 0:
        size += 1
        for c in range(s.y.shape[1]):
            s.means[g, c] += s.y[row, c]
        row = s.following[row]
    s.sizes[g] = size
    for c in range(s.y.shape[1] if size > 0 else 0):
        s.means[g, c] /= size


@njit(**LEAN)
def renew(s: State, g: int) -> None:
    """Size, mean and distances of a group from its members."""
    _renew_mean(s, g)
    most = 0.0
    row = s.first[g]
    while row >= 0:
        s.own[row] = distance(s.y, row, s.means, g)
        most = max(most, s.own[row])
        row = s.following[row]
    s.radii[g] = np.sqrt(most)


@njit(**LEAN)
def relabel(s: State, row: int, g: int) -> None:
    """Move the row from its group to G; both must be updated."""
    a = s.labels[row]
    if s.first[a] == row:
        s.first[a] = s.following[row]
    else:
        before = s.first[a]
        while s.following[before] != row:
            before = s.following[before]
        s.following[before] = s.following[row]
    s.labels[row] = g
    if s.first[g] < 0 or s.first[g] > row:
        s.following[row] = s.first[g]
        s.first[g] = row
        return
    before = s.first[g]
    while s.following[before] >= 0 and s.following[before] < row:
        before = s.following[before]
    s.following[row] = s.following[before]
    s.following[before] = row


@njit(**LEAN)
def _rounding(terms: float, noise: float) -> float:
    """The largest gain that rounding alone can show, given the sum of the squared distances it was computed from."""
    return float(1e-12 * terms + noise * (np.sqrt(terms) + noise))


@njit(**LEAN)
def _balls_apart(gap: float, n_a: int, n_b: int, radius_a: float, radius_b: float, k: int) -> bool:
    """True if no move and no swap can help between two groups whose means are `gap`, squared, apart.

    No swap can if the balls around the means that hold the rows do not touch and both groups have two rows or more.
    """
    apart = np.sqrt(gap)
    if apart <= radius_a + radius_b or 1.0 / n_a + 1.0 / n_b > 1.0:
        return False
    if n_a > k and n_b / (n_b + 1.0) * (apart - radius_a) ** 2 < n_a / (n_a - 1.0) * radius_a**2:
        return False
    return not (n_b > k and n_a / (n_a + 1.0) * (apart - radius_b) ** 2 < n_b / (n_b - 1.0) * radius_b**2)


@njit(**LEAN)
def are_apart(s: State, a: int, b: int, k: int) -> bool:
    """True if no move and no swap between the two groups can help."""
    return bool(_balls_apart(distance(s.means, a, s.means, b), s.sizes[a], s.sizes[b], s.radii[a], s.radii[b], k))


@njit(**LEAN)
def _has_subject(s: State, g: int, subject: int, leaving: int) -> bool:
    """Whether a row of the subject is in G, besides the one that leaves."""
    row = s.first[g]
    while row >= 0:
        if row != leaving and s.subjects[row] == subject:
            return True
        row = s.following[row]
    return False


@njit(**LEAN)
def best_of_two(s: State, a: int, b: int, k: int, noise: float, rows: Ints, room: Floats) -> tuple[int, int]:
    """The pair (i of A or -1, j of B or -1) whose move or swap lowers the loss most.

    If none does, it is (-1, -1), or twice APART or RULED_OUT. `rows` (3, rows) and `room` (4, rows) are work space.
    """
    n_a = s.sizes[a]
    n_b = s.sizes[b]
    gap = distance(s.means, a, s.means, b)
    if _balls_apart(gap, n_a, n_b, s.radii[a], s.radii[b], k):
        return APART, APART
    share = 1.0 / n_a + 1.0 / n_b
    rows_a, rows_b, kept = rows[0], rows[1], rows[2]
    most_a, most_b = room[0], room[1]  # of h less what does not depend on the rows
    to_a, to_b = room[2], room[3]
    most = -np.inf
    fixed = share * gap - _rounding(8.0 * (gap + s.radii[a] ** 2 + s.radii[b] ** 2), noise)
    best = 0.0  # what a gain must exceed
    best_i = best_j = -1
    j = s.first[b]
    for q in range(n_b):
        rows_b[q] = j
        to_a[q] = distance(s.y, j, s.means, a)
        most_b[q] = (1.0 + share) * s.own[j] - (1.0 - share) * to_a[q] - fixed
        most = max(most, most_b[q])
        if n_b > k:
            gain = n_b / (n_b - 1.0) * s.own[j] - n_a / (n_a + 1.0) * to_a[q]
            if gain > best and gain > _rounding(s.own[j] + to_a[q], noise):
                best = gain * CLEARLY
                best_j = j
        j = s.following[j]
    # First which rows of A may gain, then with which of B: without branches that could not be foreseen.
    n_tried = 0
    i = s.first[a]
    while i >= 0:
        rows_a[n_tried] = i
        to_b[n_tried] = distance(s.y, i, s.means, b)
        most_a[n_tried] = (1.0 + share) * s.own[i] - (1.0 - share) * to_b[n_tried]
        n_tried += int((n_a > k) | (most_a[n_tried] + most > best))
        i = s.following[i]
    if n_tried == 0 and best_j < 0:
        return RULED_OUT, RULED_OUT
    for p in range(n_tried):
        i = rows_a[p]
        if n_a > k:
            gain = n_a / (n_a - 1.0) * s.own[i] - n_b / (n_b + 1.0) * to_b[p]
            if gain > best and gain > _rounding(s.own[i] + to_b[p], noise):
                best = gain * CLEARLY
                best_i = i
                best_j = -1
        bound = best - most_a[p]
        n_kept = 0
        for q in range(n_b if most > bound else 0):
            kept[n_kept] = q
            n_kept += int(most_b[q] > bound)
        for q in kept[:n_kept]:
            j = rows_b[q]
            between = distance(s.y, i, s.y, j)
            gain = s.own[i] - to_b[p] + s.own[j] - to_a[q] + share * between
            if gain > best and gain > _rounding(s.own[i] + to_b[p] + s.own[j] + to_a[q] + between, noise):
                if _has_subject(s, a, s.subjects[j], i) or _has_subject(s, b, s.subjects[i], j):
                    continue
                best = gain * CLEARLY
                best_i = i
                best_j = j
    return best_i, best_j


@njit(**LEAN)
def _replacements(s: State, a: int, b: int, exact: bool, table: Floats) -> None:
    """table[p, q] = r(A, p-th row of A, q-th row of B); if not exact, a lower bound: |x[i] - x[j]| goes over m(A)."""
    j = s.first[b]
    for q in range(s.sizes[b]):
        to_a = distance(s.y, j, s.means, a)
        i = s.first[a]
        for p in range(s.sizes[a]):
            between = distance(s.y, i, s.y, j) if exact else (np.sqrt(s.own[i]) + np.sqrt(to_a)) ** 2
            table[p, q] = to_a - s.own[i] - between / s.sizes[a]
            i = s.following[i]
        j = s.following[j]


@njit(**LEAN)
def _member(s: State, a: int, p: int) -> int:
    row = s.first[a]
    for _ in range(p):
        row = s.following[row]
    return int(row)


@njit(**LEAN)
def cycle_three(s: State, a: int, b: int, c: int, tables: Floats, noise: float) -> bool:
    """Carry out the best cycle A -> B -> C -> A if it lowers the loss."""
    terms = 4.0 * (distance(s.means, a, s.means, b) + distance(s.means, b, s.means, c))  # of a distance, at most
    terms += 8.0 * (s.radii[a] ** 2 + s.radii[b] ** 2 + s.radii[c] ** 2)
    for exact in (False, True):  # bounds rule out most without the distances between rows
        _replacements(s, a, c, exact, tables[0])
        _replacements(s, b, a, exact, tables[1])
        _replacements(s, c, b, exact, tables[2])
        best = _rounding(terms, noise)
        best_p = best_q = best_r = -1
        for p in range(s.sizes[a]):
            for q in range(s.sizes[b]):
                enters_b = tables[1, q, p]
                for r in range(s.sizes[c]):
                    gain = -(enters_b + tables[2, r, q] + tables[0, p, r])
                    if gain > best:
                        best = gain * CLEARLY
                        best_p = p
                        best_q = q
                        best_r = r
        if best_p < 0:
            return False
    i = _member(s, a, best_p)
    j = _member(s, b, best_q)
    row = _member(s, c, best_r)
    relabel(s, i, b)
    relabel(s, j, c)
    relabel(s, row, a)
    renew(s, a)
    renew(s, b)
    renew(s, c)
    return True


@njit(cache=True)
def dissolve(s: State, a: int, near: Ints, noise: float) -> Ints:
    """Move all members of A to near groups if that lowers the loss; return the groups they went to, or none."""
    size = s.sizes[a]
    rows = np.empty(size, dtype=np.int64)
    targets = np.full(size, -1, dtype=np.int64)
    gain = 0.0
    row = s.first[a]
    for p in range(size):
        rows[p] = row
        gain += s.own[row]
        row = s.following[row]
    gain -= _rounding(2.0 * gain, noise)
    for p in range(size):
        best = gain  # costs only add up: more than what is left cannot pay
        for slot in range(near.shape[1]):
            b = near[a, slot]
            if s.sizes[b] > 0:
                cost = s.sizes[b] / (s.sizes[b] + 1.0) * distance(s.y, rows[p], s.means, b)
                if cost < best and not _has_subject(s, b, s.subjects[rows[p]], rows[p]):
                    best = cost
                    targets[p] = b
        if targets[p] < 0:
            break
        gain -= best
        relabel(s, rows[p], targets[p])
        _renew_mean(s, targets[p])
    if targets[size - 1] < 0:
        for p in range(size):
            if targets[p] >= 0:
                relabel(s, rows[p], a)
                _renew_mean(s, targets[p])
        return targets[:0]
    renew(s, a)
    for b in targets:
        renew(s, b)
    return targets
