"""V-MDAV: groups of k to 2k - 1 similar rows, built from the outside in, with as many rows as lie close.

    c <- the mean of all rows;  U <- all rows
    while |U| >= k
        e <- the row of U farthest from c;   G <- e and its k - 1 nearest in U;   U <- U \\ G
        while |G| < 2k - 1 and U is not empty
            e_min <- the row of U nearest to a member of G, d_in <- that distance
            d_out <- the distance from e_min to the nearest other row of U, infinite if there is none
            if d_in < gain^2 d_out: e_min moves from U to G, else stop          (distances are squared)
        publish G
    each row left, in row order, joins the group below 2k - 1 rows with the nearest mean of present members

This is Solanas and Martinez-Balleste (2006). If every group already has 2k - 1 rows, a case the paper leaves open, the
row joins the nearest one, and the 2k rows are split: the row farthest from their mean with its k - 1 nearest, and the
others as a new group.

Ties break by row position, between groups by label; groups are numbered in the order they are formed. Sums run from
left to right, in means over rows in row order, so that the result is equal to the naive one bit for bit: no fastmath.
One thread: the steps are too short to share. Distances to e are computed anyway; by the triangle inequality they show
which rows can be e_min, and which can prevent it.
"""

import numpy as np
from numba import njit

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.mdav import squared_distance

STEP = 8  # columns between two checks whether a distance is already too large
TINY = 1e-140  # far above what underflow can do to a distance


def v_mdav_groups(x: Floats, k: int, gain: float, done: Ints | None = None) -> Ints:
    """Group label of each row of `x`, which has no gaps and at least k rows; `done` counts the rows in groups."""
    rows = np.arange(x.shape[0])
    from_centre = _distances(x, rows, _mean(x, rows))
    counted = np.zeros(1, dtype=np.int64) if done is None else done
    labels = _form(x, np.argsort(-from_centre, kind="stable"), k, gain * gain, counted)
    left = np.flatnonzero(labels < 0)
    if left.shape[0] > 0:
        _join(x, k, labels, left)
    return labels


def _join(x: Floats, k: int, labels: Ints, left: Ints) -> None:
    """Label the rows that are left."""
    taken = np.flatnonzero(labels >= 0)
    taken = taken[np.argsort(labels[taken], kind="stable")]
    sizes = np.bincount(labels[taken]).tolist()
    means = [_mean(x, members) for members in np.split(taken, np.cumsum(sizes)[:-1])]
    for row in left:
        candidates = [label for label, size in enumerate(sizes) if size < 2 * k - 1] or list(range(len(sizes)))
        apart = _distances(np.array([means[label] for label in candidates]), np.arange(len(candidates)), x[row])
        label = candidates[int(apart.argmin())]
        labels[row] = label
        members = np.flatnonzero(labels == label)
        means[label] = _mean(x, members)
        sizes[label] += 1
        if sizes[label] == 2 * k:
            first = members[_distances(x, members, means[label]).argmax()]
            apart = _distances(x, members, x[first])
            apart[members == first] = -1.0  # before any that equals it
            others = np.sort(members[np.argsort(apart, kind="stable")[k:]])
            labels[others] = len(sizes)
            sizes[label] = k
            means[label] = _mean(x, np.flatnonzero(labels == label))
            sizes.append(k)
            means.append(_mean(x, others))


@njit(cache=True)
def _mean(x: Floats, rows: Ints) -> Floats:
    total = np.zeros(x.shape[1])
    for row in rows:
        for c in range(x.shape[1]):
            total[c] += x[row, c]
    for c in range(x.shape[1]):
        total[c] /= rows.shape[0]
    return total


@njit(cache=True)
def _distances(x: Floats, rows: Ints, point: Floats) -> Floats:
    result = np.empty(rows.shape[0])
    for i in range(rows.shape[0]):
        total = 0.0
        for c in range(x.shape[1]):
            difference = x[rows[i], c] - point[c]
            total += difference * difference
        result[i] = total
    return result


@njit(cache=True)
def _distance_within(x: Floats, a: int, b: int, limit: float, weight: float) -> float:
    """Squared distance of two rows; if weight times distance exceeds the limit, some value for which it does too."""
    n_columns = x.shape[1]
    total = 0.0
    start = 0
    while start + STEP < n_columns:
        for c in range(start, start + STEP):
            difference = x[a, c] - x[b, c]
            total += difference * difference
        if weight * total > limit:  # further columns cannot make it smaller
            return total
        start += STEP
    for c in range(start, n_columns):
        difference = x[a, c] - x[b, c]
        total += difference * difference
    return total


@njit(cache=True)
def _nearest(distances: Floats, rows: Ints, centre: int, k: int) -> Ints:
    """Positions in `rows` of the k - 1 nearest to row `centre`; an equal distance keeps the earlier row in front."""
    chosen = np.empty(k - 1, dtype=np.int64)
    n_chosen = 0
    for i in range(rows.shape[0]):
        if rows[i] == centre or (n_chosen == k - 1 and (k == 1 or distances[i] >= distances[chosen[n_chosen - 1]])):
            continue
        slot = min(n_chosen, k - 2)
        n_chosen = min(n_chosen + 1, k - 1)
        while slot > 0 and distances[i] < distances[chosen[slot - 1]]:
            chosen[slot] = chosen[slot - 1]
            slot -= 1
        chosen[slot] = i
    return chosen


@njit(cache=True)
def _newcomer(
    x: Floats, rows: Ints, members: Ints, from_first: Floats, at_least: Floats, seen: Ints, weight: float
) -> int:
    """Position in `rows` of the row to add to a group, or -1: its nearest, if farther from all others by the weight.

    `from_first` has the distances from the first member, and -1 for the members. A row is at least `at_least` from the
    first `seen` members; both are kept from one newcomer to the next.
    """
    rounding = 64.0 * (x.shape[1] + 16) * 2.3e-16
    radius = 0.0
    for member in members[1:]:
        radius = max(radius, squared_distance(x[member], x[members[0]]))
    d_in = np.inf
    n_free = 0
    for i in range(rows.shape[0]):
        if from_first[i] >= 0.0:
            n_free += 1
            d_in = min(d_in, from_first[i])
    nearest = -1
    for i in range(rows.shape[0]):
        # A row farther than this from the first member is farther than d_in from all of them.
        reach = (np.sqrt(d_in) + np.sqrt(radius)) * (1.0 + rounding) + TINY
        if from_first[i] < 0.0 or from_first[i] > reach * reach:
            continue
        apart = at_least[i]
        if apart <= d_in:  # perhaps not its distance, only a bound
            apart, seen[i] = from_first[i], 1
        for member in members[seen[i] :]:
            apart = min(apart, _distance_within(x, rows[i], member, min(apart, d_in), 1.0))
        at_least[i], seen[i] = apart, members.shape[0]
        if apart < d_in or (apart == d_in and nearest < 0):
            nearest, d_in = i, apart
    if n_free == 1:
        return nearest if d_in < weight * np.inf else -1

    to_first = np.sqrt(from_first[nearest])
    block = np.sqrt(d_in / weight) if weight > 0.0 else np.inf
    low = max(0.0, to_first * (1.0 - rounding) - block * (1.0 + rounding) - TINY)
    high = (to_first + block) * (1.0 + rounding) + TINY
    low, high = low * low, high * high
    for i in range(rows.shape[0]):
        if from_first[i] < low or from_first[i] > high or from_first[i] < 0.0 or i == nearest:
            continue
        if not d_in < weight * _distance_within(x, rows[nearest], rows[i], d_in, weight):
            return -1
    return nearest


@njit(cache=True, nogil=True)
def _form(x: Floats, order: Ints, k: int, weight: float, done: Ints) -> Ints:
    """Labels of the groups around the farthest rows, which come first in `order`; -1 for the rows left."""
    n = x.shape[0]
    labels = np.full(n, -1)
    rows = np.arange(n)
    members = np.empty(2 * k - 1, dtype=np.int64)
    label = 0
    next_farthest = 0
    while rows.shape[0] >= k:
        while labels[order[next_farthest]] >= 0:
            next_farthest += 1
        members[0] = order[next_farthest]
        from_first = _distances(x, rows, x[members[0]])
        size = 1
        for i in _nearest(from_first, rows, members[0], k):
            members[size] = rows[i]
            from_first[i] = -1.0
            size += 1
        from_first[np.searchsorted(rows, members[0])] = -1.0
        at_least = np.zeros(rows.shape[0])
        seen = np.ones(rows.shape[0], dtype=np.int64)
        while size < 2 * k - 1 and size < rows.shape[0]:
            i = _newcomer(x, rows, members[:size], from_first, at_least, seen, weight)
            if i < 0:
                break
            members[size] = rows[i]
            from_first[i] = -1.0
            size += 1
        for member in members[:size]:
            labels[member] = label
        label += 1
        rows = rows[from_first >= 0.0]
        done[0] = n - rows.shape[0]
    return labels
