"""The aggregates of the report against slow ones, and what must never be among them."""

import datetime as dt
import hashlib
import json
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from report.samples import daily_curves, grouped
from shoal.errors import ParameterError
from shoal.model import Panel
from shoal.report import figures as figures_module
from shoal.report import summarise

FIFTHS = (10, 30, 50, 70, 90)


@pytest.fixture
def no_blur(monkeypatch):
    monkeypatch.setattr(figures_module, "_blurred", lambda means, sizes, draws: means)


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
    bands = {f"p{q}": [] for q in FIFTHS}
    for clock in sorted(own):
        means = sorted(np.mean(readings) for readings in own[clock].values())
        n = len(means)
        # The first n % 5 fifths have one subject more.
        ends = [0]
        for fifth in range(5):
            ends.append(ends[-1] + n // 5 + (fifth < n % 5))
        assert ends[-1] == n
        for q, start, stop in zip(FIFTHS, ends, ends[1:], strict=False):
            assert n < 5 * crowd or stop - start >= crowd
            bands[f"p{q}"].append(np.mean(means[start:stop]) if n >= 5 * crowd else None)
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


@pytest.mark.usefixtures("no_blur")
@pytest.mark.parametrize("crowd", [2, 5, 6])
def test_the_bands_equal_slow_ones(gappy, crowd):
    found = summarise(gappy, gappy, crowd)["channels"][0]["bands"]
    expected = naive_bands(gappy, minute_of_day, crowd)
    assert list(found["original"]) == list(expected)
    for name, band in expected.items():
        assert_close(found["original"][name], band)
        assert_close(found["published"][name], band)
    # Five subjects at one clock time: enough for nobody.
    assert found["original"]["p50"].count(None) > 0


def test_only_the_originals_are_blurred(gappy):
    found = summarise(gappy, gappy, 5)["channels"][0]["bands"]
    expected = naive_bands(gappy, minute_of_day, 5)
    for name, band in expected.items():
        assert_close(found["published"][name], band)
    assert found["original"] != found["published"]


@pytest.mark.parametrize("n", [10, 11, 14, 51, 1000])
def test_every_subject_is_in_exactly_one_fifth(rng, n):
    figures = rng.normal(size=n)
    means, sizes = figures_module._fifths(figures, figures_module._Rule(2, 1.0))
    assert sizes.sum() == n
    assert sizes.max() - sizes.min() <= 1
    assert means @ sizes == pytest.approx(figures.sum())
    assert np.all(np.diff(means) > 0)


def test_the_blur_of_a_mean_is_the_spread_divided_by_the_size(rng):
    means, sizes = np.array([1000.0, 1010, 1020, 1030, 1040]), np.array([1001, 1001, 1000, 1000, 1000])
    draws = np.concatenate([figures_module._draws(rng, 1) for _ in range(4000)])
    moved = np.array([figures_module._blurred(means, sizes, own) for own in draws]) - means
    assert moved.std(axis=0) == pytest.approx(40 / sizes, rel=0.05)
    assert np.abs(moved.mean(axis=0)).max() < 0.002
    assert np.abs(moved * sizes).max() == pytest.approx(3 * 40)


def test_half_of_the_blur_is_common_to_all_bins(rng):
    draws = np.array([figures_module._draws(rng, 200) for _ in range(2000)])
    assert draws.shape == (2000, 200, 5)
    assert np.abs(draws).max() == 3
    assert draws.std() == pytest.approx(1, rel=0.03)
    assert draws.mean(axis=1).std() == pytest.approx(np.sqrt(0.5), rel=0.05)
    # The fifths do not move together.
    assert np.corrcoef(draws[:, 0].T)[0, 1:] == pytest.approx(0, abs=0.08)


def test_blurred_means_stay_in_order_and_above_zero(rng):
    sizes = np.full(5, 2)
    for own in figures_module._draws(rng, 200):
        moved = figures_module._in_order(figures_module._blurred(np.array([0.0, 0.0, 0.1, 0.2, 5.0]), sizes, own), 0.0)
        assert np.all(np.diff(moved) >= 0)
        assert moved[0] >= 0
        assert np.all(figures_module._blurred(np.full(5, 7.0), sizes, own) == 7.0)
    assert figures_module._in_order(np.array([3.0, -2, 4, 5, 6]), -1.0).tolist() == [-2.0, 3, 4, 5, 6]


def test_the_blur_is_repeatable_and_follows_from_the_readings_alone(rng, monkeypatch):
    values, times = daily_curves(rng, n_series=50, n_days=2)
    panel = Panel(values, times=times)
    bands = summarise(panel, panel, 10)["channels"][0]["bands"]
    assert summarise(Panel(values.copy(), times=times), panel, 10)["channels"][0]["bands"] == bands
    named = Panel(values, times=times, ids=[f"meter {i}" for i in range(50)])
    assert named.digest() != panel.digest()
    assert summarise(named, panel, 10)["channels"][0]["bands"] == bands
    seed = hashlib.sha256(b"shoal report bands" + values.tobytes()).digest()
    monkeypatch.setattr(figures_module, "_ROWS", 7)
    assert figures_module._secret(panel) == int.from_bytes(seed, "big") != int(panel.digest(), 16)
    # One reading a little different and all is blurred differently.
    draws = []
    for _ in range(2):
        draws.append(figures_module._draws(np.random.default_rng(figures_module._secret(Panel(values))), 3))
        values[7, 5] = np.nextafter(values[7, 5], 9)
    assert not np.isclose(*draws).any()


def outsider(values, k, bands, total, published):
    """The subjects whose reading follows from equations an outsider has, and what follows.

    `values` rise. One instant, or several at which everybody keeps the same rank: then all are means over them. The
    outsider knows who is in which fifth and in which group. The total and the group means are exact, so they are used
    before the fifths.
    """
    n = len(values)
    groups = [list(range(start, start + k)) for start in range(0, n - n % k, k)]
    groups[-1] += range(n - n % k, n)
    fifths = [list(block) for block in np.array_split(np.arange(n), 5)]
    sets = [*fifths, range(n), *groups]
    figures = [mean * len(block) for mean, block in zip(bands, fifths, strict=True)]
    figures += [total, *(published[group[0]] * len(group) for group in groups)]
    rows = np.array([[float(subject in members) for subject in range(n)] for members in sets])
    weights = np.where(np.arange(len(rows)) < 5, 1.0, 1e4)
    found = {}
    for subject, wanted in enumerate(np.eye(n)):
        # The shortest combination of the weighted equations takes as little as possible of the blurred ones.
        combination = np.linalg.lstsq((rows * weights[:, None]).T, wanted, rcond=1e-10)[0] * weights
        if np.allclose(combination @ rows, wanted, atol=1e-6):
            found[subject] = float(combination @ figures)
    return found


def group_means(values, k):
    n = len(values)
    starts = np.minimum(np.arange(n) // k, n // k - 1)
    return np.array([values[starts == start].mean(axis=0) for start in starts])


def errors_of_an_outsider(rng, k, n, n_instants, n_panels):
    """How far off the readings are that an outsider finds, and the group means of those subjects, in spreads."""
    errors, guesses = [], []
    for _ in range(n_panels):
        levels = np.sort(rng.gamma(2.0, 50.0, n)) + 20
        values = levels[:, None] * (1 + 0.3 * np.sin(np.arange(n_instants)))
        published = group_means(values, k)
        channel = summarise(Panel(values), Panel(published), k)["channels"][0]
        bands = [np.mean(channel["bands"]["original"][f"p{q}"]) for q in FIFTHS]
        total = np.mean(channel["profile"]["original"]) * n
        own, guess = values.mean(axis=1), published.mean(axis=1)
        found = outsider(own, k, bands, total, guess)
        assert found
        blocks = np.array_split(own, 5)
        spread = blocks[-1].mean() - blocks[0].mean()
        errors += [abs(reading - own[subject]) / spread for subject, reading in found.items()]
        guesses += [abs(guess[subject] - own[subject]) / spread for subject in found]
    return errors, guesses


ATTACKED = [(2, 11), (2, 14), (3, 16), (5, 26), (10, 51)]


@pytest.fixture
def no_order(monkeypatch):
    """Show the blurred means as they are: more than the outsider gets of the real figures."""
    monkeypatch.setattr(figures_module, "_in_order", lambda blurred, lowest: blurred)


@pytest.mark.usefixtures("no_order")
@pytest.mark.parametrize("n_instants", [1, 96])
@pytest.mark.parametrize(("k", "n"), ATTACKED)
def test_the_blur_keeps_everybody_from_being_found_by_subtraction(rng, k, n, n_instants):
    errors, _ = errors_of_an_outsider(rng, k, n, n_instants, n_panels=30)
    assert np.median(errors) > 0.25
    # Nor are many found by luck.
    assert np.mean(np.array(errors) < 0.02) < 0.1


@pytest.mark.parametrize("n_instants", [1, 96])
@pytest.mark.parametrize(("k", "n"), ATTACKED)
def test_nobody_is_found_from_the_figures_shown(rng, k, n, n_instants):
    errors, guesses = errors_of_an_outsider(rng, k, n, n_instants, n_panels=30)
    # Who subtracts is further off than who takes the published mean for the reading.
    assert np.median(errors) > 2 * np.median(guesses)
    # With two in a group and three in a fifth a reading follows from two neighbouring fifths, and putting them in order
    # tells how far these are apart at most. That is no more than the group means tell.
    assert np.median(errors) > 0.25 or (k, n) == (2, 14)


@pytest.mark.usefixtures("no_blur")
@pytest.mark.parametrize(("k", "n"), ATTACKED)
def test_without_the_blur_subtraction_finds_somebody(rng, k, n):
    # What is left is the rounding to four digits.
    assert max(errors_of_an_outsider(rng, k, n, n_instants=1, n_panels=5)[0]) < 0.03


@pytest.mark.usefixtures("no_order")
@pytest.mark.parametrize(("k", "n"), ATTACKED)
def test_a_blur_drawn_anew_in_each_bin_would_average_out(rng, monkeypatch, k, n):
    monkeypatch.setattr(figures_module, "_draws", lambda rng, n_bins: rng.standard_normal((n_bins, 5)))
    assert np.median(errors_of_an_outsider(rng, k, n, n_instants=96, n_panels=5)[0]) < 0.15


@pytest.mark.usefixtures("no_blur")
@pytest.mark.parametrize(("k", "n"), ATTACKED)
def test_fifths_and_total_alone_find_nobody(rng, k, n):
    values = np.sort(rng.gamma(2.0, 50.0, n))
    panel = Panel(values[:, None])
    bands = summarise(panel, panel, k)["channels"][0]["bands"]["original"]
    assert not outsider(values, n, [bands[f"p{q}"][0] for q in FIFTHS], values.sum(), group_means(values, n))


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
    # A mean may round to one of the many readings by chance; a bare order statistic would be a reading every time.
    assert sum(n in readings for n in shown) < 0.2 * len(shown)
    assert rounded(77_771.0) not in shown


def test_one_distinctive_subject_shows_nowhere():
    values = np.full((60, 24), 1.0)
    values[17, :20] = 1_234_567.0
    times = np.datetime64("2024-03-01") + np.arange(24) * np.timedelta64(1, "h")
    panel = Panel(values, times=times)
    # The release is public and may show it; here it is the same panel, so look at the originals only.
    channel = summarise(panel, panel, 10)["channels"][0]
    shown = numbers_in([channel[part]["original"] for part in ("profile", "duration", "bands")])
    assert set(shown) == {1.0, 60.0}
    # The fifth with the subject in it is the total less the other four.
    for name in ("p10", "p50", "p90"):
        assert channel["bands"]["original"][name] == [None] * 20 + [1.0] * 4


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
    with pytest.raises(ParameterError, match=r"'Atlantis/Capital' is not in the time zone database.*Europe/Bratislava"):
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
