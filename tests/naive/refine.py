"""What the local search promises, checked by brute force. Imports nothing of Shoal."""

import itertools
from fractions import Fraction

import numpy as np


def sse(x, labels):
    """Sum of squared distances to the group means, from left to right in row order, after taking off the first row."""
    y = np.asarray(x, dtype=np.float64) - x[0]
    means = {}
    for label in set(labels.tolist()):
        total = np.zeros(y.shape[1])
        for row in np.flatnonzero(labels == label):
            total = total + y[row]
        means[label] = total / (labels == label).sum()
    result = 0.0
    for row, label in enumerate(labels.tolist()):
        for difference in (y[row] - means[label]).tolist():
            result += difference * difference
    return result


def is_partition(labels, k):
    """Numbered from 0 in the order of first rows, every group with at least k rows."""
    _, first_rows, sizes = np.unique(labels, return_index=True, return_counts=True)
    return bool((np.unique(labels) == np.arange(len(sizes))).all() and (np.diff(first_rows) > 0).all()) and bool(
        (sizes >= k).all()
    )


def _tolerance(x, loss):
    """1e-9 of the loss, and what rounding does where the values are far larger than their differences in a group."""
    rounding = 1e-13 * np.abs(x - x[0]).max()
    return 1e-9 * loss + rounding * np.sqrt(loss) + rounding**2


def is_local_optimum(x, labels, k):
    """True if no move of a row and no swap of two rows lowers the loss by more than the tolerance."""
    loss = sse(x, labels)
    least = loss - _tolerance(x, loss)
    sizes = np.bincount(labels)
    for i in range(len(labels)):
        for target in range(len(sizes)):
            if target != labels[i] and sizes[labels[i]] > k:
                changed = labels.copy()
                changed[i] = target
                if sse(x, changed) < least:
                    return False
        for j in range(i):
            if labels[i] != labels[j]:
                changed = labels.copy()
                changed[i], changed[j] = labels[j], labels[i]
                if sse(x, changed) < least:
                    return False
    return True


def is_optimum_of_swaps(x, labels, subjects):
    """True if no swap lowers the loss that brings no subject into a group that has it."""
    loss = sse(x, labels)
    for i, j in itertools.combinations(range(len(labels)), 2):
        if labels[i] == labels[j]:
            continue
        changed = labels.copy()
        changed[i], changed[j] = labels[j], labels[i]
        newcomers = ((i, subjects[i]), (j, subjects[j]))
        meet = any(
            other != row and changed[other] == changed[row] and subjects[other] == subject
            for row, subject in newcomers
            for other in range(len(labels))
        )
        if not meet and sse(x, changed) < loss - _tolerance(x, loss):
            return False
    return True


def lowest_loss(x, k):
    """The lowest loss of all partitions into groups of at least k rows."""

    def losses(rows):
        if not rows:
            yield 0.0
        for size in range(k, len(rows) + 1):
            if 0 < len(rows) - size < k:
                continue
            for others in itertools.combinations(rows[1:], size - 1):
                group = (rows[0], *others)
                own = sse(x[list(group)], np.zeros(size, dtype=np.int64))
                for rest in losses([row for row in rows if row not in group]):
                    yield own + rest

    return min(losses(list(range(len(x)))))


def lowest_exact_loss(x, k):
    """The same without rounding, as a fraction: from the squared distances of all pairs."""
    rows = [[Fraction(value) for value in row] for row in x.tolist()]

    def lowest(rest):
        if not rest:
            return Fraction(0)
        found = []
        for size in range(k, len(rest) + 1):
            if 0 < len(rest) - size < k:
                continue
            for others in itertools.combinations(rest[1:], size - 1):
                group = (rest[0], *others)
                pairs = itertools.combinations(group, 2)
                apart = sum((a - b) ** 2 for i, j in pairs for a, b in zip(rows[i], rows[j], strict=True))
                found.append(Fraction(apart) / size + lowest([row for row in rest if row not in group]))
        return min(found)

    return lowest(list(range(len(rows))))
