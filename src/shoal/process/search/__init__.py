"""The search for methods and parameters that keep risk and utility within limits."""

from shoal.process.search.frontier import Frontier, Point
from shoal.process.search.points import Choices, Setting, choices_of
from shoal.process.search.task import task_of
from shoal.process.search.trials import SearchOutcome, SearchTask, search

__all__ = ["Choices", "Frontier", "Point", "SearchOutcome", "SearchTask", "Setting", "choices_of", "search", "task_of"]
