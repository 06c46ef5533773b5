"""Random numbers on an engine that repeat for the publisher and for nobody else.

As in memory, a bare seed would be guessed, so that the key follows from the seed and from every reading:

    key = SHA-512(purpose, seed, number of series, sum over all series of SHA-512(id, subject, readings) mod 2^512)

A sum does not depend on the order of parts. The numbers of one series are SHAKE-256 of the key and of something that
belongs to the series, its readings or its id; never of its block. Who finds out one of them, because he knows a
reading, learns nothing about the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.blocks import BlockPanel
from shoal.engines.contract import Blocks
from shoal.engines.rows import ID, ROW, SUBJECT

_BYTES = 64
_SUM = pa.schema([("sum", pa.binary())])


def secret_key(panel: BlockPanel, seed: int, purpose: str) -> bytes:
    """The key for one purpose, from the seed and the readings."""
    engine = panel.engine
    sums = engine.collect(engine.map(panel.table, _Digests(), _SUM))["sum"].to_pylist()
    everything = sum(int.from_bytes(part, "big") for part in sums) % (1 << 8 * _BYTES)
    text = f"shoal method {purpose} on an engine\n{int(seed)}\n{panel.n_series}\n".encode()
    return hashlib.sha512(text + everything.to_bytes(_BYTES, "big")).digest()


@dataclass(frozen=True)
class _Digests:
    """The sum of the digests of all series of a part."""

    def __call__(self, blocks: Blocks) -> Blocks:
        total = 0
        for block in blocks:
            columns = (block.column(name).to_pylist() for name in (ID, SUBJECT, ROW))
            for name, subject, row in zip(*columns, strict=True):
                whole = f"{len(name)} {len(subject)} {name}{subject}".encode() + row
                total += int.from_bytes(hashlib.sha512(whole).digest(), "big")
        yield pa.record_batch([[(total % (1 << 8 * _BYTES)).to_bytes(_BYTES, "big")]], schema=_SUM)


def random_bits(key: bytes, about: Iterable[bytes], n: int) -> NDArray[np.uint64]:
    """For each of some things n random numbers of 64 bits, the same for the same thing: (things, n)."""
    drawn = b"".join(hashlib.shake_256(key + thing).digest(8 * n) for thing in about)
    return np.frombuffer(drawn, "<u8").reshape(-1, n)


def as_shares(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Random bits as numbers between 0 and 1, neither of them included."""
    return ((bits >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52
