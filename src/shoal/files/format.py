"""The format of a file on disk, by number: earlier ones are read, a later one is refused in one line."""

from __future__ import annotations

import json
from typing import Any

from shoal.errors import ReleaseError


def check_format(found: Any, newest: int, what: str) -> None:
    """Refuse a format that a later version of Shoal writes; ValueError if `found` is not a format at all.

    Parameters
    ----------
    found
        The number in the file. Files without one have format 1.
    newest
        What this version writes; it reads every earlier one.
    what
        Whose format it is, as a sentence begins with it.

    Examples
    --------
    >>> check_format(3, 2, "The state")
    Traceback (most recent call last):
    shoal.errors.ReleaseError: The state has format 3, and this version of Shoal reads up to 2. Update Shoal.
    """
    if type(found) is not int or found < 1:
        raise ValueError("no format")
    if found > newest:
        raise ReleaseError(f"{what} has format {found}, and this version of Shoal reads up to {newest}. Update Shoal.")


def refuse_later(content: bytes, newest: int, what: str, field: str = "format") -> None:
    """Refuse JSON of a later format; pass over whatever else may be wrong with it."""
    try:
        found = json.loads(content)
        check_format(found[field] if isinstance(found, dict) else None, newest, what)
    except (ValueError, KeyError, RecursionError):
        return
