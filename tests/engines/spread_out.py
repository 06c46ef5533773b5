"""Candidates that were made in memory, spread over an engine: so that what is said of them can be compared."""

import numpy as np
import pyarrow as pa

from shoal import Panel
from shoal.engines.blocks import BlockCandidate, BlockPanel, Clock
from shoal.engines.rows import pack


def spread_out(candidate, engine, parts=5):
    """A candidate of values, in blocks. Its panel must be sorted by id."""
    original, published, stands_for = candidate.private.original, candidate.published, candidate.stands_for
    panel = BlockPanel.of(original, engine, parts=parts)
    names = [str(name) for name in original.ids]
    subjects = names if original.subjects is None else [str(name) for name in original.subjects]
    rows = pack(original.rows)
    table = pa.table(
        {
            "id": [names[i] if i >= 0 else f"fictive-{at}" for at, i in enumerate(stands_for.tolist())],
            "subject": [subjects[i] if i >= 0 else f"fictive-{at}" for at, i in enumerate(stands_for.tolist())],
            "row": rows.take(pa.array(stands_for, mask=stands_for < 0)),
            "published": pack(published.rows),
            "group": np.zeros(len(stands_for), dtype=np.int64),
        }
    )
    n_published = None if np.array_equal(stands_for, np.arange(original.n_series)) else len(stands_for)
    return BlockCandidate(
        panel=panel,
        # Rows in another order than the panel's: nothing may rest on it.
        table=engine.scatter(table.take(np.random.default_rng(3).permutation(len(table))), parts),
        clock=Clock(published.times, published.channels, published.timezone),
        guarantee=candidate.guarantee,
        recipe=candidate.recipe,
        further=candidate.further,
        n_published=n_published,
    )


def named(panel, subjects=None):
    """The same panel with ids that sort as its rows do."""
    n = panel.n_series
    return Panel(
        panel.values,
        ids=[f"m{i:05}" for i in range(n)],
        times=panel.times,
        subjects=subjects,
        channels=panel.channels,
        timezone=panel.timezone,
    )
