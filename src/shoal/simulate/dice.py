"""Random generators, split so that a subject's draws do not depend on who else is simulated.

Every subject, and everything that is shared, has its own generator: the child of `SeedSequence(seed)` under the key
(stream, family, number, attempt), which is the child `spawn` would give. Blocks only decide how many subjects are
computed together, never what they draw.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

import numpy as np

from shoal.kernels.arrays import Floats


class Stream(IntEnum):
    """What a generator is for: the first number of its key. Never renumber, old seeds would change meaning."""

    WEATHER = 0
    METER = 1
    ORDER = 2
    GAPS = 3
    PERSON = 4
    EVENTS = 5


def generator(seed: int, *key: int) -> np.random.Generator:
    """The generator under a key."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def between(limits: tuple[float, float], thrown: Floats) -> Floats:
    """Stretch numbers in [0, 1) to the limits."""
    return limits[0] + (limits[1] - limits[0]) * thrown


class Dice:
    """The generators of a block of subjects: the first axis of every result is the subject."""

    def __init__(self, seed: int, keys: Iterable[tuple[int, ...]]) -> None:
        self._generators = [generator(seed, *key) for key in keys]

    def __len__(self) -> int:
        return len(self._generators)

    def uniform(self, *shape: int) -> Floats:
        """Numbers in [0, 1)."""
        thrown = np.empty((len(self), *shape))
        for row, source in zip(thrown, self._generators, strict=True):
            source.random(out=row)
        return thrown

    def normal(self, *shape: int) -> Floats:
        """Standard normal numbers."""
        thrown = np.empty((len(self), *shape))
        for row, source in zip(thrown, self._generators, strict=True):
            source.standard_normal(out=row)
        return thrown
