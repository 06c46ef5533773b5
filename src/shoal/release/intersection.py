"""What several releases tell together: the crowds that are left when their groups are intersected.

Every group that is published is a set of subjects. Whoever holds several releases, and knows who is in which group,
can combine these sets: who is in this group and in that one, who was in it and is no longer. All sets that can be made
from the groups by "and", "or" and "but not" are unions of *cells*:

    two subjects are in one cell when they are in the same group, or absent, in each of the releases.

So no combination leads to a few people exactly when no cell is small. A subject is promised the smallest k of the
releases it is in; the releases are fine together when

    every cell has at least as many subjects as its subjects are promised.

That covers intersection (in group A then and in group B now) as well as differencing (in group A then, absent now).
Releases of other instants, of other methods or under other pseudonyms do not escape: the subjects are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Layer:
    """Who is in which group of a release, and how many they are promised to be.

    Parameters
    ----------
    subjects
        Each subject once, as a number; sorted.
    groups
        The group of each.
    k
        The smallest crowd that was promised.
    """

    subjects: Hashes
    groups: Numbers
    k: int


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of several releases: of each subject that is in one of them its cell's size, and what is promised."""

    subjects: Hashes
    sizes: Numbers
    promised: Numbers

    @property
    def small(self) -> NDArray[np.bool_]:
        """Who is in a cell below what was promised."""
        return self.sizes < self.promised


def cells_of(layers: Sequence[Layer]) -> Cells:
    """Form the cells of some releases.

    Examples
    --------
    Two releases in groups of two are each fine; together they leave everybody alone.

    >>> people = np.arange(4, dtype=np.uint64)
    >>> first, second = Layer(people, np.array([0, 0, 1, 1]), 2), Layer(people, np.array([0, 1, 0, 1]), 2)
    >>> cells_of([first]).sizes.tolist(), cells_of([first, second]).sizes.tolist()
    ([2, 2, 2, 2], [1, 1, 1, 1])

    If one leaves, so must others of the same group.

    >>> cells_of([first, Layer(people[:3], np.array([0, 0, 1]), 2)]).sizes.tolist()
    [2, 2, 1, 1]
    """
    subjects = np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *(layer.subjects for layer in layers)]))
    cell = np.zeros(len(subjects), dtype=np.int64)
    promised = np.full(len(subjects), np.iinfo(np.int64).max)
    for layer in layers:
        places = np.searchsorted(subjects, layer.subjects)
        own = np.zeros(len(subjects), dtype=np.int64)  # 0: absent
        own[places] = np.unique(layer.groups, return_inverse=True)[1].reshape(-1) + 1
        promised[places] = np.minimum(promised[places], layer.k)
        cell = np.unique(cell * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1].reshape(-1)
    return Cells(subjects, np.bincount(cell, minlength=1)[cell] if len(cell) else cell, promised)


def made_small(earlier: Sequence[Layer], added: Layer) -> tuple[Cells, NDArray[np.bool_]]:
    """The cells with one more release, and who gets into too small a cell by it.

    Whom earlier releases have left in a small cell, and it has become no smaller, is not laid to the new one.
    """
    before, after = cells_of(earlier), cells_of([*earlier, added])
    places = np.searchsorted(after.subjects, before.subjects)
    had = np.full(len(after.subjects), np.iinfo(np.int64).max)
    had[places] = before.sizes
    was_small = np.zeros(len(after.subjects), dtype=np.bool_)
    was_small[places] = before.small
    return after, after.small & ~(was_small & (after.sizes == had))
