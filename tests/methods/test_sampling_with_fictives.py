"""A sample of subjects among series that are no one's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

from shoal import Panel, SamplingWithFictives, simulate
from shoal.errors import ParameterError
from shoal.methods import fictives as fictives_room

METERS = simulate.meters(120, days=7, seed=5)


@given(
    n=st.integers(6, 30),
    each=st.integers(1, 3),
    share=st.sampled_from([0.5, 0.8, 1.0]),
    fictives=st.sampled_from([0.0, 0.2, 0.5]),
    seed=st.integers(0, 5),
)
def test_drawn_series_are_published_as_they_are_and_whole_subjects_are_drawn(n, each, share, fictives, seed):
    panel = Panel(np.random.default_rng(seed).normal(size=(n * each, 4)), subjects=np.repeat(np.arange(n), each))
    candidate = SamplingWithFictives(share=share, fictives=fictives, seed=seed).anonymize(panel)
    rows = candidate.stands_for
    real = rows[rows >= 0]
    assert len(set(real)) == len(real) == round(share * n) * each
    assert_array_equal(candidate.values[rows >= 0], panel.values[real])
    drawn = set(panel.subject_codes[real].tolist())
    assert set(np.flatnonzero(np.isin(panel.subject_codes, list(drawn))).tolist()) == set(real.tolist())
    wanted = fictives * len(rows)
    assert abs((rows < 0).sum() - wanted) <= 1 or fictives == 0.0
    assert_array_equal(candidate.curves.values, candidate.originals.values)
    assert candidate.published.n_subjects == len(drawn) + (rows < 0).sum()


def test_fictive_series_are_no_ones_and_nearer_to_nobody_than_halfway_between_two():
    candidate = SamplingWithFictives(share=0.7, fictives=0.3).anonymize(METERS)
    fictive = candidate.values[candidate.stands_for < 0]
    real = candidate.values[candidate.stands_for >= 0]
    apart = cdist(real, real)
    assert cdist(fictive, real).min() >= 0.5 * apart[apart > 0.0].min()
    assert not (fictive[:, None, :] == METERS.values[None, :, :]).all(axis=2).any()


def test_fictive_series_have_the_level_the_spread_and_the_day_of_real_ones():
    candidate = SamplingWithFictives(share=1.0, fictives=0.5).anonymize(METERS)
    fictive, real = (candidate.values[candidate.stands_for < 0], METERS.values)
    assert fictive.mean() == pytest.approx(real.mean(), rel=0.25)
    assert fictive.std() == pytest.approx(real.std(), rel=0.3)
    assert np.corrcoef(fictive.mean(axis=0), real.mean(axis=0))[0, 1] > 0.8


def test_neither_digits_nor_signs_tell_fictive_series_apart():
    rng = np.random.default_rng(1)
    for decimals in (0, 3):
        readings = np.round(rng.gamma(2.0, size=(40, 20)), decimals)
        candidate = SamplingWithFictives(share=1.0, fictives=0.5).anonymize(Panel(readings))
        fictive = candidate.values[candidate.stands_for < 0]
        assert_array_equal(fictive, np.round(fictive, decimals))
        assert (fictive >= 0.0).all()
        assert not np.signbit(fictive).any()
    signed = SamplingWithFictives(share=1.0, fictives=0.5).anonymize(Panel(rng.normal(size=(40, 20))))
    assert (signed.values[signed.stands_for < 0] < 0.0).any()


def test_those_who_are_not_drawn_leave_no_trace():
    panel = Panel(np.random.default_rng(2).normal(size=(30, 6)))
    first = SamplingWithFictives(share=0.5, fictives=0.3, seed=1).anonymize(panel)
    left_out = np.setdiff1d(np.arange(30), first.private.rows)
    made = fictives_room.make_fictives(panel.values[first.private.rows], 5, np.random.default_rng(0))
    others = panel.values.copy()
    others[left_out] *= 1000.0
    again = fictives_room.make_fictives(others[first.private.rows], 5, np.random.default_rng(0))
    assert_array_equal(made, again)
    assert (first.private.groups[left_out] == -1).all()


def test_a_fictive_series_that_comes_too_near_is_drawn_again_and_refused_in_the_end(monkeypatch):
    class Copying:
        """Always the first series, without noise: what a careless bootstrap would do."""

        def integers(self, high, size):
            return np.zeros(size, dtype=np.int64)

        def standard_normal(self, shape):
            return np.zeros(shape)

    monkeypatch.setattr(fictives_room, "SMOOTHING", 0.0)
    with pytest.raises(ParameterError, match="2 of 2 fictive series came too close to a real one, 50 times"):
        fictives_room.make_fictives(np.random.default_rng(3).normal(size=(9, 4)), 2, Copying())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"share": 0.0}, "share must be a share above 0 and at most 1"),
        ({"fictives": 1.0}, "fictives must be a share of at least 0 and below 1"),
        ({"fictives": -0.1}, "fictives must be a share of at least 0 and below 1"),
        ({"seed": True}, "seed must be a whole number"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        SamplingWithFictives(**parameters)


def test_what_the_panel_cannot_do_is_refused():
    with pytest.raises(ParameterError, match=r"needs a panel without gaps; 1 values are missing.*drop-series"):
        SamplingWithFictives().anonymize(Panel([[1.0, np.nan]] + [[1.0, 2.0]] * 7))
    with pytest.raises(ParameterError, match=r"need at least 3 drawn subjects; share=0.5 draws 2, the panel has 4"):
        SamplingWithFictives(share=0.5).anonymize(Panel(np.eye(4)))
    assert SamplingWithFictives(share=0.5, fictives=0.0).anonymize(Panel(np.eye(4))).published.n_series == 2
