"""The search for parameters that keep risk and utility within the policy's limits."""

from shoal.process.search.frontier import Frontier, Point
from shoal.process.search.points import Choices, choices_of
from shoal.process.search.trials import search

__all__ = ["Choices", "Frontier", "Point", "choices_of", "search"]
