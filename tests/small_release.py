"""A small candidate and its release."""

import numpy as np
import pytest

from shoal import Microaggregation, Panel
from shoal.release import release_candidate

K = 3


def small_panel(**changes):
    rng = np.random.default_rng(5)
    times = np.datetime64("2024-01-01T00:00") + np.arange(6) * np.timedelta64(1, "h")
    arguments = {"values": rng.normal(size=(14, 6)), "ids": [f"meter-{i}" for i in range(14)], "times": times}
    return Panel(**(arguments | changes))


@pytest.fixture
def candidate():
    return Microaggregation(k=K).anonymize(small_panel())


@pytest.fixture
def out(tmp_path, candidate):
    """A release folder."""
    release_candidate(candidate, tmp_path / "out", summary="Test.", page=lambda certificate: "<p>report</p>")
    return tmp_path / "out"
