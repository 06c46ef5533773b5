"""Figures and certificates for the tests of the report."""

import numpy as np
import pytest

from report.samples import certificate_of, daily_curves, grouped
from shoal.model import Panel
from shoal.report import summarise


@pytest.fixture
def figures(rng):
    values, times = daily_curves(rng)
    return summarise(Panel(values, times=times), Panel(grouped(values, 10), times=times), 10)


@pytest.fixture
def certificate(figures):
    return certificate_of(figures)


@pytest.fixture
def worst_figures(rng):
    """As many points, channels and digits as a summary can have."""
    values, times = daily_curves(rng, n_series=60, n_days=2, step=1)
    values = np.stack([-values * 10.0**power for power in range(-5, 4)], axis=2)
    channels = [f"{c}" + "x" * 300 for c in range(9)]
    panel = Panel(values, times=times, channels=channels)
    return summarise(panel, Panel(grouped(values, 10), times=times, channels=channels), 10)
