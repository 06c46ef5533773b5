"""Links across periods, learned from other people."""

import numpy as np
import pytest

from attacks.releases import averaged, households, like, pseudonymised
from shoal import Panel
from shoal.attacks import NearestNeighbour, Relink
from shoal.errors import InputError, ParameterError
from shoal.features.fingerprint import Calendar, fingerprint, windows
from shoal.features.linker import Linker, learn_linker


def half(panel, which):
    """One half of the people."""
    rows = np.arange(panel.n_series) % 2 == which
    return Panel(panel.values[rows], times=panel.times)


def weeks(panel, first, last):
    return Panel(panel.values[:, 168 * first : 168 * last], times=panel.times[168 * first : 168 * last])


def test_it_finds_more_than_mean_days_do_and_far_more_than_guessing():
    panel = households()
    published, rows = pseudonymised(panel)
    learned, plain = (attack.attack(panel, published, rows=rows) for attack in (Relink(), NearestNeighbour()))
    assert learned.success > 1.15 * plain.success
    assert learned.interval.low > 50 * learned.baseline


def test_means_of_k_give_at_most_one_in_k():
    risk = Relink().attack(households(), averaged(4))
    assert risk.success <= risk.prosecutor <= 0.25
    assert risk.candidates >= 4


def test_what_was_learned_from_some_finds_others_and_survives_its_file(tmp_path):
    people, others = half(households(), 0), half(households(), 1)
    attack = Relink.train(others)
    known, later = weeks(people, 0, 1), weeks(people, 1, 2)
    risk = attack.attack(known, later)
    assert risk.success > 0.3
    attack.linker.save(tmp_path / "linker.npz")
    assert Relink(linker=tmp_path / "linker.npz").attack(known, later) == risk
    assert attack.parameters["linker"] == Linker.load(tmp_path / "linker.npz").digest()


def test_a_target_never_teaches_how_to_find_it():
    """Another second week of one subject changes nothing about how the subjects of its own half are looked for."""
    panel = households(80)
    changed = panel.values.copy()
    changed[0, 168:] = changed[0, 168:][::-1] * 5.0
    halves = np.random.default_rng(np.random.SeedSequence([0, 7])).permutation(80) % 2
    same = np.flatnonzero(halves == halves[0])
    before, after = (
        Relink().find(like(panel, values), weeks(panel, 1, 2), targets=same) for values in (panel.values, changed)
    )
    np.testing.assert_array_equal(before.taken[0].distances, after.taken[0].distances)


def test_gaps_are_filled_and_clocks_that_change_do_not_stop_it():
    panel = households(80)
    values = panel.values.copy()
    values[np.random.default_rng(1).random(values.shape) < 0.1] = np.nan
    with_gaps = Panel(values, times=panel.times, timezone="Europe/Dublin")
    assert Relink().attack(with_gaps, with_gaps).success > 10 / 80


def test_a_day_is_compared_where_there_is_no_week():
    panel = households()
    few = Panel(panel.values[:, :96], times=panel.times[:96])
    assert Relink().attack(few, few).interval.low > 5 / 300


def test_numbers_need_a_cycle():
    with pytest.raises(ParameterError, match="needs instants with dates"):
        Relink().attack(Panel(np.ones((60, 48))), Panel(np.ones((60, 48))))
    numbered = Panel(households().values)
    assert Relink(cycle=24).attack(numbered, numbered).interval.low > 20 / 300


def test_with_too_few_to_learn_from_it_compares_mean_days():
    panel = households(30)
    assert Relink().attack(panel, panel) == NearestNeighbour().attack(panel, panel)
    with pytest.raises(ParameterError, match="needs 20 subjects with two windows of 7 days"):
        Relink.train(half(panel, 0))


def test_a_linker_of_another_step_and_a_changed_file_are_refused(tmp_path):
    attack = Relink.train(half(households(), 1))
    hours = households()
    coarse = Panel(hours.values[:, ::2], times=hours.times[::2])
    with pytest.raises(ParameterError, match="readings a day"):
        attack.attack(coarse, coarse)
    path = attack.linker.save(tmp_path / "linker.npz")
    content = bytearray(path.read_bytes())
    content[-400] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="linker"):
        Relink(linker=path)


def test_a_fingerprint_knows_the_unit_a_meter_counts_in():
    panel = households(40)
    rounded = np.round(panel.values, -2)
    calendar = Calendar.of(panel.times)
    grids = [next(iter(windows(v[:, :, None], calendar, calendar.shape(7, 1)))) for v in (panel.values, rounded)]
    fine, coarse = (fingerprint(*grid, np.ones(1))[:, -5] for grid in grids)  # the log of different readings
    assert (coarse < fine).all()


def test_learning_is_the_same_each_time():
    panel = households(80)
    calendar = Calendar.of(panel.times)
    codes = np.arange(80)
    made = [learn_linker(panel.values[:, :, None], codes, calendar, 7, encoder="linear", seed=3) for _ in range(2)]
    assert made[0].digest() == made[1].digest()


def test_a_network_learns_it_too():
    pytest.importorskip("torch")
    panel = households()
    risk = Relink(encoder="deep").attack(panel, panel)
    assert risk.interval.low > 20 * risk.baseline


def test_with_gaps_in_every_week_only_mean_days_are_compared(rng):
    panel = households()
    holed = Panel(np.where(rng.random(panel.values.shape) < 0.5, np.nan, panel.values), times=panel.times)
    assert Relink().attack(holed, holed).success == NearestNeighbour().attack(holed, holed).success
