"""A lower bound on the loss of microaggregation with groups of at least k rows.

    loss(G) = P(G) / |G|,    P(G) = sum over pairs in G of |x[i] - x[j]|^2

Two bounds; the larger one counts.

Prices. Give every row a price u[i] >= 0 such that no triple costs less than its rows: u(T) <= loss(T). Every pair of a
group of s rows is in s - 2 of its triples and every row in (s - 1)(s - 2) / 2 of them, so

    u(G) = sum over T of u(T) 2 / ((s - 1)(s - 2)) <= sum over T of loss(T) 2 / ((s - 1)(s - 2))
         = 2 s / (3 (s - 1)) loss(G)

and for s >= k >= 3 every group loses at least 3 (k - 1) / (2 k) times its prices: for k = 3 the prices themselves. The
best prices are the dual of a linear programme over all triples, which is solved with those of near rows first and then
with those that are violated, until none is. This is the relaxation of the choice of groups of three: tight for k = 3,
loose for large k.

Neighbours. A row has at least k - 1 others in its group: with S the sum of the squared distances to the k - 1 nearest,
each group loses at least the sum of S / (2 k) over its rows.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.triples import violated_triples

MOST_ROWS = 2500
"""Largest number of rows for which it is computed: it needs all distances, and examines all triples."""

_NEAR = 8  # rows whose triples the first programme has
_ROUNDS = 60
_SAFE = 1.0 - 1e-9  # for the rounding of distances and sums


def least_loss(x: Floats, k: int) -> float:
    """A lower bound on the loss of any groups of at least k rows of x; x is complete."""
    n = len(x)
    y = x - x.mean(axis=0)
    lengths = np.einsum("ic,ic->i", y, y)
    distances = np.stack([((y - row) ** 2).sum(axis=1) for row in y]) if n else np.zeros((0, 0))
    if n < 2 * k:  # one group
        return float(lengths.sum()) * _SAFE
    nearest = np.sort(distances, axis=1)[:, 1:k].sum() / (2.0 * k)
    priced = 0.0 if k < 3 else 1.5 * (k - 1) / k * float(_prices(distances).sum())
    return max(float(nearest), priced) * _SAFE


def _prices(distances: Floats) -> Floats:
    """Prices that no triple of rows exceeds, the highest in sum up to rounding."""
    triples = _near_triples(distances)
    tolerance = 1e-9 * float(distances.mean())
    for _ in range(_ROUNDS):
        prices = _solved(distances, triples)
        violated, worst = violated_triples(distances, prices, tolerance)
        if not len(violated):
            break
        triples = np.unique(np.concatenate([triples, np.sort(violated, axis=1)]), axis=0)
    # What is left of violations goes off every price; where prices vanish by that, a little more.
    step = max(worst, tolerance) / 3.0
    while True:
        lowered = np.maximum(prices - step, 0.0)
        if not len(violated_triples(distances, lowered, 0.0)[0]):
            return lowered
        step *= 2.0


def _near_triples(distances: Floats) -> Ints:
    """Every row with every two of its nearest."""
    n = len(distances)
    apart = distances.copy()
    np.fill_diagonal(apart, -1.0)  # itself first
    near = np.argsort(apart, axis=1, kind="stable")[:, 1 : _NEAR + 1]
    one, other = np.triu_indices(near.shape[1], 1)
    own = np.repeat(np.arange(n), len(one))
    triples = np.stack([own, near[:, one].ravel(), near[:, other].ravel()], axis=1)
    distinct: Ints = np.unique(np.sort(triples, axis=1), axis=0)
    return distinct


def _solved(distances: Floats, triples: Ints) -> Floats:
    """The dual of covering every row with triples at the least loss."""
    from scipy.optimize import linprog  # late: 0.3 s in every process that loads the methods
    from scipy.sparse import csc_array

    i, j, l = triples.T
    losses = (distances[i, j] + distances[i, l] + distances[j, l]) / 3.0
    columns = np.repeat(np.arange(len(triples)), 3)
    members = csc_array((np.ones(triples.size), (triples.ravel(), columns)), shape=(len(distances), len(triples)))
    scale = max(float(losses.mean()), np.finfo(np.float64).tiny)
    solved = linprog(losses / scale, A_ub=-members, b_ub=-np.ones(len(distances)), bounds=(0, None), method="highs")
    return np.maximum(-scale * np.asarray(solved.ineqlin.marginals, dtype=np.float64), 0.0)
