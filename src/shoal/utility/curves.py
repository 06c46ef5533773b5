"""What is compared: each series with its original, or the mean of all series with the mean of all originals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Panel
from shoal.utility.cells import CELLS, paired_blocks

Floats = NDArray[np.float64]
Of = Literal["series", "all"]
Spread = Literal["series", "pooled", "all"]


def check_of(of: str, choices: Any) -> None:
    """Refuse a word that is none of the choices."""
    if of not in get_args(choices):
        raise ParameterError(f"of must be one of: {', '.join(get_args(choices))}.")


def side_by_side(original: Panel, published: Panel, of: str) -> Iterator[tuple[Floats, Floats]]:
    """Blocks of curves before and after, (curves, instants, channels); what either lacks both lack (NaN).

    Of "series" rows must be in the same order. Of "all" there is one curve, the mean of what is observed at each
    instant, and the panels may have different series, or as many as they like.
    """
    if of == "all":
        refuse_other_instants(original, published)
        before, after = mean_curve(original)[None], mean_curve(published)[None]
        lacking = np.isnan(before) | np.isnan(after)
        yield np.where(lacking, np.nan, before), np.where(lacking, np.nan, after)
        return
    for before, after, both in paired_blocks(original, published):
        yield np.where(both, before, np.nan), np.where(both, after, np.nan)


def mean_curve(panel: Panel) -> Floats:
    """The mean over series of what is observed at each instant: (instants, channels), NaN where nothing is."""
    sums, counts = (np.zeros((panel.n_instants, panel.n_channels)) for _ in range(2))
    for block in blocks(panel):
        observed = ~np.isnan(block)
        sums += np.sum(block, axis=0, where=observed)
        counts += observed.sum(axis=0)
    means: Floats = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means


def blocks(panel: Panel) -> Iterator[Floats]:
    """Whole series at a time, (series, instants, channels)."""
    x = panel.values.reshape(panel.n_series, panel.n_instants, panel.n_channels)
    height = max(1, CELLS // (panel.n_instants * panel.n_channels))
    for first in range(0, panel.n_series, height):
        yield x[first : first + height]


def refuse_other_instants(original: Panel, published: Panel) -> None:
    """Series may differ, instants and channels may not."""
    if original.values.shape[1:] != published.values.shape[1:]:
        raise ParameterError(
            f"Original and published panels differ in instants or channels: {original.n_instants} and "
            f"{published.n_instants} instants, {original.n_channels} and {published.n_channels} channels. Compare the "
            "same ones."
        )


def relative(changed: Floats, total: Floats) -> float:
    """The change of each channel as a share of what there was, in the mean over channels.

    Where there was nothing, it is 0 if there is still nothing, else 1.
    """
    had = total > 0.0
    return float(np.where(had, changed / np.where(had, total, 1.0), changed > 0.0).mean())
