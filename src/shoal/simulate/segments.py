"""Put stretches of constant power onto a grid of cells.

    power[i, c] = Σ_s watts[i, s] · |[start, end) of s ∩ cell c| / |cell|

Exact for any cell length, so a burst holds the same energy at every step.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.arrays import Floats


def mean_power(starts: Floats, ends: Floats, watts: Floats, n_cells: int, cell_hours: float) -> Floats:
    """Mean power per cell (subjects, cells) from stretches (subjects, stretches) in hours since the start.

    Parts outside the grid are cut off; stretches without power cost nothing.
    """
    n_subjects = len(watts)
    rows, columns = np.nonzero(watts)
    power = watts[rows, columns]
    # Each end of a stretch is a jump of the power; a jump inside a cell counts there in part and in full from the next
    # cell on. Summing the jumps along the row gives the power.
    jumps = np.zeros(n_subjects * (n_cells + 2))
    for edges, height in ((starts, power), (ends, -power)):
        position = np.clip(edges[rows, columns] / cell_hours, 0.0, n_cells)
        cell = position.astype(np.int64)
        part = height * (cell + 1 - position)
        flat = rows * (n_cells + 2) + cell
        jumps += np.bincount(flat, weights=part, minlength=jumps.size)
        jumps += np.bincount(flat + 1, weights=height - part, minlength=jumps.size)
    levels = np.cumsum(jumps.reshape(n_subjects, -1), axis=1)[:, :n_cells]
    # Summing jumps leaves rounding errors around zero.
    return np.maximum(levels, 0.0)
