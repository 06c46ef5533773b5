"""Which published series a known one could be.

Nobody can distinguish series that share envelope, level and word: they form a cell, and targets are compared with
cells. Targets are processed in blocks; the result does not depend on the block size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.features.sax import letters, parse
from shoal.model import Envelopes, Panel
from shoal.model.rows import columns_of

CELLS = 4_000_000  # pairs of target and cell worked on at a time, a few tens of MB


@dataclass(frozen=True, eq=False)
class PossibleSets:
    """For every target, the size of its possible set, and how many in it carry its own value."""

    sizes: NDArray[np.int64]
    own: NDArray[np.int64]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probability of breach: own / size, and 0 if the possible set is empty."""
        return self.own / np.maximum(self.sizes, 1)


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What the adversary compares: targets with distinct envelopes, and their words with distinct words."""

    targets: NDArray[np.float64]
    """Values of the targets at the instants of the envelopes, by instant and channel (instants, targets)."""
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    """Distinct envelopes, (instants, envelopes); none where values are not known."""
    envelope: NDArray[np.int64]
    """The envelope of each published series."""
    words: NDArray[np.int64]
    """For each target, its distinct word at each level in use (targets, levels), or -1 if nobody has it."""
    word: NDArray[np.int64]
    """The distinct word of each published series."""

    @staticmethod
    def of(original: Panel, published: Envelopes, *, values: bool, pattern: bool) -> Knowledge:
        """Everything the adversary needs, without forming pairs."""
        n = published.n_series
        columns: list[int] = []
        ends = np.empty((n, 0))  # without values all have the same envelope, that of no instant
        if values:
            columns = columns_of(original.times, published.times)
            ends = published.ends + 0.0  # -0.0 and 0.0 are the same bound
        envelopes, envelope = _distinct(ends)
        width = envelopes.shape[1] // 2
        word, words = np.zeros(n, dtype=np.int64), np.zeros((original.n_series, 1), dtype=np.int64)
        if pattern:
            word, words = _words(original, published)
        return Knowledge(
            targets=np.ascontiguousarray(original.values[:, columns].reshape(original.n_series, -1).T),
            low=np.ascontiguousarray(envelopes[:, :width].T),
            high=np.ascontiguousarray(envelopes[:, width:].T),
            envelope=envelope,
            words=words,
            word=word,
        )

    def told(self, rows: NDArray[np.int64]) -> Knowledge:
        """The same, but the adversary knows the word that targets were published under; `rows` are the published
        targets."""
        words = np.full((len(self.words), 1), -1, dtype=np.int64)
        words[rows, 0] = self.word
        return replace(self, words=words)

    def of_some(self, targets: NDArray[np.int64]) -> Knowledge:
        """The same for fewer targets."""
        return replace(self, targets=self.targets[:, targets], words=self.words[targets])

    def fits(self, targets: slice, envelopes: NDArray[np.int64], words: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each cell, of an envelope and a word, could be each target: (targets, cells)."""
        own = self.words[targets]
        inside = np.ones((len(own), self.low.shape[1]), dtype=np.bool_)
        for x, low, high in zip(self.targets[:, targets], self.low, self.high, strict=True):
            inside &= low <= x[:, None]
            inside &= x[:, None] <= high
        carried = np.zeros((len(own), int(self.word.max()) + 2), dtype=np.bool_)
        carried[np.arange(len(own))[:, None], own] = True  # -1 is the last column, which nobody carries
        fit: NDArray[np.bool_] = inside[:, envelopes] & carried[:, words]
        return fit

    def contains(self, targets: NDArray[np.int64], published: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each target could be the published series next to it."""
        x = self.targets[:, targets]
        low, high = (bound[:, self.envelope[published]] for bound in (self.low, self.high))
        same = (self.words[targets] == self.word[published, None]).any(axis=1)
        fit: NDArray[np.bool_] = ((low <= x) & (x <= high)).all(axis=0) & same
        return fit


def possible_sets(known: Knowledge, shown: NDArray[np.int64], true: NDArray[np.int64]) -> PossibleSets:
    """Sizes of the possible sets; `shown` is the sensitive value published with each series, `true` the targets'."""
    pairs, cell = _distinct(np.column_stack([known.envelope, known.word]))
    members = np.bincount(cell)
    carriers = _Carriers.of(cell, shown, int(true.max(initial=0)) + 1)
    sizes, own = np.empty(len(true), dtype=np.int64), np.empty(len(true), dtype=np.int64)
    for block in _blocks(len(true), len(pairs)):
        fit = known.fits(block, pairs[:, 0], pairs[:, 1])
        sizes[block] = fit @ members
        own[block] = carriers.among(fit, true[block])
    return PossibleSets(sizes, own)


@dataclass(frozen=True, eq=False)
class _Carriers:
    """For each sensitive value, the cells in which it occurs, and how often: entries start[v] to start[v + 1]."""

    start: NDArray[np.int64]
    cell: NDArray[np.int64]
    count: NDArray[np.int64]

    @staticmethod
    def of(cell: NDArray[np.int64], shown: NDArray[np.int64], n_values: int) -> _Carriers:
        found, counts = np.unique(np.column_stack([shown, cell]), axis=0, return_counts=True)
        n_values = max(n_values, int(found[:, 0].max()) + 1)
        start = np.searchsorted(found[:, 0], np.arange(n_values + 1))
        return _Carriers(start, found[:, 1], counts)

    def among(self, fit: NDArray[np.bool_], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each target, how many members of the cells it could be in carry its value."""
        lengths = self.start[values + 1] - self.start[values]
        target = np.repeat(np.arange(len(values)), lengths)
        entry = np.arange(len(target)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + self.start[values][target]
        counts = np.where(fit[target, self.cell[entry]], self.count[entry], 0)
        return np.bincount(target, weights=counts, minlength=len(values)).astype(np.int64)


def _words(original: Panel, published: Envelopes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct word of each published series, and of each target at each level in use."""
    assert published.pattern_times is not None
    columns = columns_of(original.times, published.pattern_times)
    carried = parse(published.patterns)
    word, words, n_words = np.empty(len(carried), dtype=np.int64), [], 0
    for level in np.unique(published.levels).tolist():
        at = np.flatnonzero(published.levels == level)
        # Customised publishing cuts words after they are formed (section 6.1): letters are of the whole series.
        own = channel_letters(original, level)[:, :, columns].reshape(original.n_series, -1)
        both, number = _distinct(np.concatenate([carried[at], own]))
        of_published, first = np.unique(number[: len(at)], return_inverse=True)
        place = np.full(len(both), -1, dtype=np.int64)
        place[of_published] = n_words + np.arange(len(of_published))
        word[at] = n_words + first
        words.append(place[number[len(at) :]])
        n_words += len(of_published)
    return word, np.column_stack(words)


def channel_letters(panel: Panel, level: int) -> NDArray[np.uint8]:
    """The letters of every series, each channel separately: (series, channels, instants)."""
    by_channel = panel.cube.transpose(0, 2, 1)
    shape = by_channel.shape
    return letters(by_channel.reshape(-1, panel.n_instants), level).reshape(shape)


def _distinct(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct rows, and the number of each row among them."""
    if not rows.shape[1]:
        return rows[:1], np.zeros(len(rows), dtype=np.int64)
    distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
    return distinct, inverse.reshape(-1)


def _blocks(n: int, width: int) -> Iterator[slice]:
    height = max(1, CELLS // width)
    for first in range(0, n, height):
        yield slice(first, min(first + height, n))
