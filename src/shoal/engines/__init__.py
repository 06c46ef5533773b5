"""Where the work runs: on one machine in blocks, or on Spark."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.engines.contract import Blocks, Engine, Shared, Table, Work
from shoal.engines.local import Local
from shoal.engines.spark import Spark
from shoal.engines.work import Chain, Same, each_key, whole_keys

if TYPE_CHECKING:
    from shoal.engines.attacking import attack
    from shoal.engines.blocks import BlockCandidate, BlockPanel
    from shoal.engines.checks import check
    from shoal.engines.measuring import measure
    from shoal.engines.methods import anonymize
    from shoal.engines.reading import read_blocks
    from shoal.engines.structured_streaming import reposition_stream

__all__ = [
    "BlockCandidate",
    "BlockPanel",
    "Blocks",
    "Chain",
    "Engine",
    "Local",
    "Same",
    "Shared",
    "Spark",
    "Table",
    "Work",
    "anonymize",
    "attack",
    "check",
    "each_key",
    "measure",
    "read_blocks",
    "reposition_stream",
    "whole_keys",
]

# What is done on an engine loads methods and kernels, which an engine by itself does not need.
_WHERE = {
    "BlockCandidate": "blocks",
    "BlockPanel": "blocks",
    "anonymize": "methods",
    "attack": "attacking",
    "check": "checks",
    "measure": "measuring",
    "read_blocks": "reading",
    "reposition_stream": "structured_streaming",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'shoal.engines' has no attribute {name!r}")
    return getattr(import_module(f"shoal.engines.{_WHERE[name]}"), name)
