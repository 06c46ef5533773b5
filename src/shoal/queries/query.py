"""The interface of all queries."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from shoal.queries.prepared import Data, prepare


class Query(ABC):
    """A condition on series, for originals and releases alike."""

    @abstractmethod
    def shares(self, data: Data) -> NDArray[np.float64]:
        """For each row, the probability that it meets the condition: 0 or 1 if the data shows it."""

    @abstractmethod
    def matches(self, data: Data) -> NDArray[np.bool_]:
        """For each row, whether it meets the condition, if the data shows it."""

    def count(self, data: Data) -> float:
        """How many series meet the condition: exact for a panel, else the expected number.

        For group profiles, how many subjects do, each assumed to equal the mean of its group.
        """
        ready = prepare(data)
        return float(np.sum(self.shares(ready) * ready.weights))
