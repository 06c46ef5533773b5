"""How much a release leaves open: whether the originals could be found by trying."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.model import EventTables, Panel
from shoal.model.event_tables import COUNT, GROUP, TIME

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


def enough_pairs_are_open(published: EventTables) -> bool:
    """Whether somebody who has bucketised events still has at least 2^128 possible originals to try.

    In a group of m records the sensitive values can be given to the records in m! ways, of which those are the same
    that exchange equal values, or records with equal quasi-identifiers. Of generalised events it is not known how many
    originals a range has room for, so nothing counts as open.
    """
    if published.counts is None:
        return False
    records, group = published.records, [TIME, GROUP]
    sizes = records.group_by(group).agg(pl.len().alias("n"))["n"].to_numpy()
    alike = records.group_by(records.columns).agg(pl.len().alias("n"))["n"].to_numpy()
    counts = published.counts[COUNT].to_numpy()
    ways = np.concatenate([[0.0], np.cumsum(np.log2(np.arange(1, int(max(sizes.max(), counts.max())) + 1)))])
    return bool(ways[sizes].sum() - ways[alike].sum() - ways[counts].sum() >= ENOUGH_BITS)
