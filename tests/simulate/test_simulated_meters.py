"""Meters: families, energy, season and the uniqueness of households."""

import datetime as dt
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from shoal.errors import ParameterError
from shoal.simulate import meters, uniqueness
from shoal.simulate.day_grid import DayGrid
from shoal.simulate.weather import simulate_weather

# The package exports a function of the module's name.
METERS = sys.modules["shoal.simulate.meters"]


def of(family, n_series=200, **options):
    """Values (series, days, instants of a day) of one family."""
    panel = meters(n_series, families={family: 1.0}, **options)
    days = options.get("days", 14)
    return panel.values.reshape(n_series, days, -1)


def lag_one(rows):
    centred = rows - rows.mean(axis=1, keepdims=True)
    return (centred[:, 1:] * centred[:, :-1]).sum(axis=1) / (centred**2).sum(axis=1)


def signatures(panel, days, rounded_to=1000):
    households = panel.values[panel.attributes["family"] == "household"]
    totals = households.reshape(len(households), days, -1).sum(axis=2)[:, :7]
    return np.rint(totals / rounded_to)


def test_same_arguments_give_same_bytes_and_another_seed_does_not():
    assert meters(60, seed=5, missing=0.1).digest() == meters(60, seed=5, missing=0.1).digest()
    assert meters(60, seed=5).digest() != meters(60, seed=6).digest()


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_bytes_do_not_depend_on_the_block_size(monkeypatch, rows):
    whole = meters(90, days=7, seed=2, missing=0.05).digest()
    monkeypatch.setattr(METERS, "CELLS_PER_BLOCK", rows * 7 * 24)
    assert meters(90, days=7, seed=2, missing=0.05).digest() == whole


@pytest.mark.parametrize("family", ["household", "small-business", "second-home"])
def test_a_subject_does_not_depend_on_how_many_others_there_are(family):
    few = meters(20, families={family: 1}, days=3, seed=8).values
    many = meters(60, families={family: 1}, days=3, seed=8).values
    assert {row.tobytes() for row in few} <= {row.tobytes() for row in many}


def test_missing_readings_leave_the_others_as_they_are():
    whole, gappy = meters(50, days=7).values, meters(50, days=7, missing=0.3).values
    there = ~np.isnan(gappy)
    assert_array_equal(gappy[there], whole[there])


def test_shape_instants_and_ids():
    panel = meters(30, days=3, step="30min", start="2023-06-05")
    assert panel.values.shape == (30, 144)
    assert panel.times.dtype == "datetime64[us]"
    assert panel.times[0] == np.datetime64("2023-06-05T00:00")
    assert panel.times[-1] == np.datetime64("2023-06-07T23:30")
    assert panel.timezone is None
    assert panel.ids[17] == "meter-00017"
    assert panel.one_series_per_subject
    assert (panel.values >= 0).all()
    assert_array_equal(panel.values, np.rint(panel.values))


@pytest.mark.parametrize("start", ["2024-02-29", dt.date(2024, 2, 29), dt.datetime(2024, 2, 29), "2024-02-29T00:00:00"])
def test_a_start_may_be_text_or_a_date(start):
    assert meters(3, days=1, start=start).times[0] == np.datetime64("2024-02-29")
    assert meters(3, days=1, start=np.datetime64("2024-02-29")).times[0] == np.datetime64("2024-02-29")


def test_shares_become_counts_by_largest_remainder():
    def counts(n, families=None):
        found = meters(n, days=7, families=families).attributes["family"].tolist()
        return tuple(found.count(name) for name in ("household", "small-business", "second-home"))

    assert counts(500) == (350, 100, 50)
    assert counts(7) == (5, 1, 1)
    assert counts(1) == (1, 0, 0)
    assert counts(10, {"household": 1, "second-home": 2}) == (3, 0, 7)
    assert counts(9, {"small-business": 1e308, "second-home": 1e308, "household": 1e308}) == (3, 3, 3)


def test_the_position_does_not_reveal_the_family():
    family = meters(1000, days=7).attributes["family"]
    halves = [(half == "household").mean() for half in (family[:500], family[500:])]
    assert halves == pytest.approx([0.7, 0.7], abs=0.06)
    assert (family[1:] != family[:-1]).mean() > 0.3


@pytest.mark.parametrize(("step", "parts"), [("30min", 2), ("15min", 4), (5, 12)])
def test_a_finer_step_holds_the_same_energy(step, parts):
    hourly, finer = meters(120, seed=3), meters(120, seed=3, step=step)
    assert_array_equal(hourly.attributes["family"], finer.attributes["family"])
    summed = finer.values.reshape(120, -1, parts).sum(axis=2)
    off = np.abs(summed - hourly.values).sum(axis=1) / hourly.values.sum(axis=1)
    assert off.max() < 0.02
    assert summed.sum(axis=1) == pytest.approx(hourly.values.sum(axis=1), rel=0.005)


@pytest.mark.parametrize(("step", "parts"), [("2h", 2), ("12 h", 12), ("1d", 24)])
def test_a_coarser_step_is_the_sum_of_hours(step, parts):
    hourly = meters(40, days=7, seed=3).values
    assert_array_equal(meters(40, days=7, seed=3, step=step).values, hourly.reshape(40, -1, parts).sum(axis=2))


def test_a_step_that_shares_no_hours_is_allowed():
    assert meters(5, days=2, step="90min").n_instants == 32


def test_second_homes_are_nearly_constant():
    homes = of("second-home", step="15min").reshape(200, -1)
    assert (homes.std(axis=1) / homes.mean(axis=1)).max() < 0.15
    means = homes.mean(axis=1) * 96 / 1000
    assert 1.5 < means.mean() < 3.0
    assert means.max() / means.min() > 4


def test_businesses_sleep_at_night_and_at_weekends_and_are_level_while_open():
    shops = of("small-business", start="2024-01-01")
    workdays = [0, 1, 2, 3, 4, 7, 8, 9, 10, 11]
    opened = np.median(shops[:, workdays, 14:16], axis=(1, 2))
    assert (shops[:, workdays, :5].max(axis=(1, 2)) < 0.12 * opened).all()
    assert (shops[:, [5, 6, 12, 13]].max(axis=(1, 2)) < 0.12 * opened).all()
    inside = shops[:, workdays, 14:16]
    assert np.median(inside.std(axis=(1, 2)) / inside.mean(axis=(1, 2))) < 0.15
    assert np.quantile(opened, 0.9) > 3 * np.quantile(opened, 0.1)
    # Hours differ: at eight some are open and some are not.
    at_eight = shops[:, 1, 8] > 0.5 * opened
    assert 0.2 < at_eight.mean() < 0.8


@pytest.mark.parametrize("seed", [0, 1])
def test_households_use_as_much_as_european_ones(seed):
    days = of("household", 1000, seed=seed).sum(axis=2) / 1000
    means = days.mean(axis=1)
    assert 8 < means.mean() < 12
    low, high = np.quantile(means, [0.05, 0.95])
    assert low < 5
    assert high > 18
    assert 0.15 < np.median(days.std(axis=1) / means) < 0.4


def test_households_peak_in_the_evening_and_rest_at_night():
    # Evening to night is 2.7 in the sample of measured households, and a week-end 8 % above a working day.
    load = of("household", 1000, days=28, start="2024-04-01")
    profile = load.mean(axis=(0, 1))
    assert profile[17:21].argmax() + 17 == profile.argmax()
    assert 2.0 < profile[18:21].mean() / profile[2:5].mean() < 3.6
    weekend = np.arange(28) % 7 >= 5
    assert 1.03 < load[:, weekend].mean() / load[:, ~weekend].mean() < 1.15
    morning = load[:, ~weekend, 6:8].mean() / load[:, weekend, 6:8].mean()
    assert morning > 1.05


def test_household_clocks_are_shifted():
    load = of("household", 300, days=28)
    evening = load[:, :, 15:24].mean(axis=1)
    centre = (evening * np.arange(15, 24)).sum(axis=1) / evening.sum(axis=1)
    assert centre.std() > 0.35


def test_households_heat_when_it_is_cold_and_cool_when_it_is_hot():
    clock = DayGrid(np.datetime64("2023-01-01"), 365, 60)
    outside = simulate_weather(clock, 4).outside.reshape(365, 24).mean(axis=1)
    daily = of("household", 150, days=365, start="2023-01-01", seed=4).sum(axis=2).mean(axis=0)
    daily /= daily.mean()
    cold, mild, hot = outside < 3, (outside > 14) & (outside < 19), outside > 23
    assert min(cold.sum(), mild.sum(), hot.sum()) >= 5
    assert daily[cold].mean() > 1.25 * daily[mild].mean()
    assert daily[hot].mean() > 1.01 * daily[mild].mean()
    # Weather and not only the season: within three winter months colder days cost more.
    winter = np.r_[0:60, 334:365]
    assert np.corrcoef(outside[winter], daily[winter])[0, 1] < -0.5


def test_households_have_bursts_a_smooth_curve_has_not():
    load = of("household", 300, days=28, start="2024-04-01").reshape(300, -1)
    smooth = load.reshape(300, 28, 24).mean(axis=1)
    measured_like = np.median(lag_one(load))
    assert 0.15 < measured_like < 0.5
    assert measured_like < np.median(lag_one(np.tile(smooth, 28))) - 0.2
    spread = load.std(axis=1) / load.mean(axis=1)
    assert 0.8 < np.median(spread) < 1.5
    assert np.median(load.max(axis=1) / load.mean(axis=1)) > 6


@pytest.mark.parametrize("days", [7, 14])
def test_no_two_of_2000_households_share_their_weekly_signature(days):
    found = signatures(meters(2000, days=days, families={"household": 1}, seed=1), days)
    assert len(np.unique(found, axis=0)) == 2000


def test_a_panel_shorter_than_a_week_is_left_as_drawn():
    found = signatures(meters(600, days=1, families={"household": 1}), 1)
    assert len(np.unique(found, axis=0)) < 600


def test_only_those_that_collide_are_drawn_again(monkeypatch):
    monkeypatch.setattr(uniqueness, "ROUNDED_TO", 4000.0)
    kept = meters(600, days=7, families={"household": 1}).values
    monkeypatch.setattr(uniqueness.TakenSignatures, "settle", lambda *_: None)
    panel = meters(600, days=7, families={"household": 1})
    assert len(np.unique(signatures(panel, 7, 4000), axis=0)) < 600
    changed = (panel.values != kept).any(axis=1)
    assert 0 < changed.sum() < 300


def test_a_coarser_rounding_forces_redraws_until_all_differ(monkeypatch):
    monkeypatch.setattr(uniqueness, "ROUNDED_TO", 4000.0)
    panel = meters(200, days=7, families={"household": 1})
    assert len(np.unique(signatures(panel, 7, 4000), axis=0)) == 200
    monkeypatch.undo()
    before = signatures(meters(200, days=7, families={"household": 1}), 7, 4000)
    assert len(np.unique(before, axis=0)) < 200


def test_households_that_cannot_differ_are_an_error_that_says_why(monkeypatch):
    monkeypatch.setattr(uniqueness, "ROUNDED_TO", 1e9)
    with pytest.raises(
        ParameterError,
        match=r"Household \d+ could not be distinguished from the \d+ before it in 100 redraws: the daily totals "
        r"of the first week, rounded to 1e\+06 kWh, must differ between any two households. Simulate fewer households",
    ):
        meters(3, days=7, families={"household": 1})


def test_other_families_need_not_be_unique():
    assert meters(400, days=1, families={"second-home": 1}).n_series == 400


@pytest.mark.parametrize("missing", [0.02, 0.2, 0.6])
def test_the_missing_share_is_about_right(missing):
    gone = np.isnan(meters(300, missing=missing).values)
    assert gone.mean() == pytest.approx(missing, rel=0.08)
    # No edge is spared.
    assert gone[:, 0].mean() == pytest.approx(missing, abs=0.09)
    assert gone[:, -1].mean() == pytest.approx(missing, abs=0.09)


def test_missing_readings_are_half_single_half_in_runs():
    gone = np.isnan(meters(600, missing=0.04, step="30min").values)
    alone = gone.copy()
    alone[:, 1:] &= ~gone[:, :-1]
    alone[:, :-1] &= ~gone[:, 1:]
    assert 0.4 < alone.sum() / gone.sum() < 0.55
    inside_a_run = gone[:, 2:] & gone[:, 1:-1] & gone[:, :-2]
    assert inside_a_run.sum() > 0.3 * gone.sum()


def test_an_outage_fits_into_a_day_of_one_reading():
    assert np.isnan(meters(300, days=30, step="1d", missing=0.3).values).mean() == pytest.approx(0.3, abs=0.04)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_series": 0}, "n_series must be a whole number of at least 1, got 0"),
        ({"n_series": 2.5}, "n_series must be a whole number"),
        ({"n_series": True}, "n_series must be a whole number"),
        ({"days": 0}, "days must be a whole number of at least 1, got 0"),
        ({"days": "7"}, "days must be a whole number"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seed": None}, "seed must be a whole number"),
        ({"step": "7min"}, "step must divide a day of 1440 minutes, got 7 minutes. Try"),
        ({"step": 2880}, "step must divide a day"),
        ({"step": "0min"}, "step must look like '15min', '1h' or '1d', or be whole minutes; got '0min'"),
        ({"step": "hourly"}, "step must look like"),
        ({"step": 0.5}, "step must look like"),
        ({"step": True}, "step must look like"),
        ({"start": "soon"}, "start must be a date such as '2024-01-01', got 'soon'"),
        ({"start": 20240101}, "start must be a date"),
        ({"start": np.datetime64("NaT")}, "start must be a date"),
        ({"start": "2024-01-01T06:00"}, "start must be a midnight, because whole days are simulated; got"),
        ({"start": "2024-01-01T00:00+01:00"}, "start has a time zone; simulated clocks are local and have none"),
        (
            {"families": {"factory": 1}},
            "families has no 'factory'. Families are: second-home, small-business, household",
        ),
        ({"families": {"household": -1}}, "the share of 'household' must be a number of at least 0, got -1"),
        ({"families": {"household": float("nan")}}, "the share of 'household' must be a number"),
        ({"families": {"household": "all"}}, "the share of 'household' must be a number"),
        ({"families": {"household": 0}}, "all shares are zero. Give at least one family a positive share"),
        ({"families": {}}, "all shares are zero"),
        ({"families": ["household"]}, "families must map names to shares, such as {'household': 1.0}; got list"),
        ({"missing": 1.0}, "must satisfy 0 <= missing < 1, got 1.0. For 5 % write 0.05"),
        ({"missing": -0.1}, "must satisfy 0 <= missing < 1"),
        ({"missing": float("nan")}, "must satisfy 0 <= missing < 1"),
        ({"missing": "some"}, "must satisfy 0 <= missing < 1"),
        ({"missing": None}, "must satisfy 0 <= missing < 1"),
    ],
)
def test_bad_parameters_are_refused_with_a_way_out(options, message):
    with pytest.raises(ParameterError) as caught:
        meters(**options)
    assert message in str(caught.value)
