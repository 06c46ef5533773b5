"""Segments, weather and dice: the parts the generators are made of."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from shoal.simulate.arguments import by_largest_remainder
from shoal.simulate.day_grid import DayGrid
from shoal.simulate.dice import Dice, generator
from shoal.simulate.segments import mean_power
from shoal.simulate.weather import simulate_weather


def naive_mean_power(starts, ends, watts, n_cells, cell_hours):
    power = np.zeros((len(watts), n_cells))
    for row in range(len(watts)):
        for start, end, height in zip(starts[row], ends[row], watts[row], strict=True):
            for cell in range(n_cells):
                left, right = max(start, cell * cell_hours), min(end, (cell + 1) * cell_hours)
                power[row, cell] += height * max(0.0, right - left) / cell_hours
    return power


@pytest.mark.parametrize("cell_hours", [1.0, 0.25, 1 / 60])
def test_mean_power_equals_naive(cell_hours):
    source = np.random.default_rng(1)
    starts = source.uniform(-3, 26, (4, 9))
    ends = starts + source.uniform(0, 5, (4, 9))
    watts = source.uniform(0, 2000, (4, 9)) * (source.random((4, 9)) < 0.8)
    n_cells = round(24 / cell_hours)
    found = mean_power(starts, ends, watts, n_cells, cell_hours)
    assert_allclose(found, naive_mean_power(starts, ends, watts, n_cells, cell_hours), atol=1e-8)


def test_stretches_on_cell_borders_fill_whole_cells():
    power = mean_power(np.array([[1.0, 3.0]]), np.array([[3.0, 4.0]]), np.array([[10.0, 5.0]]), 4, 1.0)
    assert_array_equal(power, [[0.0, 10.0, 10.0, 5.0]])


def test_a_generator_is_the_child_numpy_would_spawn():
    child = np.random.SeedSequence(7).spawn(3)[2].spawn(5)[4]
    assert_array_equal(generator(7, 2, 4).random(5), np.random.Generator(np.random.PCG64(child)).random(5))


def test_dice_throw_for_each_subject_alone():
    together = Dice(1, [(0, 1), (0, 2)])
    alone = Dice(1, [(0, 2)])
    assert_array_equal(together.uniform(3)[1:], alone.uniform(3))
    assert_array_equal(together.normal(2, 2)[1:], alone.normal(2, 2))


def test_the_calendar_knows_weekdays_and_seasons():
    clock = DayGrid(np.datetime64("2024-01-01"), 366, 60)
    assert_array_equal(clock.weekdays[:8], [0, 1, 2, 3, 4, 5, 6, 0])
    assert_array_equal(clock.day_types[:7], [0, 0, 0, 0, 0, 1, 2])
    assert clock.winter[15] == pytest.approx(1.0)
    assert clock.winter[197] < -0.99
    before_the_epoch = DayGrid(np.datetime64("1969-12-29"), 2, 60)
    assert_array_equal(before_the_epoch.weekdays, [0, 1])


def test_the_weather_has_seasons_days_and_persistence():
    days = 365 * 20
    outside = simulate_weather(DayGrid(np.datetime64("2001-01-01"), days, 60), 0).outside.reshape(days, 24)
    assert outside.mean() == pytest.approx(11.0, abs=0.5)
    assert outside.mean(axis=0).argmax() in (15, 16)
    daily = outside.mean(axis=1)
    season = daily.reshape(20, 365).mean(axis=0)
    assert season[:31].mean() < 4
    assert season[181:212].mean() > 18
    departures = (daily.reshape(20, 365) - season).ravel()
    assert 3.0 < departures.std() < 4.5
    assert 0.6 < np.corrcoef(departures[1:], departures[:-1])[0, 1] < 0.9


def test_thick_walls_feel_the_temperature_later_and_less():
    weather = simulate_weather(DayGrid(np.datetime64("2024-05-01"), 60, 60), 1)
    assert weather.inert.std() < weather.outside.std()
    assert weather.inert.mean() == pytest.approx(weather.outside.mean(), abs=1.0)


def test_the_first_days_of_weather_stay_the_same_when_more_are_simulated():
    short, long = (simulate_weather(DayGrid(np.datetime64("2024-05-01"), days, 60), 1) for days in (5, 50))
    assert_allclose(short.outside, long.outside[:120])
    assert_allclose(short.inert, long.inert[:120])


def test_largest_remainder_breaks_ties_in_order_and_keeps_the_total():
    assert by_largest_remainder({"a": 0.5, "b": 0.5}, 3) == {"a": 2, "b": 1}
    assert by_largest_remainder({"a": 0.29, "b": 0.71}, 100) == {"a": 29, "b": 71}
    assert by_largest_remainder({"a": 0.0, "b": 1.0}, 5) == {"a": 0, "b": 5}
