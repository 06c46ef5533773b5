"""Secrets that grant access, and what is stored of them: a token has 256 random bits, which nobody can search.

So no salt or slow hash is needed.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since 1970."""
DAY = 86_400.0


def new_secret() -> str:
    """256 bits from the operating system, as text for an address, a header or a cookie."""
    return secrets.token_urlsafe(32)


def fingerprint(secret: str) -> str:
    """What is stored of a secret.

    Examples
    --------
    >>> fingerprint("a")[:8]
    'ca978112'
    """
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
