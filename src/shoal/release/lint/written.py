"""A release as written, next to what it was made from: what every rule of the lint examines, and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.guarantees.crowds import published_classes
from shoal.guarantees.kp_anonymity import envelope_classes
from shoal.model import Candidate, Envelopes, EventsCandidate, EventTables, Guarantee, Panel, Profiles, Published


@dataclass(frozen=True)
class Finding:
    """A side channel: something that a release reveals beyond what it is meant to.

    Parameters
    ----------
    name
        The word by which a publisher accepts it.
    what
        What was found: counts and positions, never a value or an identifier.
    fix
        How to avoid it.
    """

    name: str
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what} {self.fix}"


NO_GUARANTEE = 2
"""The required crowd if no guarantee names one."""


@dataclass(frozen=True)
class Crowd:
    """How many must share something so that it singles nobody out, and of what."""

    size: int
    per: str = "subject"

    @staticmethod
    def asked(guarantees: Sequence[Guarantee]) -> Crowd:
        """The largest k of the guarantees; without any, their largest size of an aggregate, or l; else two."""
        for word in ("k", "size", "l"):
            listed = [g.parameters for g in guarantees if word in g.parameters]
            asked = [(int(parameters[word]), parameters.get("per", "subject")) for parameters in listed]
            if asked:
                return Crowd(*max(asked))
        return Crowd(NO_GUARANTEE)


@dataclass(frozen=True, eq=False)
class Written:
    """What the lint examines.

    Parameters
    ----------
    folder
        The folder that is not in place yet.
    candidate
        What was to be published, with its originals.
    published
        What is in the files, read back.
    guarantees
        What is promised.
    names
        The pseudonym of each row or profile of the candidate.
    began
        When writing began, in seconds of the system's clock.
    """

    folder: Path
    candidate: Candidate | EventsCandidate
    published: Published | EventTables
    guarantees: Sequence[Guarantee]
    names: Sequence[str]
    began: float

    @property
    def tables(self) -> list[Path]:
        """The tables in it, by name."""
        return sorted(path for path in self.folder.iterdir() if path.suffix in (".parquet", ".csv"))

    @property
    def crowd(self) -> Crowd:
        """What the guarantees ask for."""
        return Crowd.asked(self.guarantees)

    @property
    def published_names(self) -> list[str]:
        """The names in the file, in its order; events have none."""
        if isinstance(self.published, EventTables):
            return []
        names = self.published.names if isinstance(self.published, Profiles) else self.published.ids
        return [str(name) for name in (() if names is None else names)]

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """For each row of the file its position in the candidate; -1 for an unknown name."""
        places = {name: place for place, name in enumerate(self.names)}
        return np.array([places.get(name, -1) for name in self.published_names], dtype=np.int64)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """For each row of the file the first row that is published alike, or has the same envelope."""
        assert isinstance(self.published, Panel | Envelopes)
        published = self.published
        return envelope_classes(published) if isinstance(published, Envelopes) else published_classes(published)

    @cached_property
    def subjects(self) -> NDArray[np.int64]:
        """The subject of each row of the file, or the row itself if rows are the crowd or a name is unknown."""
        assert isinstance(self.published, Panel | Envelopes)
        assert isinstance(self.candidate.published, Panel | Envelopes)
        own = np.arange(self.published.n_series)
        if self.crowd.per == "series":
            return own
        codes, rows = self.candidate.published.subject_codes, self.rows
        return np.where(rows >= 0, codes[rows], int(codes.max()) + 1 + own)
