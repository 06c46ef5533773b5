"""Candidates for the lint, and a gate that refuses them."""

import numpy as np
import pytest

from forgery import release
from shoal import Panel
from shoal.errors import GuaranteeNotMetError
from shoal.guarantees import NoGuarantee
from shoal.model import Candidate, Interval, Private, Recipe, Risk
from small_release import small_panel

RISK = {"test": (Risk(0.0, Interval.exactly(0.0), 0.0, Interval.exactly(0.0), n_targets=1), "test")}


def refused(candidate, folder, match, **options):
    """The gate refuses, says how it is accepted, and leaves nothing."""
    with pytest.raises(GuaranteeNotMetError, match=match) as told:
        release(candidate, folder / "out", **options)
    assert list(folder.iterdir()) == []
    return str(told.value)


def as_measured(panel):
    """Series under pseudonyms and nothing else: what the lint is most needed for."""
    published = Panel(panel.values, times=panel.times, subjects=panel.subjects, timezone=panel.timezone)
    groups = np.arange(panel.n_series)
    return Candidate(published, NoGuarantee(), Recipe("test", {}), Private(panel, groups))


JUDGED = {"risks": RISK, "risk_limit": 1.0}


def meters(n=20, seed=0, **changes):
    values = np.random.default_rng(seed).gamma(2.0, size=(n, 6)).round(2) + 0.001
    return small_panel(values=values, ids=[f"meter-{i}" for i in range(n)], **changes)
