"""Forward repositioning: publish events a little late, so that no sensitive value is too frequent in a snapshot.

Events of one value and one home snapshot are interchangeable, so a window of w snapshots is only counts:

    placed[s, j, d]     events of value s that will be published with snapshot j of the window, d snapshots late
    suppressed[s, t]    events of value s of snapshot t that are not published unless a later snapshot takes them

The home of a placed event is j - d. If d > j, its home has left the window, and the event cannot move any more.

    l-eligible          l · max_s n_s <= Σ_s n_s                  with n_s the events of value s in a snapshot
    loss of a window    Σ placed · cost[d] + Σ suppressed · beta[s]

A relay takes the latest suppressed event of a value and puts one more event of that value into the last snapshot. On
the way, the event that travels takes the place of every event with a later home, which travels on instead. So homes
stay in the order of snapshots, and all snapshots but the last keep how many of each value they have:

    gain = beta[s] - Σ over those that travel of (cost[d after] - cost[d before])

Gains of one value never rise from relay to relay, because relays are shortest augmenting paths of a flow with convex
costs. So the best last snapshot with no value above a level is greedy, its loss is convex in the level, and the first
level that does not pay ends the search. No event travels out of the window: it is at most w - 1 late.

Reference: K. Wang, Y. Xu, R. C.-W. Wong, A. W.-C. Fu, "Anonymizing temporal data", 2010, sections IV and V.
"""

import numpy as np
from numba import njit

from shoal.kernels.arrays import Floats, Ints


@njit(cache=True)
def advance(placed: Ints, suppressed: Ints, arriving: Ints, l: int, cost: Floats, beta: Floats) -> tuple[Ints, Ints]:
    """One snapshot leaves the window, one with `arriving[s]` events arrives; the state changes in place.

    Returns what `retire` returns.
    """
    published, lost = retire(placed, suppressed)
    admit(placed, suppressed, suppressed.shape[1] - 1, arriving, l, cost, beta)
    return published, lost


@njit(cache=True)
def retire(placed: Ints, suppressed: Ints) -> tuple[Ints, Ints]:
    """The first snapshot leaves the window, and the last becomes empty.

    Returns published[s, d], its events by value and by how late they are, and lost[s], its events that are suppressed
    for good. Its events in later snapshots are still to come.
    """
    n_values, w = suppressed.shape
    published = np.empty((n_values, w), dtype=np.int64)
    lost = np.empty(n_values, dtype=np.int64)
    for s in range(n_values):
        lost[s] = suppressed[s, 0]
        for d in range(w):
            published[s, d] = placed[s, 0, d]
        for j in range(w - 1):
            suppressed[s, j] = suppressed[s, j + 1]
            for d in range(w):
                placed[s, j, d] = placed[s, j + 1, d]
        suppressed[s, w - 1] = 0
        for d in range(w):
            placed[s, w - 1, d] = 0
    return published, lost


@njit(cache=True)
def admit(placed: Ints, suppressed: Ints, last: int, arriving: Ints, l: int, cost: Floats, beta: Floats) -> None:
    """Give snapshot `last` of the window, empty so far like all after it, its events at the least loss (section V)."""
    n_values, w = suppressed.shape
    level, size = first_level(arriving, l)
    count = np.empty(n_values, dtype=np.int64)
    gain = np.empty(n_values, dtype=np.float64)
    for s in range(n_values):
        count[s] = min(level, arriving[s])
        placed[s, last, 0] = count[s]
        suppressed[s, last] = arriving[s] - count[s]
        gain[s] = _gain(placed[s], suppressed[s], last, cost, beta[s])
    saved_placed = np.empty((n_values, w, w), dtype=np.int64)
    saved_suppressed = np.empty((n_values, w), dtype=np.int64)
    touched = np.zeros(n_values, dtype=np.bool_)
    while True:
        # Level preserving: everything that pays and does not raise the level.
        s = _best(gain, count, level)
        while s >= 0 and gain[s] > 0.0:
            _relay(placed[s], suppressed[s], last)
            gain[s] = _gain(placed[s], suppressed[s], last, cost, beta[s])
            count[s] += 1
            size += 1
            s = _best(gain, count, level)
        # Level lifting: at least as many as the next level needs, even at a loss. The paper relays exactly that many
        # and stops if they gain nothing, even if the next level needs none: it then misses relays that would pay.
        needed = (level + 1) * l - size
        for s in range(n_values):
            touched[s] = False
        relayed, total = 0, 0.0
        s = _best(gain, count, level + 1)
        while s >= 0 and (relayed < needed or gain[s] > 0.0):
            if not touched[s]:
                touched[s] = True
                _copy(placed[s], suppressed[s], saved_placed[s], saved_suppressed[s])
            total += gain[s]
            _relay(placed[s], suppressed[s], last)
            gain[s] = _gain(placed[s], suppressed[s], last, cost, beta[s])
            count[s] += 1
            relayed += 1
            s = _best(gain, count, level + 1)
        if relayed < needed or total <= 0.0:
            for s in range(n_values):
                if touched[s]:
                    _copy(saved_placed[s], saved_suppressed[s], placed[s], suppressed[s])
            return
        level += 1
        size += relayed


@njit(cache=True)
def fill(counts: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """The window with the least loss, whatever the costs, that has wanted[j, s] events of value s in snapshot j.

    `counts` has the events of each snapshot and value; the wanted ones must be possible by moving events forward.
    """
    w, n_values = counts.shape
    placed = np.zeros((n_values, w, w), dtype=np.int64)
    suppressed = np.zeros((n_values, w), dtype=np.int64)
    for last in range(w):
        for s in range(n_values):
            suppressed[s, last] = counts[last, s]
            for _ in range(wanted[last, s]):
                _relay(placed[s], suppressed[s], last)
    return placed, suppressed


@njit(cache=True)
def first_level(arriving: Ints, l: int) -> tuple[int, int]:
    """The highest level at which the arriving events, cut off there, are l-eligible by themselves; and their number.

    Suppressing from the most frequent value until the rest is l-eligible ends here, however ties are broken. No
    suppressed event would be better at a lower level: an event that stays at home costs nothing.
    """
    level = 0
    for s in range(arriving.shape[0]):
        level = max(level, arriving[s])
    while True:
        size = 0
        for s in range(arriving.shape[0]):
            size += min(level, arriving[s])
        if level * l <= size:
            return level, size
        level = size // l


@njit(cache=True)
def _best(gain: Floats, count: Ints, level: int) -> int:
    """The value below the level whose relay gains most, the first of equal ones; -1 if there is none to relay."""
    best, most = -1, -np.inf
    for s in range(gain.shape[0]):
        if gain[s] > most and count[s] < level:
            best, most = s, gain[s]
    return best


@njit(cache=True)
def _latest(suppressed: Ints, last: int) -> int:
    """The latest snapshot with a suppressed event of a value, -1 without one."""
    t = last
    while t >= 0 and suppressed[t] == 0:
        t -= 1
    return t


@njit(cache=True)
def _later(placed: Ints, j: int, home: int) -> int:
    """How late the event of snapshot j with the latest home is, if that is later than `home`, else -1."""
    for d in range(j - home):
        if placed[j, d] > 0:
            return d
    return -1


@njit(cache=True)
def _gain(placed: Ints, suppressed: Ints, last: int, cost: Floats, beta: float) -> float:
    """What the next relay of a value saves, -inf if nothing of it is suppressed (formulas 5 and 6)."""
    home = _latest(suppressed, last)
    if home < 0:
        return -np.inf
    since = home
    psi = 0.0
    for j in range(home + 1, last):
        d = _later(placed, j, home)
        if d >= 0:
            psi += cost[j - home] - cost[since - home]
            home, since = j - d, j
    return float(beta - (psi + (cost[last - home] - cost[since - home])))


@njit(cache=True)
def _relay(placed: Ints, suppressed: Ints, last: int) -> None:
    """Put one more event of a value into the last snapshot (formula 3); some event of it must be suppressed."""
    home = _latest(suppressed, last)
    suppressed[home] -= 1
    for j in range(home + 1, last):
        d = _later(placed, j, home)
        if d >= 0:
            placed[j, j - home] += 1
            placed[j, d] -= 1
            home = j - d
    placed[last, last - home] += 1


@njit(cache=True)
def _copy(placed: Ints, suppressed: Ints, to_placed: Ints, to_suppressed: Ints) -> None:
    for t in range(suppressed.shape[0]):
        to_suppressed[t] = suppressed[t]
        for d in range(suppressed.shape[0]):
            to_placed[t, d] = placed[t, d]


def loss(placed: Ints, suppressed: Ints, cost: Floats, beta: Floats) -> float:
    """The loss of a window (formula 2), over the events in its snapshots and those of them that are suppressed."""
    return float(placed.sum(axis=(0, 1)) @ cost[: placed.shape[2]] + suppressed.sum(axis=1) @ beta)


@njit(cache=True)
def lay_out(by_home: Ints, by_place: Ints, n_left: int, w: int) -> Ints:
    """Assign the events of each value to places, both in order: placed[s, j, d], as above.

    by_home[h, s] is the number of events to publish from home h, where the first n_left homes are before place 0;
    by_place[j, s] is the number for place j, with the same total. No other way to bring these homes to these places
    costs less, whatever the convex cost, nor is its latest event less late: two that cross can swap.
    """
    n_places, n_values = by_place.shape
    placed = np.zeros((n_values, n_places, w), dtype=np.int64)
    for s in range(n_values):
        h = 0
        there = by_home[0, s]
        for j in range(n_places):
            wanted = by_place[j, s]
            while wanted > 0:
                while there == 0:
                    h += 1
                    there = by_home[h, s]
                taken = min(wanted, there)
                placed[s, j, j - (h - n_left)] += taken
                wanted -= taken
                there -= taken
    return placed
