"""k-Ward: groups of k to 2k - 1 similar rows, merged by Ward's method while one is too small, split while too large.

    split(D):  if |D| < 2k, D is a group
               p < q <- the two most distant rows of D
               P <- p and its k - 1 nearest in D \\ {q},   Q <- q and its k - 1 nearest in D \\ P
               every other row of D is a group of one
               while some group has fewer than k rows:
                   merge the A and B, not both of k rows or more, with the smallest
                   ward(A, B) = |A||B| / (|A| + |B|) * |mean(A) - mean(B)|^2
               split every group of 2k rows or more; the others stay

This is Algorithm 1 of paper 5. P and Q have k rows from the start and are never merged, so a split gives at least two
groups and the recursion ends. If all rows of D are equal, they are cut in row order, k at a time: Algorithm 1 would
get there too, but with k rows per level of recursion.

A group is named by its lowest row. Ties go to the smallest (p, q), to the lowest row near p and q, and to the smallest
(A, B) with A < B; mean(A u B) = (|A| mean(A) + |B| mean(B)) / (|A| + |B|) in this order. Groups are numbered as split
visits them, lowest row first. No fastmath, sums from left to right: the result is the same for any number of threads
and equal to the naive one bit for bit.

It stays exact without a matrix of distances. Each group below k keeps a short list of its nearest groups, and the
distance beyond which the others lie. A merged group is offered to all lists; its two parts drop out. A list is rebuilt
only if it is empty and nothing nearer than its "beyond" is left to merge. A search reads a sketch of each mean before
the mean itself: coordinates along orthonormal directions, and the length of what they leave out. Sketches are never
farther apart than the means, so a sketch may rule a group out, never in.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from shoal.kernels.arrays import Floats, Ints

DIRECTIONS = 31  # of a sketch at most; fewer where 8 less hold nine tenths of the variance
SAMPLE = 500  # rows from which principal directions are found; not worth it for fewer than a fifth of them
LISTED = 6  # nearest groups a small group keeps
BLOCK = 256  # groups whose sketches are looked at together
STEP = 16  # columns between two checks whether a distance is already too large
PARTS = 64  # pieces of work for the threads
CROWD = 100_000  # pairs to examine from which threads pay
TINY = 1e-280  # far above what underflow can do to a squared distance
ALMOST = 1.0 + 1e-5  # see _margin


class WardLevel(NamedTuple):
    """The groups of one level of the recursion, in order of their lowest row; those merged into another have size 0.

    Every merge makes a group with a new number, so that lists may hold numbers of groups that no longer exist.
    """

    means: Floats
    sizes: Floats
    sketches: Floats  # one column per group
    number: Ints
    near: Ints  # numbers of the nearest groups by (Ward distance, lowest row), the first `listed` count
    apart: Floats  # their distances
    listed: Ints
    beyond: Floats  # no group outside the list is before this distance and row; -1 for k rows or more
    beyond_row: Ints
    row: Ints  # by number: the lowest row
    place: Ints  # by number: where it is in the arrays above, -1 if it no longer exists
    longest: Floats  # squared distance of the means from the centre, one number

    def without_empty(self) -> "WardLevel":
        """The same without groups of size 0."""
        keep = np.flatnonzero(self.sizes > 0.0)
        self.place[self.number[keep]] = np.arange(keep.shape[0])
        return self._replace(
            means=self.means[keep],
            sizes=self.sizes[keep],
            sketches=np.ascontiguousarray(self.sketches[:, keep]),
            number=self.number[keep],
            near=self.near[keep],
            apart=self.apart[keep],
            listed=self.listed[keep],
            beyond=self.beyond[keep],
            beyond_row=self.beyond_row[keep],
        )


def k_ward_groups(x: Floats, k: int, done: Ints | None = None) -> Ints:
    """Group label of each row of `x`, which has no gaps and at least k rows; `done` counts merges."""
    labels = np.empty(x.shape[0], dtype=np.int64)
    waiting = [np.arange(x.shape[0])]
    label = 0
    while waiting:
        rows = waiting.pop()
        if rows.shape[0] < 2 * k:
            labels[rows] = label
            label += 1
        else:
            names = _split(x[rows], k, done)
            order = np.argsort(names, kind="stable")
            waiting.extend(reversed(np.split(rows[order], np.flatnonzero(np.diff(names[order])) + 1)))
    return labels


def _split(x: Floats, k: int, done: Ints | None) -> Ints:
    """One level of the recursion: the lowest row of each row's group."""
    n = x.shape[0]
    centre = x.mean(axis=0)
    p, q, distance = _most_distant(x, centre) if (x != x[0]).any() else (0, 1, 0.0)
    if distance == 0.0:
        alike: Ints = np.minimum(np.arange(n) // k, n // k - 1) * k
        return alike

    names = np.arange(n)
    sizes = np.ones(n)
    means = x.copy()
    free = names != q
    for row in (p, q):
        free[row] = False
        others = np.flatnonzero(free)
        nearest = others[np.argsort(_distances(x[others], x[row]), kind="stable")[: k - 1]]
        free[nearest] = False
        members = np.sort(np.append(nearest, row))
        names[members] = members[0]
        sizes[members] = 0.0
        sizes[members[0]] = k
        # Accumulated, not summed: np.sum may add in another order.
        means[members[0]] = np.add.accumulate(x[members], axis=0)[-1] / k

    return _agglomerate(means, sizes, centre, k, done)[names]


def _most_distant(x: Floats, centre: Floats) -> tuple[int, int, float]:
    """The two most distant rows, the lower one first, and their distance."""
    radius = np.sqrt(_distances(x, centre))
    rows = np.argsort(-radius, kind="stable")
    x, radius = x[rows], radius[rows]
    floor = _distances(x, x[0]).max()
    if x.shape[0] < SAMPLE:
        largest, p, q = _most_distant_of(x, rows, radius, floor, 0, 1)
    else:
        of_parts, pairs = _most_distant_of_parts(x, rows, radius, floor)
        largest = of_parts.max()
        p, q = min(pairs[of_parts == largest].tolist())
    return p, q, largest


def _agglomerate(means: Floats, sizes: Floats, centre: Floats, k: int, done: Ints | None) -> Ints:
    """Merge until every group has k rows; for each group, named by its lowest row, the one it ended in."""
    n, n_columns = means.shape
    if 5 * n < SAMPLE:
        directions = np.eye(min(DIRECTIONS, n_columns), n_columns)
    else:
        _, lengths, principal = np.linalg.svd(means[:: n // SAMPLE + 1] - centre, full_matrices=False)
        variance = np.cumsum(lengths**2)
        directions = principal[: min(DIRECTIONS, np.searchsorted(variance, 0.9 * variance[-1]) + 8)]
    groups = WardLevel(
        means,
        sizes,
        sketches=np.empty((directions.shape[0] + 1, n)),
        number=np.arange(n),
        near=np.zeros((n, LISTED), dtype=np.int64),
        apart=np.zeros((n, LISTED)),
        listed=np.zeros(n, dtype=np.int64),
        beyond=np.full(n, -1.0),
        beyond_row=np.zeros(n, dtype=np.int64),
        row=np.arange(2 * n),
        place=np.full(2 * n, -1),
        longest=np.zeros(1),
    )
    _draw_sketches(groups, 0, n, centre, directions)
    merged_into = np.arange(n)
    new = n
    while True:
        groups = groups.without_empty()
        if done is not None:
            done[0] = max(done[0], n - groups.sizes.shape[0])  # the first level takes nearly all the time
        if groups.sizes.min() >= k:
            break
        new = _merge(groups, centre, directions, k, new, merged_into)
    while (merged_into != merged_into[merged_into]).any():
        merged_into = merged_into[merged_into]
    return merged_into


@njit(cache=True)
def _distances(x: Floats, point: Floats) -> Floats:
    result = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        total = 0.0
        for c in range(x.shape[1]):
            difference = x[i, c] - point[c]
            total += difference * difference
        result[i] = total
    return result


@njit(cache=True)
def _most_distant_of(
    x: Floats, rows: Ints, radius: Floats, floor: float, part: int, parts: int
) -> tuple[float, int, int]:
    """The largest distance, at least `floor`, of a row part, part + parts, ... to a later one, and the two rows.

    `x` is sorted by falling `radius`, the distance to any one point, and `rows` has the row numbers. No pair is farther
    apart than the sum of its radii, which ends the search for partners.
    """
    n, n_columns = x.shape
    rounding = 1.0 + 64.0 * (n_columns + 16) * 2.3e-16
    best, p, q = floor, n, n
    for i in range(part, n - 1, parts):
        for j in range(i + 1, n):
            reach = (radius[i] + radius[j]) * rounding
            if reach * reach + TINY < best:
                break
            total = 0.0
            for c in range(n_columns):
                difference = x[i, c] - x[j, c]
                total += difference * difference
            if total >= best:
                low, high = min(rows[i], rows[j]), max(rows[i], rows[j])
                if total > best or low < p or (low == p and high < q):
                    best, p, q = total, low, high
    return best, p, q


@njit(parallel=True, cache=True)
def _most_distant_of_parts(x: Floats, rows: Ints, radius: Floats, floor: float) -> tuple[Floats, Ints]:
    largest = np.empty(PARTS)
    pairs = np.empty((PARTS, 2), dtype=np.int64)
    for part in prange(PARTS):
        largest[part], pairs[part, 0], pairs[part, 1] = _most_distant_of(x, rows, radius, floor, part, PARTS)
    return largest, pairs


@njit(cache=True)
def _draw_sketches(groups: WardLevel, start: int, stop: int, centre: Floats, directions: Floats) -> None:
    n_columns = centre.shape[0]
    for i in range(start, stop):
        away = groups.means[i] - centre
        length = 0.0
        for c in range(n_columns):
            length += away[c] * away[c]
        groups.longest[0] = max(groups.longest[0], length)
        for d in range(directions.shape[0]):
            along = 0.0
            for c in range(n_columns):
                along += directions[d, c] * away[c]
            groups.sketches[d, i] = along
            for c in range(n_columns):  # what is left out by this direction and those before
                away[c] -= along * directions[d, c]
        length = 0.0
        for c in range(n_columns):
            length += away[c] * away[c]
        groups.sketches[directions.shape[0], i] = np.sqrt(length)


@njit(cache=True)
def _margin(groups: WardLevel) -> float:
    """What to subtract from the squared distance of two sketches, so that it is at most ALMOST times that of the means.

    Rounding, and directions that are not quite orthonormal, put a sketch off by s or less: 64 (columns + 16) 2^-52 of
    the longest distance from the centre. And (u + s)^2 <= (1 + 1e-6) u^2 + (1 + 1e6) s^2.
    """
    slack = 64.0 * (groups.means.shape[1] + 16) * 2.3e-16
    margin: float = 2e6 * slack * slack * groups.longest[0] + TINY
    return margin


@njit(cache=True)
def _enlist(groups: WardLevel, a: int, b: int, distance: float) -> None:
    """Insert b into the list of a, if it belongs there."""
    near, apart = groups.near[a], groups.apart[a]
    number = groups.number[b]
    row = groups.row[number]
    if distance > groups.beyond[a] or (distance == groups.beyond[a] and row >= groups.beyond_row[a]):
        return
    slot = groups.listed[a]
    while slot > 0 and (
        distance < apart[slot - 1] or (distance == apart[slot - 1] and row < groups.row[near[slot - 1]])
    ):
        slot -= 1
    last = groups.listed[a]
    if last == LISTED:  # one has to leave
        last -= 1
        if slot == LISTED:
            groups.beyond[a], groups.beyond_row[a] = distance, row
            return
        groups.beyond[a], groups.beyond_row[a] = apart[last], groups.row[near[last]]
    else:
        groups.listed[a] += 1
    for s in range(last, slot, -1):
        near[s], apart[s] = near[s - 1], apart[s - 1]
    near[slot], apart[slot] = number, distance


@njit(cache=True)
def _look_around(groups: WardLevel, a: int, k: int, offer: bool) -> None:
    """Rebuild the list of a if a is small; with `offer`, put a on the lists of others."""
    means, sizes, sketches, beyond = groups.means, groups.sizes, groups.sketches, groups.beyond
    n_columns = means.shape[1]
    margin = _margin(groups)
    groups.listed[a] = 0
    groups.beyond_row[a] = groups.row.shape[0]
    beyond[a] = np.inf if sizes[a] < k else -1.0
    bounds = np.empty(BLOCK)
    for start in range(0, sizes.shape[0], BLOCK):
        width = min(BLOCK, sizes.shape[0] - start)
        for i in range(width):
            bounds[i] = -margin
        for d in range(sketches.shape[0]):
            coordinate = sketches[d, a]
            others = sketches[d, start : start + width]
            for i in range(width):
                difference = coordinate - others[i]
                bounds[i] += difference * difference
        for i in range(width):
            b = start + i
            limit = max(beyond[a], beyond[b]) if offer else beyond[a]
            weight = sizes[a] * sizes[b] / (sizes[a] + sizes[b])
            if weight * bounds[i] > limit * ALMOST or b == a or sizes[b] == 0.0:
                continue
            total = 0.0
            for c in range(n_columns):
                difference = means[a, c] - means[b, c]
                total += difference * difference
                if c % STEP == STEP - 1 and weight * total > limit:  # further columns cannot make it smaller
                    break
            distance = weight * total
            if distance <= beyond[a]:
                _enlist(groups, a, b, distance)
            if offer and distance <= beyond[b]:
                _enlist(groups, b, a, distance)


@njit(parallel=True, cache=True)
def _search(groups: WardLevel, wanted: Ints, k: int) -> None:
    for part in prange(PARTS):
        for i in range(part, wanted.shape[0], PARTS):
            _look_around(groups, wanted[i], k, False)


@njit(cache=True, nogil=True)
def _merge(groups: WardLevel, centre: Floats, directions: Floats, k: int, new: int, merged_into: Ints) -> int:
    """Merge until no group is small, or until enough are gone to compact the arrays; return the next number."""
    means, sizes, number, place = groups.means, groups.sizes, groups.number, groups.place
    near, apart, listed = groups.near, groups.apart, groups.listed
    n_groups, n_columns = means.shape
    wanted = np.empty(n_groups, dtype=np.int64)
    gone = 0
    while gone <= n_groups // 8 + 64:
        a, b, limit = n_groups, n_groups, np.inf
        n_small = 0
        for c in range(n_groups):
            if sizes[c] == 0.0 or sizes[c] >= k:
                continue
            n_small += 1
            while listed[c] > 0 and place[near[c, 0]] < 0:
                listed[c] -= 1
                for s in range(listed[c]):
                    near[c, s], apart[c, s] = near[c, s + 1], apart[c, s + 1]
            if listed[c] > 0 and apart[c, 0] <= limit:
                other = place[near[c, 0]]
                low, high = min(c, other), max(c, other)
                if apart[c, 0] < limit or low < a or (low == a and high < b):
                    a, b, limit = low, high, apart[c, 0]
        if n_small == 0:
            break

        n_wanted = 0
        for c in range(n_groups):
            if listed[c] == 0 and sizes[c] > 0.0 and sizes[c] < k and groups.beyond[c] <= limit:
                wanted[n_wanted] = c
                n_wanted += 1
        if n_wanted * n_groups >= CROWD:
            _search(groups, wanted[:n_wanted], k)
        else:
            for i in range(n_wanted):
                _look_around(groups, wanted[i], k, False)
        if n_wanted > 0:
            continue

        size = sizes[a] + sizes[b]
        for c in range(n_columns):
            means[a, c] = (sizes[a] * means[a, c] + sizes[b] * means[b, c]) / size
        sizes[a], sizes[b] = size, 0.0
        groups.beyond[b] = -1.0
        gone += 1
        merged_into[groups.row[number[b]]] = groups.row[number[a]]
        place[number[a]], place[number[b]], place[new] = -1, -1, a
        groups.row[new] = groups.row[number[a]]
        number[a] = new
        new += 1
        _draw_sketches(groups, a, a + 1, centre, directions)
        _look_around(groups, a, k, True)
    return new
