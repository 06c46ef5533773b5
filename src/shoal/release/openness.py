"""How much a release leaves open: whether the originals could be found by trying."""

from __future__ import annotations

import numpy as np

from shoal.model import Panel

ENOUGH_BITS = 128
"""So many, and nobody tries all possibilities."""


def enough_is_open(originals: Panel, curves: Panel) -> bool:
    """Whether somebody who has the published curves still has at least 2^128 possible originals to try.

    At each instant and channel, of m series that share a published value and do not have it themselves, at least one
    differs from another, and nobody knows which: log2(m) bits, or more where values are fine. A value that was
    published as it was measured leaves nothing open.
    """
    if originals.values.shape != curves.values.shape:
        return False
    bits = 0.0
    for before, after in zip(originals.rows.T, curves.rows.T, strict=True):
        changed = (before != after) & ~np.isnan(before) & ~np.isnan(after)
        sizes = np.unique(after[changed], return_counts=True)[1]
        bits += float(np.log2(np.maximum(sizes, 1)).sum())
        if bits >= ENOUGH_BITS:
            return True
    return False
