"""What the measures by purpose refuse, and the way out they name."""

import numpy as np
import pytest

from shoal import Panel
from shoal.errors import ParameterError
from shoal.utility import (
    CorrelationLoss,
    ForecastError,
    LoadDurationError,
    MeanDayError,
    PeakHeightError,
    PeakTimeError,
    RampError,
    SeasonalityShift,
    SignalToNoise,
)

OF_DAYS = (MeanDayError, PeakHeightError, PeakTimeError, SeasonalityShift, ForecastError)


def hourly(values, step=1):
    values = np.asarray(values, dtype=float)
    return Panel(
        values, times=np.datetime64("2024-01-01T00:00") + np.arange(values.shape[1]) * np.timedelta64(step, "h")
    )


@pytest.mark.parametrize("cls", OF_DAYS)
def test_times_without_a_clock_need_the_length_of_a_day(cls):
    panel = Panel(np.ones((2, 12)))
    with pytest.raises(ParameterError, match=f"{cls.name} needs to know how long a day is.*Give per_day"):
        cls().measure(panel, panel)
    cls(per_day=4).measure(panel, panel)


@pytest.mark.parametrize(
    ("measure", "needs"),
    [
        (MeanDayError(), "one whole day"),
        (PeakHeightError(), "one whole day"),
        (PeakTimeError(), "one whole day"),
        (SeasonalityShift(), "2 whole days"),
        (SeasonalityShift("week"), "14 whole days"),
        (ForecastError(), "3 whole days"),
    ],
)
def test_a_stretch_that_is_too_short(measure, needs):
    panel = hourly(np.ones((2, 20)))
    with pytest.raises(ParameterError, match=rf"needs at least {needs}; the panel spans 0\.83\. Read a longer"):
        measure.measure(panel, panel)
    one = hourly(np.ones((2, 1)))
    with pytest.raises(ParameterError, match=f"needs at least {needs}; the panel has one instant"):
        measure.measure(one, one)


@pytest.mark.parametrize("cls", OF_DAYS)
def test_steps_that_do_not_make_a_day(cls):
    daily = hourly(np.ones((2, 9)), step=24)
    odd = hourly(np.ones((2, 50)), step=5)
    for panel in (daily, odd):
        with pytest.raises(ParameterError, match=r"in steps that divide it.*align='resample:1h'"):
            cls().measure(panel, panel)


def test_uneven_steps():
    minutes = np.cumsum([1, *[7, 61, 113, 29, 83] * 40])
    panel = Panel(np.ones((2, len(minutes))), times=np.datetime64("2024-01-01") + minutes.astype("timedelta64[m]"))
    with pytest.raises(ParameterError, match="in steps that divide it"):
        MeanDayError().measure(panel, panel)
    # Two readings a minute apart, and the others anywhere: a minute divides a day, but hardly any recur.
    panel = Panel(np.ones((2, len(minutes) + 1)), times=np.datetime64("2024-01-01") + np.r_[0, minutes].astype("m8[m]"))
    with pytest.raises(ParameterError, match=r"mean-day-error needs even steps.*align='resample:1h'"):
        MeanDayError().measure(panel, panel)


def test_a_clock_and_the_length_of_a_day():
    panel = hourly(np.ones((2, 48)))
    with pytest.raises(ParameterError, match=r"per_day applies to times that are numbers.*Omit it from mean-day-error"):
        MeanDayError(per_day=24).measure(panel, panel)


def test_ramps_and_correlations_of_one_instant():
    panel = Panel([[1.0], [2.0]])
    with pytest.raises(ParameterError, match="ramp-error needs at least 2 instants; the panel has one"):
        RampError().measure(panel, panel)
    with pytest.raises(ParameterError, match=r"needs at least 2 instants; the panel has 1. Read a longer period."):
        CorrelationLoss().measure(panel, panel)
    with pytest.raises(ParameterError, match=r"needs at least 26 instants.*or lower lags"):
        CorrelationLoss("instants").measure(panel, panel)


def test_days_that_are_not_in_a_row_or_full_of_gaps():
    times = np.datetime64("2024-01-01") + np.repeat(2 * np.arange(6), 4) * np.timedelta64(24, "h")
    times = times + np.tile(np.arange(4), 6) * np.timedelta64(6, "h")
    panel = Panel(np.ones((2, 24)), times=times)
    with pytest.raises(ParameterError, match=r"needs consecutive days.*of 6 days, 0 and 0 have the days before them"):
        ForecastError().measure(panel, panel)
    values = np.random.default_rng(0).random((2, 24))
    values[:, 20:] = np.nan
    gappy = hourly(values, step=6)
    with pytest.raises(ParameterError, match="needs complete days to learn from and to test on, but gaps leave none"):
        ForecastError().measure(gappy, gappy)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MeanDayError("both"), "of must be one of: series, all."),
        (lambda: LoadDurationError("total"), "of must be one of: series, pooled, all."),
        (lambda: PeakTimeError(per_day=1), "per_day must be a whole number of at least 2"),
        (lambda: PeakTimeError(per_day=True), "per_day must be a whole number of at least 2"),
        (lambda: SeasonalityShift("year"), "period must be one of: day, week."),
        (lambda: CorrelationLoss("hours"), "between must be one of: series, mean, instants."),
        (lambda: CorrelationLoss(lags=0), "lags must be a whole number of at least 1."),
        (lambda: CorrelationLoss(sample=1), "sample must be a whole number of at least 2."),
        (lambda: CorrelationLoss(seed=-1), "seed must be a whole number of at least 0."),
        (lambda: SignalToNoise("cell"), "per must be one of: panel, series."),
        (lambda: ForecastError(test=0.0), "test must be a share of the days between 0 and 1"),
        (lambda: ForecastError(ridge=0.0), "ridge must be a number above 0"),
    ],
)
def test_parameters_that_make_no_sense(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
