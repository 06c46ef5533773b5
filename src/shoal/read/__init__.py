"""Files, frames and databases become panels and events."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.read.events import read_events
    from shoal.read.panel import read_panel

__all__ = ["read_events", "read_panel"]

# Loaded when first used: the command line needs the names of the options, and no frames, to print its help.
_HOMES = {"read_events": "shoal.read.events", "read_panel": "shoal.read.panel"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
