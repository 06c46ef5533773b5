"""How the ledger recognises a subject: by a keyed hash of its name in canonical spelling."""

from __future__ import annotations

import hmac
import unicodedata
from typing import Any

from shoal.model.names import WHOLE, text_of


def spellings_of(subject: Any) -> set[str]:
    """Texts under which lines of format 1, which took names as spelt, may have recorded a subject.

    The number of spaces is unknown: those it has now, none, or one after it.
    """
    text = text_of(subject)
    found = {str(subject), text, f"{text} ", unicodedata.normalize("NFD", text)}
    return found | {f"{text}.0"} if WHOLE.fullmatch(f"{text}.0") else found


def hash_subject(key: bytes, subject: Any) -> int:
    """The hash of a subject, whatever its spelling."""
    return hash_text(key, text_of(subject))


def hash_text(key: bytes, text: str) -> int:
    """64 bits of the HMAC-SHA256 of a text: without the key, nobody can test whose it is."""
    return int.from_bytes(hmac.digest(key, f"subject {text}".encode(), "sha256")[:8], "little")
