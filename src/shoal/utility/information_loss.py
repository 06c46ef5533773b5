"""Squared changes, next to the variation between series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.model import Measure, Panel, Score, Tally
from shoal.model.score import Unit
from shoal.utility.cells import tally_pairs
from shoal.utility.curves import relative


@dataclass(frozen=True)
class InformationLoss(Measure):
    """Squared changes as a share of the variation between series: SSE / SST.

    SSE = sum over series, instants and channels of (original - published)^2, SST = the same against the mean over all
    series at that instant and channel; cells missing in either are left out of both. 0: everything is kept; 1: as
    far off as one common curve, or farther apart than that above 1.

    Parameters
    ----------
    standardized
        Divide every instant and channel by its standard deviation first, as the literature does for tables whose
        columns have different units.

    Examples
    --------
    >>> original, published = Panel([[0.0], [2.0], [10.0], [12.0]]), Panel([[1.0], [1.0], [11.0], [11.0]])
    >>> round(InformationLoss().measure(original, published).value, 4)
    0.0385
    """

    name: ClassVar[str] = "information-loss"
    meaning: ClassVar[str] = "squared changes as a share of the variation between series"
    plain: ClassVar[str] = "Squared changes as a share of the variation between series"
    purpose: ClassVar[str] = "single values"
    unit: ClassVar[Unit] = "share"

    standardized: bool = False

    def tally(self, original: Panel, published: Panel) -> Tally:
        """Originals and their errors, by instant and channel."""
        return tally_pairs(original, published, lambda before, after: {"before": before, "error": before - after})

    def score(self, tally: Tally) -> Score:
        """The error as a share of the variation."""
        error, total = tally["error"].squares, tally["before"].deviations
        if self.standardized:
            varies = total > 0.0
            error, total = error[varies] / total[varies], np.ones(int(varies.sum()))
        # Without any variation there is nothing to lose; a changed constant is still a total loss.
        return self.as_score(relative(error.sum(), total.sum()))
