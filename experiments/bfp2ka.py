"""BF-P2kA: k-anonymity of strings by a prefix tree. A yardstick, not a method of Shoal.

Series become words of SAX letters at one level, one letter per instant. The words form a prefix tree; the support of a
node is the number of series whose word begins with the letters down to it.

1. Pruning: a branch whose support is below k is cut, and the supports above it fall by that much, until all are 0 or
   at least k. Words are of one length here, so what stays is the words that at least k series bear.
2. Reconstruction: each series cut off goes to the remaining word with which it has the longest common subsequence, and
   adds to its support. Ties go to the word with the nearest letters, Σ (a[t] - b[t])², then to the larger support after
   pruning, then to the first in the alphabet.
3. Every series is published as the word it ended in; at least k series bear each.

Where no word has k series the whole tree is pruned and nothing can be published: the paper's criticism of it.

What it publishes is letters, and the paper compares it only on strings ("String" is a panel turned to letters of
level 20): queries on values ask for letters as numbers, 0 to level - 1, and patterns are those of the letters. So
`string_panel` is the original for all methods there and `Bfp2ka.letters` the release. To compare with the values
instead, `Bfp2ka.shapes` has what the letters stand for.

Relative to the original:

- Sequences there have any length, and may end within the tree. Words of SAX have one letter per instant.
- A sequence cut off may come back there as no more than the subsequence it shares. Here it gets the whole word: a part
  without instants has no shape, and could be compared with nothing. For the same reason no series comes back as a
  frequent beginning of a word.
- Whatever sequences it leaves out for being too unlike, here all are taken back: nobody is lost while a word remains.
- How it breaks ties is not said in the paper; nearest letters is the choice that harms patterns least.
- The level is free here. `best_level` finds the one at which it does best, which the paper did not grant it.

Cost O(c w T²) for c different words cut and w words kept.

References
----------
R. G. Pensa, A. Monreale, F. Pinelli and D. Pedreschi, "Pattern-preserving k-anonymization of sequences and its
application to mobility data mining", PiLBA 2008. "Supporting pattern-preserving anonymization for time-series data",
sections 2 and 7. Built from the description there and the general outline of the original, not from its text.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal import Panel
from shoal.errors import ParameterError
from shoal.features.sax import MOST_LETTERS, letters, reconstruct, text
from shoal.utility import PatternLoss

Letters = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Bfp2ka:
    """What BF-P2kA publishes, in the order of the rows it was given: a word for every series, or none for any."""

    words: tuple[str, ...] | None
    """One printed word per series, or None where the whole tree was pruned."""
    level: int
    """How many letters there are."""
    n_cut: int
    """How many series did not keep their own word."""
    times: NDArray[Any]
    codes: Letters
    """The published words as numbers, (series, instants); without rows where the whole tree was pruned."""

    @property
    def letters(self) -> Panel | None:
        """The published letters as values, 0 to level - 1: to be compared with `string_panel`."""
        return None if self.words is None else Panel(self.codes, times=self.times)

    @property
    def shapes(self) -> Panel | None:
        """What the published letters stand for, as normalised values: to be compared with the shape of the values."""
        if self.words is None:
            return None
        return Panel(reconstruct(self.codes, np.full(len(self.codes), self.level)), times=self.times)


def bfp2ka(panel: Panel, *, k: int, level: int) -> Bfp2ka:
    """Publish series as words that at least k of them bear.

    Parameters
    ----------
    panel
        One channel without gaps, every series of another subject.
    k
        Fewest series of a word.
    level
        Number of letters, 1 to 20. More tell more, and leave fewer words that k series bear.
    """
    _refuse(panel, k)
    original = letters(panel.rows, level)
    published, own = anonymize_words(original, k)
    words = text(published) if len(published) else None
    return Bfp2ka(words, level, int(np.sum(~own)), panel.times, published)


def string_panel(panel: Panel, level: int = MOST_LETTERS) -> Panel:
    """The paper's String: the letters of each series as values, 0 to level - 1."""
    return Panel(letters(panel.rows, level), ids=panel.ids, times=panel.times, timezone=panel.timezone)


def best_level(panel: Panel, *, k: int) -> int:
    """The level whose release loses least pattern, the lower of two equal ones. A tree pruned whole loses all of it."""
    losses = {}
    for level in range(1, MOST_LETTERS + 1):
        shapes = bfp2ka(panel, k=k, level=level).shapes
        losses[level] = 1.0 if shapes is None else PatternLoss().measure(panel, shapes).value
    return min(losses, key=lambda level: losses[level])


def supports(words: Letters) -> NDArray[np.int64]:
    """For each word (row) and depth the support of its node in the prefix tree, (series, depths)."""
    order = np.lexsort(words.T[::-1])
    ordered = words[order]
    # In alphabetical order a node is a run; it begins where this letter or one before it changes.
    begins = np.logical_or.accumulate(ordered[1:] != ordered[:-1], axis=1)
    found = np.empty(words.shape, dtype=np.int64)
    for depth in range(words.shape[1]):
        edges = np.flatnonzero(np.r_[True, begins[:, depth], True])
        sizes = np.diff(edges)
        found[order, depth] = np.repeat(sizes, sizes)
    return found


def anonymize_words(words: Letters, k: int) -> tuple[Letters, NDArray[np.bool_]]:
    """The published word of each series (no rows if the tree is pruned whole), and who kept its own."""
    # A leaf has the smallest support on its path, and pruning others changes no leaf: the leaf decides.
    own = supports(words)[:, -1] >= k
    if not own.any():
        return words[:0], own
    kept, counts = np.unique(words[own], axis=0, return_counts=True)
    # The larger support first, then the alphabet: so the first of equals is the one wanted.
    kept = np.ascontiguousarray(kept[np.argsort(-counts, kind="stable")])
    published = words.copy()
    if not own.all():
        cut, which = np.unique(words[~own], axis=0, return_inverse=True)
        published[~own] = kept[most_similar(np.ascontiguousarray(cut), kept)][which.reshape(-1)]
    return published, own


@njit()  # no cache: it would tie the kernel to the name under which a test loads this file
def most_similar(words: Letters, kept: Letters) -> NDArray[np.int64]:
    """For each word the kept one with the longest common subsequence, then the nearest letters, then the first."""
    found = np.zeros(len(words), dtype=np.int64)
    for i in range(len(words)):
        longest, nearest = -1, np.int64(0)
        for j in range(len(kept)):
            length = common_length(words[i], kept[j])
            if length < longest:
                continue
            apart = np.int64(0)
            for t in range(words.shape[1]):
                apart += (np.int64(words[i, t]) - np.int64(kept[j, t])) ** 2
            if length > longest or apart < nearest:
                longest, nearest, found[i] = length, apart, j
    return found


@njit()  # no cache: it would tie the kernel to the name under which a test loads this file
def common_length(a: Letters, b: Letters) -> int:
    """The length of the longest common subsequence of two words."""
    row = np.zeros(len(b) + 1, dtype=np.int64)
    for letter in a:
        before = 0
        for j in range(len(b)):
            here = row[j + 1]
            row[j + 1] = before + 1 if letter == b[j] else max(here, row[j])
            before = here
    return int(row[-1])


def _refuse(panel: Panel, k: int) -> None:
    if k < 1:
        raise ParameterError(f"BF-P2kA needs k of at least 1, got {k}.")
    if panel.n_channels != 1 or panel.n_missing or not panel.one_series_per_subject:
        raise ParameterError(
            f"BF-P2kA needs one channel without gaps and one series per subject; the panel has {panel.n_channels} "
            f"channels, {panel.n_missing} gaps, and {panel.n_series} series of {panel.n_subjects} subjects."
        )
