"""Types of the arrays that kernels take and return, and the numbering of groups."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def renumber(labels: Ints) -> Ints:
    """The same groups, numbered from 0 in the order of their first rows."""
    _, first_rows, groups = np.unique(labels, return_index=True, return_inverse=True)
    ranks = np.empty(first_rows.shape[0], dtype=np.int64)
    ranks[np.argsort(first_rows)] = np.arange(first_rows.shape[0])
    numbered: Ints = ranks[groups.reshape(-1)]
    return numbered
