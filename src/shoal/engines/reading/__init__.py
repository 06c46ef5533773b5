"""Rows of a table into series, where the rows are."""

from shoal.engines.reading.panel import read_series, read_source

__all__ = ["read_series", "read_source"]
