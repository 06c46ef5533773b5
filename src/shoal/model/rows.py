"""Which series and instants of the original a release has."""

from __future__ import annotations

from typing import Any

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


def columns_of(times: NDArray[Any], wanted: NDArray[Any]) -> list[int]:
    """The columns of the original at the instants of a release."""
    places = {time: place for place, time in enumerate(times.tolist())}
    if lacking := sum(time not in places for time in wanted.tolist()):
        raise ParameterError(f"The release has {lacking} of {len(wanted)} instants that the original lacks.")
    return [places[time] for time in wanted.tolist()]
