"""Reading of tables into series on an engine, where the rows are stored."""

from shoal.engines.reading.panel import read_series, read_source

__all__ = ["read_series", "read_source"]
