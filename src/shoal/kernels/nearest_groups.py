"""The groups whose means are nearest to each group's mean.

Few means are all compared with each other. Many are visited outwards along (nearly) the direction of largest variance.
The difference along it bounds the distance from below, so the search ends early and is exact. If it reaches a bound on
the work, the result is the nearest among those examined.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import get_num_threads, njit

from shoal.kernels.arrays import Floats, Ints

MOST_COMPARED = 1500  # groups up to which each is compared with all others
MOST_SCANNED = 200_000_000  # pairs of groups: exact up to 14 000 groups, about a second


# Sums in any order, so that they vectorise; NaN and infinity keep their meaning.
@njit(fastmath={"reassoc"}, cache=True)
def distance(a: Floats, b: Floats) -> np.float64:
    """Squared Euclidean distance."""
    total = np.float64(0.0)
    for c in range(a.shape[0]):
        difference = a[c] - b[c]
        total += difference * difference
    return total


@njit(cache=True, nogil=True)
def means_and_loss(y: Floats, labels: Ints, g: int) -> tuple[Floats, float]:
    """The mean of each group, summed in row order, and the loss, likewise."""
    sizes = np.zeros(g)
    means = np.zeros((g, y.shape[1]))
    for i in range(y.shape[0]):
        sizes[labels[i]] += 1.0
        for c in range(y.shape[1]):
            means[labels[i], c] += y[i, c]
    for a in range(g):
        for c in range(y.shape[1]):
            means[a, c] /= sizes[a]
    total = 0.0
    for i in range(y.shape[0]):
        total += distance(y[i], means[labels[i]])
    return means, total


@njit(cache=True, nogil=True)
def _nearest_means(
    means: Floats, scores: Floats, order: Ints, window: int, near: Ints, distances: Floats, start: int, stop: int
) -> None:
    """Fill `near` and `distances` for the groups order[start:stop], looking at about `window` others of each."""
    g, n_columns = means.shape
    n_near = near.shape[1]
    for p in range(start, stop):
        a = order[p]
        n_found = 0
        worst = np.inf
        down = p - 1
        up = p + 1
        for step in range(g - 1):
            gap_down = scores[a] - scores[order[down]] if down >= 0 else np.inf
            gap_up = scores[order[up]] - scores[a] if up < g else np.inf
            gap = min(gap_down, gap_up)
            if n_found == n_near and (step >= window or gap * gap > worst):
                break
            if gap_down <= gap_up:
                b = order[down]
                down -= 1
            else:
                b = order[up]
                up += 1
            total = 0.0
            first = 0
            while first < n_columns and total < worst:
                last = min(first + 8, n_columns)
                total += distance(means[a, first:last], means[b, first:last])
                first = last
            if n_found == n_near and total >= worst:
                continue
            slot = n_found if n_found < n_near else n_near - 1
            n_found = min(n_found + 1, n_near)
            while slot > 0 and total < distances[a, slot - 1]:
                distances[a, slot] = distances[a, slot - 1]
                near[a, slot] = near[a, slot - 1]
                slot -= 1
            distances[a, slot] = total
            near[a, slot] = b
            if n_found == n_near:
                worst = distances[a, n_near - 1]


@njit(cache=True, nogil=True)
def _nearest_of_all(means: Floats, near: Ints) -> None:
    """Fill `near` from the distances to all other groups; of equally near ones the first by position comes first."""
    g, n_columns = means.shape
    n_near = near.shape[1]
    columns = means.T.copy()
    distances = np.empty(g)
    candidates = np.empty(g, dtype=np.int64)
    nearest = np.empty(n_near)
    width = g // n_near
    for a in range(g):
        distances[:] = 0.0
        for c in range(n_columns):
            for b in range(g):
                difference = columns[c, b] - means[a, c]
                distances[b] += difference * difference
        distances[a] = np.inf
        # The minima of as many parts as are wanted: the last one wanted is no farther than the largest of them.
        most = 0.0
        for part in range(n_near):
            least = np.inf
            for b in range(part * width, (part + 1) * width):
                least = min(least, distances[b])
            most = max(most, least)
        n_candidates = 0
        for b in range(g):
            candidates[n_candidates] = b
            n_candidates += int(b != a) * (1 - int(distances[b] > most))  # no branch: it could not be foreseen
        n_found = 0
        for b in candidates[:n_candidates]:
            total = distances[b]
            if n_found == n_near and total >= nearest[n_near - 1]:
                continue
            slot = n_found if n_found < n_near else n_near - 1
            n_found = min(n_found + 1, n_near)
            while slot > 0 and total < nearest[slot - 1]:
                nearest[slot] = nearest[slot - 1]
                near[a, slot] = near[a, slot - 1]
                slot -= 1
            nearest[slot] = total
            near[a, slot] = b


def _principal_scores(means: Floats) -> Floats:
    """Projection of each mean on (nearly) the direction of largest variance, by a few power iterations."""
    centred = means - means.mean(axis=0)
    power = np.frexp(np.abs(centred).max())[1]  # a power of 2: squares stay within range, and no digit changes
    centred = np.ldexp(centred, -power)
    scores: Floats = centred.sum(axis=1)
    for _ in range(8):
        axis = np.einsum("ij,i->j", centred, scores)  # not @: its rounding depends on threads
        scores = np.einsum("ij,j->i", centred, axis / max(np.sqrt((axis**2).sum()), np.finfo(np.float64).tiny))
    scaled: Floats = np.ldexp(scores, power)
    return scaled


def nearest_groups(means: Floats, n_near: int, threads: int | None = None) -> Ints:
    """For each group, the `n_near` others (or all there are) with the nearest means, nearest first."""
    g = means.shape[0]
    near = np.empty((g, min(n_near, g - 1)), dtype=np.int64)
    if g <= MOST_COMPARED:
        _nearest_of_all(means, near)
        return near
    scores = _principal_scores(means)
    order = np.argsort(scores, kind="stable")
    window = max(MOST_SCANNED // g, 10 * n_near)
    distances = np.empty(near.shape)
    # Threads over a compiled loop: a parallel one would take three more seconds to compile.
    with ThreadPoolExecutor(get_num_threads() if threads is None else threads) as pool:
        parts = [
            pool.submit(_nearest_means, means, scores, order, window, near, distances, start, min(start + 1000, g))
            for start in range(0, g, 1000)
        ]
    for part in parts:
        part.result()
    return near
