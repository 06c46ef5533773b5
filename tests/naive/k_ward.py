"""Groups of k to 2k − 1 similar rows by k-Ward, with the Ward distance of every pair of groups written down.

Distances and centroids are those of naive.mdav, for rows without gaps.

    split(D), D in row order
        if |D| < 2k: D is a group
        p < q = the two most distant rows of D, ties to the smallest (p, q)
        if their distance is 0: all rows are alike; D in row order, k at a time, the last group with what is left
        P = p and the k − 1 rows of D∖{q} nearest to it, Q = q and the k − 1 rows of D∖P nearest to it, ties to the
        lowest row; every other row is a group of one
        while some group has fewer than k rows
            merge the two groups A and B, not both of k rows or more, with the smallest (ward(A, B), A, B)
        for each group, in order: split(group) if it has 2k rows or more, else it is a group

Groups are compared by their lowest row, and A is before B. With means m and sizes |A|, |B|

    ward(A, B)        (|A| · |B| / (|A| + |B|)) · distance(m(A), m(B))
    m(P), m(Q)        the centroids of their rows; of a group of one, the row
    m(A ∪ B)          (|A| · m(A) + |B| · m(B)) / (|A| + |B|) in each column

Labels number the groups in the order this lists them. P and Q have k rows each and are never merged, so split always
gives at least two groups and comes to an end.

Reference: Algorithm 1 of paper 5. The rule for rows that are all alike is ours: Algorithm 1 would put all but k of them
into one group, and so on, n / k times, to reach what is equally good at once.
"""

import numpy as np

from naive.mdav import centroid, squared_distance


def with_nearest(points, rows, d, k):
    """d and its k - 1 nearest of the rows."""
    others = sorted((i for i in rows if i != d), key=lambda i: (squared_distance(points[i], points[d]), i))
    return sorted([d, *others[: k - 1]])


def most_distant(points, rows):
    pairs = [(p, q) for p in rows for q in rows if p < q]
    return min(pairs, key=lambda pair: (-squared_distance(points[pair[0]], points[pair[1]]), pair))


def ward(a, b):
    (rows_a, mean_a), (rows_b, mean_b) = a, b
    weight = len(rows_a) * len(rows_b) / (len(rows_a) + len(rows_b))
    return weight * squared_distance(mean_a, mean_b)


def merged(a, b):
    (rows_a, mean_a), (rows_b, mean_b) = a, b
    size = len(rows_a) + len(rows_b)
    mean = [(len(rows_a) * u + len(rows_b) * v) / size for u, v in zip(mean_a, mean_b, strict=True)]
    return sorted(rows_a + rows_b), mean


def first_groups(points, rows, p, q, k):
    """Rows and mean of each group before any merge, by lowest row."""
    around_p = with_nearest(points, [i for i in rows if i != q], p, k)
    around_q = with_nearest(points, [i for i in rows if i not in around_p], q, k)
    groups = {}
    for members in (around_p, around_q):
        groups[members[0]] = (members, centroid(points, members))
    for i in rows:
        if i not in around_p and i not in around_q:
            groups[i] = ([i], points[i])
    return groups


def agglomerate(groups, k):
    """Merge until every group has k rows; `apart` always holds the Ward distance of each pair that may merge."""

    def may_merge(a, b):
        return len(groups[a][0]) < k or len(groups[b][0]) < k

    apart = {(a, b): ward(groups[a], groups[b]) for a in groups for b in groups if a < b and may_merge(a, b)}
    while any(len(members) < k for members, _ in groups.values()):
        a, b = min(apart, key=lambda pair: (apart[pair], pair))
        groups[a] = merged(groups[a], groups.pop(b))
        apart = {pair: distance for pair, distance in apart.items() if not {a, b} & set(pair)}
        for c in groups:
            if c != a and may_merge(a, c):
                first, second = min(a, c), max(a, c)
                apart[first, second] = ward(groups[first], groups[second])
    return [groups[a][0] for a in sorted(groups)]


def split(points, rows, k):
    if len(rows) < 2 * k:
        return [rows]
    p, q = most_distant(points, rows)
    if squared_distance(points[p], points[q]) == 0.0:
        ends = [*range(k, len(rows) - k + 1, k), len(rows)]
        return [rows[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    result = []
    for members in agglomerate(first_groups(points, rows, p, q, k), k):
        result.extend(split(points, members, k))
    return result


def naive_k_ward(x, k):
    points = np.asarray(x, dtype=np.float64).tolist()
    labels = np.full(len(points), -1, dtype=np.int64)
    for label, members in enumerate(split(points, list(range(len(points))), k)):
        labels[members] = label
    return labels
