"""Anatomy, record by record.

While l values have records left, a group takes one of each of the l values with most left, ties by value; of a value
the last in the given order first. The i-th record left over, by value, takes the group at the share luck[i] of those
without its value.
"""

import numpy as np


def naive_anatomy(codes, l, order, luck):
    left = {int(v): [int(i) for i in order if codes[i] == v] for v in set(codes.tolist())}
    groups = []
    while sum(bool(rows) for rows in left.values()) >= l:
        chosen = sorted((v for v in left if left[v]), key=lambda v: (-len(left[v]), v))[:l]
        groups.append([left[v].pop() for v in chosen])
    leftover = [rows for v, rows in sorted(left.items()) if rows]
    assert all(len(rows) == 1 for rows in leftover)
    for (row,), share in zip(leftover, luck[: len(leftover)], strict=True):
        free = [group for group in groups if codes[row] not in {codes[i] for i in group}]
        free[min(int(share * len(free)), len(free) - 1)].append(row)
    labels = np.full(len(codes), -1)
    for label, rows in enumerate(groups):
        labels[rows] = label
    return labels
