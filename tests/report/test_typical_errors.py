"""A distance over many figures of a series, told as the typical error of one."""

import math

import numpy as np
import pytest

from report.samples import certificate_of
from shoal import Panel
from shoal.report.page import facts_of
from shoal.report.typical_errors import typical_error
from shoal.utility import InterestLoss

HOURS = np.datetime64("2024-03-30T00:00", "us") + np.arange(72) * np.timedelta64(1, "h")


def facts(**time):
    told = {"first": "2024-03-30T00:00:00", "last": "2024-04-01T23:00:00", "step": "1h", "timezone": None} | time
    return facts_of(certificate_of({}, time=told, counts={"instants": 72, "channels": 1, "series": 8, "subjects": 8}))


@pytest.mark.parametrize(
    ("interest", "n_figures", "what"),
    [
        ("window:17:00-20:00", 9, "Typical error of a reading from 17:00 to 20:00"),
        ("window:22:00-02:00", 12, "Typical error of a reading from 22:00 to 02:00"),
        ("daily-totals", 3, "Typical error of a daily total"),
        ("total", 1, "Typical error of a series' total over the whole period"),
        ("total:17:00-20:00", 1, "Typical error of a series' total from 17:00 to 20:00 over the whole period"),
        ("arrival:0.5", 3, "Typical error of the time of arrival"),
    ],
)
def test_it_is_the_root_mean_square_error_averaged_over_series(rng, interest, n_figures, what):
    before, after = rng.random((2, 8, 72))
    measure = InterestLoss(interest)
    loss = measure.measure(Panel(before, times=HOURS), Panel(after, times=HOURS)).value
    told = typical_error(f"interest-loss:interest={interest}", facts())
    assert told.what == what
    assert told.divisor == pytest.approx(math.sqrt(n_figures))
    if interest == "window:17:00-20:00":
        inside = np.isin(np.arange(72) % 24, (17, 18, 19))
        naive = np.sqrt(((after - before)[:, inside] ** 2).mean(axis=1)).mean()
        assert loss / told.divisor == pytest.approx(naive)


def test_hours_are_those_of_the_releases_own_clock():
    """Where the clock is put forward there is an hour less between 01:00 and 03:00."""
    first = {"first": "2024-03-30T00:00:00+00:00", "timezone": "Europe/Dublin"}
    assert typical_error("interest-loss:interest=window:01:00-03:00", facts(**first)).divisor == math.sqrt(5)
    assert typical_error("interest-loss:interest=daily-totals", facts(**first)).divisor == math.sqrt(4)


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("information-loss", {}),
        ("interest-loss:interest=shape", {}),
        ("interest-loss:interest=window:3-9", {}),
        ("interest-loss:interest=window:17:00-20:00,above=2", {}),
        ("interest-loss:interest=window:17:00-20:00", {"step": None}),
        ("interest-loss:interest=window:17:00-20:00", {"first": "soon"}),
        ("interest-loss:interest=window:17:00-20:00", {"first": "9999-12-31T20:00:00"}),
        ("interest-loss:interest=daily-totals", {"first": "2024-03-30T00:00:00+00:00", "timezone": "../../etc/passwd"}),
    ],
)
def test_what_cannot_be_told_so_stays_a_distance(name, time):
    assert typical_error(name, facts(**time)) is None
