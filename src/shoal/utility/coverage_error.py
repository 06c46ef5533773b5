"""Whether published intervals contain as many readings as they should."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Measure, Moments, Panel, Scenarios, Score, Tally
from shoal.model.parameters import is_number
from shoal.model.score import Unit
from shoal.utility.crps import scenario_blocks

ROUNDING = 1e-12
"""The share of a reading that a mean of readings alike may be off: the interval of a group alike is a point."""


@dataclass(frozen=True)
class CoverageError(Measure):
    """Distance between the share of readings in their central interval and the nominal share.

    |1/n Σ over series and instants of 1{q((1 - share)/2) <= x <= q((1 + share)/2)} - share|, with x the original
    reading and q the published quantile of its group. 0 if intervals are neither too narrow nor too wide.

    Parameters
    ----------
    share
        The share of readings that the interval should contain.

    Examples
    --------
    >>> from shoal import Microaggregation, simulate
    >>> candidate = Microaggregation(k=10, form="scenarios").anonymize(simulate.meters(200, days=1, seed=1))
    >>> candidate.measure(CoverageError(share=0.8)).value < 0.05
    True
    """

    name: ClassVar[str] = "coverage-error"
    meaning: ClassVar[str] = "how far the share of readings in an interval is from the share it is for"
    judges: ClassVar[Literal["scenarios"]] = "scenarios"
    plain: ClassVar[str] = "Error of the share of readings in an interval"
    purpose: ClassVar[str] = "distributions"
    unit: ClassVar[Unit] = "share"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    share: float = 0.8

    def __post_init__(self) -> None:
        if not is_number(self.share) or not 0.0 < self.share < 1.0:
            raise ParameterError("share must lie between 0 and 1, such as 0.8.")

    def tally(self, original: Panel, published: Scenarios) -> Tally:
        """Which readings lie in their interval."""
        if not isinstance(published, Scenarios):
            raise ParameterError("coverage-error judges distributions, and this release has none.")
        return reduce(add, (self._inside(x, own) for x, own in scenario_blocks(original, published, 2)))

    def score(self, tally: Tally) -> Score:
        """The distance from the nominal share."""
        return self.as_score(abs(float(tally["inside"].means[0]) - self.share))

    def _inside(self, x: NDArray[np.float64], own: Scenarios) -> Tally:
        ends = own.quantiles([(1.0 - self.share) / 2.0, (1.0 + self.share) / 2.0])
        rounding = ROUNDING * np.abs(x)
        inside = (ends[:, :, 0] - rounding <= x) & (x <= ends[:, :, 1] + rounding)
        return Tally({"inside": Moments.of(inside.reshape(-1, 1))})
