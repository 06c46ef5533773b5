"""User-defined features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Panel


@dataclass(frozen=True)
class Custom:
    """Any function of a panel, with its result checked: one row per series, numbers that are finite or NaN.

    Parameters
    ----------
    function
        Takes a Panel and returns an array (series, features). It must not depend on the order of the rows and must be
        deterministic, or the groups will not be; NaN marks a missing feature.

    Examples
    --------
    >>> Custom(lambda panel: panel.rows.max(axis=1, keepdims=True))(Panel([[1.0, 2.0], [5.0, 4.0]])).tolist()
    [[2.0], [5.0]]
    """

    function: Callable[[Panel], Any]

    @property
    def name(self) -> str:
        """The function's `name` or `__name__`, "custom" if it has none."""
        for name in (getattr(self.function, "name", None), getattr(self.function, "__name__", None)):
            if isinstance(name, str) and name != "<lambda>":
                return name
        return "custom"

    def __call__(self, panel: Panel) -> NDArray[np.float64]:
        """Call the function and check its result."""
        wanted = f"Give an array of numbers of shape ({panel.n_series}, features), one row per series in their order."
        given = self.function(panel)
        try:
            array = np.asarray(given)
        except (TypeError, ValueError):  # numpy may quote values; ours must not
            raise ParameterError(f"Features {self.name!r} gave rows of different length. {wanted}") from None
        if array.dtype.kind not in "biuf":
            raise ParameterError(f"Features {self.name!r} gave entries of type {array.dtype.name}. {wanted}")
        if array.ndim != 2 or array.shape[0] != panel.n_series or array.shape[1] == 0:
            raise ParameterError(
                f"Features {self.name!r} gave an array of shape {array.shape} for {panel.n_series} series. {wanted}"
            )
        with np.errstate(over="ignore"):  # an overflow is infinite and refused below
            features = np.ascontiguousarray(array, dtype=np.float64)
        infinite = np.isinf(features).any(axis=1)
        if n_infinite := int(infinite.sum()):
            raise ParameterError(
                f"Features {self.name!r} gave infinite numbers for {n_infinite} of {panel.n_series} series, the first "
                f"at position {int(infinite.argmax())}. Give finite numbers, or NaN if a feature is missing."
            )
        return features
