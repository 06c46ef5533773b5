"""The paper's two stages: groups of at least k per instant, then smaller ones where (n, l, k)-anonymity allows them.

Stage 1, Algorithm 1. At each instant one group holds all series. Neighbours in the order of their values are tried as
places of a split, the most distant pair first; a split is made if both parts keep k subjects. (The listing says
ascending order of distance, section 4.1 says the highest difference. We follow the text: ascending would make the worst
splits.) A pair of equal values is never split.

Stage 2, Algorithms 2 and 3. The groups of stage 1 are taken one after another and all pairs of neighbours in them
tried, the most distant first, each splitting the part that holds it; a split stays if the panel is still
(n, l, k)-anonymous.

    "mil"    instants by loss, groups of an instant by loss, the largest first
    "mth"    all groups by (largest - smallest value) * size, the largest first

The representative of a group is the mean, its loss the sum of |value - mean|, or of the squares. A split may raise the
absolute loss around means. The paper splits anyway, and so do we; the figures say how often it happened.

Equal values keep row order; equal distances, losses and scores: from the smallest values up, the earlier instant first.

What a split can break. Let the panel be anonymous before group G at instant t is split into parts, and let K breach it
for f after that. If t is neither in K nor inferred, neither the candidates nor what they infer has changed, so K was a
breach before. So either

    t in K          and then f is in G, or else its candidates are as before: search with t known;
    t is inferred   and was not before, so some candidate is in G, and f's own group at t is below k: search for K
                    without t that infers t. If f is not in G, its group and the smaller part must be below k together.

Only series with l - n or more instants in groups below k can be breached. Each keeps the last K that breached it:
usually it does so again, and no search is needed.
"""

from typing import Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.arrays import Bools, Floats, Ints
from shoal.kernels.nlk_check import candidates
from shoal.kernels.nlk_labels import Groups, distinct_subjects, make_groups, small_instants
from shoal.kernels.nlk_search import FOUND, NOTHING, RAN_OUT, Work, add_group, make_work, search


class SplitFigures(NamedTuple):
    """Counts and losses of stage 2."""

    tried: int
    made: int
    refused: int  # a breach was found
    ran_out: int  # refused because the limit ran out
    raised: int  # made, though the loss rose
    nodes: int
    loss_before: float
    loss_after: float


def cluster_instants(x: Floats, k: int, subjects: Ints | None = None) -> NDArray[np.int32]:
    """Stage 1: label of each series at each instant, numbered from the smallest values; x is complete, one channel."""
    subjects = np.array(np.arange(x.shape[0]) if subjects is None else subjects, dtype=np.int64)
    values = np.ascontiguousarray(x.T)
    order = np.argsort(values, axis=1, kind="stable")
    gaps = np.diff(np.take_along_axis(values, order, axis=1), axis=1)
    pairs = np.argsort(-gaps, axis=1, kind="stable")
    labels: NDArray[np.int32] = _cluster_instants(order, gaps, pairs, k, subjects, int(np.bincount(subjects).max()))
    return labels


def split_groups(
    x: Floats,
    labels: NDArray[np.int32],
    n: int,
    l: int,
    k: int,
    order: Literal["mil", "mth"],
    limit: int,
    subjects: Ints | None = None,
    squared: bool = False,
) -> tuple[NDArray[np.int32], SplitFigures]:
    """Stage 2 from any labels that are (n, l, k)-anonymous; a split that needs more than `limit` nodes is not made."""
    n_series, n_instants = x.shape
    if subjects is None:
        subjects = np.arange(n_series)
    values = np.ascontiguousarray(x.T)
    numbered = np.empty_like(labels)
    for t in range(n_instants):
        numbered[:, t] = _numbered_by_value(values[t], labels[:, t])
    groups = make_groups(numbered, subjects)
    pairs = np.empty((n_instants, n_series), dtype=np.int64)
    for t in range(n_instants):
        groups.order[t] = np.lexsort((values[t], numbered[:, t]))  # inside a group by value, equal ones by row
        ranked = values[t][groups.order[t]]
        # Position p stands for the pair (p - 1, p); inside a group the most distant pair comes first, the first
        # position of a group, which is no pair of it, last.
        gap = np.diff(ranked, prepend=0.0)
        gap[np.flatnonzero(groups.stop[t])] = 0.0
        pairs[t] = np.lexsort((-gap, numbered[groups.order[t], t]))
    instants, starts = np.nonzero(groups.stop)
    losses, scores = _losses_and_scores(values, groups, instants, starts, squared)
    if order == "mth":
        ranking = np.argsort(-scores, kind="stable")
    else:
        per_instant = np.bincount(instants, weights=losses, minlength=n_instants)
        ranking = np.lexsort((starts, -losses, instants, -per_instant[instants]))
    small = small_instants(groups, k)
    state = _State(
        groups,
        small,
        small.sum(axis=1),
        np.full((n_series, n), -1, dtype=np.int64),
        np.empty((2, n_series), dtype=np.int64),
    )
    work = make_work(n_series, n_instants, n)
    counts, change = _split_all(
        values, state, pairs, instants[ranking], starts[ranking], n, l - n, k, limit, squared, work
    )
    before = float(losses.sum())
    tried, made, refused, ran_out, raised, nodes = (int(count) for count in counts)
    figures = SplitFigures(tried, made, refused, ran_out, raised, nodes, before, before + float(change))
    begins = np.cumsum(groups.stop > 0, axis=1, dtype=np.int32) - 1  # number of the group at each position
    return np.ascontiguousarray(np.take_along_axis(begins, groups.start, axis=1).T), figures


class _State(NamedTuple):
    groups: Groups
    small: Bools  # (series, instants): own group is below k
    n_small: Ints  # of each series
    last: Ints  # (series, n): the last K that breached it, -1 where it has fewer
    room: Ints  # (2, series): for lists of candidates and of suspects


def _numbered_by_value(values: Floats, labels: NDArray[np.int32]) -> Ints:
    """The same groups, numbered by (smallest, largest value, first series), so that runs of values come in order."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    low, high = np.full(len(first), np.inf), np.full(len(first), -np.inf)
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    place = np.empty(len(first), dtype=np.int64)
    place[np.lexsort((first, high, low))] = np.arange(len(first))
    return place[group]


@njit(cache=True)
def _cluster_instants(order: Ints, gaps: Floats, pairs: Ints, k: int, subject: Ints, most: int) -> NDArray[np.int32]:
    n_instants, n = order.shape
    labels = np.empty((n, n_instants), dtype=np.int32)
    seen = np.full(n, -1, dtype=np.int64)
    mark = 0
    ends = np.empty(n + 1, dtype=np.int64)  # where groups begin, and n: sorted
    for t in range(n_instants):
        ends[0], ends[1] = 0, n
        n_ends = 2
        for pair in pairs[t]:
            if gaps[t, pair] == 0.0:
                break  # only equal values are left
            p = pair + 1
            g, above = 0, n_ends - 1  # ends[g] < p <= ends[above]
            while above - g > 1:
                middle = (g + above) // 2
                if ends[middle] < p:
                    g = middle
                else:
                    above = middle
            if p - ends[g] < k or ends[above] - p < k:
                continue
            if most > 1:
                mark += 2
                lower = distinct_subjects(order[t], ends[g], p, subject, seen, mark)
                if lower < k or distinct_subjects(order[t], p, ends[above], subject, seen, mark + 1) < k:
                    continue
            for e in range(n_ends, above, -1):
                ends[e] = ends[e - 1]
            ends[above] = p
            n_ends += 1
        for g in range(n_ends - 1):
            for p in range(ends[g], ends[g + 1]):
                labels[order[t, p], t] = g
    return labels


@njit(cache=True)
def _loss(values: Floats, order: NDArray[np.int32], begin: int, end: int, squared: bool) -> float:
    total = 0.0
    for p in range(begin, end):
        total += values[order[p]]
    mean = total / (end - begin)
    loss = 0.0
    for p in range(begin, end):
        off = abs(values[order[p]] - mean)
        loss += off * off if squared else off
    return loss


@njit(cache=True)
def _losses_and_scores(
    values: Floats, groups: Groups, instants: Ints, starts: Ints, squared: bool
) -> tuple[Floats, Floats]:
    losses, scores = np.empty(instants.shape[0]), np.empty(instants.shape[0])
    for g in range(instants.shape[0]):
        t, begin = instants[g], starts[g]
        end = groups.stop[t, begin]
        losses[g] = _loss(values[t], groups.order[t], begin, end, squared)
        scores[g] = (values[t, groups.order[t, end - 1]] - values[t, groups.order[t, begin]]) * (end - begin)
    return losses, scores


@njit(cache=True)
def _set_run(state: _State, t: int, begin: int, end: int, crowd: int, k: int) -> None:
    """Make order[t][begin:end] one group of `crowd` subjects."""
    groups = state.groups
    groups.stop[t, begin] = end
    groups.crowd[t, begin] = crowd
    for p in range(begin, end):
        i = groups.order[t, p]
        groups.start[t, i] = begin
        if state.small[i, t] != (crowd < k):
            state.small[i, t] = crowd < k
            state.n_small[i] += 1 if crowd < k else -1


@njit(cache=True)
def _breaches(state: _State, f: int, known: Ints, r: int, k: int, work: Work) -> bool:
    """Whether these known instants let r be inferred about f."""
    groups, small, room = state.groups, state.small[f], state.room[0]
    left = state.n_small[f]  # how many can still turn out to be inferred
    for t in known:
        left -= small[t]
    most = (k - 1) * groups.most
    count = candidates(groups, f, known, most, room) if left >= r else most + 1
    if count > most:
        return False
    if count == 1:
        return True
    for t in range(small.shape[0]):
        if small[t] and t not in known:
            work.clock[0] += 1
            total = 0
            for c in range(count):
                total = add_group(groups, t, room[c], total, work)
            left -= total >= k
            if left < r:
                return False
    return True


@njit(cache=True)
def _breached_again(state: _State, f: int, r: int, k: int, work: Work) -> bool:
    """Whether the last K that breached f does so now."""
    size = 0
    while size < state.last.shape[1] and state.last[f, size] >= 0:
        size += 1
    return size > 0 and _breaches(state, f, state.last[f, :size], r, k, work)


@njit(cache=True)
def _judge(
    state: _State, t: int, begin: int, middle: int, end: int, n: int, r: int, k: int, limit: int, work: Work
) -> tuple[int, int]:
    """Whether the split just made at t breaches: status and nodes used."""
    groups, suspects = state.groups, state.room[1]
    n_suspects = 0
    for p in range(begin, end):
        f = groups.order[t, p]
        if state.n_small[f] >= r:
            if _breached_again(state, f, r, k, work):
                return FOUND, 0
            suspects[n_suspects] = f
            n_suspects += 1
    n_inside = n_suspects
    smaller = min(groups.crowd[t, begin], groups.crowd[t, middle])
    run = 0
    while run < groups.order.shape[1]:
        crowd = groups.crowd[t, run]
        # Groups of different subjects add up; otherwise the larger of the two is certain.
        if (crowd + smaller if groups.most == 1 else max(crowd, smaller)) < k and not begin <= run < end:
            for p in range(run, groups.stop[t, run]):
                f = groups.order[t, p]
                if state.n_small[f] >= r:
                    if _breached_again(state, f, r, k, work):
                        return FOUND, 0
                    suspects[n_suspects] = f
                    n_suspects += 1
        run = groups.stop[t, run]
    nodes = 0
    for s in range(n_suspects):
        f = suspects[s]
        for way in range(2):
            # way 0: t is known; way 1: t is inferred
            if s >= n_inside if way == 0 else not state.small[f, t]:
                continue
            if nodes >= limit:
                return RAN_OUT, nodes
            status, size, used = search(
                groups, state.small[f], f, n, r, k, t if way == 0 else -1, t if way == 1 else -1, limit - nodes, work
            )
            nodes += used
            if status == FOUND:
                for a in range(n):
                    state.last[f, a] = work.known[a] if a < size else -1
            if status != NOTHING:
                return status, nodes
    return NOTHING, nodes


@njit(cache=True)
def _split_all(
    values: Floats, state: _State, pairs: Ints,
    instants: Ints, starts: Ints,
    n: int, r: int, k: int, limit: int, squared: bool, work: Work
) -> tuple[Ints, float]:  # fmt: skip
    groups = state.groups
    n_series = values.shape[1]
    counts = np.zeros(6, dtype=np.int64)  # tried, made, refused, ran out, raised, nodes
    change = 0.0
    seen = np.full(n_series, -1, dtype=np.int64)
    mark = 0
    for g in range(instants.shape[0]):
        t = instants[g]
        order = groups.order[t]
        low, high = starts[g], groups.stop[t, starts[g]]
        for middle in pairs[t, low:high]:
            if middle == low or values[t, order[middle]] == values[t, order[middle - 1]]:
                continue
            begin = groups.start[t, order[middle]]
            end = groups.stop[t, begin]
            crowd = groups.crowd[t, begin]
            if groups.most == 1:
                lower, upper = middle - begin, end - middle
            else:
                mark += 2
                lower = distinct_subjects(order, begin, middle, groups.subject, seen, mark)
                upper = distinct_subjects(order, middle, end, groups.subject, seen, mark + 1)
            counts[0] += 1
            _set_run(state, t, begin, middle, lower, k)
            _set_run(state, t, middle, end, upper, k)
            status, nodes = _judge(state, t, begin, middle, end, n, r, k, limit, work)
            counts[5] += nodes
            if status == NOTHING:
                rise = (
                    _loss(values[t], order, begin, middle, squared)
                    + _loss(values[t], order, middle, end, squared)
                    - _loss(values[t], order, begin, end, squared)
                )
                counts[1] += 1
                counts[4] += rise > 0.0
                change += rise
            else:
                counts[2 if status == FOUND else 3] += 1
                groups.stop[t, middle] = 0
                groups.crowd[t, middle] = 0
                _set_run(state, t, begin, end, crowd, k)
    return counts, change
