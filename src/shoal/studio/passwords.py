"""The publisher's password: kept in memory as a slow hash, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

from shoal.errors import InputError, ParameterError

SHORTEST = 10
VARIABLE = "SHOAL_STUDIO_PASSWORD"


class Password:
    """A password that can be compared but not read back.

    Examples
    --------
    >>> password = Password("correct horse battery")
    >>> password.matches("correct horse battery"), password.matches("guess")
    (True, False)
    """

    def __init__(self, text: str) -> None:
        if len(text) < SHORTEST:
            raise ParameterError(f"The password has fewer than {SHORTEST} characters. Choose a longer one.")
        self._salt = os.urandom(16)
        self._hash = self._scrypt(text)

    def matches(self, text: str) -> bool:
        """Whether this is the password."""
        return hmac.compare_digest(self._scrypt(text), self._hash)

    def _scrypt(self, text: str) -> bytes:
        # About 16 MB and 50 ms for each guess.
        return hashlib.scrypt(text.encode(), salt=self._salt, n=2**14, r=8, p=1)


def find_password(path: Path | None) -> Password | None:
    """The password from the first line of a file, or from the environment; None if neither is given."""
    if path is None:
        text = os.environ.get(VARIABLE, "")
        return Password(text) if text else None
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"The password file {str(path)!r} cannot be read as text.") from None
    return Password(lines[0].strip() if lines else "")
