"""How far published points are from the originals, in the unit of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.equal_rows import row_classes
from shoal.model import Measure, Panel, Score, Tally
from shoal.model.score import Unit
from shoal.utility.cells import Floats, refuse_other_shapes, tally_pairs


@dataclass(frozen=True)
class EuclideanLoss(Measure):
    """Sum of the distances between original and published points.

    IL = Σ over series f and instants t of |f(t) - published f(t)|; with several channels the distance is Euclidean over
    the channels observed in both. Points missing in either are left out. It is in the unit of the data, so it compares
    releases of the same panel, not different panels.

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
    plain: ClassVar[str] = "Readings are moved by, all together"
    purpose: ClassVar[str] = "single values"
    unit: ClassVar[Unit] = "data"

    def tally(self, original: Panel, published: Panel) -> Tally:
        """Distances at each instant."""
        return tally_pairs(original, published, lambda before, after: {"distance": _distances(before, after)})

    def score(self, tally: Tally) -> Score:
        """The total over all instants."""
        return self.as_score(tally["distance"].sums.sum())

    def per_instant(self, original: Panel, published: Panel) -> NDArray[np.float64]:
        """The loss at each instant."""
        return self.tally(original, published)["distance"].sums

    def per_cluster(self, original: Panel, published: Panel, instant: int) -> NDArray[np.float64]:
        """The loss of each cluster at an instant: the series published alike there, by their first series."""
        refuse_other_shapes(original, published)
        shape = (original.n_series, original.n_channels)
        before, after = (panel.values[:, instant].reshape(shape) for panel in (original, published))
        clusters = np.unique(row_classes(np.ascontiguousarray(after).view(np.uint64)), return_inverse=True)[1]
        return np.bincount(clusters, weights=_distances(before, after)).astype(np.float64)


def _distances(before: Floats, after: Floats) -> Floats:
    """Distances between points, over the channels both have."""
    distances: Floats = np.sqrt(np.nansum((before - after) ** 2, axis=-1))
    return distances
