"""Groups at every instant where each series may be alone a limited number of times, with a lower bound on the loss.

    minimise    sum over instants of the loss of the groups
    such that   at every instant a series is alone, without loss, or in a group of k to 2k - 1,
                and every series is alone at no more than `budget` instants

With budget = l - n - 1 the result is (n, l, k)-anonymous whatever n is: no series has l - n instants in groups below k.
(Groups of 2 to k - 1 use the same budget as their members alone and lose more, so there are none.)

A price per series for being alone replaces its budget. Then every instant is a separate problem (`nlk_price_windows`),
and for any prices >= 0

    bound = sum over instants of the least loss plus prices  -  budget * sum of the prices

is at most the loss of every solution in which the values of each group are, at its instant, a run of the sorted values
with at most one place between the ends left out, whose series is alone (equal values in row order). Not covered, and
possibly better, are solutions with several series alone between the ends of one group; and about the mean with absolute
loss or the median with squared loss also groups that interleave or have 2k or more members, which elsewhere gain
nothing. The bound is rounded down by more than the sums can be off, 4 eps (N + T + 4 k^2) of all that was added.

With the other prices fixed, the best price of a series is any between the budget-th and the next largest of its gains
over the instants: there it is alone exactly budget times. In each round every price moves towards the middle of the
two, half the way at first, because all move at once and neighbours would overshoot together. It ends when two rounds
raise the bound by less than LEAST_RISE, or after ROUNDS.

For a solution, each series is allowed to be alone where its gains are largest, budget times; every instant is solved
with price 0 there and infinity elsewhere. While that lowers the loss, permissions move to instants where the series
would gain more, but only a few at any instant, because moves at the same instant change each other's gains. It ends
when a round gains less than LEAST_FALL, or after MOVES.

No step depends on the number of threads or on the clock.
"""

import numpy as np
from numba import njit, prange

from shoal.kernels.arrays import Bools, Floats, Ints
from shoal.kernels.nlk_intervals import (
    Labels,
    Loss,
    Representative,
    interval_groups,
    loss_between,
    publish_labels,
    sorted_instants,
)
from shoal.kernels.nlk_price_windows import Rows, solve_instant

WITHOUT_HOLES = 8  # rounds of prices without holes, to begin with: they are quick
ROUNDS = 12  # of prices after that, at most
LEAST_RISE = 5e-4  # the share of the bound that two rounds must gain
MOVES = 12  # rounds of moving permissions at most
LEAST_FALL = 2e-4  # the share of the loss that a round of moves must gain
SERIES_PER_MOVE = 200  # at one instant and in one round, one permission moves for this many series


def n_steps(n_instants: int) -> int:
    """The value that `done` reaches in `priced_groups`."""
    return n_instants * (1 + WITHOUT_HOLES + ROUNDS + 1 + MOVES)


@njit(cache=True, parallel=True, nogil=True)
def _solve(
    v: Floats,
    rows: Rows,
    which: Ints,
    prices: Floats,
    allowed: Bools,
    kind: tuple[int, bool, bool, bool],
    gains: Floats,
    labels: Labels,
    lowest: Floats,
) -> None:
    """Solve the instants `which`; unless `allowed` is empty, being alone costs 0 where it is true, else infinity."""
    k, squared, median, with_holes = kind
    n = v.shape[1]
    for w in prange(which.shape[0]):
        t = which[w]
        price = np.empty(n)
        for j in range(n):
            if allowed.shape[0] == 0:
                price[j] = prices[rows[t, j]]
            else:
                price[j] = 0.0 if allowed[t, rows[t, j]] else np.inf
        lowest[t] = solve_instant(v[t], rows[t], price, k, squared, median, with_holes, gains[t], labels[t])


class _Instants:
    """The sorted panel and the last result at each instant: gains, labels, least loss plus prices."""

    def __init__(self, x: Floats, k: int, squared: bool, median: bool, done: Ints) -> None:
        self.v, self.rows = sorted_instants(x)
        self.k, self.squared, self.median, self.done = k, squared, median, done
        self.gains = np.empty(self.v.shape)
        self.labels = np.empty(self.v.shape, dtype=np.int32)
        self.lowest = np.empty(self.v.shape[0])

    def solve_at(self, prices: Floats, *, with_holes: bool) -> float:
        """Solve all instants at these prices; the sum of least loss plus prices."""
        return self._solve(np.arange(self.v.shape[0]), prices, np.empty((0, 0), dtype=np.bool_), with_holes)

    def solve_if(self, allowed: Bools, which: Ints, *, with_holes: bool = True) -> float:
        """Solve the instants `which`, series being alone only where allowed; the loss of all instants."""
        return self._solve(which, np.empty(0), allowed, with_holes)

    def _solve(self, which: Ints, prices: Floats, allowed: Bools, with_holes: bool) -> float:
        kind = (self.k, self.squared, self.median, with_holes)
        _solve(self.v, self.rows, which, prices, allowed, kind, self.gains, self.labels, self.lowest)
        self.done[0] += self.v.shape[0]
        return float(self.lowest.sum())


def _rounding(x: Floats, k: int) -> float:
    """More than the share by which a sum of the losses of all instants, added one by one, can be off."""
    n, n_instants = x.shape
    return float(4.0 * np.finfo(np.float64).eps * (n + n_instants + 4 * k * k))


def _raise_and_lower(instants: _Instants, budget: int, rounding: float) -> tuple[float, Floats]:
    """The best bound, and the gains (instants, series) at its prices."""
    n_instants, n = instants.v.shape
    border = (n_instants - budget - 1, n_instants - budget)
    prices = np.zeros(n)
    bounds: list[float] = []
    best_gains = instants.gains
    instants.solve_if(np.zeros((n_instants, n), dtype=np.bool_), np.arange(n_instants), with_holes=False)
    for turn in range(WITHOUT_HOLES + ROUNDS):
        middle = np.maximum(0.0, np.partition(instants.gains.T, border, axis=1)[:, border]).mean(axis=1)
        prices += (1.0 if turn == 0 else 0.5 if turn < WITHOUT_HOLES + 4 else 0.25) * (middle - prices)
        value = instants.solve_at(prices, with_holes=turn >= WITHOUT_HOLES)
        if turn < WITHOUT_HOLES:
            continue
        paid = budget * float(prices.sum())
        bounds.append(value - paid - rounding * (value + paid))
        if bounds[-1] == max(bounds):
            best_gains = instants.gains.copy()
        if len(bounds) > 3 and max(bounds) - max(bounds[:-2]) <= LEAST_RISE * max(bounds):
            break
    return max(0.0, *bounds), best_gains


def _where_most(gains: Floats, budget: int) -> Bools:
    """Allow each series at the `budget` instants where it gains most; of equal gains, at the earlier one."""
    chosen = np.argsort(-gains.T, axis=1, kind="stable")[:, :budget]
    allowed = np.zeros(gains.shape, dtype=np.bool_)
    np.put_along_axis(allowed, chosen.T, True, axis=0)
    return allowed


def _moved(gains: Floats, allowed: Bools, most: int) -> Bools:
    """Move each series' least useful permission to where it gains more; the largest differences first.

    At most `most` permissions come or go at any instant.
    """
    series = np.arange(gains.shape[1])
    held = np.where(allowed, np.maximum(gains, 0.0), np.inf)
    wanted = np.where(allowed, -np.inf, gains)
    source, target = held.argmin(axis=0), wanted.argmax(axis=0)
    more = wanted[target, series] - held[source, series]
    moved = allowed.copy()
    changes = np.zeros(gains.shape[0], dtype=np.int64)
    for f in np.argsort(-more, kind="stable"):
        if not more[f] > 0.0:
            break
        if changes[source[f]] < most and changes[target[f]] < most:
            changes[source[f]] += 1
            changes[target[f]] += 1
            moved[source[f], f] = False
            moved[target[f], f] = True
    return moved


def _solution(instants: _Instants, gains: Floats, budget: int) -> Labels:
    """Labels (instants, series) of a solution in which every series keeps to its budget."""
    n_instants, n = gains.shape
    allowed = _where_most(gains, budget)
    loss = instants.solve_if(allowed, np.arange(n_instants))
    labels = instants.labels.copy()
    for _ in range(MOVES):
        moved = _moved(instants.gains, allowed, max(1, n // SERIES_PER_MOVE))
        changed = np.flatnonzero((moved != allowed).any(axis=1))
        if changed.shape[0] == 0:
            break
        lower = instants.solve_if(moved, changed)
        if lower >= loss:
            break
        fall, loss, allowed = loss - lower, lower, moved
        labels[changed] = instants.labels[changed]
        if fall <= LEAST_FALL * loss:
            break
    return labels


def priced_groups(
    x: Floats, k: int, budget: int, loss: Loss, representative: Representative, done: Ints
) -> tuple[Labels, float, float]:
    """Group labels (series, instants), their loss, and the lower bound of the module's definition.

    There are at least k series and no gaps. A series alone is a group of one. `done[0]` counts to `n_steps`.
    """
    n, n_instants = x.shape
    rounding = _rounding(x, k)
    if k == 1 or budget >= n_instants:
        labels = np.repeat(np.arange(n, dtype=np.int32)[:, None], n_instants, axis=1)
        total_loss = bound = 0.0
    elif budget == 0:
        labels, total_loss = interval_groups(x, k, loss, representative)
        bound = (1.0 - rounding) * total_loss
    else:
        instants = _Instants(x, k, loss == "squared", representative == "median", done)
        bound, gains = _raise_and_lower(instants, budget, rounding)
        labels = np.ascontiguousarray(_solution(instants, gains, budget).T)
        total_loss = loss_between(x, publish_labels(x, labels, representative), loss)
    done[0] = n_steps(n_instants)
    return labels, total_loss, min(total_loss, bound)
