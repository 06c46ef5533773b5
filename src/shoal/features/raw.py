"""The values as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.model import Panel


@dataclass(frozen=True)
class Raw:
    """The values as they are: series are similar if they are close at every instant.

    One feature per instant and channel, instants first, channels next to each other. Missing stays missing. Large
    values and instants with a large spread count most. Nothing is copied.

    Examples
    --------
    >>> Raw()(Panel([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """

    name: ClassVar[str] = "raw"

    def __call__(self, panel: Panel) -> NDArray[np.float64]:
        """The values as a matrix."""
        return panel.rows
