"""What is counted of each series while it is put together, so that no later step need look at its readings again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

COUNTED = ("again", "infinite", "conflicts", "missing", "large")
"""Readings that repeat an instant, infinite ones, a bit for each static column that changes, missing cells, and values
whose squares would overflow."""

HELPERS = pa.schema([(f"n {name}", pa.int64()) for name in COUNTED])

LARGEST = 1e140
"""As in a `Panel`."""


def helper(name: str) -> str:
    """The column of a count."""
    return f"n {name}"


def counted(
    values: NDArray[np.float64],
    *,
    again: NDArray[np.int64] | None = None,
    infinite: NDArray[np.int64] | None = None,
    conflicts: NDArray[np.int64] | None = None,
) -> list[pa.Array]:
    """The columns of counts, in their order."""
    nothing = np.zeros(len(values), dtype=np.int64)
    with np.errstate(invalid="ignore"):
        large = (np.abs(values) > LARGEST).sum(axis=1)
    missing = np.isnan(values).sum(axis=1)
    given = (again, infinite, conflicts)
    return [pa.array(nothing if one is None else one) for one in given] + [pa.array(missing), pa.array(large)]
