"""Which methods run on an engine, and where they are written."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shoal.engines.blocks import BlockCandidate, BlockPanel
from shoal.errors import ParameterError

_MODULES = {
    "microaggregation": "microaggregation",
    "nlk": "nlk",
    "kp": "kp",
    "noise-addition": "techniques",
    "transformation": "techniques",
    "time-aggregation": "techniques",
    "time-slicing": "techniques",
    "sampling-with-fictives": "techniques",
    "scope-aggregation": "techniques",
    "permutation": "techniques",
    "steps": "techniques",
}


def anonymize(method: Any, panel: BlockPanel) -> BlockCandidate:
    """What `method.anonymize` does to a panel in memory, done where the blocks are.

    Each module says in its first lines what is exact there and what is bounded.
    """
    if method.name not in _MODULES:
        able = ", ".join(sorted(_MODULES))
        raise ParameterError(
            f"{method.name} does not run on an engine. Use one of: {able}; or leave --engine out, in memory it does."
        )
    found: BlockCandidate = import_module(f"shoal.engines.{_MODULES[method.name]}").anonymize(method, panel)
    return found
