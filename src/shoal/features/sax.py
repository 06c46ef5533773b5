"""The shape of a series as a word: SAX with one letter per instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.features.shapes import by_channel

MOST_LETTERS = 20
"""The highest level: the letters 'a' to 't'."""

_FIRST = ord("a")


@dataclass(frozen=True)
class Sax:
    """One letter per instant, by where the normalised value lies between quantiles of the normal distribution.

    A series is normalised to mean 0 and deviation 1 (divisor T); a value in [β(j-1), β(j)) gets letter j, where β(j) is
    the j/level quantile. Level 1 gives every value the same letter. A constant series is 0 throughout after normalising
    and gets the letter of 0: the middle one, or at an even level the upper of the two middle ones. A value less than
    1e-7 below a breakpoint counts as on it, so that rounding decides no letter.

    Words of one level do not refine those of the level before: -0.2 and 0.2 are 'a' and 'b' at level 2, and both 'b' at
    level 3.

    Rows with several channels contain the instants of the first channel, then those of the next. Each channel is
    normalised separately, and their words, all of one level, follow one another.

    Examples
    --------
    >>> sax = Sax()
    >>> text(sax.words(np.array([[1.0, 2.0, 3.0, 9.0], [5.0, 5.0, 5.0, 5.0]]), 3))
    ('aabc', 'bbbb')
    >>> sax.reconstruct(parse(["abc"]), np.array([3])).round(2).tolist()
    [[-0.97, 0.0, 0.97]]
    >>> text(Sax(n_channels=2).words(np.array([[1.0, 2.0, 900.0, 100.0]]), 2))
    ('abba',)

    References
    ----------
    J. Lin, E. Keogh, S. Lonardi and B. Chiu, "A symbolic representation of time series, with implications for
    streaming algorithms", 2003. "Supporting pattern-preserving anonymization for time-series data", section 5.1.
    """

    name: ClassVar[str] = "sax"

    max_level: int = MOST_LETTERS
    n_channels: int = 1

    def __post_init__(self) -> None:
        _refuse_level(self.max_level)

    def words(self, x: NDArray[np.float64], level: int) -> NDArray[np.uint8]:
        """The letters of every series (series, instants) at a level; level 1 has one word, which says nothing."""
        return letters(by_channel(x, self.n_channels), level).reshape(x.shape)

    def reconstruct(self, letters: NDArray[np.uint8], levels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Each letter as the probabilistic median of its range."""
        levels = np.repeat(np.asarray(levels), self.n_channels)
        return reconstruct(by_channel(letters, self.n_channels), levels).reshape(letters.shape)

    def similarity(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cosine of the vectors of all differences between two instants, row by row; the mean over the channels.

        This is the correlation of the two shapes. A constant shape has similarity 1 to another constant one, and 0 to
        any other.
        """
        if self.n_channels > 1:
            a, b = (by_channel(x, self.n_channels) for x in np.broadcast_arrays(a, b))
        a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
        norms = np.sqrt((a * a).sum(axis=1)), np.sqrt((b * b).sum(axis=1))
        flat = norms[0] <= _FLAT, norms[1] <= _FLAT
        size = np.where(flat[0] | flat[1], 1.0, norms[0] * norms[1])
        cosine: NDArray[np.float64] = np.where(flat[0] | flat[1], flat[0] & flat[1], (a * b).sum(axis=1) / size)
        return cosine if self.n_channels == 1 else cosine.reshape(-1, self.n_channels).mean(axis=1)


_FLAT = 1e-9  # two letters differ by more than 0.1


def breakpoints(level: int) -> NDArray[np.float64]:
    """The level - 1 quantiles of the normal distribution between its letters, ascending.

    Examples
    --------
    >>> breakpoints(4).round(2).tolist()
    [-0.67, 0.0, 0.67]
    """
    _refuse_level(level)
    return _breakpoints(level).copy()


def letters(x: NDArray[np.float64], level: int) -> NDArray[np.uint8]:
    """The letter of each value of x (series, instants), 0 to level - 1; see `Sax`."""
    from shoal.kernels.kp_letters import letters_of

    _refuse_level(level)
    if x.ndim != 2 or not x.shape[1] or not np.isfinite(x).all():
        raise InputError("Letters need an array (series, instants) without gaps or infinite values.")
    # Copy a read-only array: numba would compile everything again for it.
    own = x if x.flags.c_contiguous and x.flags.writeable and x.dtype == np.float64 else np.array(x, np.float64)
    result: NDArray[np.uint8] = letters_of(own, _breakpoints(level).copy())
    return result


def text(letters: NDArray[np.uint8]) -> tuple[str, ...]:
    """Words that can be printed: 'a' for 0, 'b' for 1, up to 't'."""
    length = letters.shape[1]
    everything = (letters + _FIRST).astype(np.uint8).tobytes().decode("ascii")
    return tuple(everything[at : at + length] for at in range(0, len(everything), length))


def parse(words: Sequence[str]) -> NDArray[np.uint8]:
    """The letters of printed words, all of the same length."""
    length = len(words[0]) if words else 0
    if not length or any(len(word) != length for word in words):
        raise InputError("Words need at least one letter, and all the same number of them.")
    try:
        codes = np.frombuffer("".join(words).encode("ascii"), dtype=np.uint8)
    except UnicodeEncodeError:
        codes = np.zeros(len(words) * length, dtype=np.uint8)
    found = codes.astype(np.int64).reshape(len(words), length) - _FIRST
    if (found < 0).any() or (found >= MOST_LETTERS).any():
        raise InputError(f"Words are written with the letters 'a' to '{chr(_FIRST + MOST_LETTERS - 1)}'.")
    return found.astype(np.uint8)


def reconstruct(letters: NDArray[np.uint8], levels: NDArray[np.int64]) -> NDArray[np.float64]:
    """For letter j of a word's level, the quantile (j - 1)/level + 1/(2 level), counting j from 1.

    A word of level 1 says nothing and becomes 0 throughout.
    """
    if (letters >= np.asarray(levels)[:, None]).any():
        raise InputError("A word has a letter beyond its level.")
    shapes: NDArray[np.float64] = _medians()[np.asarray(levels)[:, None], letters]
    return shapes


@cache
def _breakpoints(level: int) -> NDArray[np.float64]:
    return np.array([NormalDist().inv_cdf(j / level) for j in range(1, level)])


@cache
def _medians() -> NDArray[np.float64]:
    """The value that letter j of a level stands for, (level, letter)."""
    table = np.full((MOST_LETTERS + 1, MOST_LETTERS), np.nan)
    for level in range(1, MOST_LETTERS + 1):
        table[level, :level] = [NormalDist().inv_cdf((2 * j + 1) / (2 * level)) for j in range(level)]
    return table


def _refuse_level(level: int) -> None:
    if not 1 <= level <= MOST_LETTERS:
        raise ParameterError(f"A level is from 1 to {MOST_LETTERS}, got {level}.")
