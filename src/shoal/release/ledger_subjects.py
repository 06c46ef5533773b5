"""By what the ledger knows a subject again: a keyed hash of its name, however the name is written.

The same person comes as 17 from one table and as 17.0 from the next, because a single gap in the column makes numbers
floating; with a space behind the name, or with an accent that is a character of its own. If these were others, two
releases that break together would pass. Capitals and zeros in front do count: in many registers A7 is not a7, nor 07
the same as 7.
"""

from __future__ import annotations

import hmac
import re
import unicodedata
from decimal import Decimal
from typing import Any

import numpy as np

_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0")


def text_of(subject: Any) -> str:
    """The text of a subject: composed (NFC), without spaces at its ends, a whole number without decimals.

    Examples
    --------
    >>> text_of(17), text_of(17.0), text_of("17.0"), text_of(" 17 ")
    ('17', '17', '17', '17')
    >>> text_of("Zoe\u0308") == text_of("Zo\u00eb")
    True
    >>> text_of("017"), text_of("a7"), text_of("A7"), text_of(17.5)
    ('017', 'a7', 'A7', '17.5')
    """
    if isinstance(subject, float | np.floating) and float(subject).is_integer():
        return str(int(subject))
    if isinstance(subject, Decimal) and subject.is_finite() and subject == subject.to_integral_value():
        return str(int(subject))
    text = unicodedata.normalize("NFC", str(subject)).strip()
    whole = _WHOLE.fullmatch(text)
    return str(int(whole[1])) if whole else text


def spellings_of(subject: Any) -> set[str]:
    """Texts under which lines of format 1, which took names as they were spelt, may have recorded a subject.

    How many spaces there were cannot be known: those it has now, none, or one behind it.
    """
    text = text_of(subject)
    found = {str(subject), text, f"{text} ", unicodedata.normalize("NFD", text)}
    return found | {f"{text}.0"} if _WHOLE.fullmatch(f"{text}.0") else found


def hash_subject(key: bytes, subject: Any) -> int:
    """The hash of a subject, whatever its spelling."""
    return hash_text(key, text_of(subject))


def hash_text(key: bytes, text: str) -> int:
    """64 bits of the HMAC-SHA256 of a text: without the key nobody can try out whose it is."""
    return int.from_bytes(hmac.digest(key, f"subject {text}".encode(), "sha256")[:8], "little")
