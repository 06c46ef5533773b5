"""Groups of at least k rows with low loss, by a long search: annealing over moves, swaps, deaths and births.

    loss(groups) = sum over groups G of P(G) / |G|,    P(G) = sum over pairs i < j in G of |x[i] - x[j]|^2

which is the sum of squared distances to the group means. So the search needs distances between rows only, and a row may
have any number of columns. With T(i, G) = sum over j in G of |x[i] - x[j]|^2,

    move i: A -> B          P(A) - T(i, A)                            P(B) + T(i, B)
    swap i in A, j in B     P(A) - T(i, A) + T(j, A) - |x[i]-x[j]|^2  P(B) - T(j, B) + T(i, B) - |x[i]-x[j]|^2
    death of A              its rows move, one after another, each to the group of a near row where it costs least
    birth around i          i and its nearest rows that their groups can spare become a group of k

A proposal starts from a random row and one of its nearest rows, where nearer rows are more likely. One that raises the
loss by d is accepted with probability exp(-d / (t h)), where h is the loss per row of the groups concerned: dense and
sparse regions are annealed at their own scale, and t means the same for all data. t falls geometrically, a few times
over. No group is ever below k. Sums are computed again from the members at the start of each round.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats, Ints, renumber
from shoal.kernels.mdav import mdav_groups
from shoal.kernels.nearest_groups import distance, means_and_loss
from shoal.kernels.refine import refine_groups

HOT, COLD = 0.6, 0.04  # t at the start and the end of an annealing
CYCLES = (0.2, 0.5, 1.0)  # after which share of the rounds each annealing ends; the longest usually wins
PROPOSALS = 20_000  # per round, which has one temperature
LARGEST_BLOCK = 5000  # rows annealed together; the distances between them are held in memory
N_NEAR = 30  # rows
MOST_EVALUATIONS = 10**9  # of the local search at the end of an annealing


class _State(NamedTuple):
    distances: Floats  # between all rows
    near: Ints  # (row, rank): the nearest other rows
    labels: Ints
    members: Ints  # (group, place): the rows of each group, up to its size
    sizes: Ints
    places: Ints  # of each row among the members of its group
    sums: Floats  # P of each group
    random: NDArray[np.uint64]  # state of the generator (xorshift64*)


@njit(cache=True)
def _pair_distances(y: Floats) -> Floats:
    n = y.shape[0]
    result = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            result[i, j] = result[j, i] = distance(y[i], y[j])
    return result


@njit(cache=True)
def _draw(s: _State) -> float:
    """A random number from 0 (inclusive) to 1 (exclusive)."""
    z = s.random[0]
    z ^= z >> np.uint64(12)
    z ^= z << np.uint64(25)
    z ^= z >> np.uint64(27)
    s.random[0] = z
    return np.float64((z * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) * 2.0**-53


@njit(cache=True)
def _accept(s: _State, rise: float, heat: float) -> bool:
    return rise <= 0.0 or (heat > 0.0 and _draw(s) < np.exp(-rise / heat))


@njit(cache=True)
def _total(s: _State, row: int, g: int) -> float:
    """T(row, G)."""
    total = 0.0
    for p in range(s.sizes[g]):
        total += s.distances[row, s.members[g, p]]
    return total


@njit(cache=True)
def _transfer(s: _State, row: int, g: int) -> None:
    """Move a row from its group to G, and update P of both."""
    a = s.labels[row]
    s.sums[a] -= _total(s, row, a)
    s.sums[g] += _total(s, row, g)
    s.sizes[a] -= 1
    last = s.members[a, s.sizes[a]]
    s.members[a, s.places[row]] = last
    s.places[last] = s.places[row]
    s.members[g, s.sizes[g]] = row
    s.places[row] = s.sizes[g]
    s.sizes[g] += 1
    s.labels[row] = g


@njit(cache=True)
def _move(s: _State, i: int, b: int, t: float) -> None:
    a = s.labels[i]
    n_a = s.sizes[a]
    n_b = s.sizes[b]
    before = s.sums[a] / n_a + s.sums[b] / n_b
    after = (s.sums[a] - _total(s, i, a)) / (n_a - 1) + (s.sums[b] + _total(s, i, b)) / (n_b + 1)
    if _accept(s, after - before, t * before / (n_a + n_b)):
        _transfer(s, i, b)


@njit(cache=True)
def _swap(s: _State, i: int, j: int, t: float) -> None:
    a = s.labels[i]
    b = s.labels[j]
    n_a = s.sizes[a]
    n_b = s.sizes[b]
    before = s.sums[a] / n_a + s.sums[b] / n_b
    between = s.distances[i, j]
    new_a = s.sums[a] - _total(s, i, a) + _total(s, j, a) - between
    new_b = s.sums[b] - _total(s, j, b) + _total(s, i, b) - between
    if _accept(s, new_a / n_a + new_b / n_b - before, t * before / (n_a + n_b)):
        s.sums[a] = new_a
        s.sums[b] = new_b
        p = s.places[i]
        q = s.places[j]
        s.members[a, p] = j
        s.members[b, q] = i
        s.places[i] = q
        s.places[j] = p
        s.labels[i] = b
        s.labels[j] = a


@njit(cache=True)
def _death(s: _State, a: int, t: float) -> None:
    size = s.sizes[a]
    rows = s.members[a, :size].copy()
    targets = np.empty(size, dtype=np.int64)
    rise = -s.sums[a] / size
    most = -t * s.sums[a] / (size * size) * np.log(1.0 - _draw(s))  # the rise that this draw accepts
    moved = 0
    for row in rows:
        best = np.inf
        target = -1
        for j in s.near[row]:
            b = s.labels[j]
            if b != a and b != target and s.sizes[b] < s.members.shape[1]:
                cost = (s.sums[b] + _total(s, row, b)) / (s.sizes[b] + 1) - s.sums[b] / s.sizes[b]
                if cost < best:
                    best = cost
                    target = b
        rise += best
        if rise > most:  # further rows can only add to it
            break
        _transfer(s, row, target)
        targets[moved] = target
        moved += 1
    if moved < size:
        for p in range(moved):
            _transfer(s, rows[p], a)


@njit(cache=True)
def _birth(s: _State, i: int, k: int, t: float) -> None:
    free = 0
    while free < s.sizes.shape[0] and s.sizes[free] > 0:
        free += 1
    if free == s.sizes.shape[0]:
        return
    rows = np.empty(k, dtype=np.int64)
    homes = np.empty(k, dtype=np.int64)
    s.sums[free] = 0.0
    rise = 0.0
    taken = 0
    for p in range(-1, s.near.shape[1]):
        row = i if p < 0 else s.near[i, p]
        a = s.labels[row]
        if s.sizes[a] > k and taken < k:
            rise -= s.sums[a] / s.sizes[a]
            rows[taken] = row
            homes[taken] = a
            taken += 1
            _transfer(s, row, free)
            rise += s.sums[a] / s.sizes[a]
    rise += s.sums[free] / k
    if taken < k or not _accept(s, rise, t * s.sums[free] / (k * k)):
        for p in range(taken):
            _transfer(s, rows[p], homes[p])


@njit(cache=True, nogil=True)
def _anneal(s: _State, k: int, t: float, n_proposals: int) -> None:
    """A round of proposals at one t."""
    n, n_near = s.near.shape
    n_groups, capacity = s.members.shape
    for g in range(n_groups):
        s.sums[g] = 0.0
        for p in range(s.sizes[g]):
            s.sums[g] += 0.5 * _total(s, s.members[g, p], g)
    for _ in range(n_proposals):
        i = int(_draw(s) * n)
        a = s.labels[i]
        kind = _draw(s)
        if kind < 0.015:
            if s.sizes[a] <= k + 1 and s.sizes[a] < n:
                _death(s, a, t)
            continue
        if kind < 0.03:
            if s.sizes[a] > k:
                _birth(s, i, k, t)
            continue
        b = s.labels[s.near[i, int(_draw(s) * _draw(s) * n_near)]]
        if a == b:
            continue
        if s.sizes[a] > k and s.sizes[b] < capacity and kind < 0.5:
            _move(s, i, b, t)
        else:
            _swap(s, i, s.members[b, int(_draw(s) * s.sizes[b])], t)


def _state(y: Floats, labels: Ints, k: int, seed: int) -> _State:
    n = y.shape[0]
    distances = _pair_distances(y)
    n_near = min(N_NEAR, n - 1)
    near = np.empty((n, n_near), dtype=np.int64)
    for i in range(n):
        others = distances[i].copy()
        others[i] = np.inf
        nearest = np.sort(np.argpartition(others, n_near - 1)[:n_near])
        near[i] = nearest[np.argsort(others[nearest], kind="stable")]
    members = np.zeros((n // k, 3 * k), dtype=np.int64)
    sizes = np.zeros(n // k, dtype=np.int64)
    places = np.empty(n, dtype=np.int64)
    for i, g in enumerate(labels):
        places[i] = sizes[g]
        members[g, sizes[g]] = i
        sizes[g] += 1
    random = np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1)
    return _State(distances, near, labels.copy(), members, sizes, places, np.zeros(n // k), random)


def _best_in_block(y: Floats, start: Ints, k: int, rounds: int, seed: int, done_rows: Ints) -> Ints:
    """Anneal, a few times, and refine; `done_rows` counts up by the number of rows, in step with the rounds."""

    def refined(labels: Ints) -> tuple[float, Ints]:
        better, _ = refine_groups(y, renumber(labels), k, MOST_EVALUATIONS)
        return float(means_and_loss(y, better, int(better.max()) + 1)[1]), better

    lowest, best = refined(start)
    state = _state(y, start, k, seed)
    cycle = done = done_before = 0
    rows_before = int(done_rows[0])
    while cycle < len(CYCLES):
        share = done / rounds
        done_rows[0] = rows_before + int(share * y.shape[0])
        if share < CYCLES[cycle]:
            cycle_start = CYCLES[cycle - 1] if cycle else 0.0
            cooled = (share - cycle_start) / (CYCLES[cycle] - cycle_start)
            _anneal(state, k, HOT * (COLD / HOT) ** max(cooled, 0.0), PROPOSALS)
            done += 1
        else:
            cycle += 1
            loss, labels = refined(state.labels) if done > done_before else (lowest, best)
            done_before = done
            if loss < lowest:
                lowest, best = loss, labels
    return best


def _blocks(means: Floats, sizes: Ints) -> list[Ints]:
    """Groups halved along their widest column until a part has at most LARGEST_BLOCK rows."""
    waiting = [np.arange(means.shape[0])]
    blocks = []
    while waiting:
        groups = waiting.pop()
        if groups.shape[0] < 2 or int(sizes[groups].sum()) <= LARGEST_BLOCK:
            blocks.append(groups)
            continue
        widest = int(np.argmax(means[groups].var(axis=0)))
        groups = groups[np.argsort(means[groups, widest], kind="stable")]
        waiting += [groups[groups.shape[0] // 2 :], groups[: groups.shape[0] // 2]]
    return blocks


def best_groups(x: Floats, k: int, proposals: int, seed: int, done: Ints | None = None) -> Ints:
    """The groups of at least k rows with the lowest loss found, never above refined MDAV's.

    `proposals` is their number per row; it is rounded up to whole rounds of 20 000. The same `proposals` and `seed`
    give the same groups. Above 5 000 rows, MDAV's groups are annealed in blocks of neighbours, one after another, and
    refined together. x is complete and has at least k rows; labels are numbered in the order of their first rows.
    """
    n = x.shape[0]
    if n < 2 * k:
        return np.zeros(n, dtype=np.int64)
    y = x - x[0]
    labels = mdav_groups(y, np.arange(n), k, np.zeros(1, dtype=np.int64))
    n_groups = int(labels.max()) + 1
    blocks = _blocks(means_and_loss(y, labels, n_groups)[0], np.bincount(labels))
    seeds = np.random.SeedSequence(seed).generate_state(len(blocks), np.uint64)
    groups_of_rows = np.empty(n, dtype=np.int64)
    counted = np.zeros(1, dtype=np.int64) if done is None else done
    for b, groups in enumerate(blocks):
        rows = np.flatnonzero(np.isin(labels, groups))
        rounds = -(-proposals * rows.shape[0] // PROPOSALS)
        part = _best_in_block(y[rows], renumber(labels[rows]), k, rounds, int(seeds[b]), counted)
        groups_of_rows[rows] = part + b * n
    groups_of_rows = renumber(groups_of_rows)
    if len(blocks) > 1:
        groups_of_rows, _ = refine_groups(y, groups_of_rows, k, MOST_EVALUATIONS)
    return groups_of_rows
