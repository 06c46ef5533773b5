"""Randomness with whole numbers only: every probability is a fraction and sampled exactly.

Floating-point noise has been exploited to remove noise: only some values can occur, and which ones reveals the number
underneath. Here nothing is rounded, so probabilities can be enumerated.
"""

from __future__ import annotations

import os
from collections.abc import Callable


class Chance:
    """Draws from the operating system's randomness, or for tests from any other source of bytes.

    Parameters
    ----------
    source
        Returns the requested number of random bytes. Nothing is read ahead: two processes never share draws after a
        fork.

    Examples
    --------
    >>> Chance().below(1)
    0
    >>> Chance().hit(3, 3)
    True
    """

    def __init__(self, source: Callable[[int], bytes] = os.urandom) -> None:
        self._source = source

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1, each with probability 1/n, by rejection sampling of bits."""
        bits = (n - 1).bit_length()
        if bits == 0:
            return 0
        size = (bits + 7) // 8
        while True:
            drawn = int.from_bytes(self._source(size), "big") >> (8 * size - bits)
            if drawn < n:
                return drawn

    def hit(self, numerator: int, denominator: int) -> bool:
        """True with probability numerator / denominator."""
        return self.below(denominator) < numerator

    def word(self) -> int:
        """A whole number below 2^64."""
        return int.from_bytes(self._source(8), "big")
