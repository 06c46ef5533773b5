"""Households forecast by models that were trained on loads and temperatures."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from shoal import Panel, read_panel, simulate
from shoal.cli.app import run
from shoal.errors import ParameterError
from shoal.process.simulation import long_table
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
    with pytest.raises(ParameterError, match=r"A forecast of 30 days needs 28 days before it to train on, .* 50 whole"):
        drawn(days=30)
    with pytest.raises(ParameterError, match="temperatures must have one channel, and instants with dates"):
        simulate.trained_households(5, loads=loads, temperatures=Panel(temperatures.values))
    with pytest.raises(ParameterError, match="a mean above 0"):
        simulate.trained_households(5, loads=Panel(0.0 * loads.values, times=TIMES), temperatures=temperatures)
    with pytest.raises(ParameterError, match="n_models must be a whole number of at least 1"):
        drawn(n_models=0)
    for wrong in (float("nan"), float("inf"), -1.0, "2", True):
        with pytest.raises(ParameterError, match="degrees must be a finite number of at least 0, got"):
            drawn(degrees=wrong)
    with pytest.raises(ParameterError, match=r"loads must be a Panel, such as shoal\.read_panel returns"):
        simulate.trained_households(5, loads=loads.values, temperatures=temperatures)
    with pytest.raises(ParameterError, match="Raise n_models, lower degrees, or give a longer table"):
        drawn(degrees=1e6)


def test_the_days_that_are_missing_are_those_that_the_message_says():
    # 50 whole days are 28 + 22, but a shifted clock needs two hours after the forecast.
    with pytest.raises(ParameterError, match="22 days needs 28 days before it to train on, and 2 hours after it"):
        drawn(days=22)
    assert drawn(days=21).n_instants == 21 * 24


@pytest.mark.parametrize("seed", range(3))
def test_models_of_a_few_weeks_do_not_run_away(seed):
    # An even rhythm: the smoothed temperature hardly moves, and shifted it lies far from all that was trained on.
    rhythm = 15.0 + 8.0 * np.sin(np.arange(N_DAYS * 24) * 2 * np.pi / 24)
    loads, _ = region()
    noise = np.random.default_rng(seed).lognormal(0.0, 0.2, loads.values.shape)
    homes = simulate.trained_households(
        60,
        loads=Panel(loads.values * noise, times=TIMES),
        temperatures=Panel(rhythm[None], times=TIMES),
        days=20,
        n_models=10,
        seed=seed,
    )
    means = homes.values.mean(axis=1)
    assert (means > 0.0).all()
    assert means.max() < 4.0 * 350.0 * np.exp(3.0 * 0.65)


def test_the_command_trains_on_two_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, panel in zip(("loads", "temperatures"), region(), strict=True):
        long_table(panel).write_csv(f"{name}.csv")
    program = ["simulate", "trained", "--loads", "loads.csv", "--temperatures", "temperatures.csv", "--n", "30"]
    options = ["--days", "7", "--models", "4", "--degrees", "1", "--seed", "3"]
    assert run([*program, *options, "-o", "homes.csv"]) == 0
    assert "series    30" in capsys.readouterr().out
    homes = read_panel("homes.csv")
    assert_array_equal(homes.rows[np.argsort(homes.ids.astype(int))], drawn().rows)
    for wrong, message in (
        (["simulate", "trained", "--loads", "loads.csv"], "trained needs --loads and --temperatures"),
        ([*program, "--step", "1h"], "trained takes no --step. It takes: --n, --loads, --temperatures, --days"),
        (["simulate", "meters", "--models", "4"], "meters takes no --models"),
    ):
        assert run([*wrong, "-o", "other.csv"]) == 2
        assert message in capsys.readouterr().err
