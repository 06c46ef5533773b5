"""Fixtures of the tests of reading."""

from read.support import long, wide_instants, wide_series

__all__ = ["long", "wide_instants", "wide_series"]
