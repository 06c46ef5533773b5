"""Known totals, against pairs worked out one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.releases import averaged, households, like, noisy, pseudonymised
from naive.attack_candidates import naive_chance, naive_nearest
from shoal import Panel
from shoal.attacks import KnownTotals
from shoal.attacks.totals import find_steps, sum_steps
from shoal.errors import ParameterError

HALVES = st.sampled_from([0.0, 0.5, 1.0, 2.0])


@st.composite
def two_tables(draw):
    length = draw(st.integers(1, 5))
    row = st.lists(HALVES, min_size=length, max_size=length)
    return np.array(draw(st.lists(row, min_size=1, max_size=5))), np.array(draw(st.lists(row, min_size=1, max_size=6)))


def naive_totals(table, step):
    return [[sum(row[a : a + step]) for a in range(0, len(row), step)] for row in table.tolist()]


@given(tables=two_tables(), step=st.integers(1, 5), data=st.data())
def test_links_equal_enumeration(tables, step, data):
    x, y = tables
    rows = np.array(data.draw(st.lists(st.integers(0, len(x) - 1), min_size=len(y), max_size=len(y))))
    expected = naive_nearest(naive_totals(x, step), naive_totals(y, step))
    there = [i for i in range(len(x)) if i in rows]
    risk = KnownTotals(step=step, scale="same").attack(Panel(x), Panel(y), rows=rows)
    assert risk.success == pytest.approx(np.mean([naive_chance(expected[i][2], rows.tolist(), i) for i in there]))
    assert risk.candidates == np.median([len(expected[i][2]) for i in there])


@pytest.mark.parametrize("step", ["day", "month", "hour", "week", "all", 24])
def test_totals_single_out_nearly_everyone_under_pseudonyms(step):
    panel = households()
    published, rows = pseudonymised(panel)
    risk = KnownTotals(step=step).attack(panel, published, rows=rows)
    assert risk.interval.low >= 0.95
    assert risk.prosecutor == 1.0
    assert risk.sole_right >= 0.95


@pytest.mark.parametrize("k", [4, 10])
def test_means_of_k_give_at_most_one_in_k(k):
    risk = KnownTotals().attack(households(), averaged(k))
    assert risk.baseline < risk.success <= 1 / k
    assert risk.prosecutor <= 1 / k
    assert risk.confidence <= 1 / k
    assert risk.sole == 0.0


def test_a_crowd_that_is_one_short_shows():
    """Sabotage: one member of a group of ten is published a little apart."""
    panel, published = households(), averaged(10)
    values = published.values.copy()
    values[7] += 0.25 * (panel.values[7] - values[7])
    before, after = KnownTotals().attack(panel, published), KnownTotals().attack(panel, like(panel, values))
    assert after.highest == 1.0 > before.highest
    assert after.worst[0] == 7


def test_gaps_do_not_hide_noisy_totals(rng):
    panel = households()
    gaps = np.where(rng.random(panel.values.shape) < 0.03, np.nan, panel.values)
    whole, holed = (
        KnownTotals(scale="same").attack(like(panel, x), noisy(like(panel, x), 5.0)) for x in (panel.values, gaps)
    )
    assert holed.success > whole.success / 2 > 0.3


def test_errors_in_what_is_known_cost_links():
    panel = households()
    published, rows = pseudonymised(panel)
    success = [KnownTotals(noise=noise).attack(panel, published, rows=rows).success for noise in (0.0, 0.5, 2.0)]
    assert success[0] > success[1] > success[2]


def test_steps_are_those_of_the_calendar():
    times = np.arange("2024-02-27T22", "2024-03-05T02", dtype="datetime64[h]")  # a Tuesday to a Tuesday
    assert times[find_steps(times, "month")].astype(str).tolist() == ["2024-02-27T22", "2024-03-01T00"]
    assert times[find_steps(times, "week")].astype(str).tolist() == ["2024-02-27T22", "2024-03-04T00"]
    assert len(find_steps(times, "day")) == 8
    assert len(find_steps(times, "hour")) == len(times)
    assert find_steps(times, "all").tolist() == [0]
    assert find_steps(np.arange(7), 3).tolist() == [0, 3, 6]


def test_a_total_with_a_gap_is_missing():
    x = np.array([[[1.0], [np.nan], [2.0], [3.0]]])
    assert sum_steps(x, np.array([0, 2])).tolist()[0] == pytest.approx([np.nan, 5.0], nan_ok=True)
    gaps = Panel([[1.0, np.nan, 2.0, 3.0], [1.0, 1.0, 4.0, 3.0]])
    assert KnownTotals(step=2).attack(gaps, gaps).success == 1.0


def test_what_is_no_parameter_is_refused():
    for step in ("fortnight", 0, 1.5, True, None):
        with pytest.raises(ParameterError, match="step must be one of hour, day, week, month, all, or a whole number"):
            KnownTotals(step=step)
    with pytest.raises(ParameterError, match="noise must be a number of at least 0"):
        KnownTotals(noise=-0.1)
    with pytest.raises(ParameterError, match="step='day' needs instants with dates; these are numbers"):
        KnownTotals().attack(Panel([[1.0, 2.0]]), Panel([[1.0, 2.0]]))


def test_what_is_known_is_said():
    assert KnownTotals().knows == "The total of every day, of every target."
    assert KnownTotals(step=6, noise=0.1).knows == "The totals of every 6 readings with errors, of every target."
    assert KnownTotals(step="all").knows == "The total of all readings, of every target."
