"""Everything a guarantee can be asked about."""

from __future__ import annotations

from shoal.model.candidate import Candidate, Published
from shoal.model.event_tables import EventTables
from shoal.model.events_candidate import EventsCandidate

Judged = Published | Candidate | EventTables | EventsCandidate
"""Series or events, as they are published or as a method proposes them."""
