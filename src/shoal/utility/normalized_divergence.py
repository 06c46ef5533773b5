"""How far published values are from the originals, as a share of what was there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.model import Panel, Score
from shoal.utility.cells import paired_blocks


@dataclass(frozen=True)
class NormalizedDivergence:
    """Sum of the absolute differences as a share of the sum of the absolute originals.

    NormDiv = Σ |original - published| / Σ |original| over series, instants and channels; cells missing in either are
    left out of both sums. 0 changes nothing; 1 is as far off as publishing nothing but zeros. The paper divides by
    Σ original, which is the same for readings that are never negative and meaningless for others. Where all originals
    are 0 the value is 0 if they were published so, else 1.

    Channels are summed as they are: where units differ, the channel with the largest numbers decides.

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
    judges: ClassVar[Literal["values", "groups"]] = "values"

    @property
    def parameters(self) -> dict[str, Any]:
        """Nothing: there is one way to measure it."""
        return {}

    def measure(self, original: Panel, published: Panel) -> Score:
        """Compare panels whose rows are in the same order."""
        changed, total = 0.0, 0.0
        for before, after, both in paired_blocks(original, published):
            changed += float(np.sum(np.abs(before - after), where=both))
            total += float(np.sum(np.abs(before), where=both))
        value = changed / total if total > 0.0 else float(changed > 0.0)
        return Score(value=value, goal="lower", range=(0.0, float("inf")))
