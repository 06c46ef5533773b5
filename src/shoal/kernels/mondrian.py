"""Parts of one snapshot that lie close together and are l-eligible: Mondrian (LeFevre, DeWitt and Ramakrishnan 2006).

    split(part):
        for each attribute, the widest in this part first, ties by position
            of the cuts between different values of the attribute that leave both sides l-eligible, which is
            l · (records of one sensitive value) <= records on that side, take the one nearest to the middle
            if there is one: split(side below), split(side above), and be done
        the part is a group

If two cuts are equally near to the middle, the lower is taken. LeFevre et al. try only the median. But a snapshot that
was made eligible with as few changes as possible often has a value with exactly one in l records, and the median then
almost never leaves that share on both sides. Equal values are never separated. A missing value counts as a separate
value, below all others; for a number that some have and others lack, the cut between missing and known comes first.

    width of a number   (largest - smallest known) / the same of the snapshot; 1 where that is infinite, or where some
                        are missing and some known
    width of a word     (different values, missing one of them - 1) / the same of the snapshot

For each attribute the rows are kept in order, and cuts are stable, so nothing is ever sorted again:
O(attributes² · rows) for each level of cuts.
"""

import numpy as np
from numba import njit

from shoal.kernels.arrays import Bools, Floats, Ints


@njit(cache=True)
def mondrian_groups(ranks: Ints, values: Floats, is_number: Bools, order: Ints, codes: Ints, l: int) -> Ints:
    """The group of each row, numbered from the lowest part.

    ranks, values
        (attributes, rows): the rank of each value among the different ones; for numbers the value itself, NaN if
        missing.
    order
        (attributes, rows): the rows sorted by rank; it is changed.
    codes
        Sensitive values from 0.
    """
    n_attributes, n = ranks.shape
    groups = np.empty(n, dtype=np.int64)
    n_groups = 0
    tallies = np.zeros((2, codes.max() + 1), dtype=np.int64)
    often = np.zeros(n + 1, dtype=np.int64)
    spans = np.empty(n_attributes)
    for a in range(n_attributes):
        spans[a] = _width(ranks[a], values[a], is_number[a], order[a], 0, n)
    above = np.zeros(n, dtype=np.bool_)
    buffer = np.empty(n, dtype=np.int64)
    widths = np.empty(n_attributes)
    begins, ends = np.zeros(n + 1, dtype=np.int64), np.full(n + 1, n)  # of the parts that wait
    height = 1
    while height:
        height -= 1
        begin, end = begins[height], ends[height]
        for a in range(n_attributes):
            width = _width(ranks[a], values[a], is_number[a], order[a], begin, end)
            widths[a] = 0.0
            if width == np.inf or _is_mixed(values[a], is_number[a], order[a], begin, end):
                widths[a] = 1.0
            elif width > 0.0:
                widths[a] = width / spans[a]
        cut = begin
        for _ in range(n_attributes):
            a = 0
            for other in range(1, n_attributes):
                if widths[other] > widths[a]:
                    a = other
            if not widths[a] > 0.0:
                break
            widths[a] = -1.0
            cut = _find_cut(ranks[a], values[a], is_number[a], order[a], codes, tallies, often, l, begin, end)
            if cut > begin:
                for p in range(cut, end):
                    above[order[a, p]] = True
                break
        if cut == begin:
            if n_attributes == 0:
                groups[:] = 0
                return groups
            for p in range(begin, end):
                groups[order[0, p]] = n_groups
            n_groups += 1
            continue
        for a in range(n_attributes):
            _part(order[a], above, buffer, begin, end)
        for p in range(cut, end):
            above[order[0, p]] = False
        begins[height], ends[height] = cut, end
        begins[height + 1], ends[height + 1] = begin, cut
        height += 2
    return groups


@njit(cache=True)
def _width(ranks: Ints, values: Floats, is_number: bool, order: Ints, begin: int, end: int) -> float:
    """The range of the known numbers, or the number of different words beyond the first."""
    if is_number:
        first = begin
        while first < end - 1 and np.isnan(values[order[first]]):
            first += 1
        # NaN if all are missing.
        return float(values[order[end - 1]] - values[order[first]])
    changes = 0
    for p in range(begin + 1, end):
        if ranks[order[p]] != ranks[order[p - 1]]:
            changes += 1
    return float(changes)


@njit(cache=True)
def _is_mixed(values: Floats, is_number: bool, order: Ints, begin: int, end: int) -> bool:
    return bool(is_number and np.isnan(values[order[begin]]) and not np.isnan(values[order[end - 1]]))


@njit(cache=True)
def _find_cut(
    ranks: Ints,
    values: Floats,
    is_number: bool,
    order: Ints,
    codes: Ints,
    tallies: Ints,
    often: Ints,
    l: int,
    begin: int,
    end: int,
) -> int:
    """Where the upper side begins; `begin` if no cut leaves both sides eligible.

    `tallies` has the number of records of each value below and above the cut, `often` the number of values for each
    count above. Both are zero before and after.
    """
    mixed = _is_mixed(values, is_number, order, begin, end)
    below, above = tallies[0], tallies[1]
    most_below, most_above = 0, 0
    for p in range(begin, end):
        v = codes[order[p]]
        often[above[v]] -= 1
        above[v] += 1
        often[above[v]] += 1
        most_above = max(most_above, above[v])
    best = begin
    for cut in range(begin + 1, end):
        v = codes[order[cut - 1]]
        below[v] += 1
        most_below = max(most_below, below[v])
        often[above[v]] -= 1
        above[v] -= 1
        often[above[v]] += 1
        while often[most_above] == 0:
            most_above -= 1
        if ranks[order[cut]] == ranks[order[cut - 1]]:
            continue
        if most_below * l > cut - begin or most_above * l > end - cut:
            continue
        if best == begin or abs(begin + end - 2 * cut) < abs(begin + end - 2 * best):
            best = cut
        if mixed and np.isnan(values[order[cut - 1]]):
            break
    for p in range(begin, end):
        v = codes[order[p]]
        often[above[v]] = 0
        below[v], above[v] = 0, 0
    often[0] = 0
    return best


@njit(cache=True)
def _part(order: Ints, above: Bools, buffer: Ints, begin: int, end: int) -> None:
    """Put the rows below the cut first; each side keeps its order."""
    place = begin
    n_above = 0
    for p in range(begin, end):
        row = order[p]
        if above[row]:
            buffer[n_above] = row
            n_above += 1
        else:
            order[place] = row
            place += 1
    for p in range(n_above):
        order[place + p] = buffer[p]
