"""Names from a secret key: the same name for the same key and identifier, wherever it is computed.

    name(key, identifier) = the first 64 bits of HMAC-SHA256(key, identifier), in hexadecimal

Anyone with the key and a list of identifiers can undo it; without the key nobody can. But names are equal for equal
keys, so anyone who holds two releases made with one key can join them, series by series, without it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import Any

NAME_LENGTH = 16
"""Hexadecimal digits: 64 bits, a collision among a million series has odds of 1 in 37 million."""


JOINABLE = (
    "Releases made with the same key give a series the same name: anyone who holds two of them can join them, series "
    "by series."
)
"""Stated for every release with keyed names, except copies for one recipient."""
JOINABLE_COPIES = (
    "Copies made for the same recipient with the same key give a series the same name: anyone who holds two of them "
    "can join them, series by series."
)
"""Stated for a copy for one recipient with keyed names: those of other recipients are made with other keys."""


def keyed_names(key: bytes, ids: Iterable[Any]) -> list[str]:
    """One name for each identifier, which is taken as text.

    Examples
    --------
    >>> keyed_names(b"sixteen bytes ok", ["a", "b"])[0] == keyed_names(b"sixteen bytes ok", ["a"])[0]
    True
    """
    # The key goes in once; a copy of that state costs less than a fresh one for each name.
    begun = hmac.new(key, digestmod=hashlib.sha256)
    names: list[str] = []
    for identifier in ids:
        state = begun.copy()
        state.update(str(identifier).encode())
        names.append(state.hexdigest()[:NAME_LENGTH])
    return names
