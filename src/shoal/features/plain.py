"""The interface of all features, and the two simplest: the values as they are, and without their level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.model import Panel


class Features(Protocol):
    """Numbers that describe each series of a panel.

    `name` is the word the command line and the certificate use.
    """

    @property
    def name(self) -> str:
        """The name of the features."""

    def __call__(self, panel: Panel) -> NDArray[np.float64]:
        """An array (series, features), finite or NaN, rows in the panel's order. It may be a view: do not write."""


@dataclass(frozen=True)
class Raw:
    """The values as they are: series are similar if they are close at every instant.

    One feature per instant and channel, instants first, channels next to each other. Missing stays missing. Large
    values and instants with a large spread count most. Nothing is copied.

    Examples
    --------
    >>> Raw()(Panel([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """

    name: ClassVar[str] = "raw"

    def __call__(self, panel: Panel) -> NDArray[np.float64]:
        """The values as a matrix."""
        return panel.rows


@dataclass(frozen=True)
class Centred:
    """Each series minus its own mean: series are similar if they have the same shape, at whatever level.

    y[i, t, c] = x[i, t, c] - mean of x[i, ·, c] over its observed instants, for each channel separately. Missing stays
    missing and a constant series becomes 0. Amplitude still counts: a shape twice as high is another shape.

    Examples
    --------
    >>> Centred()(Panel([[1.0, 3.0], [101.0, 103.0]])).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    name: ClassVar[str] = "centred"

    def __call__(self, panel: Panel) -> NDArray[np.float64]:
        """Subtract the mean of each series and channel."""
        x = panel.cube
        # Centred on the middle of its range first: with a large offset, the mean would lose digits.
        middle = np.fmin.reduce(x, axis=1, keepdims=True) / 2 + np.fmax.reduce(x, axis=1, keepdims=True) / 2
        y: NDArray[np.float64] = x - middle
        observed = ~np.isnan(y)
        counts = np.maximum(observed.sum(axis=1, keepdims=True), 1)
        y -= np.sum(y, axis=1, keepdims=True, where=observed) / counts
        return y.reshape(panel.n_series, -1)
