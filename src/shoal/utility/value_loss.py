"""How wide the published ranges are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Envelopes, Measure, Moments, Panel, Score, Tally
from shoal.model.score import Unit
from shoal.model.tally import channel_deviations, channel_moments


@dataclass(frozen=True)
class ValueLoss(Measure):
    """Mean over the published series of the instant value loss, in the unit of the values.

    VL(Q) = sqrt(Σ over instants of (high - low)² / n), with n instants: the root of the mean squared width of the
    envelope of Q. 0 publishes the values themselves. The paper sums over the series; the mean makes releases of
    different size comparable, and times the number of series it is the paper's figure. Suppressed series have no
    envelope and do not count.

    With several channels it is the mean over the channels of this figure divided by the standard deviation of the
    channel's original values (1 if all are equal), so that units do not matter: then it is a number without unit.

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
    meaning: ClassVar[str] = (
        "mean width of the published ranges, in the unit of the values; with several channels, in standard deviations"
    )
    judges: ClassVar[Literal["envelopes"]] = "envelopes"
    plain: ClassVar[str] = "Width of a published range"
    purpose: ClassVar[str] = "ranges, shapes and queries"
    unit: ClassVar[Unit] = "data"
    needs_envelopes: ClassVar[bool] = True
    matched: ClassVar[bool] = False

    def tally(self, original: Panel, published: Envelopes) -> Tally:
        """The losses. For a single channel, the ranges suffice; several need the spread of the originals."""
        losses = self.per_series(published)
        if losses.ndim == 1:
            return Tally({"loss": Moments.of(losses)})
        if original.n_channels != published.n_channels:
            raise ParameterError(
                f"The release has {published.n_channels} channels, the original {original.n_channels}. Read the "
                "original with the columns of the release."
            )
        return Tally({"loss": Moments.of(losses), "original": channel_moments(original)})

    def score(self, tally: Tally) -> Score:
        """The mean over the published series, and over the channels."""
        if "original" not in tally.figures:
            return self.as_score(tally["loss"].means)
        scaled = tally["loss"].means / channel_deviations(tally["original"])
        return replace(self.as_score(scaled.mean()), unit="number")

    def per_series(self, published: Envelopes) -> NDArray[np.float64]:
        """The loss of each published series; with several channels, (series, channels), each in its own unit."""
        if not isinstance(published, Envelopes):
            raise ParameterError("ValueLoss measures the width of envelopes; other forms of release have none.")
        loss: NDArray[np.float64] = np.sqrt(np.mean(np.square(published.high - published.low), axis=1))
        return loss
