"""The same methods on arriving data: snapshots closed by a stated rule, a window, and a state that survives
restarts."""

from shoal.streams.arrivals import Arrivals
from shoal.streams.incremental import IncrementalMicroaggregation
from shoal.streams.incremental_nlk import IncrementalNLK
from shoal.streams.reposition import PublishedSnapshot, RepositionStream

__all__ = ["Arrivals", "IncrementalMicroaggregation", "IncrementalNLK", "PublishedSnapshot", "RepositionStream"]


def __dir__() -> list[str]:
    return sorted(__all__)
