"""Measures by purpose: forecasts, loads, peaks, ramps, days, noise, correlation, seasons."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from naive import purposes as naive
from shoal import Microaggregation, Panel, simulate
from shoal.errors import ParameterError
from shoal.methods import NoiseAddition
from shoal.utility import (
    CorrelationLoss,
    ForecastError,
    LoadDurationError,
    MeanDayError,
    NormalizedDivergence,
    PeakHeightError,
    PeakTimeError,
    RampError,
    SeasonalityShift,
    SignalToNoise,
)
from shoal.utility.curves import sorted_distance

PER_DAY = 3
UNMATCHED = [
    LoadDurationError("pooled"),
    LoadDurationError("all"),
    RampError("pooled"),
    RampError("all"),
    MeanDayError("all"),
    PeakHeightError("all"),
    PeakTimeError("all"),
    SeasonalityShift(of="all"),
    ForecastError(),
]
MATCHED = [
    LoadDurationError(),
    RampError(),
    MeanDayError(),
    PeakHeightError(),
    PeakTimeError(),
    SeasonalityShift(),
    SignalToNoise(),
    SignalToNoise("series"),
    CorrelationLoss(),
    CorrelationLoss("mean"),
    CorrelationLoss("instants", lags=5),
]
EVERY = [*UNMATCHED, *MATCHED]


def hourly(values, start="2024-01-01T00:00", step=1, **further):
    values = np.asarray(values, dtype=float)
    times = np.datetime64(start) + np.arange(values.shape[1]) * np.timedelta64(step, "h")
    return Panel(values, times=times, **further)


def label(measure):
    return f"{measure.name}-{'-'.join(str(v) for v in measure.parameters.values())}"


def lists(values):
    return [[None if np.isnan(x) else float(x) for x in row] for row in values]


@st.composite
def pairs(draw, longest=12, gaps=True):
    """Two small arrays of one shape with ties, and gaps if wanted; whole days of three instants, and a rest."""
    shape = draw(st.integers(1, 4)), draw(st.integers(6, longest))
    numbers = st.integers(-3, 5).map(float)
    cell = st.one_of(numbers, numbers, numbers, st.just(float("nan"))) if gaps else numbers
    size = shape[0] * shape[1]
    return tuple(np.array(draw(st.lists(cell, min_size=size, max_size=size))).reshape(shape) for _ in range(2))


def days_of(n_instants):
    return [(t // PER_DAY, t % PER_DAY) for t in range(n_instants)]


class TestAgainstOneNumberAtATime:
    @given(pairs(), st.sampled_from(["series", "all"]))
    def test_mean_day(self, pair, of):
        expected = naive.mean_day_error(*map(lists, pair), days_of(pair[0].shape[1]), of)
        found = MeanDayError(of, per_day=PER_DAY).measure(*map(Panel, pair)).value
        assert found == pytest.approx(expected, abs=1e-12)

    @given(pairs(), st.sampled_from(["series", "all"]))
    def test_height_and_time_of_peaks(self, pair, of):
        # The mean of all is rounded differently, so that a tie may go the other way; series have exact ties.
        if of == "all":
            pair = tuple(side[:1] for side in pair)
        days = days_of(pair[0].shape[1])
        panels = list(map(Panel, pair))
        height = naive.peak_height_error(*map(lists, pair), days, of)
        assert PeakHeightError(of, per_day=PER_DAY).measure(*panels).value == pytest.approx(height, abs=1e-12)
        hours = naive.peak_time_error(*map(lists, pair), days, of, 24 / PER_DAY)
        assert PeakTimeError(of, per_day=PER_DAY).measure(*panels).value == pytest.approx(hours, abs=1e-12)

    @given(pairs(), st.sampled_from(["series", "all"]))
    def test_load_duration_and_ramps(self, pair, of):
        panels = list(map(Panel, pair))
        expected = naive.load_duration_error(*map(lists, pair), of)
        assert LoadDurationError(of).measure(*panels).value == pytest.approx(expected, abs=1e-12)
        if of == "series":
            expected = naive.ramp_error(*map(lists, pair), of)
            assert RampError(of).measure(*panels).value == pytest.approx(expected, abs=1e-12)

    @given(pairs(longest=9), st.sampled_from(["series", "all"]))
    def test_daily_seasonality(self, pair, of):
        if of == "all":
            pair = tuple(side[:1] for side in pair)
        labels = [slot for _, slot in days_of(pair[0].shape[1])]
        expected = naive.seasonality_shift(*map(lists, pair), labels, of)
        found = SeasonalityShift("day", of, per_day=PER_DAY).measure(*map(Panel, pair)).value
        assert found == pytest.approx(expected, abs=1e-9)

    @given(pairs(longest=7), st.sampled_from(["series", "mean", "instants"]))
    def test_correlation(self, pair, between):
        expected = naive.correlation_loss(*map(lists, pair), between, lags=2)
        found = CorrelationLoss(between, lags=2).measure(*map(Panel, pair)).value
        assert found == pytest.approx(expected, abs=1e-6)

    def test_weekly_seasonality(self, rng):
        x, y = rng.normal(size=(2, 3, 16 * 2))
        labels = [t % 14 for t in range(32)]
        expected = naive.seasonality_shift(lists(x), lists(y), labels, "series")
        assert SeasonalityShift("week", per_day=2).measure(Panel(x), Panel(y)).value == pytest.approx(expected)

    def test_signal_to_noise(self, rng):
        x, noise = rng.normal(size=(2, 5, 7))
        x[rng.random(x.shape) < 0.2] = np.nan
        expected = naive.signal_to_noise(lists(x), lists(x + 0.1 * noise))
        assert SignalToNoise().measure(Panel(x), Panel(x + 0.1 * noise)).value == pytest.approx(expected)

    @pytest.mark.parametrize(("n_days", "gaps"), [(5, False), (5, True), (24, False), (24, True)])
    def test_forecasts(self, rng, n_days, gaps):
        usual = rng.random((6, 1, 4)) + np.sin(np.arange(n_days))[:, None]
        x, y = (usual + 0.3 * rng.normal(size=(6, n_days, 4)) for _ in range(2))
        if gaps:
            x[rng.random(x.shape) < 0.05] = np.nan
        x, y = x.reshape(6, -1), y.reshape(6, -1)
        start = np.datetime64("2024-01-01")
        first = int((start - np.datetime64("1970-01-01")).astype(int))
        days = [(first + t // 4, t % 4) for t in range(4 * n_days)]
        expected = naive.forecast_errors(lists(x), lists(y), days, 0.25, 0.01)
        panels = [hourly(side, step=6) for side in (x, y)]
        measure = ForecastError(ridge=0.01)
        errors = measure.errors(*panels)
        assert errors.published == pytest.approx(expected[0], rel=1e-6)
        assert errors.original == pytest.approx(expected[1], rel=1e-6)
        assert measure.measure(*panels).value == pytest.approx(expected[0] / expected[1], rel=1e-6)

    @given(st.lists(st.integers(-5, 5), min_size=1, max_size=7), st.lists(st.integers(-5, 5), min_size=1, max_size=9))
    def test_distance_of_sorted_numbers(self, one, other):
        one, other = np.array(one, dtype=float), np.array(other, dtype=float)
        assert sorted_distance(one, other) == pytest.approx(wasserstein_distance(one, other), abs=1e-12)


class TestByHand:
    def test_a_flat_release_keeps_the_mean_of_the_load_and_loses_its_curve(self):
        original, published = Panel([[0.0, 4.0]]), Panel([[2.0, 2.0]])
        assert LoadDurationError().measure(original, published).value == 1.0
        assert RampError().measure(original, published).value == 1.0

    def test_exchanged_series_keep_the_pool_and_lose_themselves(self):
        original, published = Panel([[1.0, 2.0], [5.0, 8.0]]), Panel([[5.0, 8.0], [1.0, 2.0]])
        assert LoadDurationError().measure(original, published).value == 20 / 16
        assert LoadDurationError("pooled").measure(original, published).value == 0.0
        assert RampError().measure(original, published).value == 1.0
        assert RampError("pooled").measure(original, published).value == 0.0

    def test_a_peak_moved_by_two_hours(self):
        original, published = np.zeros((1, 48)), np.zeros((1, 48))
        original[0, [18, 24 + 7]] = 3.0
        published[0, [20, 24 + 7]] = 3.0
        assert PeakTimeError().measure(hourly(original), hourly(published)).value == 1.0
        assert PeakHeightError().measure(hourly(original), hourly(published)).value == 0.0

    def test_noise_of_a_given_ratio_is_measured_as_it_was_asked_for(self):
        panel = simulate.meters(200, days=7, step="1h", seed=3)
        published = NoiseAddition(snr=10.0, seed=1).anonymize(panel).published
        assert SignalToNoise().measure(panel, published).value == pytest.approx(10.0, abs=0.1)

    def test_channels_are_judged_each_in_its_own_unit(self, rng):
        x, y = rng.random((2, 5, 48))
        for measure in EVERY:
            if measure.name == "forecast-error":
                continue
            one = measure.measure(hourly(x), hourly(y)).value
            values = [np.stack([side, 1000.0 * side], axis=2) for side in (x, y)]
            both = measure.measure(*(hourly(side) for side in values)).value
            assert both == pytest.approx(one), label(measure)
            half = measure.measure(hourly(values[0]), hourly(np.stack([y, 1000.0 * x], axis=2))).value
            best = measure.measure(hourly(x), hourly(x)).value
            assert half == pytest.approx((one + best) / 2), label(measure)


class TestClocks:
    def test_days_are_those_of_the_time_zone(self):
        # 23:00 UTC is midnight in Bratislava in winter: with the zone this is one peak a day, without two in one.
        values = np.zeros((1, 72))
        values[0, [23, 30, 47, 54]] = [5.0, 1.0, 6.0, 1.0]
        local, plain = (hourly(values, timezone=zone) for zone in ("Europe/Bratislava", None))
        lower = values.copy()
        lower[0, 23] = 0.0
        for panel, published, expected in ((local, hourly(lower, timezone="Europe/Bratislava"), 4 / 11),):
            assert PeakHeightError().measure(panel, published).value == pytest.approx(expected)
        assert PeakHeightError().measure(plain, hourly(lower)).value == pytest.approx(5 / 12)

    @pytest.mark.parametrize(
        ("start", "hours"), [("2024-03-30T23:00", 23), ("2024-10-26T22:00", 25)], ids=["set forward", "set back"]
    )
    def test_a_day_on_which_the_clock_is_set_is_one_day(self, start, hours):
        values = np.zeros((1, 24 + hours + 24))
        values[0, 24 + hours // 2] = 1.0
        before = str(np.datetime64(start) - np.timedelta64(24, "h"))
        panel = hourly(values, before, timezone="Europe/Bratislava")
        later = np.roll(values, 1, axis=1)
        # One of three days has a peak, moved by one hour; the others are flat.
        score = PeakTimeError().measure(panel, hourly(later, before, timezone="Europe/Bratislava"))
        assert score.value == pytest.approx(1 / 3)

    def test_a_fortnight_is_one_by_the_clock(self, rng):
        # Two weeks of local days with the last Sunday of March: an hour less than fourteen times 24.
        values = rng.random((2, 14 * 24 - 1))
        panel = hourly(values, "2024-03-17T23:00", timezone="Europe/Bratislava")
        assert SeasonalityShift("week").measure(panel, panel).value == 0.0
        with pytest.raises(ParameterError, match=r"needs at least 14 whole days; the panel spans 13\.9"):
            SeasonalityShift("week").measure(hourly(values), hourly(values))

    @pytest.mark.parametrize("measure", EVERY, ids=label)
    def test_every_measure_takes_a_clock_that_is_set_and_readings_that_are_left_out(self, rng, measure):
        times = np.datetime64("2024-10-20T22:00") + np.arange(24 * 21 + 1) * np.timedelta64(1, "h")
        kept = np.r_[0:100, 112 : len(times)]
        x, y = rng.random((2, 6, len(kept)))
        one, other = (Panel(side, times=times[kept], timezone="Europe/Bratislava") for side in (x, y))
        score = measure.measure(one, other)
        assert measure.range[0] <= score.value <= measure.range[1]
        assert not score.better_than(measure.measure(one, one)) or measure.judges == "models"

    def test_only_neighbours_one_step_apart_are_ramps(self):
        times = np.array([0, 1, 2, 9, 10])
        original = Panel([[0.0, 1.0, 2.0, 50.0, 51.0]], times=times)
        published = Panel([[0.0, 1.0, 2.0, 90.0, 91.0]], times=times)
        assert RampError().measure(original, published).value == 0.0

    def test_numbers_count_days_from_the_first(self):
        original = Panel([[1.0, 3.0, 1.0, 3.0]], times=[7, 8, 9, 10])
        assert MeanDayError(per_day=2).measure(original, Panel([[1.0, 3.0, 3.0, 1.0]])).value == 0.5

    def test_weekends_help_to_forecast_where_the_clock_tells_them(self, rng):
        days = np.arange(28)
        weekend = (days % 7 >= 5).astype(float)  # from a Monday on
        x = (5.0 * weekend[None, :, None] + 0.1 * rng.normal(size=(20, 28, 4))).reshape(20, -1)
        aware = ForecastError().errors(hourly(x, step=6), hourly(x, step=6))
        blind = ForecastError(per_day=4).errors(Panel(x), Panel(x))
        assert aware.original[0] < 0.2 < blind.yesterday[0]
        assert aware.original[0] < blind.original[0]


@pytest.mark.parametrize("measure", EVERY, ids=label)
class TestEveryMeasure:
    @pytest.fixture
    def panel(self):
        return simulate.meters(40, days=8, step="2h", seed=2)

    def test_the_originals_score_best(self, measure, panel):
        published = Microaggregation(k=4).anonymize(panel).published
        best, found = measure.measure(panel, panel), measure.measure(panel, published)
        perfect = {"signal-to-noise": 300.0, "forecast-error": 1.0}.get(measure.name, 0.0)
        assert best.value == pytest.approx(perfect, abs=1e-9)
        assert found.value != best.value or measure.parameters.get("of") == "all"

    def test_the_unit_does_not_matter(self, measure, panel):
        published = NoiseAddition(snr=2.0).anonymize(panel).published
        once = measure.measure(panel, published).value
        scaled = [Panel(1000.0 * side.values, times=side.times) for side in (panel, published)]
        assert measure.measure(*scaled).value == pytest.approx(once, rel=1e-6)

    def test_goal_and_range_are_those_of_the_score(self, measure, panel):
        score = measure.measure(panel, panel)
        assert (score.goal, score.range) == (measure.goal, measure.range)

    def test_constant_series_are_kept_or_lost_as_a_whole(self, measure, panel):
        constant = Panel(np.full(panel.values.shape, 0.1), times=panel.times)
        same = measure.measure(constant, Microaggregation(k=4).anonymize(constant).published)
        best = measure.measure(constant, constant)
        assert same.value == pytest.approx(best.value, abs=1e-6)
        noisy = Panel(constant.values + np.random.default_rng(1).normal(size=panel.values.shape), times=panel.times)
        worse = measure.measure(constant, noisy)
        assert np.isfinite(worse.value)
        assert best.better_than(worse)


# Groups published as their mean keep the mean of all, however large they are.
@pytest.mark.parametrize("measure", [m for m in EVERY if m.parameters.get("of") != "all"], ids=label)
def test_larger_groups_score_worse(measure):
    panel = simulate.meters(40, days=8, step="2h", seed=2)
    small, large = (Microaggregation(k=k).anonymize(panel).published for k in (3, 13))
    assert measure.measure(panel, small).better_than(measure.measure(panel, large))


@pytest.mark.parametrize("measure", UNMATCHED, ids=label)
class TestTheWhole:
    def test_which_series_is_which_does_not_matter(self, measure, rng):
        x, y = rng.random((2, 9, 24 * 4))
        expected = measure.measure(hourly(x), hourly(y)).value
        assert measure.measure(hourly(x), hourly(y[rng.permutation(9)])).value == pytest.approx(expected)
        assert not measure.matched

    def test_how_many_series_there_are_does_not_matter(self, measure, rng):
        x, y = rng.random((2, 9, 24 * 4))
        expected = measure.measure(hourly(x), hourly(y)).value
        assert measure.measure(hourly(x), hourly(np.repeat(y, 2, axis=0))).value == pytest.approx(expected)

    def test_other_instants_are_refused(self, measure, rng):
        with pytest.raises(ParameterError, match=r"differ in instants or channels: 96 and 95 instants.*Compare the"):
            measure.measure(hourly(rng.random((3, 96))), hourly(rng.random((3, 95))))


@pytest.mark.parametrize("measure", MATCHED, ids=label)
def test_measures_of_series_need_the_same_series(measure, rng):
    assert measure.matched
    with pytest.raises(ParameterError, match="differ in shape"):
        measure.measure(hourly(rng.random((3, 96))), hourly(rng.random((4, 96))))


@given(pairs(gaps=False))
def test_sorting_can_only_bring_values_nearer(pair):
    one, other = map(Panel, pair)
    pooled, own = (LoadDurationError(of).measure(one, other).value for of in ("pooled", "series"))
    cell_by_cell = NormalizedDivergence().measure(one, other).value
    assert pooled <= own + 1e-12
    assert own <= cell_by_cell + 1e-12


class TestSampling:
    def test_pairs_of_a_sample_are_near_those_of_all(self):
        panel = simulate.meters(60, days=3, step="1h", seed=5)
        published = Microaggregation(k=3).anonymize(panel).published
        whole, part = CorrelationLoss().measure(panel, published), CorrelationLoss(sample=30).measure(panel, published)
        assert part.value == pytest.approx(whole.value, rel=0.2)
        assert part.value != whole.value
        assert CorrelationLoss(sample=30).note(published) == "estimated from 30 of 60 series, drawn with seed 0"
        assert CorrelationLoss().note(published) == CorrelationLoss("mean", sample=30).note(published) == ""


def test_blocks_of_series_make_no_difference(monkeypatch):
    panel = simulate.meters(30, days=4, step="1h", seed=4)
    published = NoiseAddition(snr=3.0).anonymize(panel).published
    expected = [measure.measure(panel, published).value for measure in EVERY]
    for module in ("cells", "forecast_error"):
        monkeypatch.setattr(f"shoal.utility.{module}.CELLS", 700)
    found = [measure.measure(panel, published).value for measure in EVERY]
    assert found == pytest.approx(expected, rel=1e-9)
