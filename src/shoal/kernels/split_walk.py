"""The way of rows down a tree of cuts, each row by itself.

    z = (x - centre) B, with 0 for what is missing;  at a node: left where z · direction < threshold, else right

At a node without a direction, a number drawn for the row decides: left if it is below the threshold. Sums run in the
same order for every row, so where a row goes does not depend on how the rows are cut into blocks, as it would with
products of matrices.
"""

import numpy as np
from numba import njit

from shoal.kernels.arrays import Bools, Floats, Ints


@njit(cache=True, nogil=True)
def project_rows(x: Floats, centre: Floats, basis: Floats) -> Floats:
    """Rows (n, features) in the coordinates of the basis (features, coordinates)."""
    n, n_features = x.shape
    n_coordinates = basis.shape[1]
    z = np.zeros((n, n_coordinates))
    for i in range(n):
        for f in range(n_features):
            value = x[i, f] - centre[f]
            if value == value:  # not NaN
                for c in range(n_coordinates):
                    z[i, c] += value * basis[f, c]
    return z


@njit(cache=True, nogil=True)
def walk_down(
    z: Floats, drawn: Floats, directions: Floats, by_chance: Bools, thresholds: Floats, below: Ints, above: Ints
) -> Ints:
    """The leaf of each row. Children are numbers of nodes, or -1 - leaf."""
    n = z.shape[0]
    leaves = np.zeros(n, dtype=np.int64)
    if thresholds.shape[0] == 0:
        return leaves
    for i in range(n):
        node = 0
        while node >= 0:
            if by_chance[node]:
                at = drawn[i]
            else:
                at = 0.0
                for c in range(z.shape[1]):
                    at += z[i, c] * directions[node, c]
            node = below[node] if at < thresholds[node] else above[node]
        leaves[i] = -1 - node
    return leaves
