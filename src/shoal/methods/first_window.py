"""The first window of a stream, which has no solution before it to start from: an integer program.

    minimize    Σ x[s, i, j] · cost[j - i] + Σ (counts[i, s] - Σ_j x[s, i, j]) · beta[s]
    over        x[s, i, j] >= 0 for i <= j: events of value s of snapshot i to be published with snapshot j
    subject to  Σ_j x[s, i, j] <= counts[i, s]                                      nobody is published twice
                Σ_i x[s, i, j] <= level[j],   l · level[j] <= Σ_s,i x[s, i, j]      snapshot j is l-eligible

With whole levels the rest is a flow in a network, so whole by itself: only the levels are declared integer, one for
each snapshot, not one for each x.

Reference: K. Wang, Y. Xu, R. C.-W. Wong, A. W.-C. Fu, "Anonymizing temporal data", 2010, section III.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.reposition import admit, fill, loss

MOST_VARIABLES = 50_000
"""Larger programs are not tried. With 50 values that is a window of 44 snapshots."""

# Branch and bound opens at most _WORK / variables² nodes: about 1 000 for 12 snapshots and 50 values. A node takes
# longer the larger the program is, so that all sizes end within half a minute or so. A limit in seconds would end
# elsewhere each time.
_WORK = 15_000_000_000
_MOST_NODES = 20_000


class FirstWindow(NamedTuple):
    """The state of a window as in kernels.reposition, and whether no other has a smaller loss."""

    placed: Ints
    suppressed: Ints
    optimal: bool


def first_window(counts: Ints, l: int, cost: Floats, beta: Floats, nodes: int | None = None) -> FirstWindow:
    """Place the events of the first snapshots, counts[i, s] of snapshot i and value s, at the least loss found.

    Solved by branch and bound with HiGHS. If `nodes` (by default, a number that falls with the size) do not prove the
    optimum, or if the program has more than MOST_VARIABLES, the result is the better of two solutions: the best one
    found, and the one that adds one snapshot after another. Events of a value are published in the order of their homes
    (Theorem 1). The same input gives the same result with the same version of HiGHS.

    The window has as many snapshots as `counts`, so a stream shorter than the window needs nothing else; `cost` must
    have an entry for each of their distances.
    """
    w, n_values = counts.shape
    counts, cost = np.ascontiguousarray(counts, dtype=np.int64), np.ascontiguousarray(cost[:w], dtype=np.float64)
    placed = np.zeros((n_values, w, w), dtype=np.int64)
    suppressed = np.zeros((n_values, w), dtype=np.int64)
    for j in range(w):
        admit(placed, suppressed, j, counts[j], l, cost, beta)
    step_by_step = loss(placed, suppressed, cost, beta)
    if step_by_step == 0.0:
        return FirstWindow(placed, suppressed, True)
    wanted, proven = _solve(counts, l, cost, beta, nodes)
    if wanted is None or not _possible(counts, wanted, l):
        return FirstWindow(placed, suppressed, False)
    # Laid out again, because the program returns any of several equally good solutions, with homes in any order.
    other = fill(counts, wanted)
    if loss(*other, cost, beta) <= step_by_step:
        return FirstWindow(*other, proven)
    return FirstWindow(placed, suppressed, False)


def _solve(counts: Ints, l: int, cost: Floats, beta: Floats, nodes: int | None) -> tuple[Ints | None, bool]:
    """How many of each value each snapshot gets, None if no solution was found; and whether it is proven best."""
    from scipy.optimize import Bounds, LinearConstraint, linprog, milp

    w, n_values = counts.shape
    value, home, place = np.nonzero((counts.T[:, :, None] > 0) & np.tri(w, dtype=np.bool_).T[None])
    n = len(value)
    if n > MOST_VARIABLES:
        return None, False
    matrix, most = _constraints(value, home, place, counts, l)
    # Relative to the smallest difference that matters, because the solver's tolerances are absolute.
    unit = min([beta.min(), *cost[1:2]])
    objective = np.concatenate([(cost[place - home] - beta[value]) / unit, np.zeros(w)])
    nodes = max(1, min(_WORK // n**2, _MOST_NODES)) if nodes is None else nodes
    limits = {"mip_rel_gap": 0.0, "node_limit": nodes}
    whole = np.concatenate([np.zeros(n), np.ones(w)])
    solved = milp(
        objective,
        integrality=whole,
        constraints=LinearConstraint(matrix, -np.inf, most),
        options=limits,
        bounds=Bounds(0),
    )
    if solved.x is None:
        return None, False
    levels = np.rint(solved.x[n:])
    bounds = np.stack([np.zeros(n + w), np.full(n + w, np.inf)], axis=1)
    bounds[n:] = levels[:, None]
    # A corner of the polytope, so whole numbers.
    corner = linprog(objective, A_ub=matrix, b_ub=most, bounds=bounds, method="highs-ds")
    if corner.x is None:
        return None, False
    wanted = np.zeros((w, n_values))
    np.add.at(wanted, (place, value), corner.x[:n])
    return np.rint(wanted).astype(np.int64), bool(solved.status == 0)


def _constraints(value: Ints, home: Ints, place: Ints, counts: Ints, l: int) -> tuple[Any, Ints]:
    """Matrix and upper bounds: one row per home and value, one per place and value, one per place."""
    from scipy.sparse import coo_array

    w, n_values = counts.shape
    n = len(value)
    cells = w * n_values
    x, level = np.arange(n), n + np.arange(w)
    entries = (
        (home * n_values + value, x, 1.0),
        (cells + place * n_values + value, x, 1.0),
        (cells + np.arange(cells), np.repeat(level, n_values), -1.0),
        (2 * cells + place, x, -1.0),
        (2 * cells + np.arange(w), level, float(l)),
    )
    rows, columns = (np.concatenate([entry[axis] for entry in entries]) for axis in (0, 1))
    values = np.concatenate([np.full(len(entry[0]), entry[2]) for entry in entries])
    matrix = coo_array((values, (rows, columns)), shape=(2 * cells + w, n + w)).tocsr()
    return matrix, np.concatenate([counts.ravel(), np.zeros(cells + w, dtype=np.int64)])


def _possible(counts: Ints, wanted: Ints, l: int) -> bool:
    """Whether forward moves reach this and all snapshots are l-eligible; in whole numbers, unlike the solver."""
    reachable = bool((wanted >= 0).all() and (np.cumsum(wanted, axis=0) <= np.cumsum(counts, axis=0)).all())
    return reachable and bool((wanted.max(axis=1) * l <= wanted.sum(axis=1)).all())
