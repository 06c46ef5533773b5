"""How far published values are from the originals, as a share of the originals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.model import Measure, Panel, Score, Tally
from shoal.model.score import Unit
from shoal.utility.cells import Floats, tally_pairs
from shoal.utility.curves import relative


@dataclass(frozen=True)
class NormalizedDivergence(Measure):
    """Sum of the absolute differences as a share of the sum of the absolute originals.

    NormDiv = Σ |original - published| / Σ |original| over series, instants and channels; cells missing in either are
    left out of both sums. 0 changes nothing; 1 is as far off as publishing nothing but zeros. The paper divides by Σ
    original, which is the same for readings that are never negative and meaningless for others. If all originals are 0,
    the value is 0 if the published ones are too, else 1.

    Channels are summed as they are: if units differ, the channel with the largest numbers dominates.

    Examples
    --------
    >>> original, published = Panel([[1.0, 2.0], [3.0, 4.0]]), Panel([[2.0, 3.0], [2.0, 3.0]])
    >>> NormalizedDivergence().measure(original, published).value
    0.4

    References
    ----------
    The paper on (n, l, k)-anonymity of time series, section 5.2 (quality of anonymized data).
    """

    name: ClassVar[str] = "normalized-divergence"
    meaning: ClassVar[str] = "sum of absolute changes as a share of the sum of absolute values"
    plain: ClassVar[str] = "Readings are off by this share of their size"
    purpose: ClassVar[str] = "single values"
    unit: ClassVar[Unit] = "share"

    def tally(self, original: Panel, published: Panel) -> Tally:
        """Changes and originals of all cells."""

        def figures(before: Floats, after: Floats) -> dict[str, Floats]:
            return {"change": np.abs(before - after).ravel(), "size": np.abs(before).ravel()}

        return tally_pairs(original, published, figures)

    def score(self, tally: Tally) -> Score:
        """The sum of the changes as a share of that of the originals."""
        return self.as_score(relative(tally["change"].sums, tally["size"].sums))
