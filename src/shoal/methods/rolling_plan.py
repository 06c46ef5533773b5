"""Placing the whole window again when a snapshot arrives: nothing in it is published yet, so all its counts are free.

    minimize    Σ x[s, h, j] · cost[j - h] + Σ (supply[h, s] - Σ_j x[s, h, j]) · otherwise[h, s]
    over        x[s, h, j] >= 0 whole, h <= j < h + w: events of value s and home h to be published with snapshot j
    subject to  Σ_j x[s, h, j] <= supply[h, s]                                      nobody is published twice
                Σ_h x[s, h, j] <= level[j],   l · level[j] <= Σ_s,h x[s, h, j]      snapshot j is l-eligible

The window has w snapshots and the one that arrives, numbered from 0; homes that have left are below 0. `otherwise` is
what suppression costs, or, where snapshots that are yet to come are in reach of an event, the price of leaving it to
them if that is less.

With whole levels the rest is a flow in a network, so whole by itself. The program is solved without asking for whole
levels first; only if its solution is not whole, branch and bound follows, up to a number of nodes that depends on the
size alone.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.reposition import advance, lay_out, loss, retire

MOST_VARIABLES = 4_000
"""Larger windows use the paper's step. With 50 values in each snapshot that is a window of 9 snapshots."""

# Nodes that branch and bound may open: 200 in small windows, fewer where each takes longer.
_WORK = 100_000_000
_MOST_NODES = 200

_NEAR = 1e-6  # how far from a whole number a solver's result may be

How = Literal["optimal", "limited", "step"]


class WindowPlan(NamedTuple):
    """What leaves, and the window after it."""

    published: Ints
    """Events that leave, by value and by how late they are."""
    lost: Ints
    """Events that no later snapshot can take, by value: they came w - 1 snapshots before the one that leaves."""
    placed: Ints
    unplaced: Ints
    how: How
    """Proven optimal, the best within the limit of work, or the step of the paper."""


def roll(placed: Ints, unplaced: Ints, arriving: Ints, l: int, cost: Floats, beta: Floats, share: float) -> WindowPlan:
    """A snapshot with `arriving[s]` events joins a full window, all is placed again, and the first snapshot leaves.

    placed[s, j, d] is as in kernels.reposition; unplaced[s, h] are the events without a place of home h - (w - 1), so
    that the last w are those of the window. An event that may still go to a snapshot yet to come costs its delay until
    then and `share` of its suppression: 1 expects nothing of the future, 0 that there will be room.
    """
    w = placed.shape[1]
    if not (unplaced.any() or placed[:, :, 1:].any()) and int(arriving.max(initial=0)) * l <= int(arriving.sum()):
        published, lost = retire(placed, unplaced[:, w - 1 :].copy())
        placed[:, w - 1, 0] = arriving
        return WindowPlan(published, lost, placed, unplaced, "optimal")
    supply = np.concatenate([supply_of(placed, unplaced), arriving[None]])
    found = place(supply, w - 1, w + 1, l, cost, beta, share)
    if found is None or not found[2]:
        step = _step(placed, unplaced, arriving, l, cost, beta)
        if found is None or _loss(step, cost, beta) <= _loss(_leave(*found[:2], "limited"), cost, beta):
            return step
    return _leave(*found[:2], "optimal" if found[2] else "limited")


def _leave(placed: Ints, unplaced: Ints, how: How) -> WindowPlan:
    """The first snapshot of a window with one too many leaves."""
    return WindowPlan(
        placed[:, 0].copy(), unplaced[:, 0].copy(), np.ascontiguousarray(placed[:, 1:]), unplaced[:, 1:].copy(), how
    )


def _step(placed: Ints, unplaced: Ints, arriving: Ints, l: int, cost: Floats, beta: Floats) -> WindowPlan:
    """The step of the paper; what has no place when its snapshot leaves keeps its chance of a later program."""
    w = placed.shape[1]
    placed, inside = placed.copy(), np.ascontiguousarray(unplaced[:, w - 1 :])
    published, late = advance(placed, inside, arriving, l, cost, beta)
    after = np.concatenate([unplaced[:, 1 : w - 1], late[:, None], inside], axis=1) if w > 1 else inside
    return WindowPlan(published, unplaced[:, 0].copy() if w > 1 else late, placed, after, "step")


def _loss(plan: WindowPlan, cost: Floats, beta: Floats) -> float:
    """The loss of everything that was there, with nothing expected of the future."""
    left = float(plan.published.sum(axis=0) @ cost + plan.lost @ beta)
    return left + loss(plan.placed, plan.unplaced, cost, beta)


def settle(placed: Ints, unplaced: Ints, n_snapshots: int, l: int, cost: Floats, beta: Floats) -> How:
    """Place the first `n_snapshots` of the window for the last time, in place: nothing else will come."""
    w = placed.shape[1]
    supply = supply_of(placed, unplaced)[: w - 1 + n_snapshots]
    found = place(supply, w - 1, n_snapshots, l, cost, beta, 1.0)
    if found is None:
        return "step"
    if found[2] or loss(*found[:2], cost, beta) < loss(placed, unplaced, cost, beta):
        placed[:, :n_snapshots] = found[0]
        unplaced[:, : w - 1 + n_snapshots] = found[1]
    return "optimal" if found[2] else "limited"


def supply_of(placed: Ints, unplaced: Ints) -> Ints:
    """Events that are not published yet, by home and value; the first w - 1 homes have left."""
    w = placed.shape[1]
    supply = unplaced.T.copy()
    for j in range(w):
        for d in range(w):
            supply[w - 1 + j - d] += placed[:, j, d]
    return supply


def place(
    supply: Ints, n_left: int, n_places: int, l: int, cost: Floats, beta: Floats, share: float
) -> tuple[Ints, Ints, bool] | None:
    """Placed and unplaced events of the least loss, and whether that is proven; None if none was found.

    Where it is not proven, the best within a number of nodes is given, which falls with the size.
    """
    w = len(cost)
    rows, value = np.nonzero(supply)
    home = rows - n_left
    late = np.arange(n_places)[None, :] - home[:, None]
    cell, spot = np.nonzero((late >= 0) & (late < w))
    if not len(cell) or len(cell) > MOST_VARIABLES:
        return None
    until = n_places - home  # how late it is in the first snapshot yet to come
    ahead = np.where(until < w, cost[np.minimum(until, w - 1)] + share * beta[value], np.inf)
    otherwise = np.minimum(beta[value], ahead)
    gains = otherwise[cell] - cost[spot - home[cell]]
    counts = supply[rows, value]
    chosen, proven = _solve(counts, value, cell, spot, gains, l, n_places)
    if chosen is None:
        return None
    by_home, by_place = np.zeros_like(supply), np.zeros((n_places, supply.shape[1]), dtype=np.int64)
    np.add.at(by_home, (rows[cell], value[cell]), chosen)
    np.add.at(by_place, (spot, value[cell]), chosen)
    # In whole numbers, unlike the solver.
    possible = (chosen >= 0).all() and (by_home <= supply).all()
    if not possible or not (by_place.max(axis=1) * l <= by_place.sum(axis=1)).all():
        return None
    placed = lay_out(by_home, by_place, n_left, w)
    return placed, np.ascontiguousarray((supply - by_home).T), proven


def _solve(
    counts: Ints, value: Ints, cell: Ints, spot: Ints, gains: Floats, l: int, n_places: int
) -> tuple[Ints | None, bool]:
    """How many events of each cell each place gets, None if no solution was found; and whether it is proven best."""
    from scipy.optimize import Bounds, LinearConstraint, linprog, milp

    n = len(cell)
    matrix, most = _constraints(counts, value, cell, spot, l, n_places)
    objective = np.concatenate([-gains / max(float(np.abs(gains).max()), 1e-300), np.zeros(n_places)])
    bounds = np.stack([np.zeros(n + n_places), np.full(n + n_places, np.inf)], axis=1)

    def corner() -> Floats | None:
        solved = linprog(objective, A_ub=matrix, b_ub=most, bounds=bounds, method="highs-ds")
        return None if solved.x is None else np.asarray(solved.x[:n])

    relaxed = corner()
    if relaxed is None:
        return None, False
    whole = np.rint(relaxed)
    if np.abs(relaxed - whole).max() < _NEAR and _eligible(whole, value[cell], spot, l, n_places):
        return whole.astype(np.int64), True
    solved = milp(
        objective,
        integrality=np.concatenate([np.zeros(n), np.ones(n_places)]),
        constraints=LinearConstraint(matrix, -np.inf, most),
        options={"mip_rel_gap": 0.0, "node_limit": max(1, min(_WORK // n**2, _MOST_NODES))},
        bounds=Bounds(0),
    )
    if solved.x is None:
        return None, False
    whole = np.rint(solved.x[:n])
    if np.abs(solved.x[:n] - whole).max() >= _NEAR:
        # A corner of the polytope with these levels, so whole numbers.
        bounds[n:] = np.rint(solved.x[n:])[:, None]
        relaxed = corner()
        if relaxed is None:
            return None, False
        whole = np.rint(relaxed)
    return whole.astype(np.int64), bool(solved.status == 0)


def _eligible(chosen: Floats, value: Ints, spot: Ints, l: int, n_places: int) -> bool:
    table = np.zeros((n_places, int(value.max()) + 1))
    np.add.at(table, (spot, value), chosen)
    return bool((table.max(axis=1) * l <= table.sum(axis=1)).all())


def _constraints(counts: Ints, value: Ints, cell: Ints, spot: Ints, l: int, n_places: int) -> tuple[Any, Ints]:
    """Matrix and upper bounds: a row per home and value, one per place and value that can be there, one per place."""
    from scipy.sparse import coo_array

    n, n_cells = len(cell), len(counts)
    n_values = int(value.max()) + 1
    pairs, pair = np.unique(spot * n_values + value[cell], return_inverse=True)
    x, level, n_pairs = np.arange(n), n + np.arange(n_places), len(pairs)
    entries = (
        (cell, x, 1.0),
        (n_cells + pair.reshape(-1), x, 1.0),
        (n_cells + np.arange(n_pairs), level[pairs // n_values], -1.0),
        (n_cells + n_pairs + spot, x, -1.0),
        (n_cells + n_pairs + np.arange(n_places), level, float(l)),
    )
    rows, columns = (np.concatenate([entry[axis] for entry in entries]) for axis in (0, 1))
    values = np.concatenate([np.full(len(entry[0]), entry[2]) for entry in entries])
    shape = (n_cells + n_pairs + n_places, n + n_places)
    matrix = coo_array((values, (rows, columns)), shape=shape).tocsr()
    return matrix, np.concatenate([counts, np.zeros(n_pairs + n_places, dtype=np.int64)])
