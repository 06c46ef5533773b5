"""New names for published series.

Rows of a release are sorted by pseudonym. A random pseudonym therefore also gives the random order of rows, and a
keyed one the same order whenever the same series are published under the same key.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from shoal.errors import ParameterError, ReleaseError
from shoal.model.keyed_names import NAME_LENGTH, keyed_names


@dataclass(frozen=True)
class Pseudonyms:
    """How series are renamed.

    Parameters
    ----------
    kind
        "random": fresh from the operating system each time. "keyed": HMAC-SHA256 of the identifier, so that anyone
        can join two releases under one key; whoever has the key and a list of identifiers can undo it.
    key
        The secret of keyed pseudonyms, at least 16 bytes.
    insecure_seed
        Makes random pseudonyms repeatable, for tests. Whoever guesses the seed can undo the order of rows.
    """

    kind: Literal["random", "keyed"] = "random"
    key: bytes | None = field(default=None, repr=False)
    insecure_seed: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("random", "keyed"):
            raise ParameterError("pseudonyms must be 'random' or 'keyed'.")
        if self.kind == "keyed" and (self.key is None or len(self.key) < 16):
            raise ParameterError("Keyed pseudonyms need a key of at least 16 bytes; it is kept in the private folder.")
        if self.kind == "keyed" and self.insecure_seed is not None:
            raise ParameterError("Keyed pseudonyms take no seed: they are repeatable by their key.")

    def of(self, ids: Iterable[Any]) -> list[str]:
        """One pseudonym per identifier, all different."""
        if self.key is not None:
            names = keyed_names(self.key, ids)
        elif self.insecure_seed is not None:
            stream = np.random.default_rng(self.insecure_seed)
            names = [stream.bytes(NAME_LENGTH // 2).hex() for _ in ids]
        else:
            names = [secrets.token_hex(NAME_LENGTH // 2) for _ in ids]
        if len(set(names)) != len(names):
            raise ReleaseError("Two series got the same pseudonym. Run again, or use another key.")
        return names
