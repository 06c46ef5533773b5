"""What a candidate on an engine is still good for."""

from shoal.engines.measuring.measures import measure, note

__all__ = ["measure", "note"]
