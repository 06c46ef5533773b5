"""The techniques of the process on an engine."""

from shoal.engines.techniques.method import anonymize

__all__ = ["anonymize"]
