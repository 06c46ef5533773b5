"""Types of the arrays that kernels take and return, and the numbering of groups."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def renumber(labels: Ints) -> Ints:
    """The same groups, numbered from 0 in the order of their first rows; no label is negative."""
    rows = np.arange(labels.shape[0])
    first_rows = np.full(labels.max(initial=-1) + 1, -1)
    first_rows[labels[::-1]] = rows[::-1]  # of several rows the last one assigned stays
    ranks = np.empty_like(first_rows)
    ranks[labels[rows[first_rows[labels] == rows]]] = np.arange(np.count_nonzero(first_rows >= 0))
    numbered: Ints = ranks[labels]
    return numbered
