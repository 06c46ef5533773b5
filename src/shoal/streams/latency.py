"""How long events wait from their arrival until everything they caused is committed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_PER_DOUBLING = 8
"""Number of classes per doubling of time: a quantile is accurate to within 9 %."""
_N_CLASSES = 32 * _PER_DOUBLING
_SHORTEST = 2.0**-16  # seconds


class Latency:
    """Counts of events by the logarithm of their waiting time, so that memory does not grow."""

    def __init__(self) -> None:
        self._counts = np.zeros(_N_CLASSES, dtype=np.int64)

    def add(self, seconds: float, n_events: int) -> None:
        """Count events with a waiting time."""
        place = math.ceil(_PER_DOUBLING * math.log2(max(seconds, _SHORTEST) / _SHORTEST))
        self._counts[min(place, _N_CLASSES - 1)] += n_events

    def quantile(self, share: float) -> float | None:
        """The time in seconds within which this share of the events was committed; None before any was."""
        total = int(self._counts.sum())
        if not total:
            return None
        place = int(np.searchsorted(np.cumsum(self._counts), share * total))
        return float(_SHORTEST * 2.0 ** (place / _PER_DOUBLING))

    def facts(self) -> dict[str, Any] | None:
        """Median and 99th percentile in milliseconds; None before any event was committed."""
        median, last = self.quantile(0.5), self.quantile(0.99)
        if median is None or last is None:
            return None
        return {"p50_ms": round(1000 * median, 1), "p99_ms": round(1000 * last, 1)}
