"""Small candidates in blocks, made from candidates in memory: what a release in parts is tested with."""

import numpy as np
import pyarrow as pa

from shoal import KAnonymity, Panel
from shoal.engines.blocks import GROUP, PUBLISHED, BlockCandidate, BlockPanel, Clock
from shoal.engines.rows import ID, ROW, SUBJECT, pack
from shoal.model import Candidate, Private, Recipe

K = 3


def small_panel(n=60, n_instants=6, channels=("value",), gaps=0, seed=5):
    rng = np.random.default_rng(seed)
    shape = (n, n_instants) if len(channels) == 1 else (n, n_instants, len(channels))
    values = rng.normal(size=shape)
    values[:gaps, 0] = np.nan
    times = np.datetime64("2024-01-01T00:00", "us") + np.arange(n_instants) * np.timedelta64(1, "h")
    return Panel(values, ids=[f"meter-{i:03}" for i in range(n)], times=times, channels=channels)


def in_blocks(candidate, engine, published=None):
    """A candidate in memory as one in blocks on an engine."""
    panel = BlockPanel.of(candidate.private.original, engine, parts=4)
    original = candidate.private.original
    values = candidate.values if published is None else published
    subjects = original.ids if original.subjects is None else original.subjects
    table = pa.table(
        {
            ID: pa.array([str(name) for name in original.ids]),
            SUBJECT: pa.array([str(name) for name in subjects]),
            ROW: pack(original.rows),
            PUBLISHED: pack(np.asarray(values).reshape(len(values), -1)),
            GROUP: _groups(candidate),
        }
    )
    return BlockCandidate(
        panel=panel,
        table=engine.keep(engine.scatter(table, 4)),
        clock=Clock(candidate.published.times, candidate.published.channels, candidate.published.timezone),
        guarantee=candidate.guarantee,
        recipe=candidate.recipe,
    )


def _groups(candidate):
    """The groups of series, or of those at each instant as bytes."""
    groups = candidate.private.groups
    return pa.array(groups, pa.int64()) if groups.ndim == 1 else pa.array([row.tobytes() for row in groups])


def as_published(panel):
    """A candidate that publishes what it got: for panels that are k-anonymous already."""
    bare = Panel(panel.values, times=panel.times, subjects=panel.subject_codes, channels=panel.channels)
    private = Private(original=panel, groups=np.arange(panel.n_series) // K)
    return Candidate(bare, KAnonymity(K), Recipe("microaggregation", {"k": K}), private)


def repeated_candidate(engine, n=60, n_instants=6):
    """Rows that are there three times each, as they are."""
    panel = small_panel(n // K, n_instants)
    again = Panel(np.repeat(panel.values, K, axis=0), ids=[f"meter-{i:05}" for i in range(n)], times=panel.times)
    return in_blocks(as_published(again), engine)


def small_candidate(engine, **changes):
    from shoal import Microaggregation

    return in_blocks(Microaggregation(k=K).anonymize(small_panel(**changes)), engine)
