"""A scope with more subjects than a shard can have: what each shard contributes to its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.arrays import Bools, Floats, Ints
from shoal.methods.scopes import above_limit, amounts_of, subjects_seen
from shoal.model import Panel, PanelShards

TOP = 64
"""Subjects with the largest amounts that a shard names; no more are withheld from a scope before it is asked again."""


@dataclass(frozen=True, eq=False)
class SpreadScope:
    """The figures of one scope, from all its shards.

    Parameters
    ----------
    first
        The shard that writes them.
    n_subjects
        Subjects in it.
    means, totals
        (instants, channels); missing where fewer subjects were observed than a group must have, totals where any
        reading is.
    withheld
        For each shard the subjects that are in no group, by position.
    """

    first: int
    n_subjects: int = 0
    means: Floats = field(default_factory=lambda: np.empty(0))
    totals: Floats = field(default_factory=lambda: np.empty(0))
    withheld: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    published: Bools | None = None


@dataclass(frozen=True, eq=False)
class _Piece:
    """What one shard adds."""

    n_subjects: int
    n_seen: Ints
    n_readings: Ints
    sums: Floats
    is_whole: Bools
    top: Floats
    """Amounts of the subjects with the most in some channel, (subjects, channels)."""
    who: Ints
    rest: Floats
    """Amounts of all others together, (channels)."""


def find_spread(panel: PanelShards, size: int, share: float) -> dict[int, SpreadScope]:
    """For each shard that has a part of one scope only, the figures of that scope.

    Subjects with more than the share of it are withheld, the largest first, as from a panel in memory that has this
    scope alone.
    """
    times = Counter(value for value in panel.values if value >= 0)
    shards = {value: [at for at, own in enumerate(panel.values) if own == value] for value, n in times.items() if n > 1}
    scopes = {value: SpreadScope(numbers[0]) for value, numbers in shards.items()}
    open_scopes = dict(scopes)
    while open_scopes:
        of_shard = {number: open_scopes[value] for value in open_scopes for number in shards[value]}
        pieces = panel.map(_Ask(of_shard))
        for value, scope in list(open_scopes.items()):
            own = {number: piece for number in shards[value] if (piece := pieces[number]) is not None}
            scopes[value] = _concluded(scope, own, size, share)
            if scopes[value].n_subjects:
                del open_scopes[value]
            else:
                open_scopes[value] = scopes[value]
    return {number: scopes[value] for value, numbers in shards.items() for number in numbers}


@dataclass(frozen=True)
class _Ask:
    of_shard: Mapping[int, SpreadScope]

    def __call__(self, number: int, panel: Panel) -> _Piece | None:
        scope = self.of_shard.get(number)
        if scope is None:
            return None
        rows = np.flatnonzero(~np.isin(panel.subject_codes, scope.withheld.get(number, ())))
        readings = panel.cube[rows]
        observed = ~np.isnan(readings)
        amounts = amounts_of(panel, rows, scope.published)
        chosen = np.unique(np.argsort(-amounts, axis=0, kind="stable")[:TOP])
        others = np.ones(len(amounts), dtype=np.bool_)
        others[chosen] = False
        return _Piece(
            n_subjects=len(amounts),
            n_seen=subjects_seen(panel, rows),
            n_readings=observed.sum(axis=0),
            sums=np.where(observed, readings, 0.0).sum(axis=0),
            is_whole=np.asarray(observed.all(axis=0)),
            top=amounts[chosen],
            who=np.unique(panel.subject_codes[rows])[chosen],
            rest=amounts[others].sum(axis=0),
        )


def _concluded(scope: SpreadScope, own: Mapping[int, _Piece], size: int, share: float) -> SpreadScope:
    """The figures; or the scope with what must be asked again, without subjects."""
    pieces = list(own.values())
    seen = np.sum([piece.n_seen for piece in pieces], axis=0)
    published = seen >= size
    if scope.published is None and not published.all():
        return SpreadScope(scope.first, withheld=scope.withheld, published=published)
    if scope.published is not None and not np.array_equal(published, scope.published):
        return SpreadScope(scope.first, withheld=scope.withheld, published=published)
    who = [(number, int(code)) for number, piece in own.items() for code in piece.who]
    top, rest = np.concatenate([piece.top for piece in pieces]), np.sum([piece.rest for piece in pieces], axis=0)
    gone = [who[at] for at in above_limit(top, rest, share, TOP).tolist()]
    if gone:
        withheld = {
            number: (*scope.withheld.get(number, ()), *(code for shard, code in gone if shard == number))
            for number in own
        }
        return SpreadScope(scope.first, withheld=withheld, published=scope.published)
    n_subjects = sum(piece.n_subjects for piece in pieces)
    if n_subjects < size:
        raise ParameterError(
            f"A value with many subjects has fewer than size={size} left without those who have more than "
            f"{share:g} of its total. Lower size, or raise share."
        )
    counts = np.sum([piece.n_readings for piece in pieces], axis=0)
    sums = np.sum([piece.sums for piece in pieces], axis=0)
    means = np.where(published, sums / np.maximum(counts, 1), np.nan)
    is_whole = np.all([piece.is_whole for piece in pieces], axis=0)
    return SpreadScope(
        scope.first, n_subjects, means, np.where(published & is_whole, sums, np.nan), scope.withheld, published
    )
