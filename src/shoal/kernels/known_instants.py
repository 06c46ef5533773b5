"""The published series nearest to a few known readings, and the instants at which known readings do most harm.

    d(i, j) = mean of (x[i, p, c] - y[t, c, j])^2 over known points p at t = place[i, p] + shift, and channels c

With an uncertain clock, the distance is the smallest over shifts from -s to s. Points where either side is missing are
left out; if none are left, the distance is infinite. A series with few readings may then be nearest by chance; so there
is a second way, `fullest`: series and shifts with fewer points left than others are infinitely far. Published series
are laid out (instants, channels, series), so that all series at one instant are adjacent.
"""

import numpy as np
from numba import njit

from shoal.kernels.arrays import Bools, Floats, Ints
from shoal.kernels.nearest_rows import append, in_chunks, nearest_of


@njit(cache=True, nogil=True)
def _add(known: float, there: Floats, total: Floats, n_both: Ints) -> None:
    for j in range(there.shape[0]):
        difference = known - there[j]
        if not np.isnan(difference):
            total[j] += difference * difference
            n_both[j] += 1


@njit(cache=True, nogil=True)
def _nearest_at(
    x: Floats, places: Ints, y: Floats, shift: int, fullest: bool, start: int, stop: int
) -> tuple[Floats, Ints, Ints]:
    n_instants, n_channels, m = y.shape
    distances = np.empty((stop - start, 2))
    counts = np.empty(stop - start, dtype=np.int64)
    flat = np.empty(4 * (stop - start), dtype=np.int64)
    used = 0
    near = np.empty(m, dtype=np.int64)
    total = np.empty(m)
    n_both = np.empty(m, dtype=np.int64)
    least = np.empty(m)
    for i in range(start, stop):
        least[:] = np.inf
        most = 0
        for s in range(-shift, shift + 1):
            total[:] = 0.0
            n_both[:] = 0
            for p in range(places.shape[1]):
                t = places[i, p] + s
                if 0 <= t < n_instants:
                    for c in range(n_channels):
                        _add(x[i, p, c], y[t, c], total, n_both)
            if fullest and n_both.max() > most:
                most = n_both.max()
                least[:] = np.inf
            for j in range(m):
                if n_both[j] > 0 and n_both[j] >= most:
                    least[j] = min(least[j], total[j] / n_both[j])
        distances[i - start, 0], distances[i - start, 1], n_near = nearest_of(least, 0.0, near)
        counts[i - start] = n_near
        flat = append(flat, used, near, n_near)
        used += n_near
    return distances, counts, flat[:used]


def nearest_at(x: Floats, places: Ints, y: Floats, shift: int, fullest: bool = False) -> tuple[Floats, Ints, Ints]:
    """For each target: the nearest and the next distance at its places, where its nearest series begin, and their list.

    `x` is (targets, points, channels). A place that is not used has a missing reading and is out of range.
    """
    return in_chunks(len(x), _nearest_at, x, places, y, shift, fullest)


@njit(cache=True, nogil=True)
def _tell(near: Ints, y: Floats, x: Floats, known: Bools, within: float, right: Bools) -> None:
    """Mark the known instants of one target."""
    n_instants, n_channels, _ = y.shape
    for t in range(n_instants):
        right[t] = not known[t] and near.shape[0] > 0
        if not right[t]:
            continue
        for c in range(n_channels):
            value = y[t, c, near[0]]
            if not abs(value - x[t, c]) <= within * abs(x[t, c]):
                right[t] = False
                break
            for e in range(1, near.shape[0]):
                if y[t, c, near[e]] != value:
                    right[t] = False
                    break
            if not right[t]:
                break


@njit(cache=True, nogil=True)
def told_instants(start: Ints, which: Ints, y: Floats, x: Floats, known: Bools, within: float) -> Ints:
    """Number of instants, outside the known ones, at which all candidates have the same value and it is the target's.

    A value is right if it is within `within` times the size of the reading; `x` is (targets, instants, channels).
    """
    told = np.zeros(len(start) - 1, dtype=np.int64)
    right = np.empty(y.shape[0], dtype=np.bool_)
    for i in range(len(start) - 1):
        _tell(which[start[i] : start[i + 1]], y, x[i], known[i], within, right)
        told[i] = right.sum()
    return told


@njit(cache=True, nogil=True)
def _chance(total: Floats, n_both: Ints, sizes: Ints, own: Ints, fullest: bool) -> tuple[float, float]:
    """The share of own rows among the nearest; and how much farther than the nearest own row the next other row is."""
    best = np.inf
    other = np.inf
    rows = 0
    mine = 0
    least = max(n_both.max(), 1) if fullest else 1
    for j in range(total.shape[0]):
        d = total[j] / n_both[j] if n_both[j] >= least else np.inf
        if d < best:
            best = d
            rows = 0
            mine = 0
        if d == best:
            rows += sizes[j]
            mine += own[j]
        if own[j] == 0:
            other = min(other, d)
    nearest_own = np.inf
    for j in range(total.shape[0]):
        if own[j] > 0 and n_both[j] >= least:
            nearest_own = min(nearest_own, total[j] / n_both[j])
    margin = -np.inf if nearest_own == np.inf else other - nearest_own
    return mine / rows, margin


@njit(cache=True, nogil=True)
def greedy_instants(
    x: Floats, y: Floats, sizes: Ints, own: Ints, most: float, n: int, fullest: bool = False
) -> tuple[Ints, float]:
    """Up to n instants, each of which raises the target's chance most; and the chance they give.

    Of equal chances, the one with the larger margin is taken; of equal margins, the first. It ends when `most` is
    reached, which no choice exceeds. `x` is one target (instants, channels).
    """
    n_instants, n_channels, m = y.shape
    chosen = np.full(n, -1, dtype=np.int64)
    total, n_both = np.zeros(m), np.zeros(m, dtype=np.int64)
    trial, n_trial = np.empty(m), np.empty(m, dtype=np.int64)
    reached = 0.0
    used = np.zeros(n_instants, dtype=np.bool_)
    for p in range(n):
        best, best_margin, at = -1.0, -np.inf, -1
        for t in range(n_instants):
            if used[t] or np.isnan(x[t]).any():
                continue
            trial[:] = total
            n_trial[:] = n_both
            for c in range(n_channels):
                _add(x[t, c], y[t, c], trial, n_trial)
            chance, margin = _chance(trial, n_trial, sizes, own, fullest)
            if chance > best or (chance == best and margin > best_margin):
                best, best_margin, at = chance, margin, t
                if best >= most:
                    break
        # Fewer than n may be more useful: a further reading can mislead.
        if at < 0 or (p > 0 and best < reached):
            break
        chosen[p] = at
        used[at] = True
        reached = best
        if reached >= most:
            break
        for c in range(n_channels):
            _add(x[at, c], y[at, c], total, n_both)
    return chosen, reached


@njit(cache=True, nogil=True)
def best_instants(
    x: Floats, y: Floats, sizes: Ints, own: Ints, most: float, n: int, fullest: bool = False
) -> tuple[Ints, float]:
    """The n instants with the largest chance among all sets of n, the first of equal sets; `x` (instants, channels)."""
    n_instants, n_channels, m = y.shape
    chosen, chance = np.full(n, -1, dtype=np.int64), -1.0
    total, n_both = np.zeros((n + 1, m)), np.zeros((n + 1, m), dtype=np.int64)
    at = np.full(n, -1, dtype=np.int64)
    p = 0
    while p >= 0:
        at[p] += 1
        if at[p] > n_instants - (n - p):
            p -= 1
            continue
        t = at[p]
        if np.isnan(x[t]).any():
            continue
        total[p + 1] = total[p]
        n_both[p + 1] = n_both[p]
        for c in range(n_channels):
            _add(x[t, c], y[t, c], total[p + 1], n_both[p + 1])
        if p + 1 < n:
            at[p + 1] = t
            p += 1
            continue
        trial, _ = _chance(total[n], n_both[n], sizes, own, fullest)
        if trial > chance:
            chance = trial
            chosen[:] = at
            if chance >= most:
                break
    return chosen, chance
