"""Gaps in a pattern that singles someone out."""

from __future__ import annotations

import numpy as np

from shoal.guarantees.crowds import crowd_sizes
from shoal.model import Panel
from shoal.release.lint.written import Finding, Written

NAME = "gap-patterns"


def gap_patterns(written: Written) -> Finding | None:
    """Every pattern of missing values, including none, must be shared by the required crowd.

    The pattern of a series is the set of instants and channels at which nothing is published of it. Anyone who knows
    when a person's meter was silent finds the series by that alone. A profile has the gaps of its whole group,
    envelopes have none, and gaps in quasi-identifiers of events are published as what they are.
    """
    published = written.published
    if not isinstance(published, Panel) or not published.n_missing:
        return None
    packed = np.packbits(np.isnan(published.rows), axis=1)
    patterns = np.unique(packed, axis=0, return_inverse=True)[1].reshape(-1)
    few = np.flatnonzero(crowd_sizes(patterns, written.subjects) < written.crowd.size)
    if not len(few):
        return None
    where = f", the first at row {int(few[0])} of {published.n_series},"
    return Finding(
        NAME,
        f"{len(few)} published series{where} have a pattern of gaps that fewer than {written.crowd.size} subjects "
        "share.",
        "Fill or drop the gaps when reading: missing='interpolate:2h', 'drop-series' or 'drop-instants'.",
    )
