"""The state of a growing panel on disk: one file, written atomically.

A release is announced before it is written and settled when it is in place. After a crash, an announced release is
settled if it is in place; if not, it was never published and is withdrawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError, ReleaseError
from shoal.files.durable import sync, write_aside
from shoal.methods import NLK, Microaggregation
from shoal.model import Method
from shoal.streams.checkpoint import UNREADABLE, Checkpoint, refuse_unless_typed
from shoal.streams.growing_panel import GrowingPanel
from shoal.streams.incremental import IncrementalMicroaggregation
from shoal.streams.incremental_nlk import IncrementalNLK

FILE_NAME = "growing.state"
_TABLE = "series"

OPERATORS: dict[str, type[GrowingPanel]] = {
    Microaggregation.name: IncrementalMicroaggregation,
    NLK.name: IncrementalNLK,
}
"""Which methods can grow, by name."""


@dataclass
class Growth:
    """A growing panel and what happened to each stretch.

    Parameters
    ----------
    operator
        Who is published, and how.
    settings
        The settings it was started with.
    releases
        For each stretch: the `folder` of its release, the SHA-256 of its `certificate`, and of the file it was read
        from. An announced release has no certificate yet; a stretch of which nothing was published has no folder.
    """

    operator: GrowingPanel
    settings: dict[str, Any]
    releases: list[dict[str, Any]] = field(default_factory=list)

    @property
    def announced(self) -> str | None:
        """The folder of the release that was about to be written."""
        last = self.releases[-1] if self.releases else {}
        return last.get("folder") if not last.get("certificate") else None

    def take_back(self) -> None:
        """Forget the last stretch: nothing of it was published."""
        self.operator.take_back()
        self.releases.pop()

    def save(self, folder: Path) -> None:
        """Write it, readable by its owner only, and wait until it is on disk."""
        rows, facts = self.operator.state()
        whole = {"settings": self.settings, "releases": self.releases, "operator": facts}
        content = Checkpoint(len(self.releases), whole, {_TABLE: rows}).to_bytes()
        aside = write_aside(folder / FILE_NAME, content, mode=0o600)
        aside.sync()
        aside.put_in_place()
        sync(folder)


def read_growth(folder: Path, method: Method) -> Growth | None:
    """The state in a private folder, if there is one."""
    place = folder / FILE_NAME
    if not place.exists():
        return None
    try:
        kept = Checkpoint.from_bytes(place.read_bytes())
        rows, facts = kept.tables[_TABLE], kept.facts
        settings, releases, operator = facts["settings"], facts["releases"], facts["operator"]
        refuse_unless_typed(settings, {"reading": dict, "method": dict, "key": str})
        for release in releases:
            refuse_unless_typed(release, dict.fromkeys(("folder", "certificate", "source"), str | None))
        begun_with = operator.get("method", Microaggregation.name)  # the only one, in older states
        if begun_with != method.name:
            raise ParameterError(f"The growing panel was started with --method {begun_with}. Use the same.")
        return Growth(OPERATORS[begun_with].restored(method, rows, operator), settings, releases)
    except UNREADABLE:
        raise ReleaseError(
            f"The state in {str(folder)!r} cannot be read: it is damaged. Restore a copy of "
            f"{FILE_NAME}. Without it nobody can tell which groups were published, and nothing can be added to them."
        ) from None
