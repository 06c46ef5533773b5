"""(n, l, k)-anonymity over a sequence of releases of the same series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.guarantees.nlk_anonymity import WORK_LIMIT, NLKAnonymity, known_and_others, published_labels
from shoal.guarantees.sequence_anonymity import named_panel
from shoal.model import Guarantee, Judged, Panel, Verdict


@dataclass(frozen=True)
class SequenceNLKAnonymity(Guarantee):
    """Someone who knows n values of a series, in whichever releases of a sequence, infers fewer than l - n others.

    The series of a sequence have one name each in all of its releases. Put these side by side: one row per name that is
    in any of them, one column per instant of each, and a mark of its own where a series is absent. This table is
    (n, l, k)-anonymous, see `NLKAnonymity`: known and inferred instants count over all releases together, and to be
    absent is a value like any other, so that someone absent is narrowed down to those absent at that instant.

    Each release is then (n, l, k)-anonymous by itself, for its instants are some of those of the table. A single
    release is a sequence of one. To check a sequence, all of its releases are needed: without those in which others
    were absent too, someone absent seems to be in a smaller crowd.

    A disjoint union of subjects keeps it, where no name is in two parts: candidates stay candidates, and the series
    that share a value with one, or are absent with one, can only become more.

    Parameters
    ----------
    n
        Instants that are known about a series, in all releases together. Larger is a stronger adversary.
    l
        Total number of instants, in all releases together, that must not become known, including known ones; above n.
        Smaller hides more.
    k
        Smallest number of subjects a value can be narrowed down to. Larger hides better.

    Examples
    --------
    A release whose groups of two hide everyone, as others share one of both readings. If the same groups come again,
    one reading of the first release leads to a group of two in the second.

    >>> day = Panel([[1.0, 5.0], [1.0, 6.0], [2.0, 5.0], [2.0, 6.0]])
    >>> guarantee = SequenceNLKAnonymity(n=1, l=2, k=3)
    >>> guarantee.check(day).holds
    True
    >>> guarantee.check([day, day]).witness
    {'series': 0, 'known': [0], 'inferred': [2], 'of release': 0}
    """

    name: ClassVar[str] = "sequence-nlk-anonymity"
    allows_small_groups: ClassVar[bool] = True
    of_sequence: ClassVar[bool] = True

    n: int
    l: int
    k: int

    def __post_init__(self) -> None:
        self.of_one_table  # noqa: B018 - refuses the impossible with its own message

    @property
    def of_one_table(self) -> NLKAnonymity:
        """What the releases side by side must be."""
        return NLKAnonymity(self.n, self.l, self.k)

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        known, others = known_and_others(self.n, self.l)
        return (
            f"Whoever knows {known} of a series, in whichever releases of the sequence, can narrow down {others} in "
            f"all of them to fewer than {self.k} subjects each."
        )

    def check(self, published: Judged | Sequence[Judged], limit: int = WORK_LIMIT) -> Verdict:
        """Search the releases side by side, exactly, as `NLKAnonymity` does; ids are the names.

        The witness names the series by its row in the release where it appears first, and known and inferred instants
        by their position over all releases.
        """
        releases = [named_panel(one) for one in (published if isinstance(published, Sequence) else [published])]
        if not releases:
            raise ParameterError("A sequence needs at least one release.")
        if len(releases) == 1:
            return self.of_one_table.check(releases[0], limit)
        first: dict[Any, tuple[int, int]] = {}
        owners: dict[Any, Any] = {}
        for number, release in enumerate(releases):
            names, labels = release.ids.tolist(), release.ids if release.subjects is None else release.subjects
            for row, (name, owner) in enumerate(zip(names, labels.tolist(), strict=True)):
                first.setdefault(name, (number, row))
                if owners.setdefault(name, owner) != owner:
                    note = "a series has another subject than in a release before"
                    witness = {"series": first[name][1], "of release": first[name][0]}
                    return Verdict("does not hold", None, int(self.l - self.n) - 1, witness, note)
        verdict = self.of_one_table.check(_side_by_side(releases, list(first), list(owners.values())), limit)
        if not isinstance(verdict.witness, dict):
            return verdict
        number, row = list(first.values())[verdict.witness["series"]]
        where = {"series": row, "of release": number}
        return Verdict(verdict.outcome, verdict.measured, verdict.required, {**verdict.witness, **where}, verdict.note)

    def _weakness(self, verdict: Verdict) -> tuple[float, ...]:
        return self.of_one_table._weakness(verdict)


def _side_by_side(releases: Sequence[Panel], names: list[Any], subjects: list[Any]) -> Panel:
    """The class of each series at each instant of each release, -1 where it is absent; with everything published of
    its attributes, which are known even if all known instants are in releases without them."""
    places = {name: place for place, name in enumerate(names)}
    columns = []
    attributes: dict[str, list[dict[str, None]]] = {}
    for release in releases:
        rows = [places[name] for name in release.ids.tolist()]
        own = np.full((len(names), release.n_instants), -1.0)
        own[rows] = published_labels(release)
        columns.append(own)
        for name, entries in release.attributes.items():
            told = attributes.setdefault(name, [{} for _ in names])
            for row, entry in zip(rows, entries.tolist(), strict=True):
                told[row][repr(entry)] = None
    told_of_all = {name: [", ".join(entries) for entries in told] for name, told in attributes.items()}
    return Panel(np.concatenate(columns, axis=1), subjects=subjects, attributes=told_of_all)
