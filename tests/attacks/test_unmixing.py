"""Exchanged pieces found again."""

import numpy as np
import pytest

from attacks.releases import averaged, exchanged, households, like
from shoal import Panel
from shoal.attacks import KnownTotals, Unmixing
from shoal.errors import ParameterError


def test_pieces_of_a_day_are_found_wherever_they_were_put():
    panel = households()
    published = exchanged(panel, 24)
    risk = Unmixing().attack(panel, published)
    assert risk.interval.low > 0.95
    assert risk.plain_interval.high < 0.1
    assert KnownTotals().attack(panel, published).success < 0.05  # whole series are hidden well
    assert risk.n_steps == 14


def test_shorter_pieces_need_shorter_totals():
    panel = households()
    published = exchanged(panel, 6)
    assert Unmixing().attack(panel, published).success < 0.05
    assert Unmixing(step=6).attack(panel, published).interval.low > 0.9


def test_means_of_k_have_no_piece_to_find():
    risk = Unmixing().attack(households(), averaged(4))
    assert risk.success == risk.baseline == risk.prosecutor == 0.0
    assert risk.control == 1.0
    assert risk.confidence <= 0.25


def test_pieces_that_fit_alike_count_for_their_share_and_gaps_tell_nothing():
    original = Panel([[1.0, 3.0, 2.0, 2.0], [2.0, 2.0, 0.0, 1.0], [9.0, 9.0, 5.0, np.nan]])
    risk = Unmixing(step=2).attack(original, original)
    # The first step of the first two has the same total, 4; of the third only the first step is known.
    assert risk.success == pytest.approx(((0.5 + 1) / 2 + (0.5 + 1) / 2 + 1) / 3)
    assert risk.prosecutor == 1.0
    assert risk.worst[0] == 2
    assert risk.baseline == pytest.approx(1 / 3)
    assert risk.control == pytest.approx((0.5 + 0.5 + 0.0) / 3)
    assert risk.plain == 1.0


def test_one_changed_reading_makes_a_piece_wrong():
    panel = households(60, 4)
    values = panel.values.copy()
    values[11, 30] += 1e-9
    assert Unmixing().attack(panel, panel).success == 1.0
    risk = Unmixing().attack(panel, like(panel, values))
    assert risk.success == pytest.approx(1 - 0.25 / 60)


def test_only_targets_are_sampled():
    panel = households(60, 4)
    assert Unmixing(n_targets=9).attack(panel, exchanged(panel, 24)).n_targets == 9


def test_refusals():
    with pytest.raises(ParameterError, match="1 targets have no step without gaps"):
        Unmixing(step=2).attack(Panel([[1.0, np.nan], [1.0, 2.0]]), Panel([[1.0, 1.0], [1.0, 2.0]]))
    with pytest.raises(ParameterError, match="step must be one of"):
        Unmixing(step="quarter")
