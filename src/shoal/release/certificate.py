"""What `release.json` says, and how it is protected against silent edits.

The certificate carries no path, and no date unless its publisher gives one, so that the same data, method and
pseudonyms give the same bytes. The seal is the SHA-256 of everything else in it: it reveals an edit, it does not prove
who wrote it; a signature does (`shoal.release.signature`).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from shoal.errors import ReleaseError
from shoal.files.format import refuse_later

FILE_NAME = "release.json"
AGREEMENT_FILE: Literal["AGREEMENT.md"] = "AGREEMENT.md"
FORMAT: Literal[1] = 1
"""The current format; verify reads every earlier one."""

LARGEST = 1 << 26
"""Largest size of a certificate, 64 MiB: one with 65 536 parts in two tables has 20."""

PUBLISHERS_WORDS = ("title", "publisher", "purpose", "date")
"""What a publisher calls a release: nothing in the folder can confirm it."""

FormName = Literal["values", "profiles", "scenarios", "envelopes", "events"]

GROUP_FORMS = ("profiles", "scenarios")
"""Forms with a row per group, which counts its subjects."""

# Counts that only one kind of release has.
_OF_SERIES = ("series", "subjects", "instants", "channels", "missing")
_OF_EVENTS = ("events", "snapshots", "suppressed")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    later: ClassVar[tuple[str, ...]] = ()
    """Fields that are not written where they do not apply: earlier certificates, which had none, keep their bytes."""

    @model_serializer(mode="wrap")
    def _without_the_unused(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in write(self).items() if name not in self.later or value}


class MethodPart(_Part):
    """The method."""

    name: str
    summary: str
    parameters: dict[str, Any]
    figures: dict[str, Any]


class VerdictPart(_Part):
    """The verdict of the gate."""

    holds: bool
    measured: float | int | None
    required: float | int
    witness: Any = None
    note: str = ""


class GuaranteePart(_Part):
    """A promise and its verdict."""

    name: str
    parameters: dict[str, Any]
    statement: str
    checked_by: Literal["anyone", "publisher"]
    verdict: VerdictPart


class CountsPart(_Part):
    """How much was published. Groups are series published alike throughout, or at an instant, then counted at each.

    For events, `events`, `snapshots` and `suppressed` replace the first five; fields that do not apply are not written.
    """

    series: int = 0
    subjects: int = 0
    instants: int = 0
    channels: int = 0
    missing: int = 0
    events: int | None = None
    snapshots: int | None = None
    suppressed: int | None = None
    grouped: Literal["series", "instants"] = "series"
    groups: int
    smallest_group: int
    largest_group: int
    group_sizes: dict[str, int]

    @model_serializer(mode="wrap")
    def _without_the_unused(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        others = _OF_SERIES if self.events is not None else _OF_EVENTS
        return {name: value for name, value in write(self).items() if name not in others}


class TimePart(_Part):
    """Which instants are covered: with a time zone, in local time with its offset; without one, as the clock showed."""

    first: str
    last: str
    step: str | None
    timezone: str | None


class InputPart(_Part):
    """The input, and the settings it was read with.

    The digests are HMAC-SHA256 of the SHA-256 of each file and of the panel as read, under a key in the publisher's
    private folder; without a key there are none.
    """

    kind: str
    sha256: tuple[str, ...]
    rows: int | None
    reading: dict[str, Any]
    panel_sha256: str | None


ColumnType = Literal["integer", "number", "boolean", "text"]


class EventColumnsPart(_Part):
    """How events were published, and the type of each column in the order of the tables, for readers of CSV."""

    publish: Literal["bucketised", "generalised"]
    quasi: tuple[str, ...]
    sensitive: str
    types: dict[str, str]


class ColumnsPart(_Part):
    """Which columns are published, and how many columns with a role are withheld. Only profiles and scenarios have
    bands. Only envelopes have pattern times, if their words cover other instants than the ranges, and the number of
    instants that words were formed over, if not all of them are published. Sensitive columns, and columns that groups
    do not cross, are in the table of attributes, with these types."""

    published: tuple[str, ...]
    channels: tuple[str, ...] = Field(min_length=1)
    bands: tuple[str, ...] = ()
    pattern_times: tuple[str, ...] = ()
    word_instants: int | None = None
    sensitive: dict[str, ColumnType] = {}
    attributes: dict[str, ColumnType] = {}
    withheld: int
    events: EventColumnsPart | None = None

    later = ("word_instants", "sensitive", "attributes", "events")


class FilePart(_Part):
    """A file of the release."""

    sha256: str
    bytes: int


class ScorePart(_Part):
    """A utility figure; an open end of the range is null."""

    value: float
    goal: Literal["higher", "lower"]
    range: tuple[float | None, float | None]
    meaning: str
    unit: str = ""

    later = ("unit",)


class AgreementPart(_Part):
    """That the release is for one recipient, and the last day of its use. Only the text names them."""

    file: Literal["AGREEMENT.md"] = AGREEMENT_FILE
    expires: dt.date


class ApprovalPart(_Part):
    """Who approved the release before it was written, and the day; the publisher's word, as its title is."""

    by: str
    on: dt.date
    reason: str = ""

    later = ("reason",)


class SignaturePart(_Part):
    """The publisher's signature: an Ed25519 public key and the signature, in hexadecimal."""

    key: str = Field(pattern="^[0-9a-f]{64}$")
    value: str = Field(pattern="^[0-9a-f]{128}$")


class StreamPart(_Part):
    """That the events are in files of one snapshot each, which a table names: the number of the first, from 1, how many
    there are, empty ones with them, and whether more may come."""

    file: Literal["snapshots.ndjson"] = "snapshots.ndjson"
    first: int
    snapshots: int
    finished: bool


class Certificate(_Part):
    """The content of `release.json`."""

    shoal: str
    format: Literal[1] = FORMAT
    form: FormName = "values"
    method: MethodPart
    guarantees: tuple[GuaranteePart, ...]
    counts: CountsPart
    time: TimePart
    input: InputPart
    columns: ColumnsPart
    pseudonyms: Literal["random", "keyed", "insecure"]
    files: dict[str, FilePart]
    utility: dict[str, ScorePart]
    risk: dict[str, Any]
    figures: dict[str, Any]
    versions: dict[str, str]
    pseudonyms_note: str = ""
    accepted: tuple[str, ...] = ()
    agreement: AgreementPart | None = None
    title: str = ""
    publisher: str = ""
    purpose: str = ""
    date: dt.date | None = None
    approval: ApprovalPart | None = None
    signature: SignaturePart | None = None
    stream: StreamPart | None = None
    seal: str = ""

    later = ("pseudonyms_note", "accepted", "agreement", "approval", "signature", "stream", *PUBLISHERS_WORDS)

    def sealed(self) -> Certificate:
        """The same certificate with its seal set."""
        return self.model_copy(update={"seal": self._digest()})

    def is_sealed(self) -> bool:
        """Whether nothing has changed since it was sealed."""
        return self.seal == self._digest()

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        plain: dict[str, Any] = self.model_dump(mode="json")
        return plain

    def as_bytes(self) -> bytes:
        """The one way a certificate is written."""
        return (json.dumps(self.as_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()

    def _digest(self) -> str:
        return hashlib.sha256(self.model_copy(update={"seal": ""}).as_bytes()).hexdigest()


def read_certificate(folder: Path) -> Certificate | None:
    """The certificate of a folder, or None if its bytes are not what Shoal wrote."""
    path = folder / FILE_NAME
    if path.stat().st_size > LARGEST:
        raise ReleaseError(f"{FILE_NAME} has more than {LARGEST} bytes, too many for a certificate.")
    content = path.read_bytes()
    try:
        certificate = Certificate.model_validate_json(content)
        # Numbers that JSON does not have, or that are too long to be written, cannot be sealed.
        same = certificate.is_sealed() and certificate.as_bytes() == content
    except (ValueError, RecursionError):
        refuse_later(content, FORMAT, FILE_NAME)
        return None
    return certificate if same else None


def digest_bytes(content: bytes) -> FilePart:
    """SHA-256 and size of what a file holds."""
    return FilePart(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))


def digest_file(path: Path) -> FilePart:
    """SHA-256 and size of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return FilePart(sha256=digest, bytes=path.stat().st_size)
