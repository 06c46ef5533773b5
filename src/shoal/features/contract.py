"""The interface of all features."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.model import Panel


class Features(Protocol):
    """Numbers that describe each series of a panel.

    `name` is the word the command line and the certificate use.
    """

    @property
    def name(self) -> str:
        """The word for it."""

    def __call__(self, panel: Panel) -> NDArray[np.float64]:
        """An array (series, features), finite or NaN, rows in the panel's order. It may be a view: do not write."""
