"""Which original each published series is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError


def published_rows(n_original: int, n_published: int, rows: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """The position in the original of each published series. All in the same order unless `rows` says otherwise."""
    if rows is None:
        if n_original != n_published:
            raise ParameterError(
                f"{n_original} series were given and {n_published} published. Give `rows`: the original of each "
                "published one."
            )
        return np.arange(n_original)
    kept = np.asarray(rows, dtype=np.int64)
    if kept.shape != (n_published,) or len(set(kept.tolist())) < n_published:
        raise ParameterError(f"rows needs {n_published} different positions, one for each published series.")
    if (kept < 0).any() or (kept >= n_original).any():
        raise ParameterError(f"rows names positions that the original does not have; it has {n_original}.")
    return kept
