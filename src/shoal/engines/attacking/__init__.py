"""Attacks on what lies on an engine."""

from shoal.engines.attacking.attacks import attack

__all__ = ["attack"]
