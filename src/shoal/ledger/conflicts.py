"""Whether releases of the same subjects break a promise together, and how that is reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import GuaranteeNotMetError
from shoal.ledger.entries import LedgerEntry
from shoal.ledger.groups import GroupMembership
from shoal.ledger.instants import InstantGroups, judge_together
from shoal.ledger.intersection import MOST_TRAILS, Hashes, TooManyTrailsError, cells_of, made_small
from shoal.model.verdict import Outcome

_SHOWN = 5
"""Largest number of positions that a refusal names."""
_WORDS = ("crowds", "subgroups of one pattern")
_GROWING = "as a growing panel from the first period on (shoal grow)"
_TOO_MANY = f"subjects have several series in several groups, more than {MOST_TRAILS} combinations over all releases"


def refuse_together(earlier: Sequence[GroupMembership], added: GroupMembership) -> None:
    """Raise if a release breaks a promise together with earlier ones; see `intersection`.

    Judges the crowds of groups, and the crowds of everything published, which are smaller for (k, P). Releases under
    (n, l, k) are judged together instant by instant, see `instants`. Releases without lasting groups, such as events,
    cannot be judged: they are refused if there is any other release of the same subjects.
    """
    related = [n for n, other in enumerate(earlier, start=1) if _share(other, added)]
    exchanged = [f"this one and release {n}: {why}" for n in related if (why := _exchanged(earlier[n - 1], added))]
    group = _by_instants([*earlier, added], len(earlier))
    if related and group is not None and not exchanged:
        found = judge_together(group)
        if found.broken:
            raise GuaranteeNotMetError(
                f"Together with {len(group) - 1} earlier release(s) of the same subjects this one reveals too much: "
                f"{found.broken}. Publish both periods as one release, or other subjects. Nothing was written."
            )
        if found.unknown:
            raise _not_judged(related, found.unknown)
        return
    why_not = [f"this one: {added.why_not}"] if added.why_not else []
    why_not += [f"release {n}: {why}" for n in related if (why := earlier[n - 1].why_not)]
    why_not += exchanged
    if related and why_not:
        raise _not_judged(related, why_not[0])
    for place, layer in enumerate(added.layers or ()):
        try:
            cells, small = made_small([other.layers[place] for other in earlier if other.layers is not None], layer)
        except TooManyTrailsError:
            raise _not_judged(related, _TOO_MANY) from None
        if not small.any():
            continue
        worst = int(np.where(small, cells.sizes, np.iinfo(np.int64).max).argmin())
        raise GuaranteeNotMetError(
            f"Together with {len(related)} earlier release(s) of the same subjects this one leaves {int(small.sum())} "
            f"subject(s) in {_WORDS[place]} that are too small: the smallest has {int(cells.sizes[worst])}, "
            f"{int(cells.promised[worst])} were promised{_where(added, cells.subjects[small])}. Publish both periods "
            f"as one release or {_GROWING}, keep the earlier groups (parameter within), or publish other subjects. "
            "Nothing was written."
        )


def _by_instants(members: Sequence[GroupMembership], place: int) -> list[InstantGroups] | None:
    """A release under (n, l, k) and all releases linked to it by common subjects; None if one of them is of another
    kind."""
    tied, new = {place}, [place]
    while new:
        one = new.pop()
        more = [n for n, other in enumerate(members) if n not in tied and _share(members[one], other)]
        tied.update(more)
        new += more
    instants = [members[n].instants for n in sorted(tied)]
    return None if any(one is None for one in instants) else [one for one in instants if one is not None]


def _share(one: GroupMembership, other: GroupMembership) -> bool:
    """Whether two releases share subjects, or series, even if under different subjects."""
    return bool(np.isin(one.names, other.names).any() or np.isin(one.subjects, other.subjects).any())


def _exchanged(one: GroupMembership, other: GroupMembership) -> str:
    """Why two releases cannot be judged by their members; empty if they can.

    Otherwise, forgetting the subject column the second time would publish the same people as if they were others.
    """
    _, here, there = np.intersect1d(one.names, other.names, return_indices=True)
    if (one.subjects[here] == other.subjects[there]).all():
        return ""
    return "a series that is in both has another subject in each; read both with the same id and subject columns"


def _not_judged(related: Sequence[int], why: str) -> GuaranteeNotMetError:
    first = f", the first is release {related[0]}" if related else ""
    return GuaranteeNotMetError(
        f"The ledger has {len(related)} earlier release(s) of the same subjects{first}, and cannot judge what they "
        f"reveal together ({why}). Publish everything about these subjects in one release, or their series "
        f"{_GROWING}, or drop those published before. Nothing was written."
    )


def _where(added: GroupMembership, small: Hashes) -> str:
    """Positions of the series concerned; for subjects that this release lacks, only their number."""
    assert added.positions is not None
    rows = sorted(added.positions[np.isin(added.subjects, small)].tolist())
    shown = ", ".join(str(position) for position in rows[:_SHOWN])
    positions = f"; series positions {shown}{', ...' if len(rows) > _SHOWN else ''}" if rows else ""
    gone = int((~np.isin(small, added.subjects)).sum())
    return positions + (f"; {gone} of them are in earlier releases only" if gone else "")


@dataclass(frozen=True)
class LedgerVerdict:
    """What all releases of a ledger reveal together.

    Parameters
    ----------
    outcome
        "holds": no promise is broken by any combination of them. "does not hold": one is. "not judged": nothing is
        known to be broken, and something cannot be judged.
    smallest, promised
        The smallest crowd, and what its subjects were promised; None if nothing can be judged.
    findings
        What is broken.
    not_judged
        What cannot be judged, with the reason and the way out.
    """

    outcome: Outcome
    smallest: int | None
    promised: int | None
    findings: tuple[str, ...]
    not_judged: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether everything was judged, and holds."""
        return self.outcome == "holds"


def judge_entries(entries: Sequence[LedgerEntry]) -> LedgerVerdict:
    """Judge everything on record, as `publish` would."""
    members = [entry.members.unpacked() for entry in entries]
    findings, not_judged = _inferred(members)
    not_judged += _unjudged(members)
    nearest: tuple[int, int] | None = None
    for place, words in enumerate(_WORDS):
        layers = [(n, m.layers[place]) for n, m in enumerate(members) if m.layers is not None]
        try:
            cells = cells_of([layer for _, layer in layers])
        except TooManyTrailsError:
            not_judged.append(f"{_TOO_MANY}. Publish nothing more about them")
            break
        if not len(cells.sizes):
            continue
        # The one closest to breaking, or the worst broken one.
        worst = int((cells.sizes - cells.promised).argmin())
        size, promised = int(cells.sizes[worst]), int(cells.promised[worst])
        if nearest is None or size - promised < nearest[0] - nearest[1]:
            nearest = size, promised
        if cells.small.any():
            since = next(
                n for stop, (n, _) in enumerate(layers, 1) if cells_of([g for _, g in layers[:stop]]).small.any()
            )
            findings.append(
                f"together they leave {int(cells.small.sum())} subject(s) in {words} that are too small: the smallest "
                f"has {size}, {promised} were promised; since release {since + 1}. Withdraw that one if you still "
                "can, and publish nothing more about these subjects"
            )
    smallest, asked = nearest or (None, None)
    outcome: Outcome = "does not hold" if findings else "not judged" if not_judged else "holds"
    return LedgerVerdict(outcome, smallest, asked, tuple(findings), tuple(not_judged))


def _inferred(members: Sequence[GroupMembership]) -> tuple[list[str], list[str]]:
    """What releases under (n, l, k) break together, and what is unknown about them."""
    findings, not_judged = [], []
    for n, added in enumerate(members):
        group = None if added.instants is None else _by_instants(members[: n + 1], n)
        if group is None or _by_instants(members, n) is None:
            continue
        found = judge_together(group)
        if found.broken:
            findings.append(
                f"release {n + 1}, with those before it of the same subjects: {found.broken}. Withdraw it if you still "
                "can, and publish nothing more about these subjects"
            )
        elif found.unknown and len(group) > 1:
            not_judged.append(f"release {n + 1}: {found.unknown}. Publish nothing more about these subjects")
    return findings, not_judged


def _unjudged(members: Sequence[GroupMembership]) -> list[str]:
    """What cannot be judged, release by release, with the way out."""
    unjudged = []
    for n, added in enumerate(members):
        others = [m for m, other in enumerate(members) if m != n and _share(other, added)]
        why = "" if _by_instants(members, n) is not None else added.why_not
        exchanged = next((m for m in others if m < n and _exchanged(members[m], added)), None)
        if why and others:
            listed = ", ".join(str(m + 1) for m in others[:_SHOWN])
            unjudged.append(
                f"release {n + 1}: {why}, and some of its subjects are in release "
                f"{listed}{', ...' if len(others) > _SHOWN else ''} too. Withdraw it if you still can, and publish "
                "nothing more about these subjects"
            )
        elif why:
            unjudged.append(
                f"release {n + 1}: {why}. No other release of its subjects is on record, and none will pass; what it "
                "promises by itself is in its certificate"
            )
        elif exchanged is not None:
            unjudged.append(
                f"releases {exchanged + 1} and {n + 1}: {_exchanged(members[exchanged], added)}. Publish nothing more "
                "about these subjects"
            )
    return unjudged
