"""Profiles whose groups have members in several shards: each shard has them, one writes them, all members are
counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.model import Candidate, EventsCandidate, Profiles, Spread
from shoal.release.certificate import CountsPart
from shoal.release.profiles import members_of


@dataclass(frozen=True, eq=False)
class Members:
    """What one shard has of such groups."""

    spread: Spread
    digest: str
    """For the profiles."""
    promised: NDArray[np.int64]
    """How many subjects each profile says it has."""
    subjects: NDArray[np.int64]
    """How many of them are in this shard."""
    n_series: int
    n_subjects: int


def count_members(candidate: Candidate | EventsCandidate) -> Members | None:
    """The members in one shard; None if no group is shared with another shard."""
    if isinstance(candidate, EventsCandidate) or candidate.private.spread is None:
        return None
    published, private = candidate.published, candidate.private
    assert isinstance(published, Profiles)
    kept = private.groups >= 0
    return Members(
        candidate.private.spread,
        published.digest(),
        published.counts,
        members_of(published, private),
        int(kept.sum()),
        len(np.unique(private.original.subject_codes[kept])),
    )


def refuse_spread(several: Sequence[Members]) -> str | None:
    """Why profiles shared by several shards do not count their members; None if they do."""
    for first in dict.fromkeys(one.spread.first for one in several):
        own = [one for one in several if one.spread.first == first]
        if len({one.digest for one in own}) > 1 or sum(one.spread.is_first for one in own) != 1:
            return "Shards have different profiles of the same groups: the crowd cannot be counted."
        counts = np.sum([one.subjects for one in own], axis=0)
        if not np.array_equal(counts, own[0].promised):
            odd = int((counts != own[0].promised).argmax())
            return f"Profile {odd} does not count the subjects of its group: the crowd cannot be counted."
    return None


def add_members(counts: CountsPart, several: Sequence[Members]) -> CountsPart:
    """The counts of what was written, with the members in shards that wrote nothing."""
    others = [one for one in several if not one.spread.is_first]
    return counts.model_copy(
        update={
            "series": counts.series + sum(one.n_series for one in others),
            "subjects": counts.subjects + sum(one.n_subjects for one in others),
        }
    )
