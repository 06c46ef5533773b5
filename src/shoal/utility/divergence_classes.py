"""How many published points are close to their originals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.model import Measure, Panel, Score, Tally
from shoal.model.measure import Goal
from shoal.model.score import Unit
from shoal.utility.cells import Floats, tally_pairs

BOUNDS = (0.02, 0.05, 0.10, 0.20, 0.30, 0.50)
"""Upper ends of the paper's classes, each included; the last class lies above."""


@dataclass(frozen=True)
class DivergenceClasses(Measure):
    """Share of the points that are published within `limit` of their original.

    The divergence of a point is |original - published| / |original|, for each channel separately; if the original is 0,
    it is 0 if 0 was published, else infinite. Points missing in either are left out.

    Parameters
    ----------
    limit
        What counts as close, as a share of the original.

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
    plain: ClassVar[str] = "Readings published near their original"
    purpose: ClassVar[str] = "single values"
    unit: ClassVar[Unit] = "share"
    goal: ClassVar[Goal] = "higher"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    limit: float = 0.2

    def __post_init__(self) -> None:
        if not 0.0 <= self.limit < float("inf"):
            raise ParameterError("limit must be a share of at least 0, such as 0.2.")

    def tally(self, original: Panel, published: Panel) -> Tally:
        """Whether each point is close to its original."""
        return _within(original, published, (self.limit,))

    def score(self, tally: Tally) -> Score:
        """The share of points that are close; 1 if there are no points."""
        near = tally["within"]
        return self.as_score(near.means[0] if near.counts[0] else 1.0)

    def shares(self, original: Panel, published: Panel) -> dict[str, float]:
        """The share of the points in each class of the paper: "0-2 %" up to "above 50 %"."""
        within = _within(original, published, BOUNDS)["within"]
        n_points = within.counts[0]
        counts = np.diff([0.0, *np.rint(within.sums), n_points])
        lower = (0.0, *BOUNDS)
        names = [f"{100 * low:.0f}-{100 * high:.0f} %" for low, high in zip(lower, BOUNDS, strict=False)]
        names.append(f"above {100 * BOUNDS[-1]:.0f} %")
        return dict(zip(names, (counts / max(1, n_points)).tolist(), strict=True))


def _within(original: Panel, published: Panel, bounds: tuple[float, ...]) -> Tally:
    """For each point, a column per bound: 1 if its divergence is at most that, else 0."""

    def figures(before: Floats, after: Floats) -> dict[str, Floats]:
        apart, size = (np.abs(x[~np.isnan(x)])[:, None] for x in (before - after, before))
        # Multiplied, not divided, so that zero originals need no special rule.
        return {"within": (apart <= np.array(bounds) * size).astype(np.float64)}

    return tally_pairs(original, published, figures)
