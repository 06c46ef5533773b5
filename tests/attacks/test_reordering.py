"""Slices of one subject put together again."""

import numpy as np
import pytest

from attacks.releases import households, like, sliced
from naive.attack_candidates import naive_nearest
from shoal import Panel
from shoal.attacks import Reordering
from shoal.errors import ParameterError


@pytest.mark.parametrize("dates", [True, False])
def test_slices_of_a_week_are_put_together_far_more_often_than_by_chance(dates):
    panel = households()
    published, rows = sliced(panel, 168, dates=dates)
    risk = Reordering(cycle="day" if dates else 24).attack(panel, published, rows=rows)
    assert risk.interval.low > 20 * risk.baseline
    assert risk.prosecutor > 0.8  # where they look surest
    assert risk.n_slices == 600
    assert risk.baseline == pytest.approx(1 / 300 if dates else 1 / 599)


def test_slices_of_a_day_hide_better_than_slices_of_a_week():
    panel = households()
    day, week = (
        Reordering(cycle=24).attack(panel, release, rows=rows).success
        for release, rows in (sliced(panel, length, dates=False) for length in (24, 168))
    )
    assert day < week


def test_links_without_dates_equal_enumeration():
    dice = np.random.default_rng(2)
    x = dice.integers(0, 3, size=(12, 2)).astype(float)
    rows = np.repeat(np.arange(4), 3)
    expected = naive_nearest(x.tolist(), x.tolist(), passed_over=lambda i, j: i == j)
    chances = [np.mean(rows[found[2]] == rows[i]) for i, found in enumerate(expected)]
    risk = Reordering(n_targets=None).attack(Panel(np.zeros((4, 6))), Panel(x), rows=rows)
    assert risk.success == pytest.approx(np.mean(chances))
    assert risk.baseline == pytest.approx(2 / 11)


def test_slices_of_the_same_stretch_are_no_candidates():
    """Two subjects alike at each time: without dates the nearest slice is the other's, with dates it is their own."""
    panel = Panel([[1.0, 2.0, 5.0, 6.0], [1.1, 2.1, 5.1, 6.1]])
    kept, rows = sliced(panel, 2, dates=True)
    dropped, _ = sliced(panel, 2, dates=False)
    assert Reordering(cycle=2).attack(panel, dropped, rows=rows).success == 0.0
    assert Reordering(cycle=2).attack(panel, kept, rows=rows).success == 0.5


def test_habits_drawn_by_chance_are_not_put_together():
    panel = like(households(), np.random.default_rng(0).normal(size=households().values.shape))
    published, rows = sliced(panel, 168, dates=False)
    risk = Reordering(cycle=24).attack(panel, published, rows=rows)
    assert risk.success < 0.02
    assert risk.prosecutor < 0.2


def test_gaps_in_whole_series_are_no_slices():
    panel = Panel([[1.0, np.nan, 1.0, 2.0], [5.0, 5.0, 5.0, np.nan], [1.0, 1.0, 1.0, 2.0], [5.0, 5.0, 5.0, 5.0]])
    risk = Reordering(cycle=2).attack(Panel(np.ones((2, 4))), panel, rows=[0, 1, 0, 1])
    assert risk.success == 1.0


def test_gaps_at_the_ends_of_slices_leave_them_in_their_stretch():
    panel = Panel([[1.0, 2.0, 3.0, 5.0, 6.0, 7.0], [1.1, 2.1, 3.1, 5.1, 6.1, 7.1], [1.2, 2.2, 3.2, 5.2, 6.2, 7.2]])
    published, rows = sliced(panel, 3, dates=True)
    values = published.values.copy()
    values[0, 0] = values[3, 5] = values[4, 0] = np.nan
    risk = Reordering(cycle=3).attack(panel, like(panel, values), rows=rows)
    assert risk.baseline == pytest.approx(1 / 3)  # the three slices of the other stretch, no others
    silent = np.vstack([values, np.full((1, 6), np.nan)])
    assert Reordering(cycle=3).attack(panel, like(panel, silent), rows=[*rows, -1]).n_targets == 6


def test_slices_are_drawn_targets_are_named_and_fictive_slices_belong_to_nobody():
    panel = households(60, 4)
    published, rows = sliced(panel, 24, dates=False)
    risk = Reordering(n_targets=10).attack(panel, published, rows=rows)
    assert risk.n_targets == 10
    assert len(set(risk.worst)) == len(risk.worst)
    only = Reordering(n_targets=None).attack(panel, published, rows=rows, targets=[5])
    assert only.n_targets == 4
    assert only.worst == (5,)
    fictive = np.where(rows == 7, -1, rows)
    assert Reordering(n_targets=None).attack(panel, published, rows=fictive).n_targets == 59 * 4


def test_whole_series_are_refused():
    with pytest.raises(ParameterError, match="No subject has two slices in the release"):
        Reordering().attack(Panel([[1.0], [2.0]]), Panel([[1.0], [2.0]]))
    with pytest.raises(ParameterError, match="cycle must be one of day, week"):
        Reordering(cycle=0)


def test_the_sentence_speaks_of_slices():
    panel = households(60, 4)
    published, rows = sliced(panel, 24, dates=False)
    sentence = Reordering().attack(panel, published, rows=rows).sentence
    assert "another slice of a slice's subject" in sentence
    assert "240 slices" in sentence
