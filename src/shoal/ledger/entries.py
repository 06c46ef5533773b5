"""A line of the ledger: what it records of a release, and how damage is detected."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from shoal.files.format import check_format
from shoal.ledger.groups import GroupMembership
from shoal.ledger.instants import InstantGroups, Promise

Format = Literal[1, 2, 3, 4, 5, 6]
FORMAT: Format = 6
"""The current format."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PackedInstants(_Part):
    """The groups at each instant of a release under (n, l, k)-anonymity."""

    groups: str
    n: int
    l: int
    k: int
    within: float
    first: int
    last: int
    clock: str
    further: tuple[Promise, ...] = ()


class PackedMembers(_Part):
    """Group membership: hashes and random numbers, packed.

    Before format 3, each subject had one entry, and keyed names were not marked. Format 5 added the groups at each
    instant, format 6 several promises about them.
    """

    subjects: str
    groups: str | None
    subgroups: str | None
    k: int
    p: int
    why_not: str
    series: str | None = None
    keyed: bool = False
    instants: PackedInstants | None = None

    @staticmethod
    def packed(membership: GroupMembership) -> PackedMembers:
        """Eight bytes for each hash, four for each number."""
        return PackedMembers(
            subjects=_text(membership.subjects, "<u8"),
            groups=None if membership.groups is None else _text(membership.groups, "<u4"),
            subgroups=None if membership.subgroups is None else _text(membership.subgroups, "<u4"),
            k=membership.k,
            p=membership.p,
            why_not=membership.why_not,
            series=None if membership.series is None else _text(membership.series, "<u8"),
            keyed=membership.keyed,
            instants=None if membership.instants is None else _packed_instants(membership.instants),
        )

    def unpacked(self) -> GroupMembership:
        """The arrays again."""
        subjects = _array(self.subjects, "<u8").astype(np.uint64)
        return GroupMembership(
            subjects=subjects,
            groups=None if self.groups is None else _array(self.groups, "<u4").astype(np.int64),
            subgroups=None if self.subgroups is None else _array(self.subgroups, "<u4").astype(np.int64),
            k=self.k,
            p=self.p,
            why_not=self.why_not,
            series=None if self.series is None else _array(self.series, "<u8").astype(np.uint64),
            keyed=self.keyed,
            instants=None if self.instants is None else _instants(self.instants, subjects),
        )


_AS_THEY_ARE = ("n", "l", "k", "within", "first", "last", "clock", "further")
"""What is packed of groups at each instant without a change."""


def _packed_instants(instants: InstantGroups) -> PackedInstants:
    plain: dict[str, Any] = {name: getattr(instants, name) for name in _AS_THEY_ARE}
    return PackedInstants(groups=_text(instants.groups, "<u4"), **plain)


def _instants(packed: PackedInstants, subjects: NDArray[np.uint64]) -> InstantGroups:
    groups = _array(packed.groups, "<u4").astype(np.int64).reshape(len(subjects), -1)
    return InstantGroups(subjects, groups, **packed.model_dump(include=set(_AS_THEY_ARE)))


class Note(_Part):
    """A note of a release that is about to appear, written first.

    `before` is what the folder contained, `releases` how many the ledger had then.
    """

    format: Format = FORMAT
    folder: str
    before: dict[str, Any] | None
    releases: int
    members: PackedMembers

    def as_line(self) -> bytes:
        """JSON that ends with the SHA-256 of everything before it."""
        return _summed(self)

    @staticmethod
    def from_line(line: bytes) -> Note:
        """Parse a note; ValueError if it was changed, ReleaseError if a later version wrote it."""
        content = _parsed(line)
        if isinstance(content, dict) and "format" not in content:
            # In the time of format 1, notes had neither a format nor a checksum.
            content |= {"format": 1, "releases": 0}
        else:
            content = _checked(content)
            check_format(content.get("format"), FORMAT, "The ledger")
        note = Note.model_validate(content)
        note.members.unpacked()
        return note


class LedgerEntry(_Part):
    """A release: hashes and parameters, no data.

    `certificate` is the SHA-256 of its release.json, `files` those of the others; `key` identifies the key that the
    subjects are hashed with, without revealing it. Format 1 hashed subjects as spelt; since format 2,
    `model.names.text_of` normalises them, which for most names is the same. `chain`, since format 4, is the SHA-256 of
    all lines before this one: no single line can be removed, changed or moved.
    """

    format: Format = FORMAT
    recorded: str
    certificate: str
    files: dict[str, str]
    form: str
    method: str
    parameters: dict[str, Any]
    guarantees: tuple[dict[str, Any], ...]
    counts: dict[str, Any]
    time: dict[str, Any]
    key: str
    members: PackedMembers
    chain: str | None = None

    @staticmethod
    def of(certificate: dict[str, Any], digest: str, note: Note, key: bytes) -> LedgerEntry:
        """The entry of a release with this certificate."""
        return LedgerEntry(
            format=note.format,
            recorded=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            certificate=digest,
            files={name: part["sha256"] for name, part in certificate["files"].items()},
            form=certificate["form"],
            method=certificate["method"]["name"],
            parameters=certificate["method"]["parameters"],
            guarantees=tuple({"name": g["name"], "parameters": g["parameters"]} for g in certificate["guarantees"]),
            counts=certificate["counts"],
            time=certificate["time"],
            key=fingerprint(key),
            members=note.members,
        )

    def as_line(self) -> bytes:
        """One line of JSON that ends with the SHA-256 of everything before it."""
        return _summed(self)

    @staticmethod
    def from_line(line: bytes) -> LedgerEntry:
        """Parse a line; ValueError if it was changed, ReleaseError if a later version wrote it."""
        content = _checked(_parsed(line))
        check_format(content.get("format", FORMAT), FORMAT, "The ledger")
        entry = LedgerEntry.model_validate(content)
        entry.members.unpacked()
        return entry


def fingerprint(key: bytes) -> str:
    """Identifies a key without revealing it."""
    return hashlib.sha256(b"shoal ledger key " + key).hexdigest()[:16]


def _summed(part: _Part) -> bytes:
    content = part.model_dump(mode="json")
    return (json.dumps(content | {"sum": _sum(content)}, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply for a line") from None


def _checked(content: Any) -> dict[str, Any]:
    """The content without its checksum; ValueError if that does not match."""
    if not isinstance(content, dict) or content.pop("sum", None) != _sum(content):
        raise ValueError
    return content


def _sum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _text(numbers: NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers.astype(kind)).tobytes()).decode()


def _array(text: str, kind: str) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype=kind)
