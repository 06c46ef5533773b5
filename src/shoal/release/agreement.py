"""A copy for one recipient: the text of the agreement, and names and a row order that no other copy has.

The mark is in what every release has anyway: the pseudonyms, and the row order that follows from them:

    key of a recipient = HMAC-SHA256(key in the private folder, "recipient" and the recipient's name)
    pseudonym          = HMAC-SHA256(key of the recipient, salt of the release and identifier)

The salt is fresh for each release; keyed pseudonyms have none, so that anyone who holds two copies of one recipient can
join them.

So two recipients' copies share no pseudonym and have unrelated row orders, without any value being changed. The
recipient's name appears in the agreement and in the private folder, nowhere else.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

import jinja2
import numpy as np

from shoal.errors import ParameterError
from shoal.model.sentence import said
from shoal.release.certificate import AGREEMENT_FILE, Certificate
from shoal.release.facts import Facts
from shoal.release.sentences import MAY_CONCLUDE, MAY_NOT_CONCLUDE, WHO_CAN_CHECK

_LONGEST = 500


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The recipient of a release, its purpose, and its last day of use.

    Parameters
    ----------
    recipient
        Who receives it. The mark of the copy follows from this name, letter by letter.
    purpose
        What it may be used for.
    expires
        The last day of its use.
    contact
        Whom the recipient informs if something goes wrong.

    Examples
    --------
    >>> Agreement(recipient="Institute", purpose="load forecasts", expires=date(2027, 6, 30)).recipient
    'Institute'
    """

    recipient: str
    purpose: str
    expires: date
    contact: str | None = None

    def __post_init__(self) -> None:
        for name in ("recipient", "purpose", "contact"):
            text = getattr(self, name)
            if name == "contact" and text is None:
                continue
            if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST or not text.isprintable():
                raise ParameterError(f"{name} of an agreement must be one line of text, at most {_LONGEST} characters.")
        if not isinstance(self.expires, date):
            raise ParameterError("expires of an agreement must be a date, such as 2027-06-30.")


def recipient_key(key: bytes, recipient: str, salt: bytes = b"") -> bytes:
    """The key of a recipient's pseudonyms; another salt gives other ones.

    Examples
    --------
    >>> recipient_key(b"k" * 32, "a") == recipient_key(b"k" * 32, "b")
    False
    """
    derived = hmac.new(key, b"recipient\0" + recipient.encode(), hashlib.sha256).digest()
    return hmac.new(derived, b"release\0" + salt, hashlib.sha256).digest() if salt else derived


def new_salt(insecure_seed: int | None) -> bytes:
    """Keeps two releases to one recipient from being joined by name; from a seed for tests only."""
    return secrets.token_bytes(16) if insecure_seed is None else np.random.default_rng(insecure_seed).bytes(16)


def agreement_text(agreement: Agreement, certificate: Certificate) -> str:
    """The text of the agreement, filled in from its terms and from the certificate."""
    counts, time = certificate.counts, certificate.time
    data_file = next(name for name in certificate.files if name.startswith("data."))
    facts = Facts(certificate.as_dict())
    return _template().render(
        recipient=_plain(agreement.recipient),
        purpose=_plain(agreement.purpose),
        contact=_plain(agreement.contact or "the person who handed over this release"),
        expires=agreement.expires.isoformat(),
        data_file=data_file,
        data_sha256=certificate.files[data_file].sha256,
        content=f"{counts.series} series of {counts.subjects} subjects in {counts.groups} groups, {time.first} to "
        f"{time.last}, made by {certificate.method.name}. What is promised about them:",
        guarantees=[
            {
                "name": part["name"],
                "statement": part["statement"],
                "checked": " ".join(said(WHO_CAN_CHECK, facts.about(part))),
            }
            for part in facts.guarantees
        ],
        may=said(MAY_CONCLUDE, facts),
        may_not=said(MAY_NOT_CONCLUDE, facts),
    )


def write_agreement(agreement: Agreement, certificate: Certificate, folder: Path) -> Path:
    """Write the text next to the data."""
    path = folder / AGREEMENT_FILE
    path.write_text(agreement_text(agreement, certificate), encoding="utf-8")
    return path


@cache
def _template() -> jinja2.Template:
    place = jinja2.Environment(
        loader=jinja2.PackageLoader("shoal.release"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown for people; what comes from outside goes through _plain
    )
    return place.get_template("agreement.md.j2")


def _plain(text: str) -> str:
    """A line that Markdown shows as plain text."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#" else letter for letter in text)
