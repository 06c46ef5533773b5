"""A candidate that passed the gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.model.candidate import Published
from shoal.model.event_tables import EventTables
from shoal.model.html import html_table
from shoal.model.suppression import Suppression
from shoal.model.words import number


@dataclass(frozen=True, eq=False)
class Release:
    """A release folder and its content.

    Parameters
    ----------
    path
        The folder.
    certificate
        The content of `release.json`.
    published
        The published series under their pseudonyms, the profiles of groups, or events, in the order of the file.
    suppression
        What was left out, if the release was just made: for its publisher, and not in the folder.
    measured
        For the publisher alone: figures, by their part of the certificate, that were measured but left out of it
        because they would reveal too much; and notes, such as which columns of the input are not published.
    """

    path: Path
    certificate: dict[str, Any]
    published: Published | EventTables
    suppression: Suppression | None = None
    measured: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def values(self) -> NDArray[np.float64]:
        """The published array, rows in the order of the file."""
        if isinstance(self.published, EventTables):
            raise InputError("Events have no array of values. Their tables are published.records and published.counts.")
        return self.published.values

    def with_notes(self, **notes: Any) -> Release:
        """The same release with more for its publisher in `measured`."""
        return replace(self, measured={**self.measured, **notes})

    def __repr__(self) -> str:
        return f"Release({str(self.path)!r}, {self.published!r})"

    def _repr_html_(self) -> str:
        method = self.certificate.get("method", {})
        rows = [
            ("folder", str(self.path)),
            ("published", repr(self.published)),
            ("method", str(method.get("name", ""))),
        ]
        for part in self.certificate.get("guarantees", ()):
            verdict = part["verdict"]
            held = "holds" if verdict["holds"] else "does not hold"
            rows.append(
                (
                    part["name"],
                    f"{held}: measured {number(verdict['measured'])}, required {number(verdict['required'])}",
                )
            )
        return html_table("Release", rows)
