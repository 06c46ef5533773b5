"""Microaggregation on an engine."""

from shoal.engines.microaggregation.method import AnonymizeLeaves, anonymize

__all__ = ["AnonymizeLeaves", "anonymize"]
