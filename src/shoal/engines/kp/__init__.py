"""(k, P)-anonymity on an engine: the method and the check."""

from shoal.engines.kp.method import anonymize

__all__ = ["anonymize"]
