"""One instant with a price for being alone: the least loss plus prices, and what each series would gain by being alone.

The values are sorted, v[0] <= v[1] <= ...; every series is alone, at its price and without loss, or in a group. A group
is a window of the sorted values: a run of k to 2k - 1 of them, or k + 1 to 2k of which one between the ends is alone
(a hole). With w(i, j) the least cost of the values i, ..., j - 1 as one window,

    cost(R)   = loss(R)                 hole q:   loss(R without q) + price(q)
    lowest(j) = min( lowest(j - 1) + price(j - 1),  min over windows that end before j of lowest(i) + w(i, j) )
    onward(i) = the same from the other end
    gain(q)   = (least cost with q in a group) - (least cost with q alone, its price not counted)

So q is alone in a best solution exactly if its price is below gain(q). `lowest` is exact. For gain, only the best hole
of each window counts, and holes whose price is far above what they save are skipped; it only steers the prices.

Most windows have no hole worth its price. Bounds show that without computing their losses: any group that reaches from
v(i) to v(j-1) loses at least their distance d (squared: d^2 / 2). Without q, with u = v(q) - v(i), a window loses at
least a linear function of u for q below the middle of the window and another above it (exactly so for the median), or
exactly a quadratic one for squared loss.

Of equal costs the longest window is taken, then the lowest hole.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.nlk_intervals import N_BELOW, SQUARES, SUM_BELOW, TOTAL, Labels, run_losses

Rows = NDArray[np.int32]

LOOK_BEYOND = 0.9  # holes are tried up to the price at which they would pay, divided by this


@njit(cache=True)
def _lines(v: Floats, i: int, length: int, sums: Floats, median: bool) -> tuple[float, float, float, float]:
    """Level and slope in u = v(q) - v(i) of the absolute loss without q: for q below the middle, and from it on.

    Exact for the median. For the mean at most the loss, as the middle is that of the whole run.
    """
    total, n_below, sum_below = sums[TOTAL], sums[N_BELOW], sums[SUM_BELOW]
    if not median:
        share = n_below / (length - 1)
        less = (n_below - 1) / (length - 1)
        return 2.0 * (less * total - sum_below), 2.0 * (1.0 - less), 2.0 * (share * total - sum_below), -2.0 * share
    middle = i + length // 2
    if length % 2 == 1:
        twice = 2.0 * (v[middle] - v[i])
        return total - 2.0 * sum_below - twice, 1.0, total - 2.0 * sum_below, -1.0
    low, high = v[middle - 1] - v[i], v[middle] - v[i]
    return total - 2.0 * sum_below - high, 1.0, total - 2.0 * sum_below + low, -1.0


@njit(cache=True)
def _absolute_without(v: Floats, i: int, length: int, q: int, sums: Floats) -> float:
    """Absolute loss about the mean of the run of `length` values from the i-th on without the q-th."""
    u = v[q] - v[i]
    mean = (sums[TOTAL] - u) / (length - 1)
    below = i + int(sums[N_BELOW])
    sum_below = sums[SUM_BELOW]
    while below < i + length and v[below] - v[i] < mean:
        sum_below += v[below] - v[i]
        below += 1
    while below > i and v[below - 1] - v[i] >= mean:
        below -= 1
        sum_below -= v[below] - v[i]
    if q < below:
        return float(max(0.0, 2.0 * ((below - i - 1) * mean - (sum_below - u))))
    return float(max(0.0, 2.0 * ((below - i) * mean - sum_below)))


@njit(cache=True)
def _squared_without(v: Floats, i: int, length: int, q: int, sums: Floats, median: bool) -> float:
    size = length - 1
    u = v[q] - v[i]
    total = sums[TOTAL] - u
    squares = sums[SQUARES] - u * u
    if not median:
        return float(max(0.0, squares - total * total / size))
    low, high = i + (size - 1) // 2, i + size // 2
    low += low >= q
    high += high >= q
    c = 0.5 * ((v[low] - v[i]) + (v[high] - v[i]))
    return float(max(0.0, squares - 2.0 * c * total + size * c * c))


@njit(cache=True)
def _best_hole(
    v: Floats, price: Floats, i: int, length: int, sums: Floats, most: float, squared: bool, median: bool
) -> tuple[float, int]:
    """Least cost of the window with a hole and where the hole is; (infinity, -1) if it is not below `most`."""
    best, hole = np.inf, -1
    if squared:
        for q in range(i + 1, i + length - 1):
            if LOOK_BEYOND * price[q] < most:
                loss = _squared_without(v, i, length, q, sums, median)
                if LOOK_BEYOND * price[q] + loss < most and price[q] + loss < best:
                    best, hole = price[q] + loss, q
        return best, hole
    level, slope, level_above, slope_above = _lines(v, i, length, sums, median)
    middle = i + int(sums[N_BELOW])
    for q in range(i + 1, i + length - 1):
        if q == middle:
            level, slope = level_above, slope_above
        loss = max(0.0, level + slope * (v[q] - v[i]))
        if LOOK_BEYOND * price[q] + loss < most and price[q] + loss < best:
            if not median:
                loss = _absolute_without(v, i, length, q, sums)
            if price[q] + loss < best:
                best, hole = price[q] + loss, q
    return best, hole


@njit(cache=True)
def _least_without(v: Floats, i: int, length: int, sums: Floats, squared: bool, median: bool) -> float:
    """A lower bound on the loss of the run without any one value between its ends."""
    if squared:
        if median:
            return 0.0
        last = i + length - 2
        return min(
            _squared_without(v, i, length, i + 1, sums, False), _squared_without(v, i, length, last, sums, False)
        )
    level, slope, level_above, slope_above = _lines(v, i, length, sums, median)
    return float(min(level + slope * (v[i + 1] - v[i]), level_above + slope_above * (v[i + length - 2] - v[i])))


@njit(cache=True)
def _find_holes(
    v: Floats,
    price: Floats,
    i: int,
    k: int,
    squared: bool,
    median: bool,
    lowest: Floats,
    runs: Floats,
    holed: Floats,
    holes: Rows,
    sums: Floats,
) -> None:
    """Find the windows from the i-th value on that cost less with a hole; fill in their cost and their hole.

    `lowest` holds the least costs of the first j values; for j > i, as known from earlier windows.
    """
    cheapest = np.inf
    known = lowest[i] + price[i]
    for length in range(2, min(2 * k, v.shape[0] - i) + 1):
        end = i + length
        known = min(known + price[end - 1], lowest[end])
        if length > k:
            most = known - lowest[i]
            width = v[end - 1] - v[i]
            at_least = LOOK_BEYOND * cheapest + (0.5 * width * width if squared else width)
            if (
                at_least < most
                and LOOK_BEYOND * cheapest + _least_without(v, i, length, sums[length - k], squared, median) < most
            ):
                cost, hole = _best_hole(v, price, i, length, sums[length - k], most, squared, median)
                if hole >= 0 and (length == 2 * k or cost < runs[length - k]):
                    holed[length - k], holes[length - k] = cost, hole
        cheapest = min(cheapest, price[end - 1])


@njit(cache=True)
def solve_instant(
    v: Floats,
    rows: Rows,
    price: Floats,
    k: int,
    squared: bool,
    median: bool,
    with_holes: bool,
    gains: Floats,
    labels: Labels,
) -> float:
    """Least loss plus prices of one instant; `price` by place in `v`, `gains` and `labels` by row are filled in.

    Groups are numbered from the smallest values; a series alone is a group of one, a hole follows its group.
    """
    n = v.shape[0]
    runs = np.empty((n, k + 1))  # costs of windows by their first place and by length - k, without a hole
    holed = np.empty((n, k + 1))  # with their best hole, where there is one
    holes = np.full((n, k + 1), -1, dtype=np.int32)
    sums = np.empty((k + 1, 4))  # of the windows from one place on
    lowest = np.full(n + 1, np.inf)
    lowest[0] = 0.0
    last_length = np.ones(n + 1, dtype=np.int64)
    for i in range(n):
        run_losses(v, i, k, squared, median, runs[i], sums)
        for length in range(k, min(2 * k - 1, n - i) + 1):
            cost = lowest[i] + runs[i, length - k]
            if cost < lowest[i + length]:
                lowest[i + length], last_length[i + length] = cost, length
        if with_holes:
            _find_holes(v, price, i, k, squared, median, lowest, runs[i], holed[i], holes[i], sums)
            for length in range(k + 1, min(2 * k, n - i) + 1):
                if holes[i, length - k] >= 0 and lowest[i] + holed[i, length - k] < lowest[i + length]:
                    lowest[i + length] = lowest[i] + holed[i, length - k]
                    last_length[i + length] = -length
        if lowest[i] + price[i] < lowest[i + 1]:
            lowest[i + 1], last_length[i + 1] = lowest[i] + price[i], 1
    _fill_gains(rows, price, k, runs, holed, holes, lowest, gains)
    _fill_labels(rows, k, holes, last_length, labels)
    return float(lowest[n])


@njit(cache=True)
def _two_least(best: float, hole: int, other: float, cost: float, q: int) -> tuple[float, int, float]:
    """The least cost so far with its hole, and the least with another hole, after one more window."""
    if cost < best:
        return cost, q, best if q != hole else other
    return best, hole, min(other, cost) if q != hole else other


@njit(cache=True)
def _fill_gains(
    rows: Rows, price: Floats, k: int, runs: Floats, holed: Floats, holes: Rows, lowest: Floats, gains: Floats
) -> None:
    n = rows.shape[0]
    onward = np.zeros(n + 1)
    alone = np.empty(n)
    grouped = np.full(n, np.inf)
    for i in range(n - 1, -1, -1):
        onward[i] = onward[i + 1] + price[i]
        alone[i] = lowest[i] + onward[i + 1]
        best = other = np.inf  # least cost of the windows that reach at least as far; of those with another hole
        hole = -1
        for length in range(min(2 * k, n - i), k - 1, -1):
            after = lowest[i] + onward[i + length]
            q = holes[i, length - k]
            if length < 2 * k:
                onward[i] = min(onward[i], onward[i + length] + runs[i, length - k])
                best, hole, other = _two_least(best, hole, other, after + runs[i, length - k], -1)
            if q >= 0:
                onward[i] = min(onward[i], onward[i + length] + holed[i, length - k])
                alone[q] = min(alone[q], after + holed[i, length - k] - price[q])
                best, hole, other = _two_least(best, hole, other, after + holed[i, length - k], q)
            last = i + length - 1
            grouped[last] = min(grouped[last], other if last == hole else best)
        for j in range(i, min(i + k - 1, n)):
            grouped[j] = min(grouped[j], other if j == hole else best)
    for j in range(n):
        gains[rows[j]] = grouped[j] - alone[j]


@njit(cache=True)
def _fill_labels(rows: Rows, k: int, holes: Rows, last_length: Ints, labels: Labels) -> None:
    """`last_length` is that of the last window of the first j places, negative if it has a hole."""
    n_groups = 0
    j = rows.shape[0]
    while j > 0:
        n_groups += 2 if last_length[j] < 0 else 1
        j -= abs(last_length[j])
    j = rows.shape[0]
    while j > 0:
        length = abs(last_length[j])
        n_groups -= 2 if last_length[j] < 0 else 1
        for m in range(j - length, j):
            labels[rows[m]] = n_groups
        if last_length[j] < 0:
            labels[rows[holes[j - length, length - k]]] = n_groups + 1
        j -= length
