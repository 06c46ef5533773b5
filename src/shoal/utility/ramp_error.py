"""How well a release preserves how fast values rise and fall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Panel
from shoal.model.parameters import check_choice
from shoal.model.score import Unit
from shoal.utility.curves import Spread, SpreadMeasure, Taken


@dataclass(frozen=True)
class RampError(SpreadMeasure):
    """Distance between the distributions of ramps before and after, as a share of the mean ramp.

    A ramp is the change from an instant to the next, x[t + 1] - x[t]. The error is Σ over ranks r of |u(r) - v(r)| /
    Σ |u(r)|, with u(r) the r-th largest original ramp and v(r) the r-th largest published one: the area between their
    distributions (Wasserstein-1). A release of means has gentler ramps than its originals, one with noise steeper ones.

    Only neighbours one step apart make a ramp, where the step is the most frequent distance between instants; a ramp
    with a missing end is left out, of both panels if series are compared one by one. With several channels, the mean of
    their errors. If all original ramps of a channel are 0, its error is 0 if the published ones are too, else 1.

    Parameters
    ----------
    of
        "series": the ramps of each series, sums over all of them; rows must match. "pooled": the ramps of all series in
        one distribution. "all": the ramps of the mean of all series. The last two compare the whole and do not require
        matching series.

    Examples
    --------
    >>> original, published = Panel([[0.0, 2.0, 0.0], [1.0, 1.0, 3.0]]), Panel([[0.0, 1.0, 0.0], [1.0, 3.0, 3.0]])
    >>> round(RampError().measure(original, published).value, 4)
    0.3333
    """

    name: ClassVar[str] = "ramp-error"
    meaning: ClassVar[str] = "distance between the distributions of changes per step, as a share of the mean change"
    purpose: ClassVar[str] = "loads and ramps"
    unit: ClassVar[Unit] = "share"
    usual = ({}, {"of": "pooled"})

    of: Spread = "series"

    def __post_init__(self) -> None:
        check_choice("of", self.of, Spread)

    def taken(self, panel: Panel) -> Taken:
        """Sorted ramps."""
        starts = ramp_starts(panel.times)
        return lambda curves: np.sort(curves[:, starts + 1] - curves[:, starts], axis=1)


def ramp_starts(times: NDArray[Any]) -> NDArray[np.int64]:
    """Positions of the instants after which the next is one step away."""
    if len(times) < 2:
        raise ParameterError("ramp-error needs at least 2 instants; the panel has one. Read a longer period.")
    steps, counts = np.unique(np.diff(times), return_counts=True)
    usual = steps[counts.argmax()]  # in a tie, the shortest
    return np.flatnonzero(np.diff(times) == usual)
