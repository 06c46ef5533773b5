"""How a release is written, apart from what is in it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from shoal.errors import ParameterError
from shoal.model import Guarantee
from shoal.release.agreement import Agreement
from shoal.release.certificate import ApprovalPart
from shoal.release.files import FileFormat
from shoal.release.lint import check_accepted
from shoal.release.shapes import AsShape
from shoal.release.signature import check_signing_key
from shoal.release.suppression import LIMIT, check_suppression_limit

LONGEST_LINE = 200
"""Largest length of a title, a publisher or a purpose: the head of a page has no room for more."""


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions:
    """What a publisher decides about a release.

    Parameters
    ----------
    require
        Guarantees in addition to those the method aims at, for example `AggregateRule()`.
    format
        "parquet", or "csv" for readers without a Parquet library.
    pseudonyms
        "random": fresh names and a fresh row order each time. "keyed": the same series keeps its name in every
        release made with the key kept in `private`; anyone can join such releases, so think before you use it.
    private
        A folder for what must stay with you: who is who, group labels, the key. Without it, they are discarded.
    overwrite
        Replace an earlier release in that folder.
    insecure_seed
        Repeatable pseudonyms, for tests only; the certificate says so.
    risk_limit
        The limit for every attack. A candidate that aims at no guarantee is published only below it.
    suppression_limit
        The largest share of the events, or of the series, that the method may leave out; above it nothing is written.
    accept
        Names of findings of the side-channel lint that do not stop the release.
    shape
        Also write values in another shape, next to the long table: "wide", a column per series; "row-per-series";
        "day-rows", a row per series and day; or "same", the shape of the table they were read from.
    agreement
        The recipient: a copy for one recipient, with the text of the agreement and a mark of its own. Needs `private`.
    title, publisher, purpose
        Title of the release, who publishes it and for what purpose: the head of its certificate and report. One line of
        text each; anyone who has the release can read them.
    date
        The publication date. None by default, so that the same data give the same bytes.
    approval
        Who approved it, and when.
    sign
        The publisher's private key, an Ed25519 key in PEM, used to sign the certificate.
    """

    require: Sequence[Guarantee] = ()
    format: FileFormat = "parquet"
    pseudonyms: Literal["random", "keyed"] = "random"
    private: str | Path | None = None
    overwrite: bool = False
    insecure_seed: int | None = None
    risk_limit: float | None = None
    suppression_limit: float = LIMIT
    accept: Sequence[str] = ()
    shape: AsShape = "long"
    agreement: Agreement | None = None
    title: str | None = None
    publisher: str | None = None
    purpose: str | None = None
    date: dt.date | None = None
    approval: ApprovalPart | None = None
    sign: str | Path | None = None

    def __post_init__(self) -> None:
        if self.format not in ("parquet", "csv"):
            raise ParameterError("format must be 'parquet' or 'csv'.")
        if self.shape not in get_args(AsShape):
            raise ParameterError(f"shape must be one of: {', '.join(get_args(AsShape))}.")
        if self.pseudonyms not in ("random", "keyed"):
            raise ParameterError("pseudonyms must be 'random' or 'keyed'.")
        if self.pseudonyms == "keyed" and self.private is None:
            raise ParameterError("Keyed pseudonyms need a private folder for their key: give --private DIR.")
        if self.agreement is not None and self.private is None:
            raise ParameterError(
                "A copy for one recipient needs a private folder to recognise it later: give --private DIR."
            )
        for name in ("title", "publisher", "purpose"):
            if getattr(self, name) is not None and not is_line(getattr(self, name)):
                raise ParameterError(f"{name} must be one line of text, at most {LONGEST_LINE} characters.")
        if self.date is not None and type(self.date) is not dt.date:
            raise ParameterError("date must be a day, such as 2026-11-16.")
        if self.sign is not None:
            check_signing_key(Path(self.sign))
        check_accepted(self.accept)
        check_suppression_limit(self.suppression_limit)


def is_line(text: object) -> bool:
    """Whether it is a line of text that fits the head of a page."""
    return isinstance(text, str) and bool(text.strip()) and len(text) <= LONGEST_LINE and text.isprintable()
