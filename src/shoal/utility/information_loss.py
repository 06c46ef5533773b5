"""How much of the variation between series is gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.model import Panel, Score
from shoal.utility.cells import refuse_other_shapes


@dataclass(frozen=True)
class InformationLoss:
    """Share of the variation between series that the release has lost: SSE / SST.

    SSE = sum over series, instants and channels of (original - published)^2, SST = the same against the mean over all
    series at that instant and channel; cells missing in either are left out of both. 0 keeps everything, 1 keeps one
    common curve.

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
    meaning: ClassVar[str] = "share of the variation between series that is lost"
    judges: ClassVar[Literal["values", "groups"]] = "values"

    standardized: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to measure the same again."""
        return {"standardized": self.standardized}

    def measure(self, original: Panel, published: Panel) -> Score:
        """Compare panels whose rows are in the same order."""
        refuse_other_shapes(original, published)
        squared_error = np.zeros(original.rows.shape[1])
        squared_total = np.zeros(original.rows.shape[1])
        for columns in _blocks(original.n_series, original.rows.shape[1]):
            before, after = original.rows[:, columns], published.rows[:, columns]
            both = ~(np.isnan(before) | np.isnan(after))
            squared_error[columns] = np.sum((before - after) ** 2, axis=0, where=both)
            centred = before - _means(before, both)
            squared_total[columns] = np.sum(centred**2, axis=0, where=both)
        if self.standardized:
            varying = squared_total > 0.0
            squared_error, squared_total = (
                squared_error[varying] / squared_total[varying],
                varying[varying].astype(float),
            )
        lost, total = float(squared_error.sum()), float(squared_total.sum())
        # Without any variation there is nothing to lose; a changed constant is still a total loss.
        value = lost / total if total > 0.0 else float(lost > 0.0)
        return Score(value=value, goal="lower", range=(0.0, float("inf")))


def _means(values: NDArray[np.float64], observed: NDArray[np.bool_]) -> NDArray[np.float64]:
    counts = observed.sum(axis=0)
    # Centring on the first row before summing keeps the digits of readings with a large common offset.
    anchor = np.nan_to_num(values[:1], nan=0.0)
    sums = np.sum(values - anchor, axis=0, where=observed)
    means: NDArray[np.float64] = anchor + sums / np.maximum(counts, 1)
    return means


def _blocks(n_series: int, n_columns: int) -> list[slice]:
    """Column blocks of about 64 MB, so that a large panel is never copied whole."""
    width = max(1, 8_000_000 // max(1, n_series))
    return [slice(first, min(first + width, n_columns)) for first in range(0, n_columns, width)]
