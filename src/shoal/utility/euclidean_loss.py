"""How far published points are from the originals, in the unit of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.equal_rows import row_classes
from shoal.model import Panel, Score
from shoal.utility.cells import paired_blocks, refuse_other_shapes


@dataclass(frozen=True)
class EuclideanLoss:
    """Sum of the distances between original and published points.

    IL = Σ over series f and instants t of |f(t) - published f(t)|; with several channels the distance is Euclidean
    over the channels observed in both. Points missing in either are left out. In the unit of the data, so it compares
    releases of one panel, not panels.

    Examples
    --------
    >>> original, published = Panel([[1.0, 2.0], [3.0, 4.0]]), Panel([[2.0, 3.0], [2.0, 3.0]])
    >>> EuclideanLoss().measure(original, published).value
    4.0
    >>> EuclideanLoss().per_instant(original, published).tolist()
    [2.0, 2.0]

    References
    ----------
    The paper on (n, l, k)-anonymity of time series, definition 8.
    """

    name: ClassVar[str] = "euclidean-loss"
    meaning: ClassVar[str] = "sum of the distances between original and published points, in the unit of the data"
    judges: ClassVar[Literal["values", "groups"]] = "values"

    @property
    def parameters(self) -> dict[str, Any]:
        """Nothing: there is one way to measure it."""
        return {}

    def measure(self, original: Panel, published: Panel) -> Score:
        """The total over all instants."""
        return Score(float(self.per_instant(original, published).sum()), goal="lower", range=(0.0, float("inf")))

    def per_instant(self, original: Panel, published: Panel) -> NDArray[np.float64]:
        """The loss at each instant."""
        total = np.zeros(original.n_instants)
        for before, after, both in paired_blocks(original, published):
            total += np.sqrt(np.sum((before - after) ** 2, axis=2, where=both)).sum(axis=0)
        return total

    def per_cluster(self, original: Panel, published: Panel, instant: int) -> NDArray[np.float64]:
        """The loss of each cluster at an instant: the series published alike there, by their first series."""
        refuse_other_shapes(original, published)
        shape = (original.n_series, original.n_channels)
        before, after = (panel.values[:, instant].reshape(shape) for panel in (original, published))
        clusters = np.unique(row_classes(np.ascontiguousarray(after).view(np.uint64)), return_inverse=True)[1]
        both = ~(np.isnan(before) | np.isnan(after))
        apart = np.sqrt(np.sum((before - after) ** 2, axis=1, where=both))
        return np.bincount(clusters, weights=apart).astype(np.float64)
