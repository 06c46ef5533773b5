"""Original and published cells side by side: shared by the measures of values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Panel

CELLS = 2_000_000  # worked on at a time, about 16 MB


def paired_blocks(
    original: Panel, published: Panel
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]]:
    """Blocks of whole series, before and after, as (series, instants, channels), and where both are observed."""
    refuse_other_shapes(original, published)
    shape = (original.n_series, original.n_instants, original.n_channels)
    before, after = original.values.reshape(shape), published.values.reshape(shape)
    height = max(1, CELLS // (shape[1] * shape[2]))
    for first in range(0, shape[0], height):
        one, other = before[first : first + height], after[first : first + height]
        yield one, other, ~(np.isnan(one) | np.isnan(other))


def refuse_other_shapes(original: Panel, published: Panel) -> None:
    """Only panels with the same series, in the same order, can be compared."""
    if original.values.shape != published.values.shape:
        raise ParameterError("Original and published panels differ in shape; compare them before rows are shuffled.")
