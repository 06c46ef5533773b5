"""Nearest and farthest rows in `leaves`: which rows must be measured, and the choice among them.

One walk over the leaves looks for the nearest rows of a point, for the farthest, or for both. A leaf is skipped when
its box, and left after any step of axes when none of its rows, can beat what is already found. Rows that stay are
known up to rounding; those that rounding could make a nearest or a farthest row become candidates. Only candidates are
measured exactly, in the order of columns as the definition does it, and ties go to the lower row. The answers are
therefore those of a search through all rows, bit for bit.

Sums of bounds may be contracted and reordered: their limits are widened for it. NaN and infinity keep their meaning.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.leaves import LOOSE, ROW, STEP, WIDTH, Leaves, Place

_FIRST_LEAVES = 8  # leaves looked at first, to know early how near is near


class Candidates(NamedTuple):
    """Room for what a walk finds: rows with their distances up to rounding, and bounds of leaves."""

    near: NDArray[np.int64]
    near_values: NDArray[np.float32]
    far: NDArray[np.int64]
    far_values: NDArray[np.float32]
    lower: NDArray[np.float32]
    upper: NDArray[np.float32]
    keys: NDArray[np.float32]
    listed: NDArray[np.int64]
    sums: NDArray[np.float32]


def room_for(leaves: Leaves) -> Candidates:
    """Room enough for every row to be a candidate."""
    n, n_leaves = int(leaves.n_left.sum()), len(leaves.n_left)
    return Candidates(
        near=np.empty(n, np.int64),
        near_values=np.empty(n, np.float32),
        far=np.empty(n, np.int64),
        far_values=np.empty(n, np.float32),
        lower=np.empty(n_leaves, np.float32),
        upper=np.empty(n_leaves, np.float32),
        keys=np.empty(n_leaves, np.float32),
        listed=np.empty(n_leaves + 1, np.int64),
        sums=np.empty(n_leaves * WIDTH, np.float32),
    )


@njit(cache=True)
def exact_distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """`squared_distance` of rows without gaps: the same sum in the same order."""
    total = 0.0
    for c in range(a.shape[0]):
        difference = a[c] - b[c]
        total += difference * difference
    return total


@njit(cache=True)
def measure(
    x: NDArray[np.float64], rows: NDArray[np.int64], point: NDArray[np.float64], distances: NDArray[np.float64]
) -> None:
    """`exact_distance` of some rows: four sums side by side, since each waits for its own last addition."""
    last = rows.shape[0] - 1
    for i in range(0, last + 1, 4):
        j, k, m = min(i + 1, last), min(i + 2, last), min(i + 3, last)
        a, b, c, d = rows[i], rows[j], rows[k], rows[m]
        a_total = b_total = c_total = d_total = 0.0
        for t in range(point.shape[0]):
            q = point[t]
            a_total += (x[a, t] - q) * (x[a, t] - q)
            b_total += (x[b, t] - q) * (x[b, t] - q)
            c_total += (x[c, t] - q) * (x[c, t] - q)
            d_total += (x[d, t] - q) * (x[d, t] - q)
        distances[i], distances[j], distances[k], distances[m] = a_total, b_total, c_total, d_total


@njit(cache=True, fastmath=LOOSE)
def _about(a: NDArray[np.float32], b: NDArray[np.float32]) -> np.float32:
    """Squared distance up to rounding."""
    total = np.float32(0.0)
    for c in range(a.shape[0]):
        difference = a[c] - b[c]
        total += difference * difference
    return total


@njit(cache=True, fastmath=LOOSE)
def _box_bounds(leaves: Leaves, at: Place, lower: NDArray[np.float32], upper: NDArray[np.float32], n_far: int) -> None:
    """How far the rows of each leaf are at least, and at most where asked for."""
    for i in range(lower.shape[0]):
        lower[i] = upper[i] = 0.0
    for j in range(STEP + 1):
        q = at.values[j]
        low, high = leaves.low[j], leaves.high[j]
        for i in range(lower.shape[0]):
            below, above = low[i] - q, q - high[i]
            d = below if below > above else above
            d = d if d > 0.0 else np.float32(0.0)
            lower[i] += d * d
        if n_far == 0:
            continue
        q = -q if j == STEP else q  # lengths beyond add up at worst
        for i in range(lower.shape[0]):
            below, above = q - low[i], high[i] - q
            d = below if below > above else above
            upper[i] += d * d


@njit(cache=True, fastmath=LOOSE)
def _look(
    leaves: Leaves,
    step: int,
    at: Place,
    listed: NDArray[np.int64],
    near: np.float32,
    far: np.float32,
    sums: NDArray[np.float32],
) -> int:
    """Add the axes of a step to the sums of the leaves listed; keep those where a row can be `near` or `far`."""
    q = at.values[step * (STEP + 1) : (step + 1) * (STEP + 1)]
    shift = step * leaves.n_left.shape[0] * ROW
    n_kept = 0
    for i in range(listed.shape[0]):
        leaf = listed[i]
        here = leaves.values[shift + leaf * ROW : shift + (leaf + 1) * ROW]
        own = sums[leaf * WIDTH : (leaf + 1) * WIDTH]
        if step == 0:
            for s in range(WIDTH):
                own[s] = 0.0
        hits = np.float32(0.0)  # counted as float32: vector instructions need one width
        for s in range(WIDTH):
            total = own[s]
            for j in range(STEP):
                d = here[j * WIDTH + s] - q[j]
                total += d * d
            own[s] = total
            less, more = here[STEP * WIDTH + s] - q[STEP], here[STEP * WIDTH + s] + q[STEP]
            hits += np.float32(1.0) if total + less * less <= near else np.float32(0.0)
            hits += np.float32(1.0) if total + more * more >= far else np.float32(0.0)
        listed[n_kept] = leaf
        n_kept += int(hits > 0.0)  # no branch: it could not be foreseen
    return n_kept


@njit(cache=True)
def _first_leaves(keys: NDArray[np.float32], n_left: NDArray[np.int64], first: NDArray[np.int64]) -> int:
    """The few leaves with the lowest keys; how many."""
    n, worst = 0, np.float32(np.inf)
    for leaf in range(keys.shape[0]):
        if keys[leaf] >= worst or n_left[leaf] == 0:
            continue
        p = n if n < first.shape[0] else n - 1
        n = p + 1
        while p > 0 and keys[leaf] < keys[first[p - 1]]:
            first[p] = first[p - 1]
            p -= 1
        first[p] = leaf
        if n == first.shape[0]:
            worst = keys[first[n - 1]]
    return n


@njit(cache=True)
def _insert(best: NDArray[np.float32], value: np.float32) -> bool:
    """Sort a value in among the lowest; the last place is spare. Returns whether it is one of them."""
    i = best.shape[0] - 1
    while i > 0 and value < best[i - 1]:
        best[i] = best[i - 1]
        i -= 1
    best[i] = value
    return bool(i < best.shape[0] - 1)


@njit(cache=True)
def find_candidates(
    leaves: Leaves, at: Place, own: int, wanted: int, wanted_far: int, error: float, slack: float, room: Candidates
) -> tuple[int, int]:
    """Put into `room` every row that may be among the `wanted` nearest or the `wanted_far` farthest.

    `error` is how far a distance may be off; the row `own` is not near to itself. Returns how many of each.
    """
    lower, upper, listed = room.lower, room.upper, room.listed
    _box_bounds(leaves, at, lower, upper, wanted_far)
    n_leaves, n_steps = lower.shape[0], at.values.shape[0] // (STEP + 1)
    beyond = (n_steps - 1) * n_leaves * ROW + STEP * WIDTH
    q = at.values[at.values.shape[0] - 1]
    best, best_far = np.full(wanted + 1, np.inf, np.float32), np.full(wanted_far + 1, np.inf, np.float32)
    n_near, n_far = 0, 0
    near = np.float32(np.inf if wanted > 0 else -1.0)
    far = np.float32(-1.0 if wanted_far > 0 else np.inf)
    for turn in range(3):
        # The leaves that promise most for the nearest, then for the farthest, then all that can still matter.
        n_listed = 0
        if turn == 0 and wanted > 0:
            n_listed = _first_leaves(lower, leaves.n_left, listed[:_FIRST_LEAVES])
        elif turn == 1 and wanted_far > 0:
            for leaf in range(n_leaves):
                room.keys[leaf] = -lower[leaf] - upper[leaf] if upper[leaf] >= 0.0 else np.inf
            n_listed = _first_leaves(room.keys, leaves.n_left, listed[:_FIRST_LEAVES])
        elif turn == 2:
            for leaf in range(n_leaves):
                listed[n_listed] = leaf
                promising = (lower[leaf] <= near) | (upper[leaf] >= far)  # no branches: they could not be foreseen
                n_listed += int(promising & (lower[leaf] < np.inf) & (leaves.n_left[leaf] > 0))
        if turn < 2:
            for i in range(n_listed):
                lower[listed[i]], upper[listed[i]] = np.inf, -2.0  # not again, not even where all is near enough
        for step in range(n_steps):
            n_listed = _look(leaves, step, at, listed[:n_listed], near, far, room.sums)
        for i in range(n_listed):
            for s in range(WIDTH):
                place = listed[i] * WIDTH + s
                length = leaves.values[beyond + listed[i] * ROW + s]
                least, most = room.sums[place] + (length - q) ** 2, room.sums[place] + (length + q) ** 2
                if not (least <= near or most >= far):
                    continue
                row = leaves.rows[place]
                if leaves.full.shape[0] > 0:
                    least = most = _about(leaves.full[row], at.full)
                if most >= far:
                    room.far[n_far], room.far_values[n_far] = row, most
                    n_far += 1
                    if _insert(best_far, -most) and best_far[wanted_far - 1] < np.inf:
                        edge = np.sqrt(-best_far[wanted_far - 1]) - 2.0 * error
                        far = np.float32(max(edge, 0.0) ** 2 * (1.0 - slack))
                if least <= near and row != own:
                    room.near[n_near], room.near_values[n_near] = row, least
                    n_near += 1
                    if _insert(best, least) and best[wanted - 1] < np.inf:
                        near = np.float32((np.sqrt(best[wanted - 1]) + 2.0 * error) ** 2 * (1.0 + slack))
    # Limits have tightened since the first of them were let in.
    kept_near = kept_far = 0
    for i in range(n_near):
        room.near[kept_near] = room.near[i]
        kept_near += int(room.near_values[i] <= near)
    for i in range(n_far):
        room.far[kept_far] = room.far[i]
        kept_far += int(room.far_values[i] >= far)
    return kept_near, kept_far


@njit(cache=True)
def nearest_of(x: NDArray[np.float64], rows: NDArray[np.int64], centre: int, found: NDArray[np.int64]) -> None:
    """Fill `found` with the rows nearest to the centre, by (distance, row); there must be enough."""
    wanted, n_found = found.shape[0], 0
    measured, distances = np.empty(rows.shape[0]), np.empty(wanted)
    measure(x, rows, x[centre], measured)
    for i in range(rows.shape[0]):
        row, distance = rows[i], measured[i]
        p = n_found
        if n_found == wanted:
            p -= 1
            if p < 0 or distance > distances[p] or (distance == distances[p] and row > found[p]):
                continue
        else:
            n_found += 1
        while p > 0 and (distance < distances[p - 1] or (distance == distances[p - 1] and row < found[p - 1])):
            distances[p], found[p] = distances[p - 1], found[p - 1]
            p -= 1
        distances[p], found[p] = distance, row


@njit(cache=True)
def farthest_of(x: NDArray[np.float64], rows: NDArray[np.int64], point: NDArray[np.float64]) -> int:
    """The row farthest from a point; ties go to the lowest."""
    best_row, best = -1, -1.0
    distances = np.empty(rows.shape[0])
    measure(x, rows, point, distances)
    for i in range(rows.shape[0]):
        row, distance = rows[i], distances[i]
        if distance > best or (distance == best and row < best_row):
            best_row, best = row, distance
    return best_row
