"""The published series most like a few known readings in shape, whatever their level and unit.

    u(i, j) = mean over channels c of 1 - r(x[i, :, c], y[places[i] + shift, c, j])

With an uncertain clock, u is the smallest over shifts from -s to s. r is the correlation over the points that both
sides have; it is 1 if neither side varies and 0 if only one does. A channel with fewer than three such points is left
out, since a line through two fits anything; if no channel is left, u is infinite. For r > 0, 1 - r^2 is the share of
the spread that the best fit a + b y leaves; a fit with b < 0 does not count. Of few points, r is high by chance; so
there is a second way, `fullest`: series and shifts that share fewer points with the target than others are infinitely
unlike.

r is rounded differently for y and 2 y. So series within TOLERANCE of the best count as equally alike, and a best u
within TOLERANCE counts as 0.
"""

import numpy as np
from numba import njit

from shoal.kernels.arrays import Bools, Floats, Ints
from shoal.kernels.nearest_rows import append, in_chunks, nearest_of

TOLERANCE = 1e-12
LEAST = 3  # points: with fewer, a fit with two parameters says nothing


@njit(cache=True, nogil=True)
def _varies(squares: float, n: int, first: float) -> bool:
    """Whether readings vary by more than their rounding."""
    return squares > 1e-24 * n * first * first


@njit(cache=True, nogil=True)
def _compare(x: Floats, places: Ints, s: int, y: Floats) -> tuple[float, float, float, int]:
    """Unlikeness of known readings and one series, infinite if they share too few points; the fit a + b y of x; and how
    many points they share."""
    n = 0
    first_x, first_y, sum_x, sum_y = 0.0, 0.0, 0.0, 0.0
    for p in range(x.shape[0]):
        t = places[p] + s
        if 0 <= t < y.shape[0] and not np.isnan(x[p] - y[t]):
            if n == 0:
                first_x, first_y = x[p], y[t]
            n += 1
            # Differences from the first are exactly 0 where nothing varies; differences from a mean may not be.
            sum_x += x[p] - first_x
            sum_y += y[t] - first_y
    if n < LEAST:
        return np.inf, np.nan, np.nan, n
    xx, yy, xy = 0.0, 0.0, 0.0
    for p in range(x.shape[0]):
        t = places[p] + s
        if 0 <= t < y.shape[0] and not np.isnan(x[p] - y[t]):
            a = x[p] - first_x - sum_x / n
            b = y[t] - first_y - sum_y / n
            xx += a * a
            yy += b * b
            xy += a * b
    varies_x, varies_y = _varies(xx, n, first_x), _varies(yy, n, first_y)
    r = 0.0
    slope = 0.0
    if varies_x and varies_y:
        r = min(xy / np.sqrt(xx) / np.sqrt(yy), 1.0)
        slope = max(xy / yy, 0.0)
    elif not varies_x and not varies_y:
        r = 1.0
    return 1.0 - r, first_x + sum_x / n - slope * (first_y + sum_y / n), slope, n


@njit(cache=True, nogil=True)
def _unlikeness(
    x: Floats, places: Ints, y: Floats, j: int, shift: int, fullest: bool, fit: Floats
) -> tuple[float, int]:
    """The smallest unlikeness, over shifts, of one target and one series, and how many points it is based on; fit[0]
    gets a and b of every channel there."""
    n_channels = y.shape[1]
    least, most = np.inf, 0
    best, trial = fit[0], fit[1]
    best[:] = np.nan
    for s in range(-shift, shift + 1):
        total, n_fit, n_both = 0.0, 0, 0
        for c in range(n_channels):
            unlike, trial[c, 0], trial[c, 1], n = _compare(x[:, c], places, s, y[:, c, j])
            if unlike < np.inf:
                total += unlike
                n_fit += 1
                n_both += n
        if n_fit > 0 and (n_both > most if fullest and n_both != most else total / n_fit < least):
            least, most = total / n_fit, n_both
            best[:] = trial
    return least, most


@njit(cache=True, nogil=True)
def _most_alike(
    x: Floats, places: Ints, y: Floats, shift: int, fullest: bool, start: int, stop: int
) -> tuple[Floats, Ints, Ints]:
    m = y.shape[2]
    distances = np.empty((stop - start, 2))
    counts = np.empty(stop - start, dtype=np.int64)
    flat = np.empty(4 * (stop - start), dtype=np.int64)
    used = 0
    near = np.empty(m, dtype=np.int64)
    least = np.empty(m)
    n_both = np.empty(m, dtype=np.int64)
    fit = np.empty((2, y.shape[1], 2))
    for i in range(start, stop):
        for j in range(m):
            least[j], n_both[j] = _unlikeness(x[i], places[i], y, j, shift, fullest, fit)
        if fullest:
            least[n_both < n_both.max()] = np.inf
        best, distances[i - start, 1], n_near = nearest_of(least, TOLERANCE, near)
        distances[i - start, 0] = best if best > TOLERANCE else 0.0
        counts[i - start] = n_near
        flat = append(flat, used, near, n_near)
        used += n_near
    return distances, counts, flat[:used]


def most_alike(x: Floats, places: Ints, y: Floats, shift: int, fullest: bool = False) -> tuple[Floats, Ints, Ints]:
    """For each target: u of the series most like it and of the next, where the most alike begin in a list, and the
    list.

    `x` is (targets, points, channels), `y` (instants, channels, series).
    """
    x, places = np.ascontiguousarray(x), np.ascontiguousarray(places)
    return in_chunks(len(x), _most_alike, x, places, y, shift, fullest)


@njit(cache=True, nogil=True)
def _tell(
    near: Ints,
    y: Floats,
    seen: Floats,
    places: Ints,
    shift: int,
    x: Floats,
    known: Bools,
    within: float,
    fullest: bool,
    fit: Floats,
    right: Bools,
) -> None:
    """Mark the known instants of one target."""
    n_instants, n_channels, _ = y.shape
    for t in range(n_instants):
        right[t] = near.shape[0] > 0 and not known[t]
    for e in range(near.shape[0]):
        _unlikeness(seen, places, y, near[e], shift, fullest, fit)
        n_left = 0
        for t in range(n_instants):
            for c in range(n_channels):
                true = x[t, c]
                value = fit[0, c, 0] + fit[0, c, 1] * y[t, c, near[e]]
                # A fitted value is rounded even if the published value itself would be equal.
                if not abs(value - true) <= max(within, TOLERANCE) * abs(true):
                    right[t] = False
            n_left += right[t]
        if n_left == 0:
            break


@njit(cache=True, nogil=True)
def told_by_fit(
    start: Ints,
    which: Ints,
    y: Floats,
    seen: Floats,
    places: Ints,
    shift: int,
    x: Floats,
    known: Bools,
    within: float,
    fullest: bool,
) -> Ints:
    """Number of instants, outside the known ones, at which every candidate, scaled by its own fit, is right.

    A value is right if it is within `within` times the size of the reading; `seen` are the known readings at `places`,
    `x` the true ones (targets, instants, channels).
    """
    told = np.zeros(len(start) - 1, dtype=np.int64)
    right = np.empty(y.shape[0], dtype=np.bool_)
    fit = np.empty((2, y.shape[1], 2))
    for i in range(len(start) - 1):
        near = which[start[i] : start[i + 1]]
        _tell(near, y, seen[i], places[i], shift, x[i], known[i], within, fullest, fit, right)
        told[i] = right.sum()
    return told
