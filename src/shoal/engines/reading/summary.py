"""Counts taken of each series while it is assembled, so that no later step needs its readings again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.read.intervals import find_growing

ACCOUNT = ("repeated", "merged", "doubtful", "incomplete", "scaled", "partial")
"""What was done to readings while a series was put together."""

COUNTED = (*ACCOUNT, "infinite", "conflicts", "missing", "large", "long", "growing")
"""Also infinite readings, a bit for each static column that changes, missing cells, values whose squares would
overflow, channels with enough readings to recognise a register, and those of them that only grow."""

HELPERS = pa.schema([(f"n {name}", pa.int64()) for name in COUNTED])

LARGEST = 1e140
"""As in a `Panel`."""


def helper(name: str) -> str:
    """The column of a count."""
    return f"n {name}"


def counted(values: NDArray[np.float64], n_channels: int, **counts: NDArray[np.int64]) -> list[pa.Array]:
    """The columns of counts, in order; a count that is not given is zero."""
    nothing = np.zeros(len(values), dtype=np.int64)
    with np.errstate(invalid="ignore"):
        large = (np.abs(values) > LARGEST).sum(axis=1)
    for channel in range(n_channels):
        for name, in_channel in zip(("long", "growing"), find_growing(values[:, channel::n_channels]), strict=True):
            counts[name] = counts.get(name, nothing) + in_channel
    counts |= {"missing": np.isnan(values).sum(axis=1), "large": large}
    return [pa.array(counts.get(name, nothing)) for name in COUNTED]
