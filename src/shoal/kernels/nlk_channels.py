"""Groups at every instant in the space of the channels, where each series may be alone a limited number of times.

    z = x, every channel divided by its standard deviation over all series and instants (a constant one by 1)
    loss(G) = sum over channels and members of |z - r(G)|  or  (z - r(G))^2,   r(G) the mean or median of each channel

Several channels have no order, so there are no runs and there is no bound. Groups of at least k come from MDAV and then
the moves and swaps of `refine_groups`, both for squared loss.

    1  all series of an instant are grouped, instant by instant
    2  each series is alone at the `budget` instants where it lost most, unless fewer than k others are left there, and
       the others are grouped again; at an instant where that does not lower the loss, the groups of 1 stay
    3  repeat    the largest loss(G) - loss(G without f) of all instants, groups G of more than k and members f that are
                 alone at fewer than `budget` instants;   f leaves G and is alone;   until none is above 0

Equal gains: the earlier instant first, then the group of the lowest row, then the lower row. A gain is recomputed when
its group changes or its member has no budget left. As budgets only shrink, the largest gain that is still true when it
is examined is the largest of all.
"""

import heapq

import numpy as np
from numba import njit

from shoal.kernels.arrays import Floats, Ints, renumber
from shoal.kernels.mdav import mdav_groups
from shoal.kernels.nlk_intervals import Labels, Loss, Representative, publish_labels
from shoal.kernels.refine import refine_groups

CHANGES_PER_SERIES = 2000  # that refining evaluates, at each instant


@njit(cache=True)
def _loss_without(z: Floats, members: Ints, left_out: int, squared: bool, median: bool) -> float:
    """Loss of the members except the one at position `left_out`, or of all if that is -1."""
    size = members.shape[0] - (left_out >= 0)
    values = np.empty(size)
    loss = 0.0
    for c in range(z.shape[1]):
        n = 0
        total = 0.0
        for m in range(members.shape[0]):
            if m != left_out:
                value = z[members[m], c]
                total += value - z[members[0], c]
                slot = n
                while median and slot > 0 and values[slot - 1] > value:
                    values[slot] = values[slot - 1]
                    slot -= 1
                values[slot] = value
                n += 1
        middle = z[members[0], c] + total / size
        if median:
            middle = values[(size - 1) // 2] + 0.5 * (values[size // 2] - values[(size - 1) // 2])
        for m in range(size):
            distance = abs(values[m] - middle)
            loss += distance * distance if squared else distance
    return loss


@njit(cache=True)
def _best_leaver(z: Floats, members: Ints, left: Ints, squared: bool, median: bool) -> tuple[float, int]:
    """The largest gain by leaving of a member with budget left, and its position; (0, -1) if none gains."""
    best, position = 0.0, -1
    loss = _loss_without(z, members, -1, squared, median)
    for m in range(members.shape[0]):
        if left[members[m]] > 0:
            gain = loss - _loss_without(z, members, m, squared, median)
            if gain > best:
                best, position = gain, m
    return best, position


def _grouped(at_t: Floats, k: int) -> Ints:
    """Groups of at least k at one instant."""
    n = at_t.shape[0]
    first = mdav_groups(at_t, np.arange(n), k, np.zeros(1, dtype=np.int64))
    return refine_groups(at_t, first, k, CHANGES_PER_SERIES * n)[0]


def cell_losses(z: Floats, labels: Labels, loss: Loss, representative: Representative) -> Floats:
    """The loss of each series at each instant, over its channels."""
    losses = np.zeros(labels.shape)
    for c in range(z.shape[2]):
        channel = np.ascontiguousarray(z[:, :, c])
        distances = np.abs(channel - publish_labels(channel, labels, representative))
        losses += distances * distances if loss == "squared" else distances
    return losses


def _grouped_anew(z: Floats, losses: Floats, k: int, budget: int, done: Ints) -> Labels:
    """Step 2 at every instant, whether or not it lowers the loss."""
    n, n_instants = losses.shape
    alone = np.zeros(losses.shape, dtype=np.bool_)
    np.put_along_axis(alone, np.argsort(-losses, axis=1, kind="stable")[:, :budget], True, axis=1)
    labels = np.empty(losses.shape, dtype=np.int32)
    for t in range(n_instants):
        leaving = np.flatnonzero(alone[:, t])
        leaving = leaving[np.argsort(-losses[leaving, t], kind="stable")][: n - k]
        stay = np.setdiff1d(np.arange(n), leaving)
        at_t = np.arange(n, 2 * n)
        at_t[stay] = _grouped(np.ascontiguousarray(z[stay, t]), k)
        labels[:, t] = renumber(at_t)
        done[0] += 1
    return labels


def _take_out(z: Floats, labels: Labels, k: int, budget: int, squared: bool, median: bool) -> Labels:
    n, n_instants, _ = z.shape
    at = [np.ascontiguousarray(z[:, t]) for t in range(n_instants)]
    left = np.full(n, budget, dtype=np.int64)
    for t in range(n_instants):
        left -= np.bincount(labels[:, t])[labels[:, t]] == 1
    taken = labels.astype(np.int64)
    groups: dict[tuple[int, int], Ints] = {}
    waiting: list[tuple[float, int, int, int]] = []

    def offer(t: int, group: int) -> None:
        members = groups[t, group]
        if members.shape[0] > k:
            gain, position = _best_leaver(at[t], members, left, squared, median)
            if position >= 0:
                heapq.heappush(waiting, (-gain, t, group, int(members[position])))

    for t in range(n_instants):
        order = np.argsort(labels[:, t], kind="stable")
        borders = np.flatnonzero(np.diff(labels[order, t])) + 1
        for group, members in enumerate(np.split(order, borders)):
            groups[t, group] = members
            offer(t, group)
    while waiting:
        _, t, group, row = heapq.heappop(waiting)
        if left[row] > 0:
            left[row] -= 1
            taken[row, t] = n + row  # a label of its own
            members = groups[t, group]
            groups[t, group] = members[members != row]
        offer(t, group)
    return np.stack([renumber(taken[:, t]) for t in range(n_instants)], axis=1).astype(np.int32)


def standardized(x: Floats) -> Floats:
    """Every channel divided by its standard deviation over all series and instants; a constant one as it is."""
    deviations = (x - x[:1, :1]).std(axis=(0, 1))  # differences first: a common offset costs no digits
    return np.ascontiguousarray((x - x[:1, :1]) / np.where(deviations > 0.0, deviations, 1.0))


def channel_groups(
    x: Floats, k: int, budget: int, loss: Loss, representative: Representative, done: Ints
) -> tuple[Labels, float]:
    """Group labels (series, instants) and their loss in the standardized channels.

    There are at least k series and no gaps. A series alone is a group of one; groups are numbered in the order of
    their lowest rows. `done[0]` counts to twice the number of instants.
    """
    n, n_instants, _ = x.shape
    z = standardized(x)
    if k == 1 or budget >= n_instants:
        done[0] = 2 * n_instants
        return np.repeat(np.arange(n, dtype=np.int32)[:, None], n_instants, axis=1), 0.0
    labels = np.empty((n, n_instants), dtype=np.int32)
    for t in range(n_instants):
        labels[:, t] = _grouped(np.ascontiguousarray(z[:, t]), k)
        done[0] += 1
    if budget > 0:
        losses = cell_losses(z, labels, loss, representative)
        anew = _grouped_anew(z, losses, k, budget, done)
        better = cell_losses(z, anew, loss, representative).sum(axis=0) < losses.sum(axis=0)
        labels = np.where(better, anew, labels)
        labels = _take_out(z, labels, k, budget, loss == "squared", representative == "median")
    done[0] = 2 * n_instants
    return labels, float(cell_losses(z, labels, loss, representative).sum())
