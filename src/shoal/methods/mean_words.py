"""The word of the mean shape of a subgroup, if that is closer to its series than the word they share.

The paper publishes the word that the series of a subgroup share. If fewer than P share a word of two letters or more,
that is a word of one letter, which says nothing: for 5 000 random series of ten instants, three in four. But the
subgroup still has a mean shape. Its word at the highest level belongs to just as many series, so (k, P)-anonymity is
the same, and so are all envelopes.

Inside a group that was formed by values, subgroups need not follow words at all: those of near shapes, with the words
of their means, are taken for every group that they suit better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.features.sax import Sax
from shoal.features.shapes import channel_distances, unit_channels
from shoal.kernels.kp_clusters import split_sets


class Words(NamedTuple):
    """Different words with their levels, and which of them each row has."""

    letters: NDArray[np.uint8]
    levels: NDArray[np.int64]
    of_row: NDArray[np.int64]


def with_mean_words(x: NDArray[np.float64], subgroups: NDArray[np.int64], words: Words, representation: Sax) -> Words:
    """Replace the word of each subgroup, numbered from 0, by that of its mean shape if that is nearer to its rows."""
    n_channels = representation.n_channels
    shapes = unit_channels(x, n_channels)
    means = _means(shapes, subgroups)
    level = representation.max_level
    letters = representation.words(means, level)
    new = unit_channels(representation.reconstruct(letters, np.full(len(letters), level)), n_channels)
    own = unit_channels(representation.reconstruct(words.letters, words.levels), n_channels)
    gain = channel_distances(shapes, own[words.of_row], n_channels) - channel_distances(
        shapes, new[subgroups], n_channels
    )
    better = np.bincount(subgroups, gain) > 0.0
    place = len(words.levels) + np.cumsum(better) - 1
    return Words(
        np.concatenate([words.letters, letters[better]]),
        np.concatenate([words.levels, np.full(int(better.sum()), level)]),
        np.where(better[subgroups], place[subgroups], words.of_row),
    )


def with_near_shapes(
    x: NDArray[np.float64], groups: NDArray[np.int64], p: int, words: Words, representation: Sax
) -> Words:
    """Replace the words of each group, numbered from 0, by those of near shapes if these are nearer to its rows."""
    n_channels = representation.n_channels
    shapes = unit_channels(x, n_channels)
    subgroups = split_sets(shapes, groups, p)
    letters = representation.words(_means(shapes, subgroups), representation.max_level)
    levels = np.full(len(letters), representation.max_level)
    own, new = (
        unit_channels(representation.reconstruct(*spelled), n_channels)[of_row]
        for spelled, of_row in (((words.letters, words.levels), words.of_row), ((letters, levels), subgroups))
    )
    gain = channel_distances(shapes, own, n_channels) - channel_distances(shapes, new, n_channels)
    better = np.bincount(groups, gain) > 0.0
    return Words(
        np.concatenate([words.letters, letters]),
        np.concatenate([words.levels, levels]),
        np.where(better[groups], len(words.levels) + subgroups, words.of_row),
    )


def _means(shapes: NDArray[np.float64], subgroups: NDArray[np.int64]) -> NDArray[np.float64]:
    order = np.argsort(subgroups, kind="stable")
    starts = np.flatnonzero(np.diff(subgroups[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    means: NDArray[np.float64] = np.add.reduceat(shapes[order], starts, axis=0) / sizes[:, None]
    return means
