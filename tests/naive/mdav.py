"""Groups of at least k similar rows (MDAV-generic), one distance at a time, and the means published for them.

D is the set of rows not yet in a group, kept in row order; C is the number of columns; all numbers are float64 and
every sum starts at 0.0 and runs strictly from left to right, so that ties and roundings are part of the definition.

    distance(a, b)   s = Σ (a_c − b_c)·(a_c − b_c) over the m columns observed in both
                     s if m = C, else +inf if m = 0, else s · (C / m), the quotient first
    centroid(D)      per column, the sum of the observed values of D in row order / their count; missing if none
    farthest         the largest distance, ties to the lowest row
    take(d, D)       d, then the other rows of D by (distance to d, row), skipping rows whose subject is already in,
                     until k rows of k distinct subjects are in

    repeat   d1 = the row of D farthest from centroid(D),  A = take(d1, D)
             if D∖A has fewer than k subjects:    D is the last group; stop
             d2 = the row of D∖A farthest from d1,  B = take(d2, D∖A)
             if D∖A∖B has fewer than k subjects:  A is a group; D = D∖A
             else:                                A and B are groups; D = D∖A∖B

Labels number the groups in the order they are formed. Without subjects every row is its own subject.

With one row per subject this is MDAV-generic: |A| = |B| = k, so D∖A∖B keeps k subjects exactly when |D| >= 3k (two
groups, phase 1), and D∖A keeps k subjects exactly when |D| >= 2k. So for 2k <= |D| < 3k one group is cut off and the
next turn, with k <= |D| < 2k, closes the rest as one group, which are phases 2 and 3.

    published mean   per group, instant and channel: the sum of the observed values of the members in row order / their
                     count, if those observed members have at least k distinct subjects; otherwise missing

Reference: Algorithm 1 of "the process" (paper 2, section 5), after Domingo-Ferrer and Torra (2005).
"""

import math

import numpy as np


def squared_distance(a, b):
    """Both are sequences of Python floats: they overflow to infinity without a warning."""
    total = 0.0
    observed = 0
    for u, v in zip(a, b, strict=True):
        if not math.isnan(u) and not math.isnan(v):
            total += (u - v) * (u - v)
            observed += 1
    if observed == len(a):
        return total
    if observed == 0:
        return math.inf
    return total * (len(a) / observed)


def mean_of_observed(values):
    total = 0.0
    count = 0
    for value in values:
        if not math.isnan(value):
            total += value
            count += 1
    return total / count if count else math.nan


def centroid(points, rows):
    return [mean_of_observed([points[i][c] for i in rows]) for c in range(len(points[0]))]


def farthest(points, rows, centre):
    best = rows[0]
    for i in rows[1:]:
        if squared_distance(points[i], centre) > squared_distance(points[best], centre):
            best = i
    return best


def take(points, rows, subjects, d, k):
    group = [d]
    inside = {subjects[d]}
    others = [i for i in rows if i != d]
    for i in sorted(others, key=lambda i: (squared_distance(points[i], points[d]), i)):
        if len(group) == k:
            break
        if subjects[i] not in inside:
            group.append(i)
            inside.add(subjects[i])
    return group


def without(rows, group):
    return [i for i in rows if i not in group]


def n_subjects(rows, subjects):
    return len({subjects[i] for i in rows})


def naive_mdav(x, k, subjects=None):
    points = np.asarray(x, dtype=np.float64).tolist()
    subjects = list(range(len(points))) if subjects is None else [int(s) for s in subjects]
    left = list(range(len(points)))
    if n_subjects(left, subjects) < k:
        raise ValueError(f"k={k} needs at least {k} subjects, found {n_subjects(left, subjects)}")

    groups = []
    while True:
        d1 = farthest(points, left, centroid(points, left))
        first = take(points, left, subjects, d1, k)
        after_first = without(left, first)
        if n_subjects(after_first, subjects) < k:
            groups.append(left)
            break
        d2 = farthest(points, after_first, points[d1])
        second = take(points, after_first, subjects, d2, k)
        after_both = without(after_first, second)
        if n_subjects(after_both, subjects) < k:
            groups.append(first)
            left = after_first
        else:
            groups.extend([first, second])
            left = after_both

    labels = np.full(len(points), -1, dtype=np.int64)
    for label, group in enumerate(groups):
        labels[group] = label
    return labels


def textbook_mdav(x, k):
    """Algorithm 1 in its three phases, for rows without gaps that are a subject each.

    Step 1(c) looks for d2 in all of D. The largest distance to d1 is always reached outside the cluster of d1, because
    that cluster holds the nearest records; only where records tie at it may some lie inside, and those cannot be the
    centre of a second cluster, so the tie goes to the lowest row outside.
    """
    n, n_columns = x.shape

    def distances(centre):
        total = np.zeros(n)
        for c in range(n_columns):
            difference = x[:, c] - centre[c]
            total = total + difference * difference
        return total

    def average():
        total = np.zeros(n_columns)
        for i in np.flatnonzero(in_d):
            total = total + x[i]
        return total / np.count_nonzero(in_d)

    def most_distant(centre):
        records = np.flatnonzero(in_d)
        return records[np.argmax(distances(centre)[records])]  # argmax returns the first of equals

    def cluster(d):
        order = np.argsort(distances(x[d]), kind="stable")  # stable: equals stay in row order
        nearest = [i for i in order if in_d[i] and i != d]
        return [d, *nearest[: k - 1]]

    in_d = np.ones(n, dtype=bool)
    labels = np.full(n, -1, dtype=np.int64)
    label = 0

    # Phase 1.
    while np.count_nonzero(in_d) >= 3 * k:
        d1 = most_distant(average())
        from_d1 = distances(x[d1])
        largest = from_d1[in_d].max()
        around_d1 = cluster(d1)
        labels[around_d1] = label
        in_d[around_d1] = False
        d2 = np.flatnonzero(in_d & (from_d1 == largest))[0]
        around_d2 = cluster(d2)
        labels[around_d2] = label + 1
        in_d[around_d2] = False
        label += 2

    # Phase 2.
    if 2 * k <= np.count_nonzero(in_d) <= 3 * k - 1:
        around_d1 = cluster(most_distant(average()))
        labels[around_d1] = label
        in_d[around_d1] = False
        label += 1

    # The other cluster of phase 2, or phase 3.
    labels[in_d] = label
    return labels


def naive_group_means(values, labels, k, subjects=None):
    subjects = list(range(len(values))) if subjects is None else [int(s) for s in subjects]
    published = np.full(values.shape, np.nan)
    for label in sorted({int(label) for label in labels}):
        members = [i for i in range(len(values)) if labels[i] == label]
        for place in np.ndindex(values.shape[1:]):
            observed = [i for i in members if not math.isnan(values[(i, *place)])]
            if n_subjects(observed, subjects) >= k:
                mean = mean_of_observed([float(values[(i, *place)]) for i in observed])
                for i in members:
                    published[(i, *place)] = mean
    return published
