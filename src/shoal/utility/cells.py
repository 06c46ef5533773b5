"""Original and published cells side by side: shared by the measures of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Moments, Panel, Tally

Floats = NDArray[np.float64]
Figures = Callable[[Floats, Floats], Mapping[str, Floats]]
"""From series before and after, (series, instants, channels), to named numbers whose columns are counted."""

CELLS = 2_000_000  # processed at a time, about 16 MB

FAIR_SAMPLE = 5000
"""A sample of series that is large enough for means and models of all."""


def tally_pairs(original: Panel, published: Panel, figures: Figures) -> Tally:
    """The moments of figures that are taken from each series and its original."""
    found = (figures(before, after) for before, after in paired_blocks(original, published))
    return reduce(add, (Tally({name: Moments.of(x) for name, x in some.items()}) for some in found))


def tally_instants(panel: Panel) -> Moments:
    """The moments of what is observed at each instant, (instants, channels)."""
    return reduce(add, map(Moments.of, blocks(panel)))


def by_channel(x: Floats) -> Floats:
    """A column for each channel."""
    return x.reshape(-1, x.shape[-1])


def paired_blocks(original: Panel, published: Panel) -> Iterator[tuple[Floats, Floats]]:
    """Blocks of whole series before and after, (series, instants, channels); a cell missing in either is NaN in
    both."""
    refuse_other_shapes(original, published)
    for before, after in zip(blocks(original), blocks(published), strict=True):
        lacking = np.isnan(before) | np.isnan(after)
        if lacking.any():
            yield np.where(lacking, np.nan, before), np.where(lacking, np.nan, after)
        else:
            yield before, after


def blocks(panel: Panel) -> Iterator[Floats]:
    """Whole series at a time, (series, instants, channels)."""
    x = panel.cube
    height = max(1, CELLS // (panel.n_instants * panel.n_channels))
    for first in range(0, panel.n_series, height):
        yield x[first : first + height]


def refuse_other_shapes(original: Panel, published: Panel) -> None:
    """Only panels with the same series, in the same order, can be compared."""
    if original.values.shape != published.values.shape:
        raise ParameterError("Original and published panels differ in shape; compare them before shuffling rows.")


def refuse_other_instants(original: Panel, published: Panel) -> None:
    """Series may differ, instants and channels may not."""
    if original.values.shape[1:] != published.values.shape[1:]:
        raise ParameterError(
            f"Original and published panels differ in instants or channels: {original.n_instants} and "
            f"{published.n_instants} instants, {original.n_channels} and {published.n_channels} channels. Compare the "
            "same instants and channels."
        )
