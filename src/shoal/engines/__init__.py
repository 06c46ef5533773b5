"""Where the work runs: in memory, on one machine with scratch files, or on Spark."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.engines.contract import Blocks, Engine, Shared, Table, Work
from shoal.engines.local import Local
from shoal.engines.memory import Memory
from shoal.engines.spark import Spark
from shoal.engines.work import Chain, Same, each_key, whole_keys

if TYPE_CHECKING:
    from shoal.engines.series import in_shards
    from shoal.engines.structured_streaming import reposition_stream

__all__ = [
    "Blocks",
    "Chain",
    "Engine",
    "Local",
    "Memory",
    "Same",
    "Shared",
    "Spark",
    "Table",
    "Work",
    "each_key",
    "in_shards",
    "reposition_stream",
    "whole_keys",
]

# These load features and kernels, which an engine by itself does not need.
_WHERE = {"in_shards": "series", "reposition_stream": "structured_streaming"}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'shoal.engines' has no attribute {name!r}")
    return getattr(import_module(f"shoal.engines.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
