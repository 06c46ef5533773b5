"""How large the series are relative to the changes made to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.model import Measure, Panel, Score, Tally
from shoal.model.measure import Goal
from shoal.model.parameters import check_choice
from shoal.model.score import Unit
from shoal.utility.cells import Floats, by_channel, tally_pairs

Per = Literal["panel", "series"]

MOST = 300.0
"""Decibels beyond which double precision is meaningless."""


@dataclass(frozen=True)
class SignalToNoise(Measure):
    """Signal-to-noise ratio in decibels: how much more the originals vary than they were changed.

    10 log10(Σ (x - mean x)² / Σ (x - published x)²), sums over the cells observed in both. 20 dB: changes are a tenth
    of the variation in size; 0 dB: as large as it. Every change counts as noise, including what a mean has smoothed
    away. Adding noise with `NoiseAddition(snr=r)` gives 10 log10(r). Values are clipped at ±300: no change is 300, and
    a change of constant originals is -300. With several channels, the mean of their decibels.

    Parameters
    ----------
    per
        "panel": variation around the mean of all readings of a channel, including differences between series. "series":
        variation of each series around its own mean; the mean over series of their decibels.

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
    meaning: ClassVar[str] = "how much more the originals vary than they were changed, in decibels"
    purpose: ClassVar[str] = "single values"
    unit: ClassVar[Unit] = "decibel"
    goal: ClassVar[Goal] = "higher"
    range: ClassVar[tuple[float, float]] = (-MOST, MOST)

    per: Per = "panel"

    def __post_init__(self) -> None:
        check_choice("per", self.per, Per)

    def tally(self, original: Panel, published: Panel) -> Tally:
        """Originals and changes by channel, or the decibels of each series and channel."""

        def figures(before: Floats, after: Floats) -> dict[str, Floats]:
            if self.per == "series":
                return {"decibels": series_decibels(before, after, ~np.isnan(before)).ravel()}
            return {"signal": by_channel(before), "noise": by_channel(before - after)}

        return tally_pairs(original, published, figures)

    def score(self, tally: Tally) -> Score:
        """The mean in decibels."""
        if self.per == "series":
            return self.as_score(tally["decibels"].means)
        return self.as_score(decibel(tally["signal"].deviations, tally["noise"].squares).mean())


def series_decibels(before: Floats, after: Floats, both: NDArray[np.bool_]) -> Floats:
    """The decibels of each series and channel of a block, over the cells that both have."""
    counts = np.maximum(both.sum(axis=1, keepdims=True), 1)
    means = np.sum(before, axis=1, where=both, keepdims=True) / counts
    signal = np.sum((before - means) ** 2, axis=1, where=both)
    return decibel(signal, np.sum((before - after) ** 2, axis=1, where=both))


def decibel(signal: Floats, noise: Floats) -> Floats:
    """Decibels from sums of squares, clipped at both ends."""
    # Unchanged values have noise exactly 0; logarithms are taken separately because a quotient may overflow.
    large, small = (np.log10(power, out=np.full(power.shape, -np.inf), where=power > 0.0) for power in (signal, noise))
    ratio = np.subtract(large, small, out=np.full(signal.shape, np.inf), where=noise > 0.0)
    decibels: Floats = np.clip(10.0 * ratio, -MOST, MOST)
    return decibels
