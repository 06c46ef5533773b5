"""How well a release shows for how long each load is exceeded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.model import Panel
from shoal.model.parameters import check_choice
from shoal.model.score import Unit
from shoal.utility.curves import Spread, SpreadMeasure, Taken


@dataclass(frozen=True)
class LoadDurationError(SpreadMeasure):
    """Distance between the load-duration curves before and after, as a share of the load.

    The load-duration curve is the values sorted by size: its value at 80 % of the time is the load exceeded four fifths
    of the time. The error is Σ over ranks r of |x(r) - y(r)| / Σ |x(r)|, with x(r) the r-th largest original value and
    y(r) the r-th largest published one. Only the size and number of values matter, not when they occur.

    If series are compared one by one, cells missing in either panel are left out of both; else each panel counts what
    it has, and sorted curves of different length are compared over the share of time. With several channels, the mean
    of their errors. If all originals of a channel are 0, its error is 0 if the published ones are too, else 1.

    Parameters
    ----------
    of
        "series": the curve of each series, sums over all of them; rows must match. "pooled": the values of all series
        in one curve. "all": the curve of the mean load of all series at each instant. The last two compare the whole
        and do not require matching series.

    Examples
    --------
    >>> original, published = Panel([[1.0, 4.0], [3.0, 2.0]]), Panel([[4.0, 1.0], [3.0, 2.0]])
    >>> LoadDurationError().measure(original, published).value
    0.0
    >>> LoadDurationError("all").measure(original, published).value
    0.2
    """

    name: ClassVar[str] = "load-duration-error"
    meaning: ClassVar[str] = "distance between the curves of sorted values, as a share of the values"
    plain: ClassVar[str] = "Sorted loads are off by this share of their values"
    purpose: ClassVar[str] = "loads and ramps"
    unit: ClassVar[Unit] = "share"
    usual = ({}, {"of": "pooled"}, {"of": "all"})

    of: Spread = "series"

    def __post_init__(self) -> None:
        check_choice("of", self.of, Spread)

    def taken(self, panel: Panel) -> Taken:
        """Sorted values."""
        return lambda curves: np.sort(curves, axis=1)
