"""How wide the published ranges are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Envelopes, Measure, Moments, Panel, Score, Tally
from shoal.model.score import Unit


@dataclass(frozen=True)
class ValueLoss(Measure):
    """Mean over the published series of the instant value loss, in the unit of the values.

    VL(Q) = sqrt(Σ over instants of (high - low)² / n), with n instants: the root of the mean squared width of the
    envelope of Q. 0 publishes the values themselves. The paper sums over the series; the mean compares releases of
    different size, and times the number of series it is the paper's figure. Suppressed series have no envelope and do
    not count.

    Examples
    --------
    >>> published = Envelopes([[0.0, 1.0]], [[3.0, 5.0]], levels=[1], patterns=["aa"], times=[0, 1])
    >>> round(ValueLoss().measure(Panel([[1.0, 2.0]]), published).value, 4)
    3.5355

    References
    ----------
    The paper on (k, P)-anonymity, section 4.2.2, formula 2.
    """

    name: ClassVar[str] = "value-loss"
    meaning: ClassVar[str] = "mean width of the published ranges, in the unit of the values"
    judges: ClassVar[Literal["envelopes"]] = "envelopes"
    plain: ClassVar[str] = "Width of a published range"
    purpose: ClassVar[str] = "ranges, shapes and queries"
    unit: ClassVar[Unit] = "data"
    needs_envelopes: ClassVar[bool] = True
    matched: ClassVar[bool] = False

    def tally(self, original: Panel, published: Envelopes) -> Tally:
        """The losses. Of the originals nothing is used: the ranges tell it all."""
        return Tally({"loss": Moments.of(self.per_series(published))})

    def score(self, tally: Tally) -> Score:
        """The mean over the published series."""
        return self.as_score(tally["loss"].means)

    def per_series(self, published: Envelopes) -> NDArray[np.float64]:
        """The loss of each published series."""
        if not isinstance(published, Envelopes):
            raise ParameterError("ValueLoss measures the width of envelopes; other forms of release have none.")
        loss: NDArray[np.float64] = np.sqrt(np.mean(np.square(published.high - published.low), axis=1))
        return loss
