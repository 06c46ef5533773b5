"""Several shards as one: what they publish, and candidates with their data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.model.candidate import Candidate, Private, Published
from shoal.model.envelopes import Envelopes
from shoal.model.panel import Panel
from shoal.model.profiles import Profiles

Rows = NDArray[np.int64]


def join_published(several: Sequence[Published], *, names: bool = False) -> Published:
    """Published data of different people as one; rows of the first, then those of the next, with names if requested."""
    first = several[0]
    if len(several) == 1:
        return first
    if isinstance(first, Panel):
        return join_panels([one for one in several if isinstance(one, Panel)], names=names)
    if isinstance(first, Envelopes):
        envelopes = [one for one in several if isinstance(one, Envelopes)]
        return replace(
            first,
            low=np.concatenate([one.low for one in envelopes]),
            high=np.concatenate([one.high for one in envelopes]),
            levels=np.concatenate([one.levels for one in envelopes]),
            patterns=tuple(word for one in envelopes for word in one.patterns),
            subjects=_codes([one.subject_codes for one in envelopes]).tolist(),
            ids=[name for one in envelopes if one.ids is not None for name in one.ids] if names else None,
            sensitive={name: np.concatenate([one.sensitive[name] for one in envelopes]) for name in first.sensitive},
        )
    profiles = [one for one in several if isinstance(one, Profiles)]
    return replace(
        first,
        values=np.concatenate([one.values for one in profiles]),
        counts=np.concatenate([one.counts for one in profiles]),
        names=tuple(name for one in profiles for name in one.names) if names else (),
    )


def join_panels(several: Sequence[Panel], *, names: bool = False) -> Panel:
    """Panels of different people; without their names subjects are numbers."""
    first = several[0]
    named = names and all(one.subjects is not None for one in several)
    return Panel(
        np.concatenate([one.values for one in several]),
        ids=np.concatenate([one.ids for one in several]) if names else None,
        times=first.times,
        subjects=np.concatenate([one.subjects for one in several if one.subjects is not None])
        if named
        else None
        if names
        else _codes([one.subject_codes for one in several]),
        attributes={name: np.concatenate([one.attributes[name] for one in several]) for name in first.attributes},
        sensitive={name: np.concatenate([one.sensitive[name] for one in several]) for name in first.sensitive},
        channels=first.channels,
        timezone=first.timezone,
        roles=first.roles,
        origin=first.origin,
        copy=False,
    )


def join_candidates(several: Sequence[Candidate], *, names: bool = False) -> Candidate:
    """Candidates of different people as one; with the names of the originals only if requested."""
    first = several[0]
    if len(several) == 1:
        return first
    kept = [one.private for one in several]
    starts = _starts([private.original.n_series for private in kept])
    groups = _starts([int(private.groups.max(initial=-1)) + 1 for private in kept])
    private = Private(
        original=join_panels([one.original for one in kept], names=names),
        groups=np.concatenate([_moved(one.groups, start) for one, start in zip(kept, groups, strict=True)]),
        curves=_all([one.curves for one in kept], join_panels),
        rows=_all_moved([one.rows for one in kept], starts, [one.original.n_series for one in kept]),
        stands_for=None
        if all(one.stands_for is None for one in kept)
        else np.concatenate(
            [_moved(candidate.stands_for, start) for candidate, start in zip(several, starts, strict=True)]
        ),
        secrets=first.private.secrets,
    )
    return replace(first, published=join_published([one.published for one in several]), private=private)


def take_from(candidate: Candidate, kept: Rows) -> Candidate:
    """A candidate for some of its original series, by position in order; fictive rows stay behind."""
    private = candidate.private
    place = np.full(private.original.n_series + 1, -1)  # the last one is for fictive rows, -1
    place[kept] = np.arange(len(kept))
    rows = np.arange(private.original.n_series) if private.rows is None else private.rows
    shown = np.flatnonzero(place[rows] >= 0)
    groups = private.groups[kept]
    published = candidate.published
    if isinstance(published, Profiles):
        used, numbers = np.unique(groups[groups >= 0], return_inverse=True)
        groups = groups.copy()
        groups[groups >= 0] = numbers
        published = replace(published, values=published.values[used], counts=published.counts[used], names=())
    elif isinstance(published, Envelopes):
        published = replace(published.take(shown), ids=None)
    else:
        published = published.take(np.flatnonzero(place[candidate.stands_for] >= 0))
    stands_for = place[private.stands_for] if private.stands_for is not None else None
    return replace(
        candidate,
        published=published,
        private=Private(
            original=private.original.take(kept),
            groups=groups,
            curves=None if private.curves is None else private.curves.take(shown),
            rows=None if private.rows is None else place[rows[shown]],
            stands_for=None if stands_for is None else stands_for[stands_for >= 0],
            secrets=private.secrets,
        ),
    )


def draw_from(candidate: Candidate, share: float, seed: int) -> Candidate | None:
    """Draw about a share of a candidate's series, in whole groups; None if nothing is drawn.

    The draw depends on a hash of what is published, so series published alike are drawn together. For groups that are
    spread over shards, and so too large for one place, each series is drawn separately.
    """
    if share >= 1.0:
        return candidate
    private = candidate.private
    rows = np.arange(private.original.n_series) if private.rows is None else private.rows
    bits = np.ascontiguousarray(candidate.curves.rows).view(np.uint64)
    mixed = np.full(len(bits), np.uint64(seed), dtype=np.uint64)
    for column in range(bits.shape[1]):
        mixed = (mixed ^ bits[:, column]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    if private.spread is not None:
        mixed ^= np.random.default_rng(seed).integers(2**63, size=len(mixed)).astype(np.uint64)
    drawn = (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53 < share
    return take_from(candidate, np.sort(rows[drawn])) if drawn.any() else None


def _codes(several: Sequence[Rows]) -> Rows:
    starts = _starts([int(codes.max()) + 1 for codes in several])
    return np.concatenate([codes + start for codes, start in zip(several, starts, strict=True)])


def _starts(sizes: Sequence[int]) -> list[int]:
    return [0, *np.cumsum(sizes)[:-1].tolist()]


def _moved(numbers: Rows, by: int) -> Rows:
    """Numbers shifted by an offset; -1 stays."""
    return np.where(numbers < 0, numbers, numbers + by)


def _all(several: Sequence[Any], join: Any) -> Any:
    return None if any(one is None for one in several) else join(several)


def _all_moved(several: Sequence[Rows | None], starts: Sequence[int], sizes: Sequence[int]) -> Rows | None:
    if all(rows is None for rows in several):
        return None
    listed = [np.arange(n) if rows is None else rows for rows, n in zip(several, sizes, strict=True)]
    return np.concatenate([rows + start for rows, start in zip(listed, starts, strict=True)])
