"""New names for published series.

    name = the first 64 bits of HMAC-SHA256(key, what is named)

Rows of a release are sorted by name. Under a key that is drawn from the operating system, used once and never written,
names and the order of rows are random. Under a key that is kept, the same series has the same name in every release, so
that anyone can join them; anyone with the key and a list of identifiers can undo the names.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from shoal.errors import ReleaseError
from shoal.model import Candidate, EventsCandidate
from shoal.model.keyed_names import keyed_names
from shoal.release.forms import form_of


def name_key(insecure_seed: int | None) -> bytes:
    """A key that is used once; from a seed for tests only, since anyone who guesses the seed can undo names and
    order."""
    if insecure_seed is not None:
        return hashlib.sha256(f"shoal insecure seed {insecure_seed}".encode()).digest()
    return secrets.token_bytes(32)


def names_of(key: bytes, shard: int, candidate: Candidate | EventsCandidate) -> list[str]:
    """A name for each row or profile of a candidate, all different; events have none."""
    needed: list[Any] = form_of(candidate.published).names_needed(candidate.published, candidate.private)
    by_id = isinstance(candidate, Candidate) and candidate.private.stands_for is None and not candidate.has_profiles
    if isinstance(candidate, Candidate) and candidate.private.spread is not None:
        shard = candidate.private.spread.first  # groups have one name in all shards
    # Slices, fictive series and groups have no identifier: their position replaces it.
    names = keyed_names(key, needed if by_id else (f"{shard}:{place}" for place in range(len(needed))))
    refuse_repeated(names)
    return names


def refuse_repeated(names: list[str]) -> None:
    """Two series under one name could not be distinguished, and nobody could check them."""
    if len(set(names)) != len(names):
        raise ReleaseError("Two series got the same pseudonym. Run again, or use another key.")
