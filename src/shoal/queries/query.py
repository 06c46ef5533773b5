"""What every query can do."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from shoal.queries.prepared import Data, prepare


class Query(ABC):
    """A condition on series, asked of originals and of releases alike."""

    @abstractmethod
    def shares(self, data: Data) -> NDArray[np.float64]:
        """For each row how likely it meets the condition: 0 or 1 where the data tells."""

    @abstractmethod
    def matches(self, data: Data) -> NDArray[np.bool_]:
        """For each row whether it meets the condition, where the data tells."""

    def count(self, data: Data) -> float:
        """How many series meet the condition: exact for a panel, else the expected number.

        Of group profiles, how many subjects do, each taken to be like the mean of its group.
        """
        ready = prepare(data)
        return float(np.sum(self.shares(ready) * ready.weights))
