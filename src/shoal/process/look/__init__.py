"""Look at a table without changing it: what it is, what is wrong with it, and how to publish it."""

from shoal.process.look.result import Look
from shoal.process.look.table import look

__all__ = ["Look", "look"]
