"""How near the published distributions are to the readings, and how sharp."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Measure, Moments, Panel, Scenarios, Score, Tally
from shoal.model.score import Unit
from shoal.utility.cells import CELLS, by_channel, tally_pairs

Floats = NDArray[np.float64]

N_SHARES = 20
"""Quantiles that a distribution is compared at."""


@dataclass(frozen=True)
class CRPS(Measure):
    """Continuous ranked probability score of the published distributions, in the unit of the readings.

    CRPS = mean over series, instants and shares p of 2 (1{x < q(p)} - p) (q(p) - x), with x the original reading and
    q(p) the published quantile at p = 0.025, 0.075, ..., 0.975. It rewards distributions that are right and sharp:
    covering more by being wider is not better. For a published curve instead of a distribution, q(p) is the curve and
    the score is the mean absolute error, so releases of both kinds can be compared.

    Examples
    --------
    >>> CRPS().measure(Panel([[1.0, 2.0]]), Panel([[2.0, 2.5]])).value
    0.75

    References
    ----------
    T. Gneiting and A. E. Raftery, "Strictly proper scoring rules, prediction, and estimation", 2007, section 4.2.
    """

    name: ClassVar[str] = "crps"
    meaning: ClassVar[str] = "how far the published distributions are from the readings, in their unit (CRPS)"
    judges: ClassVar[Literal["scenarios"]] = "scenarios"
    plain: ClassVar[str] = "Distance of a reading from its published distribution"
    purpose: ClassVar[str] = "distributions"
    unit: ClassVar[Unit] = "data"

    def tally(self, original: Panel, published: Scenarios | Panel) -> Tally:
        """The score of each reading."""
        if isinstance(published, Panel):
            return tally_pairs(original, published, lambda before, after: {"score": by_channel(np.abs(after - before))})
        shares = (np.arange(N_SHARES) + 0.5) / N_SHARES
        return reduce(add, (_scores(x, own, shares) for x, own in scenario_blocks(original, published, N_SHARES)))

    def score(self, tally: Tally) -> Score:
        """The mean; with several channels, the mean over channels."""
        return self.as_score(tally["score"].means.mean())


def _scores(x: Floats, own: Scenarios, shares: Floats) -> Tally:
    apart = own.quantiles(shares) - x[:, :, None]
    scores = 2.0 * np.where(apart > 0.0, (1.0 - shares) * apart, -shares * apart).mean(axis=2)
    return Tally({"score": Moments.of(scores.reshape(-1, 1))})


def scenario_blocks(original: Panel, published: Scenarios, n_shares: int) -> Iterator[tuple[Floats, Scenarios]]:
    """Readings and the distributions of the same series, some series at a time."""
    if original.rows.shape != published.means.shape:
        raise ParameterError("Readings and distributions must be of the same series and instants, in the same order.")
    height = max(1, CELLS // (published.n_instants * n_shares))
    for first in range(0, original.n_series, height):
        rows = np.arange(first, min(first + height, original.n_series))
        yield original.rows[rows], published.take(rows)
