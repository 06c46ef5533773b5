"""The aggregates of the report against slow ones, and what must never be among them."""

import datetime as dt
import json
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from report.samples import daily_curves, grouped
from shoal.errors import InputError
from shoal.model import Panel
from shoal.report import figures as figures_module
from shoal.report import summarise


def rounded(number):
    return None if number is None else float(f"{number:.4g}")


def naive_profile(panel, clock_of, crowd, channel=0):
    """Mean reading by clock time, cell by cell."""
    values = panel.values if panel.values.ndim == 3 else panel.values[:, :, None]
    readings, subjects = {}, {}
    for t, time in enumerate(panel.times):
        clock = clock_of(time)
        readings.setdefault(clock, [])
        subjects.setdefault(clock, set())
        for s in range(panel.n_series):
            if not np.isnan(values[s, t, channel]):
                readings[clock].append(values[s, t, channel])
                subjects[clock].add(panel.subject_codes[s])
    return {
        clock: float(np.mean(readings[clock])) if len(subjects[clock]) >= crowd else None for clock in sorted(readings)
    }


def naive_totals(panel, crowd):
    totals = []
    for column in panel.values.T:
        seen = ~np.isnan(column)
        if len(set(panel.subject_codes[seen].tolist())) >= crowd:
            totals.append(column[seen].mean() * panel.n_series)
    return sorted(totals, reverse=True)


def naive_bands(panel, clock_of, crowd):
    own = {}
    for s, row in enumerate(panel.values):
        for time, value in zip(panel.times, row, strict=True):
            if not np.isnan(value):
                own.setdefault(clock_of(time), {}).setdefault(panel.subject_codes[s], []).append(value)
    bands = {f"p{q}": [] for q in (10, 25, 50, 75, 90)}
    window = max(crowd, 5)
    for clock in sorted(own):
        means = sorted(np.mean(readings) for readings in own[clock].values())
        for q in (10, 25, 50, 75, 90):
            if len(means) < 5 * crowd:
                bands[f"p{q}"].append(None)
                continue
            # The window whose middle is nearest to the rank, everything times 100 to stay with integers.
            middles = [100 * s + 50 * (window - 1) for s in range(len(means) - window + 1)]
            start = min(range(len(middles)), key=lambda s: abs(middles[s] - q * (len(means) - 1)))
            bands[f"p{q}"].append(np.mean(means[start : start + window]))
    return bands


def minute_of_day(time):
    return int(time.astype("datetime64[m]").astype(np.int64) % 1440)


def local_minute(zone):
    def clock_of(time):
        moment = time.astype("datetime64[us]").item().replace(tzinfo=dt.UTC).astimezone(zone)
        return moment.hour * 60 + moment.minute

    return clock_of


def numbers_in(part):
    if isinstance(part, dict):
        return [n for value in part.values() for n in numbers_in(value)]
    if isinstance(part, list):
        return [n for value in part for n in numbers_in(value)]
    return [part] if isinstance(part, int | float) and not isinstance(part, bool) else []


def assert_close(curve, expected):
    assert [c is None for c in curve] == [e is None for e in expected]
    for found, wanted in zip(curve, expected, strict=True):
        # One unit in the fourth digit: the order of summation may tip the rounding.
        assert found is None or found == pytest.approx(wanted, rel=1.001e-3)


@pytest.fixture
def gappy(rng):
    """Three series a subject, gaps, and clock times at which few subjects were observed."""
    values, times = daily_curves(rng, n_series=90, n_days=3, step=120)
    values[rng.random(values.shape) < 0.2] = np.nan
    values[5:, [2, 14, 26]] = np.nan
    return Panel(values, times=times, subjects=np.arange(90) % 30)


def test_the_mean_day_equals_a_slow_one(gappy):
    found = summarise(gappy, gappy, 4)
    expected = naive_profile(gappy, minute_of_day, 4)
    assert found["axis"]["kind"] == "clock"
    assert found["axis"]["at"] == list(expected)
    for side in ("original", "published"):
        assert_close(found["channels"][0]["profile"][side], list(expected.values()))


def test_the_load_duration_curve_equals_a_slow_one(gappy):
    found = summarise(gappy, gappy, 6)["channels"][0]["duration"]
    expected = naive_totals(gappy, 6)
    assert found["left_out"] == 3
    assert found["instants"] == len(expected) == 33
    assert_close(found["original"], expected)


def test_a_long_load_duration_curve_is_read_at_even_shares(rng):
    values, times = daily_curves(rng, n_series=20, n_days=20)
    panel = Panel(values, times=times)
    found = summarise(panel, panel, 2)["channels"][0]["duration"]["original"]
    expected = naive_totals(panel, 2)
    assert len(found) == 200
    assert_close([found[0], found[-1]], [expected[0], expected[-1]])
    assert found == sorted(found, reverse=True)


def test_the_bands_equal_slow_ones(gappy):
    found = summarise(gappy, gappy, 6)["channels"][0]["bands"]
    expected = naive_bands(gappy, minute_of_day, 6)
    for name, band in expected.items():
        assert_close(found["original"][name], band)
    # Five subjects at one clock time: enough for nobody.
    assert found["original"]["p50"].count(None) > 0


def test_blocks_of_rows_and_bins_change_nothing(gappy, monkeypatch):
    whole = summarise(gappy, gappy, 4)
    monkeypatch.setattr(figures_module, "_ROWS", 7)
    monkeypatch.setattr(figures_module, "_WORKING_BYTES", 16 * 30 * 5)
    parts = summarise(gappy, gappy, 4)
    assert numbers_in(parts) == pytest.approx(numbers_in(whole), rel=1.001e-3)


def test_gaps_do_not_look_like_low_totals():
    values = np.full((10, 4), 2.0)
    values[:5, 1] = np.nan
    duration = summarise(Panel(values), Panel(values), 3)["channels"][0]["duration"]
    assert duration["original"] == [20.0] * 4
    assert "mean over its observed series" in duration["note"]


@pytest.mark.parametrize("crowd", [2, 3, 7])
def test_no_reading_of_the_originals_is_among_the_numbers(rng, crowd):
    # Readings with four digits that no mean of several can hit but by chance, and the seed is fixed.
    n_series = 6 * crowd
    values = rng.permutation(np.arange(1000, 1000 + 7 * n_series * 24, 7)).reshape(n_series, 24).astype(float)
    values += np.pi / 10
    values[: n_series - crowd + 1, 5] = np.nan
    values[:, 6] = np.nan
    values[0, 6] = 77_771.0
    times = np.datetime64("2024-03-01") + np.arange(24) * np.timedelta64(1, "h")
    published = np.broadcast_to(np.zeros(24), values.shape)
    summary = summarise(Panel(values, times=times), Panel(published, times=times), crowd)
    readings = {rounded(v) for v in values[~np.isnan(values)].tolist()}
    channel = summary["channels"][0]
    # Fewer than `crowd` subjects were observed at two clock times.
    assert [i for i, v in enumerate(channel["profile"]["original"]) if v is None] == [5, 6]
    assert channel["duration"]["left_out"] == 2
    shown = numbers_in([channel["profile"]["original"], channel["duration"]["original"], channel["bands"]["original"]])
    # A mean may round to one of the many readings by chance; a bare quantile would be a reading every time.
    assert sum(n in readings for n in shown) < 0.2 * len(shown)
    assert rounded(77_771.0) not in shown


def test_one_distinctive_subject_shows_nowhere():
    values = np.full((60, 24), 1.0)
    values[17] = 1_234_567.0
    times = np.datetime64("2024-03-01") + np.arange(24) * np.timedelta64(1, "h")
    panel = Panel(values, times=times)
    # The release is public and may show it; here it is the same panel, so look at the originals only.
    channel = summarise(panel, panel, 10)["channels"][0]
    shown = numbers_in([channel[part]["original"] for part in ("profile", "duration", "bands")])
    assert set(shown) == {1.0}


def test_the_total_of_one_subject_among_zeros_is_left_out():
    values = np.zeros((40, 3))
    values[11, 1] = 8_191.0
    values[[4, 5], 2] = 6_000.0
    channel = summarise(Panel(values), Panel(np.zeros((40, 3))), 4)["channels"][0]
    assert channel["profile"]["original"] == [0.0, None, 300.0]
    assert channel["duration"]["original"] == [12_000.0, 0.0]
    assert channel["duration"]["left_out"] == 1


def test_series_of_one_subject_are_no_crowd(rng):
    values, times = daily_curves(rng, n_series=40, n_days=2)
    alone = Panel(values, times=times, subjects=["one person"] * 40)
    few = Panel(values, times=times, subjects=np.arange(40) % 4)
    for panel in (alone, few):
        channel = summarise(panel, panel, 5)["channels"][0]
        assert set(channel["profile"]["original"]) == {None}
        assert numbers_in(channel["duration"]["original"]) == []
        assert channel["bands"]["original"] is None


@pytest.mark.parametrize("crowd", [-3, 0, 1])
def test_a_crowd_of_one_counts_as_two(crowd):
    values = np.array([[1.0, 4.0, np.nan], [3.0, 8.0, 5.0]])
    found = summarise(Panel(values), Panel(values), crowd)
    assert found["crowd"] == 2
    assert found["channels"][0]["profile"]["original"] == [2.0, 6.0, None]


def test_bands_need_five_crowds(rng):
    values, times = daily_curves(rng, n_series=49, n_days=2)
    panel = Panel(values, times=times)
    bands = summarise(panel, panel, 10)["channels"][0]["bands"]
    assert bands["original"] is None
    assert bands["reason"] == "Bands need at least 50 subjects, five crowds of 10; there are 49."
    assert summarise(panel, panel, 9)["channels"][0]["bands"]["original"] is not None


@pytest.mark.parametrize(
    ("name", "zone", "first"),
    [
        ("Europe/Bratislava", ZoneInfo("Europe/Bratislava"), "2024-03-30T23:00"),
        ("Europe/Bratislava", ZoneInfo("Europe/Bratislava"), "2024-10-26T22:00"),
        ("+01:00", dt.timezone(dt.timedelta(hours=1)), "2024-03-30T23:00"),
        ("-05:30", -dt.timedelta(hours=5, minutes=30), "2024-03-30T23:00"),
        ("UTC", dt.UTC, "2024-03-30T23:00"),
    ],
)
def test_clock_times_follow_the_time_zone_also_when_the_clock_changes(rng, name, zone, first):
    zone = dt.timezone(zone) if isinstance(zone, dt.timedelta) else zone
    values, _ = daily_curves(rng, n_series=12, n_days=2, step=30)
    times = np.datetime64(first) + np.arange(96) * np.timedelta64(30, "m")
    panel = Panel(values, times=times, timezone=name)
    found = summarise(panel, panel, 2)
    expected = naive_profile(panel, local_minute(zone), 2)
    assert found["axis"]["timezone"] == name
    assert found["axis"]["at"] == list(expected)
    assert_close(found["channels"][0]["profile"]["original"], list(expected.values()))


def test_an_unknown_time_zone_is_refused_by_name(rng):
    values, times = daily_curves(rng, n_series=4, n_days=2)
    panel = Panel(values, times=times, timezone="Atlantis/Capital")
    with pytest.raises(InputError, match=r"time zone 'Atlantis/Capital' is not known.*Europe/Bratislava"):
        summarise(panel, panel, 2)


def test_a_minute_grid_is_gathered_into_bins_of_four_minutes(rng):
    values, times = daily_curves(rng, n_series=10, n_days=2, step=1)
    panel = Panel(values, times=times)
    found = summarise(panel, panel, 2)
    expected = naive_profile(panel, lambda t: minute_of_day(t) // 4 * 4, 2)
    assert found["axis"]["width"] == 4
    assert found["axis"]["at"] == list(range(0, 1440, 4))
    assert_close(found["channels"][0]["profile"]["original"], list(expected.values()))


def test_days_and_less_than_a_day_give_a_curve_over_instants(rng):
    values, _ = daily_curves(rng, n_series=8, n_days=1)
    daily = np.datetime64("2024-01-01") + np.arange(24) * np.timedelta64(1, "D")
    hourly = np.datetime64("2024-01-01") + np.arange(23) * np.timedelta64(1, "h")
    for times in (daily, hourly):
        panel = Panel(values[:, : len(times)], times=times)
        found = summarise(panel, panel, 2)
        assert found["axis"]["kind"] == "time"
        assert found["axis"]["at"] == np.datetime_as_string(times, unit="m").tolist()
        assert_close(found["channels"][0]["profile"]["original"], panel.values.mean(axis=0).tolist())


def test_integer_times_give_a_curve_over_instants(rng):
    values = rng.random((6, 5))
    panel = Panel(values, times=[3, 5, 8, 13, 2**62])
    found = summarise(panel, panel, 2)
    assert found["axis"] == {"kind": "index", "at": [3, 5, 8, 13, 2**62], "width": None, "timezone": None}
    assert_close(found["channels"][0]["profile"]["original"], values.mean(axis=0).tolist())


def test_many_integer_times_are_binned_to_at_most_400_points(rng):
    values = rng.random((6, 1001))
    panel = Panel(values)
    found = summarise(panel, panel, 2)
    width = found["axis"]["width"]
    assert len(found["axis"]["at"]) <= 400
    expected = [values[:, start : start + width].mean() for start in found["axis"]["at"]]
    assert_close(found["channels"][0]["profile"]["original"], expected)


def test_the_ends_of_the_integers_are_no_trouble(rng):
    times = np.sort(rng.integers(-(2**63), 2**63 - 1, 500))
    times[[0, -1]] = -(2**63), 2**63 - 1
    panel = Panel(rng.random((4, 500)), times=times)
    found = summarise(panel, panel, 2)
    assert len(found["axis"]["at"]) <= 400
    assert any(v is not None for v in found["channels"][0]["profile"]["original"])


@pytest.mark.parametrize("times", [None, ["2024-01-01T12:00"]])
def test_one_instant_gives_one_point(times):
    panel = Panel(np.arange(20.0)[:, None], times=None if times is None else np.array(times, dtype="datetime64[us]"))
    channel = summarise(panel, panel, 4)["channels"][0]
    assert channel["profile"]["original"] == [9.5]
    assert channel["duration"]["original"] == [190.0]
    assert [len(band) for band in channel["bands"]["original"].values()] == [1] * 5


def test_one_group_of_all_series(rng):
    values, times = daily_curves(rng, n_series=50)
    published = Panel(np.broadcast_to(values.mean(axis=0), values.shape), times=times)
    channel = summarise(Panel(values, times=times), published, 10)["channels"][0]
    assert channel["profile"]["original"] == pytest.approx(channel["profile"]["published"], rel=1e-3)
    assert channel["bands"]["published"]["p10"] == channel["bands"]["published"]["p90"]


def test_several_channels_are_kept_apart_and_the_ninth_is_left_out(rng):
    values, times = daily_curves(rng, n_series=12, n_days=2)
    stacked = np.stack([values * (c + 1) for c in range(9)], axis=2)
    panel = Panel(stacked, times=times)
    found = summarise(panel, panel, 2)
    assert [c["name"] for c in found["channels"]] == [f"value_{c}" for c in range(8)]
    assert found["channels_left_out"] == 1
    for c in (0, 3, 7):
        expected = naive_profile(panel, minute_of_day, 2, channel=c)
        assert_close(found["channels"][c]["profile"]["original"], list(expected.values()))


def test_a_coarser_release_is_compared_on_its_own_grid(rng):
    values, times = daily_curves(rng, n_series=20, n_days=3, step=15)
    hourly = Panel(values.reshape(20, -1, 4).mean(axis=2), times=times[::4])
    found = summarise(Panel(values, times=times), hourly, 2)
    profile = found["channels"][0]["profile"]
    assert found["axis"]["width"] == 60
    assert profile["original"] == pytest.approx(profile["published"], rel=1.001e-3)


def test_a_release_of_fewer_rows_than_a_crowd_is_still_shown(rng):
    values, times = daily_curves(rng, n_series=60)
    profiles = Panel(values.reshape(3, 20, -1).mean(axis=1), times=times)
    channel = summarise(Panel(values, times=times), profiles, 20)["channels"][0]
    assert None not in channel["profile"]["published"]
    assert channel["bands"]["published"] is None


def test_times_of_another_kind_leave_the_release_out(rng):
    values, times = daily_curves(rng, n_series=10, n_days=2)
    found = summarise(Panel(values, times=times), Panel(values), 2)["channels"][0]
    assert found["profile"]["published"] is None
    assert None not in found["profile"]["original"]


def test_a_channel_the_release_lacks_is_shown_alone(rng):
    values, times = daily_curves(rng, n_series=10, n_days=2)
    found = summarise(Panel(np.stack([values, values], axis=2), times=times), Panel(values, times=times), 2)
    assert found["channels"][1]["profile"]["published"] is None
    assert None not in found["channels"][1]["duration"]["original"]


def test_readings_too_large_to_add_are_left_out_without_a_warning():
    panel = Panel(np.full((12, 3), 1.7e308))
    channel = summarise(panel, panel, 2)["channels"][0]
    assert channel["profile"]["original"] == [None] * 3


def test_the_summary_is_bounded_json(worst_figures):
    text = json.dumps(worst_figures, allow_nan=False)
    assert len(text) < 120_000
    assert len(worst_figures["channels"]) == 8
    for channel in worst_figures["channels"]:
        assert len(channel["name"]) <= 60
        curves = [*channel["profile"].values(), *channel["bands"]["original"].values(), channel["duration"]["original"]]
        assert all(len(curve) <= 400 for curve in curves)


def test_the_summary_is_bounded_where_numbers_are_long(rng):
    values, times = daily_curves(rng, n_series=30, n_days=2, step=1)
    panel = Panel(np.stack([-values * 1e15] * 8, axis=2), times=times)
    assert len(json.dumps(summarise(panel, panel, 5))) < 120_000


def test_the_panels_are_left_untouched(rng):
    values, times = daily_curves(rng, n_series=20, n_days=2)
    values[3, 7] = np.nan
    panel, published = Panel(values, times=times), Panel(grouped(values, 5), times=times)
    before = panel.digest(), published.digest()
    summarise(panel, published, 5)
    assert (panel.digest(), published.digest()) == before
