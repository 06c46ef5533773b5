"""Whether releases of the same subjects break a promise together, and how that is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import GuaranteeNotMetError
from shoal.release.intersection import Hashes, cells_of, made_small
from shoal.release.ledger_entries import LedgerEntry
from shoal.release.ledger_groups import Membership

_SHOWN = 5
"""Positions that a refusal names at most."""
_WORDS = ("crowds", "subgroups of one pattern")


def refuse_together(earlier: Sequence[Membership], added: Membership) -> None:
    """Raise where a release breaks, together with earlier ones, what was promised; see `intersection`.

    The crowds of groups are judged, and those of everything that is published, which are smaller for (k, P). What has
    no groups that last, such as (n, l, k) and events, cannot be judged: it is refused beside any other release of the
    same subjects.
    """
    related = [n for n, other in enumerate(earlier, start=1) if np.isin(other.subjects, added.subjects).any()]
    why_not = [f"this one: {added.why_not}"] if added.why_not else []
    why_not += [f"release {n}: {earlier[n - 1].why_not}" for n in related if earlier[n - 1].why_not]
    if related and why_not:
        raise GuaranteeNotMetError(
            f"The ledger has {len(related)} earlier release(s) of the same subjects, the first is release "
            f"{related[0]}, and cannot judge what they tell together ({why_not[0]}). Publish everything about these "
            "subjects in one release, or leave out those published before. Nothing was written."
        )
    for place, layer in enumerate(added.layers or ()):
        cells, small = made_small([other.layers[place] for other in earlier if other.layers is not None], layer)
        if not small.any():
            continue
        worst = int(np.where(small, cells.sizes, np.iinfo(np.int64).max).argmin())
        raise GuaranteeNotMetError(
            f"Together with {len(related)} earlier release(s) of the same subjects this one leaves {int(small.sum())} "
            f"subject(s) in {_WORDS[place]} that are too small: the smallest has {int(cells.sizes[worst])}, "
            f"{int(cells.promised[worst])} were promised{_where(added, cells.subjects[small])}. Publish both periods "
            "as one release, keep the earlier groups (parameter within), or publish other subjects. Nothing "
            "was written."
        )


def _where(added: Membership, small: Hashes) -> str:
    """Positions of the series concerned; of subjects that this release lacks only how many they are."""
    assert added.series is not None
    found = sorted(added.series[np.isin(added.subjects, small)].tolist())
    shown = ", ".join(str(position) for position in found[:_SHOWN])
    positions = f"; series positions {shown}{', ...' if len(found) > _SHOWN else ''}" if found else ""
    gone = len(small) - len(found)
    return positions + (f"; {gone} of them are in earlier releases only" if gone else "")


@dataclass(frozen=True)
class LedgerVerdict:
    """What all releases of a ledger tell together.

    Parameters
    ----------
    holds
        No promise is broken by any combination of them.
    smallest, promised
        The smallest cell, and what its subjects were promised; None where nothing can be judged.
    findings
        What is broken; empty when it holds.
    """

    holds: bool
    smallest: int | None
    promised: int | None
    findings: tuple[str, ...]


def judge_entries(entries: Sequence[LedgerEntry]) -> LedgerVerdict:
    """Judge everything that is recorded, as `publish` would."""
    members = [entry.members.unpacked() for entry in entries]
    findings = []
    for n, added in enumerate(members):
        together = (m for m in range(n) if np.isin(members[m].subjects, added.subjects).any())
        unjudged = next((m for m in together if members[m].why_not or added.why_not), None)
        if unjudged is not None:
            findings.append(f"releases {unjudged + 1} and {n + 1} share subjects, and what they tell cannot be judged")
    nearest: tuple[int, int] | None = None
    for place, words in enumerate(_WORDS):
        layers = [(n, m.layers[place]) for n, m in enumerate(members) if m.layers is not None]
        cells = cells_of([layer for _, layer in layers])
        if not len(cells.sizes):
            continue
        # The nearest to breaking, or the worst that is broken.
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
                f"has {size}, {promised} were promised; since release {since + 1}"
            )
    smallest, asked = nearest or (None, None)
    return LedgerVerdict(not findings, smallest, asked, tuple(findings))
