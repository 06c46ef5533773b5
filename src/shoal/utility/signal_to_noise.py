"""How large the series are against what was done to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Panel, Score
from shoal.utility.cells import paired_blocks
from shoal.utility.curves import Floats

Per = Literal["panel", "series"]

MOST = 300.0
"""Decibel beyond which numbers of double precision tell nothing."""


@dataclass(frozen=True)
class SignalToNoise:
    """Signal-to-noise ratio in decibel: how much more the originals vary than was changed.

    10 log10(Σ (x - mean x)² / Σ (x - published x)²), sums over the cells observed in both. 20 dB: changes are a tenth
    of the variation in size; 0 dB: as large as it. Everything that was changed counts as noise, also what a mean has
    smoothed away. Adding noise with `NoiseAddition(snr=r)` gives 10 log10(r). Values are cut at ±300: nothing changed
    is 300, and changed though nothing varied is -300. With several channels the mean of their decibels.

    Parameters
    ----------
    per
        "panel": variation around the mean of all readings of a channel, differences between series included.
        "series": variation of each series around its own mean, the ratio for each series and the mean of their
        decibels.

    Examples
    --------
    >>> original, published = Panel([[0.0, 2.0, 0.0, 2.0]]), Panel([[0.1, 1.9, 0.1, 1.9]])
    >>> round(SignalToNoise().measure(original, published).value, 6)
    20.0

    References
    ----------
    "Data-driven anonymization process applied to time series", table 1 (noise by its signal-to-noise ratio).
    """

    name: ClassVar[str] = "signal-to-noise"
    meaning: ClassVar[str] = "how much more the originals vary than was changed, in decibel"
    judges: ClassVar[Literal["values", "groups", "models"]] = "values"
    goal: ClassVar[Literal["higher", "lower"]] = "higher"
    range: ClassVar[tuple[float, float]] = (-MOST, MOST)
    matched: ClassVar[bool] = True

    per: Per = "panel"

    def __post_init__(self) -> None:
        if self.per not in get_args(Per):
            raise ParameterError(f"per must be one of: {', '.join(get_args(Per))}.")

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to measure the same again."""
        return {"per": self.per}

    def measure(self, original: Panel, published: Panel) -> Score:
        """Compare panels whose rows are in the same order."""
        found = _of_panel(original, published) if self.per == "panel" else _of_series(original, published)
        return Score(float(found.mean()), self.goal, self.range)


def _of_panel(original: Panel, published: Panel) -> Floats:
    """The decibels of each channel."""
    counts, sums, signal, noise = (np.zeros(original.n_channels) for _ in range(4))
    for before, after, both in paired_blocks(original, published):
        counts += both.sum(axis=(0, 1))
        sums += np.sum(before, axis=(0, 1), where=both)
        noise += np.sum((before - after) ** 2, axis=(0, 1), where=both)
    means = sums / np.maximum(counts, 1)
    for before, _, both in paired_blocks(original, published):
        signal += np.sum((before - means) ** 2, axis=(0, 1), where=both)
    return decibel(signal, noise)


def _of_series(original: Panel, published: Panel) -> Floats:
    """The decibels of each series and channel."""
    return np.concatenate(
        [series_decibels(before, after, both) for before, after, both in paired_blocks(original, published)]
    )


def series_decibels(before: Floats, after: Floats, both: NDArray[np.bool_]) -> Floats:
    """The decibels of each series and channel of a block, over the cells that both have."""
    counts = np.maximum(both.sum(axis=1, keepdims=True), 1)
    means = np.sum(before, axis=1, where=both, keepdims=True) / counts
    signal = np.sum((before - means) ** 2, axis=1, where=both)
    return decibel(signal, np.sum((before - after) ** 2, axis=1, where=both))


def decibel(signal: Floats, noise: Floats) -> Floats:
    """Of sums of squares, cut at both ends."""
    # The noise of what was not changed is exactly 0; logarithms apart, since a quotient may overflow.
    large, small = (np.log10(power, out=np.full(power.shape, -np.inf), where=power > 0.0) for power in (signal, noise))
    ratio = np.subtract(large, small, out=np.full(signal.shape, np.inf), where=noise > 0.0)
    found: Floats = np.clip(10.0 * ratio, -MOST, MOST)
    return found
