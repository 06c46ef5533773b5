"""Series like nobody's."""

import numpy as np
import pytest

from shoal import Microaggregation, Panel, simulate
from shoal.attacks import Copies
from shoal.attacks.outliers import inject_outliers
from shoal.errors import ParameterError

HOMES = simulate.meters(60, days=7, step="2h", seed=2)


def found(k, tolerance=0.5):
    """The shares of outliers found that the release was made with, and of others."""
    seen, unseen, rows = inject_outliers(HOMES, 40, seed=1)
    made = seen if k == 1 else Microaggregation(k=k).anonymize(seen).published
    attack = Copies(tolerance=tolerance)
    risk = attack.risk(attack.find(seen, made, targets=rows, outside=unseen))
    return risk.success, risk.control


def test_outliers_are_found_in_the_raw_table_and_only_those_it_has():
    assert found(1, tolerance=0.05) == (1.0, 0.0)


def test_small_groups_give_away_more_of_those_seen_than_large_ones():
    (small, unseen), (large, _) = found(2), found(20)
    assert small > unseen
    assert small > large


def test_half_is_seen_and_nothing_else_changes():
    seen, unseen, rows = inject_outliers(HOMES, 10, seed=3)
    assert np.array_equal(seen.values[:60], HOMES.values)
    assert rows.tolist() == [60, 61, 62, 63, 64]
    assert not np.isin(unseen.values.sum(axis=1), seen.values.sum(axis=1)).any()
    again = inject_outliers(HOMES, 10, seed=3)[1]
    assert np.array_equal(again.values, unseen.values)


def test_odd_numbers_and_gaps_are_refused():
    with pytest.raises(ParameterError, match="an even number of outliers, at least 4"):
        inject_outliers(HOMES, 3)
    with pytest.raises(ParameterError, match="without gaps"):
        inject_outliers(Panel([[1.0, np.nan], [2.0, 3.0]]), 4)


def test_a_few_readings_in_common_are_no_copy(rng):
    x, strangers = rng.gamma(2.0, 1.5, (2, 100, 96))
    gaps = rng.random((2, 100, 96)) < 0.8
    x, strangers = np.where(gaps[0], np.nan, x), np.where(gaps[1], np.nan, strangers)
    assert Copies().attack(Panel(x), Panel(strangers)).success == 0.0
    fewer = np.where(rng.random(x.shape) < 0.2, np.nan, x)
    found = Copies().attack(Panel(x), Panel(np.concatenate([fewer, strangers])), rows=None)
    assert (found.success, found.exact) == (1.0, 1.0)
