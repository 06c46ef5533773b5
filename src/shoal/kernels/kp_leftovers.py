"""Bad leaves join the good leaf of the most similar shape: the post-processing of create-tree.

    for each bad leaf of a tree, smallest first, then by number
        join the good leaf of the same tree with the largest (similarity, -rows so far, -number)

The good leaf keeps its word. Similarities that agree to nine digits are equal. A tree whose root has p rows or more
always has a good leaf: a node is only split when a child has p.
"""

from collections.abc import Callable

import numpy as np

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.kp_tree import WordLeaves

Similarity = Callable[[Floats, Floats], Floats]

_DIGITS = 9
_PAIRS = 500_000  # compared at a time


def join_bad_leaves(leaves: WordLeaves, roots: Ints, shapes: Floats, similarity: Similarity) -> Ints:
    """For each leaf the leaf it is now part of; `shapes` has one row per leaf, `similarity` compares row by row.

    The first bad leaf of every tree is placed, then the second, and so on: trees are independent of each other.
    """
    root = roots[leaves.first]
    sizes = leaves.sizes.copy()
    joins = np.arange(len(sizes))
    good = np.flatnonzero(leaves.good)
    good = good[np.argsort(root[good], kind="stable")]
    begin = np.searchsorted(root[good], root, side="left")
    n_good = np.searchsorted(root[good], root, side="right") - begin
    bad = np.flatnonzero(~leaves.good)
    bad = bad[np.lexsort((bad, sizes[bad], root[bad]))]
    place = np.arange(len(bad)) - np.searchsorted(root[bad], root[bad], side="left")  # in its tree's queue
    for turn in range(int(place.max(initial=-1)) + 1):
        now = bad[place == turn]
        for some in np.split(now, np.flatnonzero(np.diff(np.cumsum(n_good[now]) // _PAIRS)) + 1):
            which = np.repeat(np.arange(len(some)), n_good[some])
            step = np.arange(len(which)) - np.repeat(np.cumsum(n_good[some]) - n_good[some], n_good[some])
            options = good[begin[some][which] + step]
            alike = np.round(similarity(shapes[some[which]], shapes[options]), _DIGITS)
            best = np.lexsort((options, sizes[options], -alike, which))
            chosen = options[best[np.searchsorted(which, np.arange(len(some)))]]
            joins[some] = chosen
            sizes[chosen] += sizes[some]
    return joins
