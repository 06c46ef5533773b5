"""Originals that a table repeats, as a whole or day by day."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Microaggregation, Panel, simulate
from shoal.attacks import Copies
from shoal.attacks.copies import DISTINCT, SHARED
from shoal.errors import ParameterError

HOMES = simulate.meters(60, days=7, step="2h", families={"household": 1.0}, seed=2)
INSIDE, OUTSIDE = HOMES[:40], HOMES[40:]
PER_DAY = 12


def pieced(panel, n, seed=0):
    """A table of n series, each day of which is the same day of anyone."""
    rng = np.random.default_rng(seed)
    days = panel.values.reshape(panel.n_series, -1, PER_DAY)
    values = [[days[rng.integers(panel.n_series), day] for day in range(days.shape[1])] for _ in range(n)]
    return Panel(np.reshape(values, (n, -1)), times=panel.times)


def found(original, published, outside=None):
    attack = Copies()
    return attack.risk(attack.find(original, published, outside=outside))


def test_a_table_of_single_days_of_others_repeats_no_series_and_is_found_out():
    risk = found(INSIDE, pieced(INSIDE, 60), OUTSIDE)
    assert (risk.success, risk.exact) == (0.0, 0.0)
    assert risk.days == 1.0
    assert risk.days_beyond
    assert risk.goes_beyond_control
    assert risk.sentence.startswith(
        "The table repeats none of 40 originals; of 20 subjects outside, none. It repeats single days of 40 originals, "
        "to the last bit; of 20 subjects outside, of none."
    )


def test_days_are_found_whatever_their_date_and_without_a_control():
    shifted = np.roll(INSIDE.values, 3 * PER_DAY, axis=1)
    risk = found(INSIDE, Panel(shifted[:5], times=INSIDE.times))
    assert risk.days == 5 / 40
    assert risk.goes_beyond_control
    assert "It repeats single days of 5 originals, to the last bit. Someone" in risk.sentence


def test_days_of_series_that_are_repeated_as_a_whole_are_not_counted_again():
    made = pieced(INSIDE[:10], 20).values.copy()
    made[0] = INSIDE.values[30]
    risk = found(INSIDE, Panel(made, times=INSIDE.times), OUTSIDE)
    assert risk.success == 1 / 40
    assert risk.days == 10 / 40
    assert "It repeats single days of 10 other originals" in risk.sentence


def test_what_people_have_in_common_is_no_copy():
    """Where everyone outside has the same day as well, it says nothing about anyone inside."""
    values = HOMES.values.copy()
    values[:, :PER_DAY] = np.arange(PER_DAY)
    inside, outside = (Panel(values[part], times=HOMES.times) for part in (slice(0, 40), slice(40, 60)))
    made = Panel(np.roll(inside.values, 1, axis=0) * np.where(np.arange(values.shape[1]) < PER_DAY, 1.0, 2.0))
    risk = found(inside, Panel(made.values, times=HOMES.times), outside)
    assert risk.days == 1.0
    assert not risk.goes_beyond_control
    assert "of 20 subjects outside, of 20" in risk.sentence


def test_means_of_groups_repeat_nobody():
    risk = found(INSIDE, Microaggregation(k=5).anonymize(INSIDE).published, OUTSIDE)
    assert risk.days == 0.0
    assert "single days" not in risk.sentence


@pytest.mark.parametrize("different", [DISTINCT - 1, DISTINCT])
def test_days_with_few_different_readings_may_be_alike_by_chance(different):
    day = np.resize(np.arange(float(different)), PER_DAY)
    rng = np.random.default_rng(1)
    original = np.stack([np.concatenate([day, rng.normal(size=PER_DAY)]) for _ in range(3)])
    made = np.concatenate([day, rng.normal(size=PER_DAY)])[None]
    times = HOMES.times[: 2 * PER_DAY]
    assert found(Panel(original, times=times), Panel(made, times=times)).days == float(different == DISTINCT)


def thinned(values, share, seed=0):
    return np.where(np.random.default_rng(seed).random(values.shape) < share, np.nan, values)


@pytest.mark.parametrize("days", [1, 2, 3])
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_strangers_have_no_copies_by_chance_where_most_readings_are_missing(days, share):
    n_targets = 0
    for seed in range(6):
        x, strangers, outside = np.split(thinned(simulate.meters(288, days=days, seed=seed).values, share), 3)
        n_moving = sum(len(set(row[~np.isnan(row)])) >= DISTINCT for row in x)
        risk = found(Panel(x), Panel(strangers), Panel(outside))
        assert (risk.success, risk.control, risk.n_targets) == (0.0, 0.0, n_moving)
        n_targets += n_moving
    assert n_targets > 100


def test_copies_of_series_with_gaps_are_found_if_they_share_enough():
    seen = thinned(simulate.meters(40, days=7, seed=1).values, 0.8, 1)
    risk = found(Panel(seen[:30]), Panel(thinned(seen[:30], 0.3, 2)), Panel(seen[30:]))
    assert (risk.success, risk.exact, risk.control) == (1.0, 1.0, 0.0)
    rows = np.full((1, 40), np.nan)
    for n_different, off, success in ((SHARED, 1e-9, 1.0), (SHARED - 1, 1e-9, 0.0), (DISTINCT, 0.0, 1.0)):
        rows[0, :SHARED] = np.minimum(np.arange(SHARED), n_different - 1)
        assert found(Panel(rows), Panel(rows + off)).success == success
    rows[0, :SHARED] = np.minimum(np.arange(SHARED), DISTINCT - 2)
    message = "at least 6 different readings if some are missing. None of the targets is one."
    with pytest.raises(ParameterError, match=re.escape(message)):
        found(Panel(rows), Panel(rows))
    assert found(Panel([[1.0, 2.0, 4.0]]), Panel([[1.0, 2.0, 4.0]])).success == 1.0  # nothing is missing


@given(seed=st.integers(0, 10_000))
def test_the_nearest_series_with_gaps_is_that_of_a_plain_search(seed):
    rng = np.random.default_rng(seed)
    x = np.round(np.where(rng.random((5, 20)) < 0.2, np.nan, rng.normal(size=(5, 20))), 1)
    made = np.where(rng.random((5, 20)) < 0.2, np.nan, x + rng.choice([0.0, 0.05, 0.5], (5, 1)))
    findings = Copies(tolerance=0.3).find(Panel(x), Panel(made))
    for target, near in zip(x, findings.near, strict=True):
        ratios = []
        for row in made:
            both = ~np.isnan(target) & ~np.isnan(row)
            needed = DISTINCT if (target[both] == row[both]).all() else SHARED
            enough = len(set(target[both])) >= needed or both.all()
            if enough and 2 * both.sum() >= np.count_nonzero(~np.isnan(target)):
                ratios.append(np.sqrt(np.mean((target[both] - row[both]) ** 2)) / target[both].std())
        nearest = min(ratios, default=np.inf)
        assert (near <= 0.3) == (nearest <= 0.3)
        if nearest <= 0.3:
            assert near == pytest.approx(nearest, abs=1e-12)


@given(seed=st.integers(0, 10_000), zone=st.sampled_from([None, "Europe/Berlin"]))
def test_repeated_days_are_those_of_a_plain_search(seed, zone):
    rng = np.random.default_rng(seed)
    # Some days around the change to winter time, from an odd hour on, with gaps.
    n = int(rng.integers(60, 110))
    times = np.datetime64("2024-10-25T05:00", "us") + np.arange(n) * np.timedelta64(3600, "s").astype("timedelta64[us]")
    original, made = rng.integers(0, 40, (4, n)) / 1.0, rng.integers(0, 40, (3, n)) / 1.0
    for _ in range(4):
        size, here, there = 24, int(rng.integers(n - 24)), int(rng.integers(n - 24))
        made[rng.integers(3), there : there + size] = original[rng.integers(4), here : here + size]
    made[rng.random(made.shape) < 0.002] = np.nan
    a, b = (Panel(x, times=times, timezone=zone) for x in (original, made))
    findings = Copies().find(a, b)
    assert findings.days.tolist() == [any(day in plain_days(b, None) for day in plain_days(a, i)) for i in range(4)]


def plain_days(panel, row):
    """The days of a series, or of all, that have as many readings as most, as lists."""
    local = panel.to_pandas()["time"].iloc[: panel.n_instants]
    days = [str(time)[:10] for time in local]
    sizes = [days.count(day) for day in sorted(set(days))]
    usual = max(sorted(set(sizes)), key=sizes.count)
    found = []
    for values in panel.values if row is None else [panel.values[row]]:
        for day in sorted(set(days)):
            own = [value for value, at in zip(values.tolist(), days, strict=True) if at == day]
            if len(own) == usual and not any(np.isnan(own)) and len(set(own)) >= DISTINCT:
                found.append(own)
    return found
