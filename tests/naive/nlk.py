"""(n, l, k)-anonymity by trying every series and every set of known instants.

    equal at t       the same 64 bits in every channel; any NaN is the same missing mark and equals only a missing mark
    candidates       the series equal to f at every instant of K
    inferred         t outside K, where the series that are equal at t to some candidate have fewer than k subjects
    anonymous        no f and no K of n instants with l - n or more inferred instants

Also the two steps of the paper's heuristics, written from its listings with every group as a list of rows: Algorithm 1
(`naive_cluster`) and Algorithms 2 and 3 (`naive_split`), with the enumeration above in place of the fast validation.
Pairs are tried by largest distance first, as section 4.1 says (the listing of Algorithm 1 says ascending); pairs of
equal values are no place for a split. Equal distances, losses and scores: from the smallest values up, the earlier
instant first.
"""

import itertools
import math
import struct


def mark(value):
    return None if math.isnan(value) else struct.pack("<d", value)


def marks_of(x):
    """Per series and instant what is published there, as something that can be compared."""
    return [[tuple(mark(v) for v in cell.ravel()) for cell in row] for row in x]


def naive_inferred(cells, f, known, k, subjects):
    n_series, n_instants = len(cells), len(cells[0])
    candidates = [g for g in range(n_series) if all(cells[g][t] == cells[f][t] for t in known)]
    inferred = []
    for t in range(n_instants):
        if t not in known:
            possible = {cells[c][t] for c in candidates}
            if len({subjects[g] for g in range(n_series) if cells[g][t] in possible}) < k:
                inferred.append(t)
    return inferred


def naive_most_inferred(cells, n, k, subjects=None):
    """The largest number of instants that can be inferred with n known, over all series and all K."""
    subjects = range(len(cells)) if subjects is None else list(subjects)
    return max(
        len(naive_inferred(cells, f, known, k, subjects))
        for f in range(len(cells))
        for known in itertools.combinations(range(len(cells[0])), n)
    )


def naive_nlk_anonymous(x, n, l, k, subjects=None):
    return naive_most_inferred(marks_of(x), n, k, subjects) < l - n


def neighbours(x, t, rows):
    """Pairs (gap, lower row, upper row) of a sorted list of rows, the largest gap first."""
    pairs = [(x[b][t] - x[a][t], a, b) for a, b in itertools.pairwise(rows) if x[b][t] > x[a][t]]
    return sorted(pairs, key=lambda pair: -pair[0])  # stable: from the smallest values up


def by_value(x, t, rows):
    return sorted(rows, key=lambda i: (x[i][t], i))


def cut(groups, upper):
    """The groups with the one that holds `upper` cut in two just before it."""
    result = []
    for rows in groups:
        if upper in rows:
            at = rows.index(upper)
            result += [rows[:at], rows[at:]]
        else:
            result.append(rows)
    return result


def naive_cluster(x, k, subjects=None):
    """Algorithm 1: per instant a list of groups, each a list of rows."""
    subjects = range(len(x)) if subjects is None else list(subjects)
    result = []
    for t in range(len(x[0])):
        groups = [by_value(x, t, range(len(x)))]
        for _, _, upper in neighbours(x, t, groups[0]):
            tried = cut(groups, upper)
            if all(len({subjects[i] for i in rows}) >= k for rows in tried):
                groups = tried
        result.append(groups)
    return result


def labels_of(groups_per_instant, n_series):
    labels = [[0] * len(groups_per_instant) for _ in range(n_series)]
    for t, groups in enumerate(groups_per_instant):
        for label, rows in enumerate(groups):
            for i in rows:
                labels[i][t] = label
    return labels


def group_loss(x, t, rows, squared):
    mean = math.fsum(x[i][t] for i in rows) / len(rows)
    return math.fsum((x[i][t] - mean) ** 2 if squared else abs(x[i][t] - mean) for i in rows)


def naive_split(x, groups_per_instant, n, l, k, order, squared=False, subjects=None):
    """Algorithms 2 ("mil") and 3 ("mth")."""
    groups_per_instant = [[by_value(x, t, rows) for rows in groups] for t, groups in enumerate(groups_per_instant)]
    if order == "mil":
        losses = [sum(group_loss(x, t, g, squared) for g in groups) for t, groups in enumerate(groups_per_instant)]
        instants = sorted(range(len(losses)), key=lambda t: -losses[t])
        todo = []
        for t in instants:
            todo += [(t, g) for g in sorted(groups_per_instant[t], key=lambda g: -group_loss(x, t, g, squared))]
    else:
        todo = [(t, g) for t, groups in enumerate(groups_per_instant) for g in groups]
        todo.sort(key=lambda item: -(x[item[1][-1]][item[0]] - x[item[1][0]][item[0]]) * len(item[1]))
    for t, group in todo:
        for _, _, upper in neighbours(x, t, group):
            tried = [cut(groups, upper) if s == t else groups for s, groups in enumerate(groups_per_instant)]
            if naive_most_inferred(labels_of(tried, len(x)), n, k, subjects) < l - n:
                groups_per_instant = tried
    return groups_per_instant
