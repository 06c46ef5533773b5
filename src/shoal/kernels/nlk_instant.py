"""One instant at a time: what is left to do when the instants of a panel lie apart.

The same groups as of a whole panel in memory, ties included (see `nlk_splits`, `nlk_prices`), from the sorted values of
one instant.

    cuts(p)   a group begins at place p of the sorted values; of the gaps between neighbours the widest come first, and
              a gap becomes a cut if there is no cut less than k places away, the ends of the values included

Of each series the largest gains are kept over the instants seen so far, with their instants: the larger gain first, of
equal ones the earlier instant. Which instants are seen together does not matter, so parts can be merged.
"""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from shoal.kernels.nlk_intervals import Floats, Labels
from shoal.kernels.nlk_price_windows import Rows, solve_instant

Instants = NDArray[np.int32]


@njit(cache=True, nogil=True)
def _cluster(v: Floats, rows: Rows, places: NDArray[np.int64], k: int) -> Labels:
    n = v.shape[0]
    cut = np.zeros(n + 1, dtype=np.bool_)
    cut[0] = cut[n] = True
    for p in places:
        free = True
        for q in range(max(0, p - k + 1), min(n, p + k - 1) + 1):
            if cut[q]:
                free = False
                break
        cut[p] = free
    labels = np.empty(n, dtype=np.int32)
    group = np.int32(-1)
    for p in range(n):
        if cut[p]:
            group += np.int32(1)
        labels[rows[p]] = group
    return labels


def cluster_sorted(v: Floats, rows: Rows, k: int) -> Labels:
    """Stage 1 of `nlk_splits` at one instant: sorted values and the rows they belong to; one series per subject."""
    gaps = np.diff(v)
    wide = np.flatnonzero(gaps)  # equal values are never cut apart
    labels: Labels = _cluster(v, rows, wide[np.argsort(-gaps[wide], kind="stable")] + 1, k)
    return labels


@njit(cache=True, parallel=True, nogil=True)
def solve_several(
    v: Floats,
    rows: Rows,
    price: Floats,
    kind: tuple[int, bool, bool, bool],
    gains: Floats,
    labels: Labels,
    lowest: Floats,
) -> None:
    """`solve_instant` at several instants at once; arrays are (instants, series), `price` by place."""
    k, squared, median, with_holes = kind
    for t in prange(v.shape[0]):
        lowest[t] = solve_instant(v[t], rows[t], price[t], k, squared, median, with_holes, gains[t], labels[t])


@njit(cache=True, nogil=True)
def added_up(x: Floats, published: Floats, squared: bool) -> float:
    """The loss of one instant, added in row order: to the last bit what it is among other instants."""
    total = 0.0
    for i in range(x.shape[0]):
        apart = abs(x[i] - published[i])
        total += apart * apart if squared else apart
    return total


@njit(cache=True, nogil=True)
def _goes_before(gain: float, t: int, other: float, other_t: int) -> bool:
    """No number goes last, as where numpy sorts."""
    if np.isnan(gain) or np.isnan(other):
        return np.isnan(other) and (not np.isnan(gain) or t < other_t)
    return gain > other or (gain == other and t < other_t)


@njit(cache=True, nogil=True)
def keep_largest(gains: Floats, instants: Instants, filled: int, best: Floats, best_instants: Instants) -> None:
    """Put new gains (series, new) among the `filled` best so far (series, most), in place; instants likewise."""
    n, n_new = gains.shape
    most = best.shape[1]
    for i in range(n):
        held = filled
        for a in range(n_new):
            gain, t = gains[i, a], instants[i, a]
            place = held
            while place > 0 and _goes_before(gain, t, best[i, place - 1], best_instants[i, place - 1]):
                place -= 1
            if place == most:
                continue
            held = min(held + 1, most)
            for b in range(held - 1, place, -1):
                best[i, b], best_instants[i, b] = best[i, b - 1], best_instants[i, b - 1]
            best[i, place], best_instants[i, place] = gain, t


@njit(cache=True, nogil=True)
def keep_ends(
    gains: Floats, allowed: NDArray[np.bool_], t: int, held: Floats, source: Instants, wanted: Floats, target: Instants
) -> None:
    """The least useful permission of each series so far, and where it would gain most without one.

    Gains below 0 count as 0 where they are permitted. Of equal ones the earlier instant; instants in any order.
    """
    for i in range(gains.shape[0]):
        gain = gains[i]
        if allowed[i]:
            gain = max(gain, 0.0)
            if gain < held[i] or (gain == held[i] and t < source[i]):
                held[i], source[i] = gain, t
        elif gain > wanted[i] or (gain == wanted[i] and t < target[i]):
            wanted[i], target[i] = gain, t


@njit(cache=True)
def moves(more: Floats, order: NDArray[np.int64], ends: Instants, n_instants: int, most: int) -> NDArray[np.int64]:
    """Who moves a permission from ends[f, 0] to ends[f, 1]: in the order given, at most `most` at any instant."""
    changes = np.zeros(n_instants, dtype=np.int64)
    moved = np.empty(more.shape[0], dtype=np.int64)
    n_moved = 0
    for f in order:
        if not more[f] > 0.0:
            break
        source, target = ends[f, 0], ends[f, 1]
        if changes[source] < most and changes[target] < most:
            changes[source] += 1
            changes[target] += 1
            moved[n_moved] = f
            n_moved += 1
    return moved[:n_moved]
