"""How many published points are near their originals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.errors import ParameterError
from shoal.model import Panel, Score
from shoal.utility.cells import paired_blocks

BOUNDS = (0.02, 0.05, 0.10, 0.20, 0.30, 0.50)
"""Upper ends of the paper's classes, each included; the last class lies above."""


@dataclass(frozen=True)
class DivergenceClasses:
    """Share of the points that are published within `limit` of their original.

    The divergence of a point is |original - published| / |original|, for each channel on its own; where the original is
    0, it is 0 if that was published, else infinite. Points missing in either are left out.

    Parameters
    ----------
    limit
        What counts as near, as a share of the original.

    Examples
    --------
    >>> original, published = Panel([[100.0, 10.0]]), Panel([[101.0, 13.0]])
    >>> DivergenceClasses().measure(original, published).value
    0.5
    >>> DivergenceClasses().shares(original, published)["20-30 %"]
    0.5

    References
    ----------
    The paper on (n, l, k)-anonymity of time series, section 5.2.3 and figure 10.
    """

    name: ClassVar[str] = "divergence-classes"
    meaning: ClassVar[str] = "share of the points published within the limit of their original"
    judges: ClassVar[Literal["values", "groups"]] = "values"

    limit: float = 0.2

    def __post_init__(self) -> None:
        if not 0.0 <= self.limit < float("inf"):
            raise ParameterError("limit must be a share of at least 0, such as 0.2.")

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to measure the same again."""
        return {"limit": float(self.limit)}

    def measure(self, original: Panel, published: Panel) -> Score:
        """Compare panels whose rows are in the same order."""
        counts = self._counts(original, published, (self.limit,))
        return Score(float(counts[0] / counts.sum()) if counts.any() else 1.0, goal="higher", range=(0.0, 1.0))

    def shares(self, original: Panel, published: Panel) -> dict[str, float]:
        """The share of the points in each class of the paper: "0-2 %" up to "above 50 %"."""
        counts = self._counts(original, published, BOUNDS)
        lower = (0.0, *BOUNDS)
        names = [f"{100 * low:.0f}-{100 * high:.0f} %" for low, high in zip(lower, BOUNDS, strict=False)]
        names.append(f"above {100 * BOUNDS[-1]:.0f} %")
        return dict(zip(names, (counts / max(1, counts.sum())).tolist(), strict=True))

    def _counts(self, original: Panel, published: Panel, bounds: tuple[float, ...]) -> np.ndarray[Any, Any]:
        counts = np.zeros(len(bounds) + 1, dtype=np.int64)
        for before, after, both in paired_blocks(original, published):
            apart, size = np.abs(before - after)[both], np.abs(before)[both]
            # Multiplied, not divided: zero originals then need no rule of their own.
            place = np.zeros(len(apart), dtype=np.int64)
            for bound in bounds:
                place += apart > bound * size
            counts += np.bincount(place, minlength=len(counts))
        return counts
