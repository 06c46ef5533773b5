"""Candidates with given groups, and publishing with a ledger."""

import numpy as np

from shoal import KAnonymity, Panel
from shoal.ledger.file import recording
from shoal.model import Candidate, Private, Recipe
from shoal.release import release_candidate

RNG = np.random.default_rng(7)
N = 12


def publish(candidate, to, *, ledger=None, require=(), **options):
    """As the process does, without a report."""
    keyed = options.get("pseudonyms") == "keyed"
    with recording(ledger, candidate, to, require=require, keyed=keyed) as record:
        release = release_candidate(candidate, to, summary="Test.", require=require, **options)
        record(release)
    return release


def grouped(groups, ids=None, k=3, month=1, **private):
    """A candidate with given groups, each published as the mean of its members."""
    groups = np.asarray(groups)
    rng = np.random.default_rng(month)
    readings = rng.random((int(groups.max()) + 1, 4))[groups] + rng.random((len(groups), 4))
    values = np.stack([readings[groups == group].mean(axis=0) for group in groups])
    times = np.datetime64(f"2024-{month:02}-01T00:00") + np.arange(4) * np.timedelta64(1, "h")
    ids = [f"house {i}" for i in range(len(groups))] if ids is None else ids
    original = Panel(readings, ids=ids, times=times)
    return Candidate(
        Panel(values, times=times),
        KAnonymity(k),
        Recipe("microaggregation", {"k": k}),
        Private(original, groups, **private),
    )


JANUARY = np.repeat([0, 1], 6)
FEBRUARY = np.tile([0, 1], 6)
