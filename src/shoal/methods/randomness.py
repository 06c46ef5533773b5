"""Random numbers that only the publisher can repeat.

A bare seed could be guessed, and noise that can be drawn again can be subtracted. So the stream follows from the seed
and from every reading: the same panel and seed give the same numbers, and nobody can draw them without the panel. It
does not follow from Panel.digest(), which certificates may show.
"""

from __future__ import annotations

import hashlib

import numpy as np

from shoal.model import Panel

_ROWS = 4096


def stream(panel: Panel, seed: int, purpose: str) -> np.random.Generator:
    """Random numbers for one purpose, from the seed and the readings."""
    state = hashlib.sha512(f"shoal method {purpose}\n{panel.values.shape}\n".encode())
    for row in range(0, panel.n_series, _ROWS):
        state.update(np.ascontiguousarray(panel.values[row : row + _ROWS]).data)
    state.update(np.ascontiguousarray(panel.subject_codes).data)
    secret = int.from_bytes(state.digest(), "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([int(seed), secret])))
