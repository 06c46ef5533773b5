"""l-diversity of published sensitive values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.guarantees.crowds import published_classes, what_is_published
from shoal.guarantees.event_groups import event_groups
from shoal.guarantees.kp_anonymity import pattern_classes
from shoal.guarantees.numbers import refuse_unless_whole
from shoal.model import Envelopes, EventsCandidate, EventTables, Guarantee, Judged, Profiles, Verdict
from shoal.model.columns import missing_entries, plain_column
from shoal.model.names import value_of

_DIGITS = 10_000  # the measured figure is cut to four decimals, never rounded up


@dataclass(frozen=True)
class LDiversity(Guarantee):
    """In every published group each sensitive value belongs to at most one in l members.

    A group is a set of series that nobody can distinguish: those with the same envelope, level and word, or the same
    values, bit for bit; for events, those of one bucket of a snapshot, or those with the same coarse quasi-identifiers
    in it. For every group G, every published sensitive column and every value v

        l * #{ i in G : v is published with i }  <=  #G

    counted in series, and if subjects have several series also in different subjects. Missing is a value like any
    other; because it may stand for any value, it also counts towards all of them. Columns are judged each on its own.

    A disjoint union of subjects keeps it: if groups merge, both sides add up, and the sums keep the order. For the same
    reason the share is at most 1/l in every candidate set, the union of groups left to an adversary who knows values or
    shapes of a target.

    Numbers are the same when they are equal; those that differ in the last digit are two values. Texts also count as
    one value if they differ only in capitals, in spaces at the ends or in invisible characters. If no sensitive column
    is published, there is nothing to judge.

    Parameters
    ----------
    l
        One value may belong to one in l members of its group at most. Larger hides better.

    Examples
    --------
    >>> from shoal import LDiversity, Panel
    >>> alike = [[1.0, 2.0]] * 4
    >>> LDiversity(2).check(Panel(alike, sensitive={"illness": ["flu", "flu", "cold", "none"]})).holds
    True
    >>> LDiversity(3).check(Panel(alike, sensitive={"illness": ["flu", "flu", "cold", "none"]})).measured
    2.0

    References
    ----------
    L. Shou, X. Shang, K. Chen, G. Chen, C. Zhang, "Supporting pattern-preserving anonymization for time-series data",
    2013, section 5.4.
    """

    name: ClassVar[str] = "l-diversity"

    l: int

    def __post_init__(self) -> None:
        refuse_unless_whole("l", self.l, 2, "with 1 a group may have one value only.")

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        return f"In every published group each sensitive value belongs to at most one in {self.l} members."

    def check(self, published: Judged) -> Verdict:
        """Count values in every group; measured is the smallest ratio of a group's size to its most frequent value."""
        if isinstance(published, EventsCandidate | EventTables):
            return self._judge_events(published if isinstance(published, EventTables) else published.published)
        found = what_is_published(published)
        if isinstance(found, Profiles) or not found.sensitive:
            return Verdict(
                "not judged", None, int(self.l), None, "no sensitive column is published, so there is none to judge"
            )
        classes = pattern_classes(found) if isinstance(found, Envelopes) else published_classes(found)
        verdicts = [self._judge(name, column, classes, found.subject_codes) for name, column in found.sensitive.items()]
        return verdicts[self.weakest(verdicts)]

    def _judge_events(self, tables: EventTables) -> Verdict:
        """The verdict on all groups of all snapshots; the witness is the first record of the worst."""
        groups = event_groups(tables)
        least = int((groups.sizes / groups.largest).argmin())
        holds = bool((groups.largest * int(self.l) <= groups.sizes).all())
        row = int(groups.rows[least])
        measured = int(groups.sizes[least]) * _DIGITS // int(groups.largest[least]) / _DIGITS
        if holds:
            return Verdict(
                "holds", measured, int(self.l), None, "size of a group over its most frequent value, at the least"
            )
        note = groups.note or "one sensitive value has too large a share of a group"
        return Verdict("does not hold", measured, int(self.l), row if row >= 0 else None, note)

    def _judge(
        self, name: str, column: NDArray[Any], classes: NDArray[np.int64], subjects: NDArray[np.int64]
    ) -> Verdict:
        """The verdict on one column."""
        groups, values = np.unique(classes, return_inverse=True)[1].reshape(-1), value_codes(column)
        ways = [np.arange(len(groups))]
        if len(np.unique(subjects)) < len(subjects):
            ways.append(subjects)
        found = [largest_counts(groups, values, members) for members in ways]
        sizes, largest = (np.concatenate(parts) for parts in zip(*found, strict=True))
        least = int((sizes / largest).argmin())
        size, most = int(sizes[least]), int(largest[least])
        holds = bool((largest * int(self.l) <= sizes).all())
        note = f"size of a group over its most frequent value, at the least; column {name!r}"
        if not holds:
            note = f"one value of column {name!r} has too large a share of a group"
        group = least % (int(groups.max()) + 1)
        witness = None if holds else _first_carrier(groups == group, values)
        return Verdict.of(holds, size * _DIGITS // most / _DIGITS, int(self.l), witness, note)


def largest_counts(
    groups: NDArray[np.int64], values: NDArray[np.int64], members: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each group, the number of different members, and the number with its most frequent value.

    Groups and members are numbers from 0; so are values, or -1 if missing, which is a value and may be any other.
    """
    n_groups = int(groups.max()) + 1
    pairs, pair = np.unique(groups * (int(members.max()) + 1) + members, return_inverse=True)
    pair = pair.reshape(-1)
    group_of = np.empty(len(pairs), dtype=np.int64)
    group_of[pair] = groups
    sizes = np.bincount(group_of, minlength=n_groups)
    known = values >= 0
    anything = np.bincount(pair[~known], minlength=len(pairs)) > 0
    sure = known & ~anything[pair]
    n_values = int(values.max()) + 2
    carriers = np.unique(pair[sure] * n_values + values[sure])
    counted, counts = np.unique(group_of[carriers // n_values] * n_values + carriers % n_values, return_counts=True)
    largest = np.zeros(n_groups, dtype=np.int64)
    np.maximum.at(largest, counted // n_values, counts)
    largest += np.bincount(group_of[anything], minlength=n_groups)
    return sizes.astype(np.int64), largest


def value_codes(column: NDArray[Any]) -> NDArray[np.int64]:
    """The value of each row as a number from 0; -1 if it is missing."""
    plain = plain_column(column)
    missing = missing_entries(plain)
    codes = np.full(len(plain), -1, dtype=np.int64)
    if plain.dtype.kind == "O":
        numbers: dict[str, int] = {}
        codes[~missing] = [numbers.setdefault(value_of(entry), len(numbers)) for entry in plain[~missing].tolist()]
    else:
        present = plain[~missing]
        # 0.0 and -0.0 are one value to a reader; distinguishing them would err towards "holds".
        codes[~missing] = np.unique(present + 0.0 if plain.dtype.kind == "f" else present, return_inverse=True)[1]
    return codes


def _first_carrier(inside: NDArray[np.bool_], values: NDArray[np.int64]) -> int:
    """The first row of a group that carries its most frequent value, or of one where all are missing."""
    rows = np.flatnonzero(inside)
    often = np.bincount(values[rows] + 1, minlength=2)[1:]
    return int(rows[(values[rows] == (often.argmax() if often.any() else -1)).argmax()])
