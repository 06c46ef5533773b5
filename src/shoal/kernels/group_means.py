"""The mean of each group at each instant and channel, if enough subjects were observed there.

    mean(g, c) = sum of the observed x[i, c], i in g / number of them;  missing if they come from fewer than k subjects

A mean over fewer than k subjects would reveal something about one of them. Sums run in row order. There is one thread:
memory bandwidth is the limit, and for a small panel starting more threads takes longer than the work.
"""

import numpy as np
from numba import njit

from shoal.kernels.arrays import Floats, Ints


@njit(cache=True)
def _means(x: Floats, members: Ints, starts: Ints, numbers: Ints, widths: Ints, k: int) -> Floats:
    """`members[starts[g]:starts[g+1]]` are the rows of group g, `numbers` their subjects from 0 to `widths[g]` - 1."""
    n_columns = x.shape[1]
    published = np.empty(x.shape)
    for g in range(starts.shape[0] - 1):
        total = np.zeros(n_columns)
        observed = np.zeros(n_columns, dtype=np.int64)
        for m in range(starts[g], starts[g + 1]):
            for c in range(n_columns):
                value = x[members[m], c]
                if value == value:  # not NaN
                    total[c] += value
                    observed[c] += 1
        last_seen = np.full(widths[g], -1, dtype=np.int64)
        for c in range(n_columns):
            n_subjects = observed[c]
            if widths[g] < starts[g + 1] - starts[g]:  # some subject has several rows here
                n_subjects = 0
                for m in range(starts[g], starts[g + 1]):
                    value = x[members[m], c]
                    if value == value and last_seen[numbers[m]] != c:
                        last_seen[numbers[m]] = c
                        n_subjects += 1
            total[c] = total[c] / observed[c] if n_subjects >= k else np.nan
        for m in range(starts[g], starts[g + 1]):
            for c in range(n_columns):
                published[members[m], c] = total[c]
    return published


def group_means(x: Floats, labels: Ints, subjects: Ints, k: int) -> Floats:
    """Replace every row by the mean of its group; labels and subjects count from 0 without holes."""
    # Sorting is left to numpy: compiling it into the kernel would take 15 seconds on the first run.
    members = np.argsort(labels, kind="stable")  # stable: members stay in row order
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    pairs, pair_of_row = np.unique(labels * (int(subjects.max()) + 1) + subjects, return_inverse=True)
    widths = np.bincount(pairs // (int(subjects.max()) + 1))
    first_pair = np.concatenate([[0], np.cumsum(widths)])
    numbers = (pair_of_row - first_pair[labels])[members]
    published: Floats = _means(x, members, starts, numbers, widths, k)
    return published
