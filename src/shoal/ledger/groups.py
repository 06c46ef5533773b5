"""The subjects that a candidate publishes, and their groups: what the ledger records, as hashes."""

from __future__ import annotations

import hmac
import secrets
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees import NLKAnonymity, SequenceNLKAnonymity
from shoal.guarantees.crowds import published_classes
from shoal.guarantees.kp_anonymity import envelope_classes, pattern_classes
from shoal.kernels.nlk_labels import instant_labels
from shoal.ledger.instants import MOST_CELLS, InstantGroups
from shoal.ledger.intersection import Hashes, Layer, Numbers
from shoal.model import Candidate, Envelopes, Events, EventsCandidate, Guarantee, Panel, Profiles, Role
from shoal.model.names import WHOLE, text_of


def spellings_of(subject: Any) -> set[str]:
    """Texts under which lines of format 1, which took names as spelt, may have recorded a subject.

    The number of spaces is unknown: those it has now, none, or one after it.
    """
    text = text_of(subject)
    spellings = {str(subject), text, f"{text} ", unicodedata.normalize("NFD", text)}
    return spellings | {f"{text}.0"} if WHOLE.fullmatch(f"{text}.0") else spellings


def hash_subject(key: bytes, subject: Any) -> int:
    """The hash of a subject, whatever its spelling."""
    return hash_text(key, text_of(subject))


def hash_text(key: bytes, text: str) -> int:
    """64 bits of the HMAC-SHA256 of a text: without the key, nobody can test whose it is."""
    return int.from_bytes(hmac.digest(key, f"subject {text}".encode(), "sha256")[:8], "little")


@dataclass(frozen=True, eq=False)
class GroupMembership:
    """The group membership of a release.

    Parameters
    ----------
    subjects
        For each published series, the hash of its subject.
    groups, subgroups
        The group of each: series published alike; for (k, P), series with the same envelope, and in `subgroups` those
        that also share their word. Random numbers. None if the ledger cannot judge the release.
    k, p
        The promised size of a group and of a subgroup.
    why_not
        Why the ledger cannot judge it; empty if it can.
    series
        For each series, its own hash; None if subjects have one series each, identified by the subject.
    keyed
        Whether pseudonyms are made with a key, so that anyone can follow a series from release to release.
    positions
        For each series, its position, for messages to the publisher; never written.
    instants
        The groups at each instant, of a release under (n, l, k)-anonymity whose subjects have one series each. The
        ledger judges it together with others of its kind.
    """

    subjects: Hashes
    groups: Numbers | None
    subgroups: Numbers | None
    k: int
    p: int
    why_not: str = ""
    series: Hashes | None = None
    keyed: bool = False
    positions: Numbers | None = None
    instants: InstantGroups | None = None

    @property
    def names(self) -> Hashes:
        """The hash that identifies each series."""
        return self.subjects if self.series is None else self.series

    @property
    def layers(self) -> tuple[Layer, Layer] | None:
        """The groups by envelope, and by everything published."""
        if self.groups is None or self.subgroups is None:
            return None
        return (
            Layer(self.subjects, self.groups, self.k, self.series, self.keyed),
            Layer(self.subjects, self.subgroups, self.p, self.series, self.keyed),
        )

    def renamed(self, names: Mapping[int, int]) -> GroupMembership:
        """The same membership under other hashes, if `names` has one that is unique; for subjects with one series."""
        hashes, taken = self.subjects.tolist(), set(self.subjects.tolist())
        for place, old in enumerate(hashes):
            if (new := names.get(old, old)) not in taken:
                hashes[place] = new
                taken.add(new)
        subjects = np.array(hashes, dtype=np.uint64)
        order = np.argsort(subjects)
        groups, subgroups = (None if g is None else g[order] for g in (self.groups, self.subgroups))
        return replace(self, subjects=subjects[order], groups=groups, subgroups=subgroups)


def membership_of(
    candidate: Candidate | EventsCandidate, guarantees: Sequence[Guarantee], key: bytes, *, keyed: bool = False
) -> GroupMembership:
    """The group membership of a candidate, according to what would be published, with keyed pseudonyms or not."""
    original = candidate.private.original
    if isinstance(candidate, EventsCandidate):
        assert isinstance(original, Events)
        return _of_events(original, key)
    assert isinstance(original, Panel)
    k, p, why_not = _promised(guarantees)
    series, groups, subgroups = _classes(candidate)
    labels = _labels(original)
    hashed = np.array([hash_subject(key, labels[row]) for row in series.tolist()], dtype=np.uint64)
    n_subjects = len(np.unique(hashed))
    if n_subjects != len(np.unique(original.subject_codes[series])):
        raise ParameterError(
            "Two subjects have the same text or hash; spaces at its ends, the .0 of a number and the encoding of an "
            "accent do not count. Give every subject a text of its own."
        )
    if not why_not and len(series) != n_subjects and any(g.parameters.get("per") == "series" for g in guarantees):
        why_not = "its crowds count series, not subjects"
    names = None if original.subjects is None and len(series) == n_subjects else _names(original, series, key)
    order = np.argsort(hashed if names is None else names)
    names = None if names is None else names[order]
    drawn = None if why_not else _by_chance(groups[order])
    further = None if why_not else _by_chance(subgroups[order])
    own = hashed[order]
    instants = _instants(candidate, guarantees, order, own) if why_not and len(own) == n_subjects else None
    return GroupMembership(own, drawn, further, k, p, why_not, names, keyed, series[order], instants)


def _instants(
    candidate: Candidate, guarantees: Sequence[Guarantee], order: Numbers, subjects: Hashes
) -> InstantGroups | None:
    """The groups at each instant, if all promises are (n, l, k) about values; series in this order."""
    published, promises = candidate.published, [one for one in guarantees if isinstance(one, NLKAnonymity)]
    if not isinstance(published, Panel) or not promises:
        return None
    if not all(isinstance(one, NLKAnonymity | SequenceNLKAnonymity) for one in guarantees):
        return None
    rows = np.flatnonzero(candidate.stands_for >= 0)[order]
    if published.attributes or any(one.per != "subject" for one in promises):
        return None
    if len(rows) * published.n_instants > MOST_CELLS:
        return None
    values = np.ascontiguousarray(published.values[rows]).reshape(len(rows), published.n_instants, -1)
    labels = instant_labels(values.view(np.uint64)).astype(np.int64)
    times = published.times.view(np.int64)
    promise, *further = ((int(one.n), int(one.l), int(one.k), float(one.within)) for one in promises)
    return InstantGroups(
        subjects,
        np.stack([_by_chance(column) for column in labels.T], axis=1),
        *promise,
        *(int(times.min()), int(times.max()), f"{published.times.dtype} {published.timezone or ''}".strip()),
        tuple(further),
    )


def older_hashes(candidate: Candidate | EventsCandidate, key: bytes) -> dict[int, int]:
    """For each hash under which a subject's exact spelling may have been recorded, its current hash."""
    current: dict[int, int] = {}
    for label in set(_labels(candidate.private.original)):
        today = hash_subject(key, label)
        current |= {hash_text(key, spelling): today for spelling in spellings_of(label)}
    return current


def _names(original: Panel, series: Numbers, key: bytes) -> Hashes:
    """The hash of each series; if several rows stand for one, as slices do, each has its own."""
    ids = original.ids.tolist()
    names = [hash_subject(key, ids[row]) for row in series.tolist()]
    counts = Counter(names)
    return np.array([name if counts[name] == 1 else secrets.randbits(64) for name in names], dtype=np.uint64)


def _labels(original: Panel | Events) -> list[Any]:
    """The name of the subject of each series or event."""
    if isinstance(original, Panel):
        return list((original.ids if original.subjects is None else original.subjects).tolist())
    columns = original.roles.columns(Role.IDENTIFIER)
    if not columns:
        raise ParameterError(
            "The ledger cannot tell whose events these are. Name the person's column with --id, or publish without a "
            "ledger."
        )
    return original.frame[columns[0]].to_list()


def _classes(candidate: Candidate) -> tuple[Numbers, Numbers, Numbers]:
    """The published series, the group of each, and its subgroup."""
    published = candidate.published
    if isinstance(published, Profiles):
        groups = candidate.private.groups
        series = np.flatnonzero(groups >= 0)  # others are withheld
        return series, groups[series], groups[series]
    if isinstance(published, Envelopes):
        classes = envelope_classes(published)
        both = classes, pattern_classes(published, classes)
    else:
        both = (published_classes(published),) * 2
    rows = np.flatnonzero(candidate.stands_for >= 0)  # fictive series are nobody's
    return candidate.stands_for[rows], both[0][rows], both[1][rows]


def _promised(guarantees: Sequence[Guarantee]) -> tuple[int, int, str]:
    """The promised crowd of a group and of a subgroup, and why there is none."""
    crowds = [guarantee.crowds for guarantee in guarantees if guarantee.crowds is not None]
    if not crowds:
        return 0, 0, f"{guarantees[0].name} promises no crowd for whole series"
    k, p = max(k for k, _ in crowds), max(p for _, p in crowds)
    for one in guarantees:
        # Whoever is alike with so many in everything is alike with them at each instant.
        if isinstance(one, NLKAnonymity | SequenceNLKAnonymity) and one.k > min(k, p):
            return 0, 0, f"{one.name} promises more subjects than are published alike"
    return k, p, ""


def _of_events(original: Events, key: bytes) -> GroupMembership:
    hashed = np.array([hash_subject(key, label) for label in _labels(original)], dtype=np.uint64)
    subjects, first = np.unique(hashed, return_index=True)
    return GroupMembership(
        subjects, None, None, 0, 0, "events are grouped separately in each snapshot", positions=first
    )


def _by_chance(groups: Numbers) -> Numbers:
    """The same groups under random numbers from the operating system."""
    found, own = np.unique(groups, return_inverse=True)
    drawn = np.random.default_rng(secrets.randbits(128)).permutation(len(found))
    numbers: NDArray[np.int64] = drawn[own.reshape(-1)]
    return numbers
