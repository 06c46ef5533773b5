"""Nearest and farthest rows in `leaves`: which rows must be measured, and the choice among them.

One walk over the leaves looks for the nearest rows of a point, for the farthest, or for both. A leaf is skipped if its
box cannot beat what is already found, and left after a step of axes if none of its rows can. The distances of the rows
that stay are known up to rounding; those that rounding could make a nearest or a farthest row become candidates. Only
candidates are measured exactly, column by column as in the definition, and ties go to the lower row. So the answers are
those of a search through all rows, bit for bit.

The most promising leaves come first, by their boxes and then by the first step of their rows: what is found early
excludes others.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.lanes import (
    GROUP,
    STRIDE,
    WIDTH,
    begin_sums,
    bound_boxes,
    continue_sums,
    lowest,
    promising_boxes,
    row_sum,
)
from shoal.kernels.leaves import BLOCK, FIRST, SECOND_BLOCK, Leaves, Place, beyond_first

_EARLY_ROWS = 96  # rows looked at first, besides those wanted, for an early limit on what is near
_EARLY_FAR = 32  # and on what is far
_EARLY_LEAVES = 8  # leaves looked at next
_TOGETHER = 64  # leaves whose rows are sifted before any is looked at: what they contain sifts the next leaves better
_HUGE = 2**31 - 1  # above all squared distances
_MARGIN = 1.0 + 1e-9  # more than what float64 loses in a sum of squares


class Candidates(NamedTuple):
    """Space for the results of a walk: rows with their distances up to rounding, bounds and sums of leaves.

    `hint` is how near the nearest boxes were to the last point: the next point is often similar.
    """

    near: Ints
    near_values: Ints
    far: Ints
    far_values: Ints
    lower: NDArray[np.int32]
    upper: NDArray[np.int32]
    promise: NDArray[np.int32]
    listed: Ints
    least: NDArray[np.int32]
    most: NDArray[np.int32]
    picked: Ints
    masks: Ints
    sums: NDArray[np.int32]
    hint: Ints


def room_for(leaves: Leaves) -> Candidates:
    """Space for every row to be a candidate."""
    n, n_leaves, n_boxes = int(leaves.n_left.sum()), len(leaves.n_left), len(leaves.low) // FIRST
    return Candidates(
        near=np.empty(n, np.int64),
        near_values=np.empty(n, np.int64),
        far=np.empty(n, np.int64),
        far_values=np.empty(n, np.int64),
        lower=np.empty(n_boxes, np.int32),
        upper=np.empty(n_boxes, np.int32),
        promise=np.empty(n_boxes, np.int32),
        listed=np.empty(n_leaves, np.int64),
        least=np.empty(n_leaves, np.int32),
        most=np.empty(n_leaves, np.int32),
        picked=np.empty(n_leaves + 1, np.int64),
        masks=np.empty(n_leaves + 1, np.int64),
        sums=np.empty(n_leaves * WIDTH, np.int32),
        hint=np.full(1, _HUGE - 1),
    )


@njit(cache=True)
def exact_distance(a: Floats, b: Floats) -> float:
    """`squared_distance` of rows without gaps: the same sum in the same order."""
    total = 0.0
    for c in range(a.shape[0]):
        difference = a[c] - b[c]
        total += difference * difference
    return total


@njit(cache=True)
def measure(x: Floats, rows: Ints, point: Floats, distances: Floats) -> None:
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


@njit(cache=True)
def _insert(best: Ints, value: int) -> bool:
    """Insert a value into the sorted lowest ones; the last place is spare. Returns whether it is one of them."""
    i = best.shape[0] - 1
    while i > 0 and value < best[i - 1]:
        best[i] = best[i - 1]
        i -= 1
    best[i] = value
    return bool(i < best.shape[0] - 1)


@njit(cache=True)
def _list_boxes(
    leaves: Leaves, lower: NDArray[np.int32], upper: NDArray[np.int32], near: int, far: int, listed: Ints
) -> int:
    """List the leaves with rows that are near or far by their boxes; returns how many."""
    n = 0
    for group in range(leaves.filled.shape[0]):
        mask = promising_boxes(lower, upper, group * GROUP, near, far) & leaves.filled[group]
        while mask != 0:
            listed[n] = group * GROUP + lowest(mask)
            n += 1
            mask &= mask - 1
    return n


@njit(cache=True)
def _rows_within(lower: NDArray[np.int32], n_left: NDArray[np.int32], limit: int) -> int:
    n, edge = 0, np.int32(limit)
    for i in range(n_left.shape[0]):
        n += int(n_left[i]) if lower[i] <= edge else 0
    return n


@njit(cache=True)
def _early_near(lower: NDArray[np.int32], n_left: NDArray[np.int32], n_wanted: int, hint: Ints) -> int:
    """A limit with few boxes but enough rows within it. The hint only decides how soon it is found."""
    limit = int(hint[0])
    while limit < _HUGE - 1 and _rows_within(lower, n_left, limit) < n_wanted:
        limit = min(2 * limit + 1, _HUGE - 1)
    while limit > 0 and _rows_within(lower, n_left, limit >> 1) >= n_wanted:
        limit >>= 1
    hint[0] = limit
    return limit


@njit(cache=True)
def _early_far(promise: NDArray[np.int32], n_left: NDArray[np.int32], n_wanted: int) -> int:
    """Like `_early_near` for promises, of which the highest are wanted."""
    highest = 0
    for i in range(n_left.shape[0]):
        highest = max(highest, promise[i] if n_left[i] > 0 else 0)
    for parts in range(31, 0, -1):
        n, limit = 0, np.int32(highest // 32 * parts)
        for i in range(n_left.shape[0]):
            n += int(n_left[i]) if promise[i] >= limit else 0
        if n >= n_wanted:
            return int(limit)
    return 0


@njit(cache=True)
def _lower_limit(least: NDArray[np.int32], near: int) -> int:
    """A limit as far below `near` as still lets in a few leaves."""
    while True:
        n, less = 0, np.int32(near - (near >> 2))
        for i in range(least.shape[0]):
            n += int(least[i] <= less)
        if n < _EARLY_LEAVES or less >= near:
            return near
        near = int(less)


@njit(cache=True)
def _higher_limit(most: NDArray[np.int32], far: int) -> int:
    """A limit as far above `far` as still lets in a few leaves."""
    while True:
        n, more = 0, np.int32(min(far + (far >> 4) + 1, _HUGE))
        for i in range(most.shape[0]):
            n += int(most[i] >= more)
        if n < _EARLY_LEAVES or more == _HUGE:
            return far
        far = int(more)


@njit(cache=True)
def find_candidates(
    leaves: Leaves, at: Place, own: int, wanted: int, wanted_far: int, error: float, last_error: float, room: Candidates
) -> tuple[int, int]:
    """Put into `room` every row that may be among the `wanted` nearest or the `wanted_far` farthest.

    `error` bounds how far off a distance may be by its steps, `last_error` at the end; the row `own` is not near to
    itself. Returns how many there are of each.
    """
    lower, upper, listed, picked = room.lower, room.upper, room.listed, room.picked
    n_boxes, n_leaves = lower.shape[0], leaves.n_left.shape[0]
    for i in range(0, n_boxes, GROUP):
        bound_boxes(leaves.low, leaves.high, n_boxes, i, at.first, at.opposite, lower, upper)
    best, best_far = np.full(wanted + 1, _HUGE), np.full(wanted_far + 1, _HUGE)
    n_near, n_far, n_listed = 0, 0, 0
    near, far = _HUGE - 1 if wanted > 0 else -1, 0 if wanted_far > 0 else _HUGE
    last_near, last_far = near, far
    near_done, far_done = -1, _HUGE
    for turn in range(4):
        # The nearest boxes; the farthest; then, of all that can matter, the most promising leaves; and the others.
        near_now, far_now = near, far
        if turn < 3:
            n_listed = 0
            if turn == 0 and wanted > 0:
                limit = _early_near(lower, leaves.n_left, _EARLY_ROWS + 2 * wanted, room.hint)
                n_listed = _list_boxes(leaves, lower, upper, limit, _HUGE, listed)
            elif turn == 1 and wanted_far > 0:
                for leaf in range(n_leaves):
                    room.promise[leaf] = (upper[leaf] >> 1) + (lower[leaf] >> 3) if upper[leaf] >= 0 else -1
                limit = _early_far(room.promise, leaves.n_left, _EARLY_FAR + 2 * wanted_far)
                n_listed = _list_boxes(leaves, lower, room.promise, -1, limit, listed)
            elif turn == 2:
                n_listed = _list_boxes(leaves, lower, upper, near, far >> 2 if wanted_far > 0 else _HUGE, listed)
            for i in range(n_listed):
                leaf = listed[i]
                begin_sums(
                    leaves.first, leaf * BLOCK, at.first, leaves.there[leaf], room.sums, room.least, room.most, i
                )
            if turn < 2:
                for i in range(n_listed):
                    lower[listed[i]], upper[listed[i]] = _HUGE, -1  # not again
            else:
                near_now = _lower_limit(room.least[:n_listed], near) if wanted > 0 else near
                far_now = _higher_limit(room.most[:n_listed], far) if wanted_far > 0 else far
        n_picked = 0
        for i in range(n_listed):
            near_enough, far_enough = room.least[i] <= near_now, room.most[i] >= far_now
            done = (room.least[i] <= near_done) | (room.most[i] >= far_done)
            picked[n_picked] = i
            n_picked += int((near_enough | far_enough) & (not done))  # no branch: it could not be foreseen
        if turn == 2:
            near_done, far_done = near_now, far_now
        for start in range(0, n_picked, _TOGETHER):
            n_kept = start
            for p in range(start, min(start + _TOGETHER, n_picked)):
                i = picked[p]
                leaf = listed[i]
                mask = leaves.there[leaf]
                if leaves.second.shape[0] > 0:
                    mask &= continue_sums(leaves.second, leaf * SECOND_BLOCK, at.second, room.sums, i, near, far)
                picked[n_kept], room.masks[n_kept] = i, mask
                n_kept += int(mask != 0)
            for p in range(start, n_kept):
                i, mask = picked[p], room.masks[p]
                while mask != 0:
                    slot = lowest(mask)
                    mask &= mask - 1
                    place = listed[i] * WIDTH + slot
                    value = int(room.sums[i * WIDTH + slot])
                    if value > near and wanted_far == 0:  # nearer ones were found since the mask was made
                        continue
                    if leaves.second.shape[0] == 0:  # no second step has sifted the rows: each by its own first step
                        here, there = beyond_first(leaves, place), int(at.first[FIRST - 1])
                        if value + (here - there) ** 2 > near and value + (here + there) ** 2 < far:
                            continue
                    if leaves.rest.shape[0] > 0:
                        value += row_sum(leaves.rest, place * STRIDE, at.rest, 1)
                    elif leaves.full.shape[0] > 0:
                        width = at.full.shape[0]
                        value = row_sum(leaves.full, leaves.rows[place] * width, at.full, width // STRIDE)
                    if value >= last_far:
                        room.far[n_far], room.far_values[n_far] = leaves.rows[place], value
                        n_far += 1
                        if _insert(best_far, -value) and best_far[wanted_far - 1] < _HUGE:
                            edge = np.sqrt(-best_far[wanted_far - 1]) - last_error
                            far, last_far = int(max(edge - error, 0.0) ** 2), int(max(edge - last_error, 0.0) ** 2)
                    if value <= last_near and leaves.rows[place] != own:
                        room.near[n_near], room.near_values[n_near] = leaves.rows[place], value
                        n_near += 1
                        if _insert(best, value) and best[wanted - 1] < _HUGE:
                            edge = np.sqrt(best[wanted - 1]) + last_error
                            near = int(min((edge + error) ** 2 + 1.0, _HUGE - 1.0))
                            last_near = int(min((edge + last_error) ** 2 + 1.0, _HUGE - 1.0))
    # Limits have tightened since the first candidates were let in.
    kept_near = kept_far = 0
    for i in range(n_near):
        value = room.near_values[i]
        room.near[kept_near], room.near_values[kept_near] = room.near[i], value
        kept_near += int(value <= last_near)
    for i in range(n_far):
        value = room.far_values[i]
        room.far[kept_far], room.far_values[kept_far] = room.far[i], value
        kept_far += int(value >= last_far)
    return kept_near, kept_far


@njit(cache=True)
def keep_near(x: Floats, room: Candidates, n: int, centre: int, wanted: int, scale: float, error: float) -> int:
    """Keep those of n near candidates that may be as near as the rows with the lowest values are; returns how many.

    Without measuring, a limit has to allow for the rounding of both rows that are compared; with it, of one.
    """
    if n <= 2 * wanted:
        return n
    best = np.full(wanted + 1, _HUGE)
    for i in range(n):
        _insert(best, room.near_values[i])
    nearest = room.near[:n][room.near_values[:n] <= best[wanted - 1]]
    distances = np.empty(nearest.shape[0])
    measure(x, nearest, x[centre], distances)
    limit = (np.sqrt(distances.max()) * scale * _MARGIN + error) ** 2 + 1.0
    n_kept = 0
    for i in range(n):
        room.near[n_kept] = room.near[i]
        n_kept += int(room.near_values[i] <= limit)
    return n_kept


@njit(cache=True)
def keep_far(x: Floats, room: Candidates, n: int, centre: int, scale: float, error: float) -> int:
    """Like `keep_near` for far candidates, of which the farthest is wanted."""
    farthest = 0
    for i in range(n):
        farthest = i if room.far_values[i] > room.far_values[farthest] else farthest
    edge = np.sqrt(exact_distance(x[room.far[farthest]], x[centre])) * scale / _MARGIN - error
    limit = max(edge, 0.0) ** 2 - 1.0
    n_kept = 0
    for i in range(n):
        room.far[n_kept] = room.far[i]
        n_kept += int(room.far_values[i] >= limit)
    return n_kept


@njit(cache=True)
def nearest_of(x: Floats, rows: Ints, centre: int, nearest: Ints) -> None:
    """Fill `nearest` with the rows nearest to the centre, by (distance, row); there must be enough."""
    wanted, n_found = nearest.shape[0], 0
    measured, distances = np.empty(rows.shape[0]), np.empty(wanted)
    measure(x, rows, x[centre], measured)
    for i in range(rows.shape[0]):
        row, distance = rows[i], measured[i]
        p = n_found
        if n_found == wanted:
            p -= 1
            if p < 0 or distance > distances[p] or (distance == distances[p] and row > nearest[p]):
                continue
        else:
            n_found += 1
        while p > 0 and (distance < distances[p - 1] or (distance == distances[p - 1] and row < nearest[p - 1])):
            distances[p], nearest[p] = distances[p - 1], nearest[p - 1]
            p -= 1
        distances[p], nearest[p] = distance, row


@njit(cache=True)
def farthest_of(x: Floats, rows: Ints, point: Floats) -> int:
    """The row farthest from a point; ties go to the lowest."""
    best_row, best = -1, -1.0
    distances = np.empty(rows.shape[0])
    measure(x, rows, point, distances)
    for i in range(rows.shape[0]):
        row, distance = rows[i], distances[i]
        if distance > best or (distance == best and row < best_row):
            best_row, best = row, distance
    return best_row
