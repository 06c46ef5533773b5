"""The same methods on data that arrives: snapshots closed by a stated rule, a window, and a state that survives."""

from shoal.streams.arrivals import Arrivals
from shoal.streams.incremental import IncrementalMicroaggregation
from shoal.streams.reposition import PublishedSnapshot, RepositionStream

__all__ = ["Arrivals", "IncrementalMicroaggregation", "PublishedSnapshot", "RepositionStream"]


def __dir__() -> list[str]:
    return sorted(__all__)
