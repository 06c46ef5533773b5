"""Households forecast by models that were trained on loads and temperatures."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from shoal import Panel, simulate
from shoal.errors import ParameterError
from shoal.simulate.trained import Region

N_DAYS = 50
TIMES = np.datetime64("2023-12-01T00:00") + np.arange(N_DAYS * 24) * np.timedelta64(1, "h")
COLD = 5.0 - 10.0 * np.cos(np.arange(N_DAYS * 24) * 2 * np.pi / (24 * 9))


def region(slope=0.1):
    """Three zones whose load falls with the temperature and is doubled in the evening."""
    hour = np.arange(N_DAYS * 24) % 24
    evening = np.where((hour >= 18) & (hour < 22), 2.0, 1.0)
    zones = [scale * (evening + slope * (20.0 - COLD)) for scale in (1.0, 50.0, 900.0)]
    return Panel(np.array(zones), times=TIMES), Panel(COLD[None], times=TIMES)


def drawn(n=30, **further):
    loads, temperatures = region()
    options = {"days": 7, "n_models": 4, "degrees": 1.0, "seed": 3} | further
    return simulate.trained_households(n, loads=loads, temperatures=temperatures, **options)


def test_households_follow_temperature_and_hour_of_the_loads_they_were_trained_on():
    homes = drawn()
    assert_array_equal(homes.times, TIMES[(N_DAYS - 8) * 24 : (N_DAYS - 1) * 24])
    shape = (homes.values / homes.values.mean(axis=1, keepdims=True)).mean(axis=0)
    loads, _ = region()
    own = loads.values[0, (N_DAYS - 8) * 24 : (N_DAYS - 1) * 24]
    assert np.corrcoef(shape, own)[0, 1] > 0.9
    assert (homes.values >= 0.0).all()
    assert len(np.unique(homes.values, axis=0)) == 30


def test_a_seed_repeats_them_and_the_unit_of_the_loads_plays_no_part():
    assert drawn().digest() == drawn().digest()
    assert drawn().digest() != drawn(seed=4).digest()
    loads, temperatures = region()
    other = Panel(7.0 * loads.values, times=TIMES)
    again = simulate.trained_households(
        30, loads=other, temperatures=temperatures, days=7, n_models=4, degrees=1.0, seed=3
    )
    np.testing.assert_allclose(again.values, drawn().values, atol=1.0)


def test_a_region_is_what_both_tables_have_from_a_midnight_up_to_the_first_gap():
    loads, temperatures = region()
    gaps = loads.values.copy()
    gaps[1, 1000] = np.nan
    later = Panel(temperatures.values[:, 5:], times=TIMES[5:])
    found = Region.of(Panel(gaps, times=TIMES), later)
    assert_array_equal(found.times, TIMES[24:1000])
    assert found.weekdays[0] == 6  # 2 December 2023 was a Saturday
    assert found.hours[:25].tolist() == [*range(24), 0]
    assert found.days[[0, -1]].tolist() == [336, 11]  # from 2 December to 11 January


def test_what_cannot_be_trained_on_is_refused():
    loads, temperatures = region()
    with pytest.raises(ParameterError, match=r"A forecast of 30 days needs 28 days before it to train on; .* 50 whole"):
        drawn(days=30)
    with pytest.raises(ParameterError, match="temperatures must have one channel, and instants with dates"):
        simulate.trained_households(5, loads=loads, temperatures=Panel(temperatures.values))
    with pytest.raises(ParameterError, match="a mean above 0"):
        simulate.trained_households(5, loads=Panel(0.0 * loads.values, times=TIMES), temperatures=temperatures)
    with pytest.raises(ParameterError, match="n_models must be a whole number of at least 1"):
        drawn(n_models=0)
