"""Originals that a table repeats, as a whole or day by day."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Microaggregation, Panel, simulate
from shoal.attacks import Copies
from shoal.attacks.copies import DISTINCT

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
