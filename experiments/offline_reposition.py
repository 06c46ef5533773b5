"""The cheapest way to publish a whole stream late, knowing all of it: what an online method is measured against.

    minimize    Σ x[s, i, j] · cost[|j - i|] + Σ (counts[i, s] - Σ_j x[s, i, j]) · beta[s]
    over        x[s, i, j] >= 0 whole, i <= j < i + w: events of value s of snapshot i published with snapshot j
    subject to  Σ_j x[s, i, j] <= counts[i, s]
                l · Σ_i x[s, i, j] <= Σ_s',i x[s', i, j]      for all s and j

`counts` has a row per snapshot and a column per value, `cost` an entry per distance below w. With `both` events may
also be published before their time, i - w < j.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array


class Offline(NamedTuple):
    """The least loss found, and one that no solution is below; equal where the search came to its end."""

    loss: float
    bound: float


def offline(counts, w, l, cost, beta, *, gap=0.0, nodes=None, both=False):
    """Solve the program for a whole stream, up to a relative gap, or until so many nodes are opened.

    Each snapshot j has a level: Σ_i x <= level for all s, l · level <= Σ x. Once levels are whole the rest is a flow in
    a network, whole by itself, so that only the levels are declared whole. A variable that is always 1 carries what it
    costs to suppress everything, so that the gap is relative to the loss.
    """
    counts, cost, beta = np.asarray(counts), np.asarray(cost, dtype=float), np.asarray(beta, dtype=float)
    n_snapshots, n_values = counts.shape
    distances = np.arange(1 - w if both else 0, w)
    s, i, d = np.nonzero((counts.T[:, :, None] > 0) & np.ones(len(distances), dtype=bool))
    d = distances[d]
    s, i, d = (axis[(i + d >= 0) & (i + d < n_snapshots)] for axis in (s, i, d))
    j, n, cells = i + d, len(s), n_snapshots * n_values
    x, level = np.arange(n), n + np.arange(n_snapshots)
    blocks = [
        (i * n_values + s, x, 1.0),
        (cells + j * n_values + s, x, 1.0),
        (cells + np.arange(cells), np.repeat(level, n_values), -1.0),
        (2 * cells + j, x, -1.0),
        (2 * cells + np.arange(n_snapshots), level, float(l)),
    ]
    rows, columns = (np.concatenate([block[axis] for block in blocks]) for axis in (0, 1))
    entries = np.concatenate([np.full(len(block[0]), block[2]) for block in blocks])
    matrix = coo_array((entries, (rows, columns)), shape=(2 * cells + n_snapshots, n + n_snapshots + 1)).tocsr()
    suppress_all = float(counts.sum(axis=0) @ beta)
    always = np.zeros(n + n_snapshots + 1)
    always[-1] = 1.0
    found = milp(
        np.concatenate([cost[np.abs(d)] - beta[s], np.zeros(n_snapshots), [suppress_all]]),
        integrality=np.concatenate([np.zeros(n), np.ones(n_snapshots), [0.0]]),
        bounds=Bounds(always, np.where(always > 0, 1.0, np.inf)),
        constraints=LinearConstraint(matrix, -np.inf, np.concatenate([counts.ravel(), np.zeros(cells + n_snapshots)])),
        options={"mip_rel_gap": gap} | ({} if nodes is None else {"node_limit": nodes}),
    )
    if found.x is None:
        return Offline(suppress_all, float(found.mip_dual_bound))
    return Offline(float(found.fun), min(float(found.mip_dual_bound), float(found.fun)))
