"""(n, l, k)-anonymity on an engine: the method and the check."""

from shoal.engines.nlk.method import Limits, anonymize

__all__ = ["Limits", "anonymize"]
