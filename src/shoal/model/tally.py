"""Figures of some series that add up to the figures of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ParameterError
from shoal.model.panel import Panel

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moments:
    """Counts, means and squared deviations from them, for each of some columns of numbers.

    Raw sums of squares lose precision if readings share a large offset; squared deviations from the mean do not.
    Merging is that of Chan, Golub and LeVeque, 1979.

    Examples
    --------
    >>> both = Moments.of([[1.0], [2.0]]) + Moments.of([[6.0]])
    >>> both.counts.tolist(), both.means.tolist(), both.deviations.tolist(), both.sums.tolist()
    ([3], [3.0], [14.0], [9.0])
    """

    counts: NDArray[np.int64]
    means: Floats
    """0 if nothing was counted."""
    deviations: Floats
    """Sums of squared deviations from the means."""

    @staticmethod
    def of(values: ArrayLike) -> Moments:
        """Those of the columns of an array (rows, ...); missing values are not counted."""
        x = np.asarray(values, dtype=np.float64)
        if not len(x):
            return Moments(np.zeros(x.shape[1:], dtype=np.int64), np.zeros(x.shape[1:]), np.zeros(x.shape[1:]))
        lacking = np.isnan(x)
        counts = len(x) - lacking.sum(axis=0)
        # Around the first value of each column: a large common offset would take the digits of the sum.
        first = (~lacking).argmax(axis=0) if lacking[0].any() else np.zeros(x.shape[1:], dtype=np.int64)
        anchor = np.take_along_axis(x, first[None], axis=0)[0]
        centred = x - anchor
        centred[lacking] = 0.0
        shift = centred.sum(axis=0) / np.maximum(counts, 1)
        centred -= shift
        centred[lacking] = 0.0
        deviations = np.square(centred, out=centred).sum(axis=0)
        return Moments(counts, np.where(counts > 0, anchor + shift, 0.0), deviations)

    @property
    def sums(self) -> Floats:
        """The sum of each column."""
        sums: Floats = self.counts * self.means
        return sums

    @property
    def squares(self) -> Floats:
        """Sums of squares: for errors, which share no offset."""
        squares: Floats = self.deviations + self.counts * self.means**2
        return squares

    def __add__(self, other: Moments) -> Moments:
        if self.counts.shape != other.counts.shape:
            raise ParameterError("Figures of different instants or channels do not add up.")
        counts = self.counts + other.counts
        n = np.maximum(counts, 1)
        apart = other.means - self.means
        # Where one side has nothing the other stays as it is, to the last bit.
        means = np.where(
            self.counts == 0,
            other.means,
            np.where(other.counts == 0, self.means, self.means + apart * (other.counts / n)),
        )
        between = apart**2 * (self.counts * (other.counts / n))
        deviations = np.where(
            (self.counts == 0) | (other.counts == 0),
            self.deviations + other.deviations,
            self.deviations + other.deviations + between,
        )
        return Moments(counts, means, deviations)


def channel_moments(panel: Panel) -> Moments:
    """Those of all readings of each channel."""
    return Moments.of(panel.values.reshape(panel.n_series * panel.n_instants, -1))


def channel_deviations(moments: Moments) -> Floats:
    """The standard deviation of each channel, 1 for one that has no two values."""
    deviations = np.sqrt(moments.deviations / np.maximum(moments.counts, 1))
    return np.where(deviations > 0.0, deviations, 1.0)


@dataclass(frozen=True, eq=False)
class Tally:
    """What a measure counted, by its own names; tallies of the same measure add up, in the order of the shards."""

    figures: Mapping[str, Moments]
    times: NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    """The instants, if the score depends on them."""
    timezone: str | None = None

    def __getitem__(self, name: str) -> Moments:
        return self.figures[name]

    def __add__(self, other: Tally) -> Tally:
        if self.timezone != other.timezone or not np.array_equal(self.times, other.times):
            raise ParameterError("Figures of different instants do not add up.")
        figures = {name: figure + other.figures[name] for name, figure in self.figures.items()}
        return Tally(figures, self.times, self.timezone)
