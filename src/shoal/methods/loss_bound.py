"""A lower bound on the loss of microaggregation with groups of at least k rows.

    loss(G) = P(G) / |G|,    P(G) = sum over pairs in G of |x[i] - x[j]|^2

Two bounds; the larger one counts.

Prices. Give every row a price u[i] >= 0 such that no triple costs less than its rows: u(T) <= loss(T). Every pair of a
group of s rows is in s - 2 of its triples and every row in (s - 1)(s - 2) / 2 of them, so

    u(G) = sum over T of u(T) 2 / ((s - 1)(s - 2)) <= sum over T of loss(T) 2 / ((s - 1)(s - 2))
         = 2 s / (3 (s - 1)) loss(G)

and for s >= k >= 3 every group loses at least 3 (k - 1) / (2 k) times its prices: for k = 3 the prices themselves. For
k = 2, pairs take the place of triples; in the same way u(G) <= s / (2 (s - 1)) loss(G), and every group loses at least
its prices. The best prices are the dual of a linear programme over all triples, which is solved with those of near rows
first and then with those that are violated, until none is. This is the relaxation of the choice of groups of two or
three: tight for k = 2 and 3, loose for large k.

Neighbours. A row has at least k - 1 others in its group: with S the sum of the squared distances to the k - 1 nearest,
each group loses at least the sum of S / (2 k) over its rows.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context
from itertools import combinations

import numpy as np

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.triples import violated_triples

MOST_ROWS = 2500
"""Largest number of rows for which it is computed: it needs all distances, and examines all triples."""

_NEAR = 8  # rows whose sets the first programme has
_ROUNDS = 60
_SAFE = 1.0 - 1e-9  # for the rounding of distances and sums
_NEGLIGIBLE = 1e-7  # violations, as a share of the mean price
_TINY = 1e-290  # squared distances below it have lost digits and count as 0


def least_loss(x: Floats, k: int) -> float:
    """A lower bound on the loss of any groups of at least k rows of x; x is complete."""
    # Not from centred rows: centring rounds every row to the digits of the largest.
    distances = np.stack([((x - row) ** 2).sum(axis=1) for row in x]) if len(x) else np.zeros((0, 0))
    distances[distances < _TINY] = 0.0
    n = len(x)
    if n < 2 * k:  # one group
        return float(distances.sum()) / max(2 * n, 1) * _SAFE
    nearest = float(np.sort(distances, axis=1)[:, 1:k].sum()) / (2.0 * k)
    size = min(k, 3)
    priced = size / (size - 1) * (k - 1) / k * float(_prices(distances, size).sum()) if k > 1 else 0.0
    return max(nearest, priced) * _SAFE


def _prices(distances: Floats, size: int) -> Floats:
    """Prices that no set of `size` rows, 2 or 3, exceeds; the highest in sum up to rounding."""
    violated_sets = violated_triples if size == 3 else _violated_pairs
    sets = _near_sets(distances, size)
    for _ in range(_ROUNDS):
        prices = _solved(distances, sets)
        violated = violated_sets(distances, prices, _NEGLIGIBLE * float(prices.mean()))[0]
        known = len(sets)
        sets = np.unique(np.concatenate([sets, np.sort(violated, axis=1)]), axis=0)
        if len(sets) == known:
            break
    # What is left of violations goes off the highest price of each set, where that is enough; a set has only one.
    violated, worst = violated_sets(distances, prices, 0.0)
    lowered = prices.copy()
    lowered[violated[:, 0]] -= prices[violated].sum(axis=1) - _losses(distances, violated)
    lowered = np.maximum(lowered, 0.0) * _SAFE
    step = worst / size
    while len(violated_sets(distances, lowered, 0.0)[0]):
        lowered = np.maximum(prices - step, 0.0) * _SAFE
        step *= 2.0
    return lowered


def _violated_pairs(distances: Floats, prices: Floats, least: float) -> tuple[Ints, float]:
    """For each row, the worst pair violated by more than `least`; and by how much at most."""
    excess = prices[:, None] + prices - 0.5 * distances
    np.fill_diagonal(excess, -np.inf)
    others = excess.argmax(axis=1)
    rows = np.flatnonzero(excess.max(axis=1) > least)
    return np.stack([rows, others[rows]], axis=1), max(0.0, float(excess.max()))


def _near_sets(distances: Floats, size: int) -> Ints:
    """Every row with each of its nearest, or with every two of them."""
    n = len(distances)
    apart = distances.copy()
    np.fill_diagonal(apart, -1.0)  # itself first
    near = np.argsort(apart, axis=1, kind="stable")[:, 1 : _NEAR + 1]
    others = np.array(list(combinations(range(near.shape[1]), size - 1)))
    own = np.repeat(np.arange(n), len(others))
    sets = np.column_stack([own, near[:, others].reshape(-1, size - 1)])
    distinct: Ints = np.unique(np.sort(sets, axis=1), axis=0)
    return distinct


def _solved(distances: Floats, sets: Ints) -> Floats:
    """The dual of covering every row with sets at the least loss."""
    from scipy.optimize import linprog  # late: 0.3 s in every process that loads the methods
    from scipy.sparse import csc_array

    losses = _losses(distances, sets)
    cheapest = np.full(len(distances), np.inf)  # no row's price is higher than the loss of any of its sets
    np.minimum.at(cheapest, sets.ravel(), np.repeat(losses, sets.shape[1]))
    useful = losses <= cheapest[sets].sum(axis=1)
    sets, losses = sets[useful], losses[useful]
    columns = np.repeat(np.arange(len(sets)), sets.shape[1])
    members = csc_array((np.ones(sets.size), (sets.ravel(), columns)), shape=(len(distances), len(sets)))
    scale = max(float(losses.mean()), np.finfo(np.float64).tiny)
    solved = linprog(losses / scale, A_ub=-members, b_ub=-np.ones(len(distances)), bounds=(0, None), method="highs")
    if solved.status != 0:
        return np.zeros(len(distances))  # the solver gave up; any prices that violate nothing make a bound
    return np.maximum(-scale * np.asarray(solved.ineqlin.marginals, dtype=np.float64), 0.0)


def _losses(distances: Floats, sets: Ints) -> Floats:
    """The loss of each set as a group."""
    losses = np.zeros(len(sets))
    for one, other in combinations(range(sets.shape[1]), 2):
        losses += distances[sets[:, one], sets[:, other]] / sets.shape[1]
    return losses


def share_above(loss: float, least: float) -> float | None:
    """The share by which a loss is above its bound; none if only the bound is 0.

    Rounded up, because the share is an upper limit, to three digits: the exact loss of a small panel would say
    something about its values.
    """
    if least <= 0.0:
        return 0.0 if loss == 0.0 else None
    return float(Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(max(0.0, loss / least - 1.0)))
