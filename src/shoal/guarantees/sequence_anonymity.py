"""k-anonymity over a sequence of releases of the same series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees.crowds import crowd_sizes, published_classes, what_is_published
from shoal.guarantees.numbers import refuse_unless_whole
from shoal.model import Guarantee, Judged, Panel, Verdict

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Alike:
    """Which series were published alike in all releases so far: all that a check must remember about them.

    Parameters
    ----------
    names
        Every name that was published, in the order in which they appeared.
    subjects
        The subject of each.
    classes
        A number for each, equal where the series were alike in every release.
    begins, rows
        The release in which each appeared first, from 0, and its row there.
    n_releases
        How many releases these are.
    changed
        The first name that came back with another subject, by position.
    """

    names: tuple[Any, ...] = ()
    subjects: tuple[Any, ...] = ()
    classes: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    begins: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    rows: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_releases: int = 0
    changed: int | None = None

    def and_then(self, release: Panel) -> Alike:
        """The same after one more release, whose ids are the names of its series."""
        named = release.ids.tolist()
        labels = named if release.subjects is None else release.subjects.tolist()
        places = {name: place for place, name in enumerate(self.names)}
        new = [row for row, name in enumerate(named) if name not in places]
        places |= {named[row]: len(self.names) + n for n, row in enumerate(new)}
        names = (*self.names, *(named[row] for row in new))
        subjects = (*self.subjects, *(labels[row] for row in new))
        place_of_row = np.array([places[name] for name in named], dtype=np.int64)
        changed = [place for place, own in zip(place_of_row.tolist(), labels, strict=True) if subjects[place] != own]
        # Newcomers were absent in all releases before, all alike.
        before = np.concatenate([self.classes, np.full(len(new), int(self.classes.max(initial=-1)) + 1)])
        now = np.zeros(len(names), dtype=np.int64)  # 0: absent
        now[place_of_row] = published_classes(release) + 1
        together = before * (int(now.max()) + 1) + now
        return Alike(
            names,
            subjects,
            np.unique(together, return_inverse=True)[1].reshape(-1).astype(np.int64),
            np.concatenate([self.begins, np.full(len(new), self.n_releases)]),
            np.concatenate([self.rows, np.array(new, dtype=np.int64)]),
            self.n_releases + 1,
            min(changed, default=None) if self.changed is None else self.changed,
        )

    def verdict(self, k: int) -> Verdict:
        """Count the crowd of every series over all releases."""
        numbers: dict[Any, int] = {}
        codes = np.array([numbers.setdefault(label, len(numbers)) for label in self.subjects], dtype=np.int64)
        sizes = crowd_sizes(self.classes, codes)
        weakest = int(sizes.argmin())
        if self.changed is not None:
            note = "a series has another subject than in a release before"
            return Verdict("does not hold", int(sizes[weakest]), int(k), self._witness(self.changed), note)
        holds = bool(sizes[weakest] >= k)
        return Verdict.of(holds, int(sizes[weakest]), int(k), None if holds else self._witness(weakest))

    def _witness(self, place: int) -> int | dict[str, Any]:
        row = int(self.rows[place])
        return row if self.n_releases == 1 else {"series": row, "of release": int(self.begins[place])}


@dataclass(frozen=True)
class SequenceAnonymity(Guarantee):
    """Over all releases of a sequence every series equals those of at least k - 1 other subjects.

    The series of a sequence have one name each in all of its releases. Two series are alike when in every release
    both have the same values, bit for bit, at all instants and in all channels, or both are absent; missing equals only
    missing, absent only absent. For every series there are series of at least k different subjects, itself included,
    that are alike. So no comparison of releases (who is in one group then and another now, who came and who left) leads
    to fewer than k. If subjects are not known, each series counts as its own subject.

    It then also holds for any choice of releases, for someone who has seen only some: series that are alike in
    all of them are alike in some of them, so that crowds only grow. A single release is a sequence of one.

    A disjoint union of subjects keeps it, where no name is in two parts: series that were alike still are, so crowds
    can only grow.

    Parameters
    ----------
    k
        Smallest crowd. Larger hides better.

    Examples
    --------
    Two releases, each in groups of two, that together leave everyone alone:

    >>> from shoal import Panel
    >>> monday, tuesday = Panel([[1.0], [1.0], [5.0], [5.0]]), Panel([[2.0], [6.0], [2.0], [6.0]])
    >>> SequenceAnonymity(2).check(monday).holds, SequenceAnonymity(2).check(tuesday).holds
    (True, True)
    >>> SequenceAnonymity(2).check([monday, tuesday])
    Verdict(outcome='does not hold', measured=1, required=2, witness={'series': 0, 'of release': 0}, note='')
    """

    name: ClassVar[str] = "sequence-anonymity"
    of_sequence: ClassVar[bool] = True

    k: int

    def __post_init__(self) -> None:
        refuse_unless_whole("k", self.k, 2, "a crowd of one hides nobody.")

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        return (
            "Over all releases of the sequence, every published series is exactly the same as series of at least "
            f"{self.k - 1} other subjects, and absent where they are."
        )

    def check(self, published: Judged | Sequence[Judged]) -> Verdict:
        """Count the crowd of every series over all releases, in any order; ids are the names.

        The witness is the row of the smallest crowd, with several releases in the one where that series appears first.
        """
        releases = list(published) if isinstance(published, Sequence) else [published]
        if not releases:
            raise ParameterError("A sequence needs at least one release.")
        alike = Alike()
        for release in releases:
            alike = alike.and_then(named_panel(release))
        return alike.verdict(self.k)


def named_panel(published: Judged) -> Panel:
    """The published series, under their names."""
    found = what_is_published(published)
    if not isinstance(found, Panel):
        raise ParameterError(
            "A sequence is judged by the names of its series, which profiles and envelopes lack. Publish values."
        )
    return found
