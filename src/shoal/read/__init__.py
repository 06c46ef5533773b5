"""Files, frames and databases become panels and events."""

from shoal.read.events import read_events
from shoal.read.panel import read_panel

__all__ = ["read_events", "read_panel"]
