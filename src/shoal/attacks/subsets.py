"""Which members sum to a given total: by integer program, or by search if there are too many.

find p in {0, 1}^n with sum(p) = s and |sum_i p[i] a[i, d] - b[d]| <= tolerance for every d       (exact)
min sum_d |sum_i p[i] a[i, d] - b[d]|                                                             (nearest)
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Members = frozenset[int]

POOL = 1500  # candidates of a search, nearest to the mean; its table of pairs takes 18 MB
STARTS = 12
SWAPS = 60


@dataclass(frozen=True)
class Found:
    """The sets that fit, whether they are proven to be the only ones, and how they were found."""

    sets: tuple[Members, ...]
    complete: bool
    searched: bool


def find_members(
    a: Floats,
    b: Floats,
    size: int,
    *,
    exact: bool,
    tolerance: float,
    most: int,
    largest: int,
    seconds: float,
    seed: int,
) -> Found:
    """Up to `most` sets of `size` rows of `a` that sum to `b`; the nearest one if not `exact`.

    Up to `largest` rows by integer program with a time limit; otherwise, or if the program finds nothing in time, by
    search.
    """
    scale = max(float(np.abs(b).mean()), np.finfo(np.float64).tiny)
    a, b = a / scale, b / scale
    ended = time.monotonic() + seconds
    sets: list[Members] = []
    if len(a) <= largest:
        while len(sets) < (most if exact else 1):
            left = ended - time.monotonic()
            if left <= 0.0:
                break
            found, finished = _program(a, b, size, tolerance if exact else None, sets, left)
            if found is not None and (not exact or _fits(a, b, found, tolerance)):
                sets.append(found)
            elif finished:
                return Found(tuple(sets), True, False)
            else:
                break
        if sets:
            return Found(tuple(sets), False, False)
    nearest = _search(a, b, size, tolerance, np.random.default_rng(np.random.SeedSequence([seed, 3])))
    fits = not exact or _fits(a, b, nearest, tolerance)
    return Found((nearest,) if fits else (), False, True)


def _fits(a: Floats, b: Floats, members: Members, tolerance: float) -> bool:
    return bool(np.abs(a[sorted(members)].sum(axis=0) - b).max() <= 2 * tolerance)


def _program(
    a: Floats, b: Floats, size: int, tolerance: float | None, known: list[Members], seconds: float
) -> tuple[Members | None, bool]:
    """A set that is not yet known, and whether the solver finished; without a tolerance, the nearest one."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    n, n_steps = a.shape
    slack = 0 if tolerance is not None else n_steps
    one = np.concatenate([np.ones(n), np.zeros(slack)])
    constraints = [LinearConstraint(one[None, :], size, size)]
    if tolerance is not None:
        constraints.append(LinearConstraint(a.T, b - tolerance, b + tolerance))
    else:
        away = np.eye(n_steps)
        constraints.append(LinearConstraint(np.hstack([a.T, -away]), -np.inf, b))
        constraints.append(LinearConstraint(np.hstack([a.T, away]), b, np.inf))
    for members in known:
        cut = np.zeros((1, n + slack))
        cut[0, sorted(members)] = 1.0
        constraints.append(LinearConstraint(cut, -np.inf, size - 1))
    solved = milp(
        1.0 - one,
        constraints=constraints,
        integrality=one,
        bounds=Bounds(np.zeros(n + slack), np.where(one > 0, 1.0, np.inf)),
        options={"time_limit": seconds},
    )
    if solved.x is None:
        return None, solved.status == 2  # 2: there is none
    return frozenset(np.flatnonzero(solved.x[:n] > 0.5).tolist()), solved.status == 0


def _search(a: Floats, b: Floats, size: int, tolerance: float, dice: np.random.Generator) -> Members:
    """Exchange one member, or two at once, while that comes closer; from several starting points, the nearest first."""
    near = np.argsort(((a - b / size) ** 2).sum(axis=1), kind="stable")[:POOL]
    pool = a[near]
    gram = pool @ pool.T
    # A starting point is a set of likely members: those nearest to the mean, then random ones among the near.
    likely = min(len(pool), 5 * size + 10)
    best, least = np.arange(size), np.inf
    for start in range(STARTS):
        members = np.arange(size) if start == 0 else np.sort(dice.permutation(likely)[:size])
        members, left = _improve(pool, gram, b, members)
        if left < least:
            best, least = members, left
        if np.abs(pool[best].sum(axis=0) - b).max() <= tolerance:
            break
    return frozenset(near[best].tolist())


def _improve(pool: Floats, gram: Floats, b: Floats, members: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
    left = float(((pool[members].sum(axis=0) - b) ** 2).sum())
    for _ in range(SWAPS):
        trial = _swap_one(pool, gram, b, members)
        new = float(((pool[trial].sum(axis=0) - b) ** 2).sum())
        if not new < left * (1 - 1e-9):
            trial = _swap_two(pool, gram, b, members) if 2 <= len(members) <= len(pool) - 2 else members
            new = float(((pool[trial].sum(axis=0) - b) ** 2).sum())
            if not new < left * (1 - 1e-9):
                break
        members, left = trial, new
    return members, left


def _swap_one(pool: Floats, gram: Floats, b: Floats, members: NDArray[np.int64]) -> NDArray[np.int64]:
    """The best exchange of one member: |t - x|^2 = |t|^2 - 2 t.x + |x|^2, with t what one new member should be."""
    wanted = b - pool[members].sum(axis=0) + pool[members]
    cost = (wanted**2).sum(axis=1)[:, None] - 2.0 * wanted @ pool.T + np.diag(gram)[None, :]
    cost[:, members] = np.inf
    out, new = np.unravel_index(int(cost.argmin()), cost.shape)
    return np.sort(np.append(np.delete(members, out), new))


def _swap_two(pool: Floats, gram: Floats, b: Floats, members: NDArray[np.int64]) -> NDArray[np.int64]:
    """The best exchange of two members, for the pairs of members whose removal is most promising."""
    rest = b - pool[members].sum(axis=0)
    squares = np.diag(gram)
    pairs = squares[:, None] + squares[None, :] + 2.0 * gram
    pairs[members] = np.inf
    pairs[:, members] = np.inf
    np.fill_diagonal(pairs, np.inf)
    best, least = members, np.inf
    for one, i in enumerate(members):
        for j in members[one + 1 :]:
            wanted = rest + pool[i] + pool[j]
            along = pool @ wanted
            cost = pairs - 2.0 * (along[:, None] + along[None, :])
            at = int(cost.argmin())
            value = float(cost.flat[at]) + float(wanted @ wanted)
            if value < least:
                new = np.array(np.unravel_index(at, cost.shape))
                best, least = np.sort(np.concatenate([members[(members != i) & (members != j)], new])), value
    return best
