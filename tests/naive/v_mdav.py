"""Groups of k to 2k − 1 similar rows (V-MDAV), one distance at a time.

Distances, centroids and "farthest" are those of naive.mdav, for rows without gaps; ties go to the lowest row.

    c = centroid of all rows, once;  U = the rows in no group yet, in row order
    while |U| >= k
        e = the row of U farthest from c;  G = e and the k − 1 rows of U nearest to it;  U = U∖G
        while |G| < 2k − 1 and U is not empty
            d_in(u) = min over g in G of distance(u, g);  e_min = the row of U with the smallest d_in
            d_out = min over u in U∖{e_min} of distance(e_min, u), +inf where there is none
            if not d_in(e_min) < (gain · gain) · d_out: stop;  else move e_min from U to G
        G is a group
    for each row u of U, in row order
        the groups with fewer than 2k − 1 rows, or all groups if there are none; of them the one with the nearest
        centroid of present members, ties to the lowest label; u joins it
        if it has 2k rows now: d1 = its row farthest from its centroid; d1 and its k − 1 nearest keep the label, the
        other k rows are a new group

Labels number the groups in the order they are formed.

Reference: Solanas and Martínez-Ballesté (2006), "V-MDAV: a multivariate microaggregation with variable group size".
The paper says nothing about a last row for which all groups are full; the split is ours.
"""

import math

import numpy as np

from naive.mdav import centroid, farthest, squared_distance


def with_nearest(points, rows, d, k):
    """d and its k - 1 nearest of the rows."""
    others = sorted((i for i in rows if i != d), key=lambda i: (squared_distance(points[i], points[d]), i))
    return [d, *others[: k - 1]]


def distance_to_group(points, u, group):
    return min(squared_distance(points[u], points[g]) for g in group)


def naive_v_mdav(x, k, gain):
    points = np.asarray(x, dtype=np.float64).tolist()
    centre = centroid(points, list(range(len(points))))
    left = list(range(len(points)))
    groups = []

    while len(left) >= k:
        group = with_nearest(points, left, farthest(points, left, centre), k)
        left = [i for i in left if i not in group]
        while len(group) < 2 * k - 1 and left:
            e_min = min(left, key=lambda u: (distance_to_group(points, u, group), u))
            d_in = distance_to_group(points, e_min, group)
            d_out = min((squared_distance(points[e_min], points[u]) for u in left if u != e_min), default=math.inf)
            if not d_in < (gain * gain) * d_out:
                break
            group.append(e_min)
            left.remove(e_min)
        groups.append(group)

    for u in left:
        open_groups = [label for label in range(len(groups)) if len(groups[label]) < 2 * k - 1]
        label = min(
            open_groups or range(len(groups)),
            key=lambda label: (squared_distance(points[u], centroid(points, sorted(groups[label]))), label),
        )
        groups[label].append(u)
        if len(groups[label]) == 2 * k:
            members = sorted(groups[label])
            first = with_nearest(points, members, farthest(points, members, centroid(points, members)), k)
            groups[label] = first
            groups.append([i for i in members if i not in first])

    labels = np.full(len(points), -1, dtype=np.int64)
    for label, group in enumerate(groups):
        labels[group] = label
    return labels
