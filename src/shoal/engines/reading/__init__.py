"""Panels that lie as Parquet in a lake."""

from shoal.engines.reading.panel import read_blocks

__all__ = ["read_blocks"]
