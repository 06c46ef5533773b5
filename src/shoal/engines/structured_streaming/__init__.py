"""Streams of events on Spark."""

from shoal.engines.structured_streaming.stream import reposition_stream

__all__ = ["reposition_stream"]
