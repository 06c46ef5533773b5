"""Lower the loss of given groups by changes that keep every group at k rows or more.

    loss(groups) = sum over groups G, over i in G of |x[i] - m(G)|^2,    m(G) the mean of G

For two groups at a time the best move or swap of rows is carried out until none helps; then cycles of three rows
through three near groups; then groups that are cheaper to dissolve are dissolved; and all this is repeated until
nothing helps. Groups of 2k or more are cut in two. `group_changes` has the formulas.

Distances are between differences to the first row, so that a common offset costs no digits. A change is carried out
only if it gains more than rounding could, and the loss of the result is compared with that of the given groups.
Threads only divide independent sums.
"""

import numpy as np
from numba import njit

from shoal.kernels.arrays import Floats, Ints, renumber
from shoal.kernels.group_changes import (
    APART,
    LARGEST_IN_CYCLE,
    LEAN,
    State,
    are_apart,
    best_of_two,
    cycle_three,
    dissolve,
    relabel,
    renew,
)
from shoal.kernels.nearest_groups import means_and_loss, nearest_groups

ALL_PAIRS_UP_TO = 5000  # rows; above it only the nearest groups are tried, and no cycles
N_NEAR = 12
N_NEAR_IF_WIDE = 6  # in cycles, if k times the number of columns is more than MOST_WIDTH
MOST_WIDTH = 1000
LEAST_PROGRESS = 0.02  # above ALL_PAIRS_UP_TO rows: the share of the loss that a new list of nearest groups must gain
N_FIRST = 12  # near groups that a thrifty search tries until nothing helps, before it tries the others
NEVER = 2**31 - 1


@njit(cache=True)
def _pass_pairs(
    s: State,
    near: Ints,
    n_tried: int,
    k: int,
    noise: float,
    changed: Ints,
    looked: Ints,
    clock: Ints,
    limit: int,
    thrifty: bool,
) -> bool:
    """Bring every pair of near groups of which one has changed to an optimum; True if something was changed.

    Of the groups near each, the first `n_tried` are tried. `clock` holds the time (the number of changes so far) and
    the candidates evaluated. If `thrifty`, a pair whose changes are all ruled out by bounds is not looked at again,
    though one may help once a group has changed.
    """
    g, n_near = near.shape
    start = clock[0]
    rows, room = np.empty((3, s.y.shape[0]), dtype=np.int64), np.empty((4, s.y.shape[0]))
    for a in range(g):
        for slot in range(min(n_tried, n_near)):
            b = near[a, slot]
            if looked[a, slot] >= max(changed[a], changed[b]) or s.sizes[a] == 0 or s.sizes[b] == 0:
                continue
            if looked[a, slot] < 0 and b < a:
                other = 0
                while other < n_near and n_near < g - 1 and near[b, other] != a:
                    other += 1
                if other < n_near:  # B lists A as well
                    looked[a, slot] = NEVER
                    continue
            while True:
                cost = s.sizes[a] * s.sizes[b] + s.sizes[a] + s.sizes[b]
                if clock[1] + cost > limit and (clock[1] == limit or not are_apart(s, a, b, k)):
                    clock[1] = limit
                    return False
                i, j = best_of_two(s, a, b, k, noise, rows, room)
                clock[1] += 1 if i == APART else cost
                if i < 0 and j < 0:
                    break
                if i >= 0:
                    relabel(s, i, b)
                if j >= 0:
                    relabel(s, j, a)
                renew(s, a)
                renew(s, b)
                clock[0] += 1
                changed[a] = changed[b] = clock[0]
            looked[a, slot] = NEVER if thrifty and i <= APART else clock[0]
    return bool(clock[0] > start)


@njit(cache=True)
def _pass_cycles(s: State, near: Ints, noise: float, changed: Ints, tried: Ints, clock: Ints, limit: int) -> bool:
    """Cycles of three through each group and two of its near ones, where one of the three has changed."""
    g, n_near = near.shape
    tables = np.empty((3, LARGEST_IN_CYCLE, LARGEST_IN_CYCLE))
    start = clock[0]
    for a in range(g):
        since = tried[a]
        tried[a] = clock[0]
        for slot in range(n_near * n_near):
            b = near[a, slot // n_near]
            c = near[a, slot % n_near]
            if b == c or b < a or c < a or max(changed[a], changed[b], changed[c]) <= since:
                continue
            cost = s.sizes[a] * s.sizes[b] * s.sizes[c]
            if cost == 0 or max(s.sizes[a], s.sizes[b], s.sizes[c]) > LARGEST_IN_CYCLE:
                continue
            if clock[1] + cost > limit:
                clock[1] = limit
                return False
            clock[1] += cost
            if cycle_three(s, a, b, c, tables, noise):
                clock[0] += 1
                changed[a] = changed[b] = changed[c] = clock[0]
    return bool(clock[0] > start)


@njit(cache=True)
def _pass_dissolve(s: State, near: Ints, noise: float, changed: Ints, tried: Ints, clock: Ints, limit: int) -> bool:
    g, n_near = near.shape
    start = clock[0]
    for a in range(g):
        latest = changed[a]
        for slot in range(n_near):
            latest = max(latest, changed[near[a, slot]])
        if s.sizes[a] == 0 or tried[a] >= latest:
            continue
        if clock[1] + s.sizes[a] * n_near > limit:
            clock[1] = limit
            return False
        clock[1] += s.sizes[a] * n_near
        tried[a] = clock[0]
        targets = dissolve(s, a, near, noise)
        if targets.shape[0] > 0:
            clock[0] += 1
            changed[a] = clock[0]
            for b in targets:
                changed[b] = clock[0]
    return bool(clock[0] > start)


@njit(cache=True, nogil=True)
def _search(
    s: State,
    near: Ints,
    nearest: Ints,
    k: int,
    noise: float,
    times: tuple[Ints, ...],
    limit: int,
    thrifty: bool,
    dissolving: bool,
) -> None:
    """Change the groups to a local optimum.

    `times` hold, in numbers of changes, the last change of each group, when each pair was found to be optimal, when
    cycles and when dissolving were last tried for each group; and the time now with the candidates evaluated.
    """
    changed, looked, cycled, dissolved, clock = times
    for a in range(near.shape[0]):
        renew(s, a)
    again = True
    while again:
        while thrifty and _pass_pairs(s, near, N_FIRST, k, noise, changed, looked, clock, limit, thrifty):
            pass
        again = _pass_pairs(s, near, near.shape[1], k, noise, changed, looked, clock, limit, thrifty)
        again = again or _pass_cycles(s, nearest, noise, changed, cycled, clock, limit)
        again = again or (dissolving and _pass_dissolve(s, near, noise, changed, dissolved, clock, limit))


@njit(**LEAN)
def _list_rows(labels: Ints, first: Ints, following: Ints) -> None:
    """The rows of each group as a list in row order; `first` holds -1."""
    for row in range(labels.shape[0] - 1, -1, -1):
        following[row] = first[labels[row]]
        first[labels[row]] = row


def _searched(
    y: Floats,
    labels: Ints,
    near: Ints,
    nearest: Ints,
    k: int,
    limit: int,
    *,
    thrifty: bool = False,
    dissolving: bool = True,
    subjects: Ints | None = None,
) -> tuple[Ints, float, int]:
    """New labels, not renumbered, their loss, and the number of candidate changes evaluated."""
    n = y.shape[0]
    g = near.shape[0]
    lists = np.full(g, -1), np.empty(n, dtype=np.int64)
    _list_rows(labels, *lists)
    state = State(
        y,
        labels.copy(),
        *lists,
        sizes=np.empty(g, np.int64),
        means=np.empty((g, y.shape[1])),
        own=np.empty(n),
        radii=np.empty(g),
        subjects=np.arange(n) if subjects is None else subjects,
    )
    times = (
        np.zeros(g, dtype=np.int64),
        np.full(near.shape, -1),
        np.full(g, -1),
        np.full(g, -1),
        np.zeros(2, np.int64),
    )
    noise = 4.0 * float(np.finfo(np.float64).eps) * float(np.abs(y).max(initial=0.0)) * y.shape[1] ** 0.5
    _search(state, near, nearest, k, noise, times, limit, thrifty, dissolving)
    return state.labels, float(state.own.sum()), int(times[-1][1])


def _cut_large(y: Floats, labels: Ints, k: int, limit: int, subjects: Ints | None = None) -> int:
    """Cut groups of 2k and more in two, in place, at the best place between two far members; return rows looked at.

    With `subjects`, k of them stay on either side.
    """
    used = 0
    sizes = np.bincount(labels)
    waiting = [int(a) for a in np.flatnonzero(sizes >= 2 * k)]
    n_groups = sizes.shape[0]
    while waiting:
        a = waiting.pop(0)
        rows = np.flatnonzero(labels == a)
        size = rows.shape[0]
        if used + size > limit:
            break
        used += size
        members = y[rows] - y[rows].mean(axis=0)
        one = members[np.argmax((members**2).sum(axis=1))]
        other = members[np.argmax(((members - one) ** 2).sum(axis=1))]
        order = np.argsort(((members - one) ** 2).sum(axis=1) - ((members - other) ** 2).sum(axis=1), kind="stable")
        heads = np.arange(k, size - k + 1)
        if subjects is not None:
            ordered = subjects[rows[order]]
            heads = heads[(_n_distinct(ordered)[heads - 1] >= k) & (_n_distinct(ordered[::-1])[::-1][heads] >= k)]
        if not heads.size:
            continue
        sums = np.cumsum(members[order], axis=0)[heads - 1]
        gains = (sums**2).sum(axis=1) * (1.0 / heads + 1.0 / (size - heads))  # the sums of all members are 0
        best = int(np.argmax(gains))
        if gains[best] > 1e-9 * (members**2).sum():
            tail = rows[order[heads[best] :]]
            labels[tail] = n_groups
            waiting += [g for g, m in ((a, size - tail.shape[0]), (n_groups, tail.shape[0])) if m >= 2 * k]
            n_groups += 1
    return used


def _n_distinct(numbers: Ints) -> Ints:
    """How many different numbers there are up to each place."""
    is_new = np.zeros(numbers.shape[0], dtype=np.int64)
    is_new[np.unique(numbers, return_index=True)[1]] = 1
    counts: Ints = np.cumsum(is_new)
    return counts


def _other_groups(g: int) -> Ints:
    slots = np.arange(g - 1)
    others: Ints = slots[None, :] + (slots[None, :] >= np.arange(g)[:, None])
    return others


def refine_groups(x: Floats, labels: Ints, k: int, max_evaluations: int) -> tuple[Ints, int]:
    """Groups of at least k rows with at most the loss of the given ones, and the candidate changes evaluated.

    Up to 5 000 rows the result is a local optimum with respect to all moves and swaps, and to cycles of three among the
    12 groups with the nearest means (6 for wide rows), unless the limit was reached. Above that, it is one with respect
    to moves and swaps among the 12 nearest as they were when last looked up; they are looked up again while that pays.
    `labels` count from 0 without holes, each at least k times; those returned are numbered in the order of their first
    rows. Looking up the nearest groups is not counted.
    """
    y = x - x[0]
    given = renumber(labels)
    current = given.copy()
    everything = x.shape[0] <= ALL_PAIRS_UP_TO
    n_in_cycles = 0 if not everything else N_NEAR if k * x.shape[1] <= MOST_WIDTH else N_NEAR_IF_WIDE
    n_groups = int(current.max()) + 1
    before = loss = given_loss = means_and_loss(y, given, n_groups)[1]
    used = 0
    while used < max_evaluations:
        start = current.copy()
        used += _cut_large(y, current, k, max_evaluations - used)
        n_groups = int(current.max()) + 1
        if n_groups > 1:
            nearest = nearest_groups(means_and_loss(y, current, n_groups)[0], N_NEAR)
            near = _other_groups(n_groups) if everything else nearest
            in_cycles = nearest[:, :n_in_cycles].copy()
            current, _, evaluated = _searched(y, current, near, in_cycles, k, max_evaluations - used)
            used += evaluated
        current = renumber(current)
        before, loss = loss, means_and_loss(y, current, int(current.max()) + 1)[1]
        if (current == start).all() or (not everything and loss > (1.0 - LEAST_PROGRESS) * before):
            break
    return (current, used) if loss <= given_loss else (given, used)


def refine_near(
    x: Floats,
    labels: Ints,
    k: int,
    max_evaluations: int,
    n_near: int,
    *,
    thrifty: bool = False,
    dissolving: bool = True,
    subjects: Ints | None = None,
) -> Ints:
    """Like `refine_groups` at less cost: moves and swaps among the `n_near` nearest groups by means, looked up once.

    Groups of 2k rows or more are cut in two; if `dissolving`, groups that are cheaper to dissolve are dissolved. If
    `thrifty`, pairs of groups whose changes are all ruled out by bounds are not looked at again: these are a third to a
    half of all looks, and find less than a tenth of the changes. Uses one thread.

    `subjects` are those of the rows if some have several. Then groups of k distinct ones stay such: rows are swapped,
    not moved; none comes into a group that has its subject; and cuts leave k subjects on either side.
    """
    y = x - x[0]
    given = renumber(labels)
    refined = given.copy()
    used = _cut_large(y, refined, k, max_evaluations, subjects)
    n_groups = int(refined.max()) + 1
    if n_groups == 1:
        return given
    means, before = means_and_loss(y, refined, n_groups)
    near = nearest_groups(means, n_near, threads=1)
    refined, after, _ = _searched(
        y,
        refined,
        near,
        near[:, :0].copy(),
        k if subjects is None else NEVER,  # groups of more than that can spare a row
        max_evaluations - used,
        thrifty=thrifty,
        dissolving=dissolving,
        subjects=subjects,
    )
    return renumber(refined) if after <= before else given
