"""Stretches exchanged between series: every value stays at its instant, and goes to somebody else."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from shoal import Panel, Permutation
from shoal.errors import ParameterError
from strategies import small_panels


def sorted_bits(values):
    return np.sort(np.ascontiguousarray(values).view(np.uint64).reshape(values.shape), axis=0)


@given(x=small_panels(), length=st.integers(1, 4), share=st.sampled_from([0.1, 0.5, 1.0]), seed=st.integers(0, 3))
def test_at_every_instant_the_values_are_those_that_were_measured(x, length, share, seed):
    published = Permutation(length=length, share=share, seed=seed).anonymize(Panel(x)).values
    assert_array_equal(sorted_bits(published), sorted_bits(Panel(x).values))


@given(
    n=st.integers(2, 9), length=st.integers(1, 4), instants=st.integers(1, 9), share=st.sampled_from([0.01, 0.4, 1.0])
)
def test_whole_stretches_come_from_one_other_series(n, length, instants, share):
    x = np.arange(n)[:, None] * 100.0 + np.arange(instants)  # every value says whose and when it was
    published = Permutation(length=length, share=share).anonymize(Panel(x)).values
    owners = published // 100
    n_drawn = max(2, round(share * n))
    for start in range(0, instants, length):
        stretch = owners[:, start : start + length]
        assert (stretch == stretch[:, :1]).all()
        assert (stretch[:, 0] != np.arange(n)).sum() == n_drawn
        assert sorted(stretch[:, 0]) == list(range(n))
    assert_array_equal(published % 100, np.broadcast_to(np.arange(instants), (n, instants)))


def test_all_channels_of_a_stretch_move_together():
    x = np.arange(6)[:, None, None] * 100.0 + np.arange(8)[None, :, None] + np.array([0.0, 0.5])
    published = Permutation(length=2, share=1.0).anonymize(Panel(x)).values
    assert_array_equal(published[:, :, 1] - published[:, :, 0], 0.5)


@pytest.mark.parametrize("series_each", [1, 2, 3])
def test_nobody_gets_a_stretch_of_the_same_subject(series_each):
    subjects = np.repeat(np.arange(8), series_each)
    x = subjects[:, None] * 100.0 + np.arange(12)
    for seed in range(20):
        candidate = Permutation(length=3, share=1.0, seed=seed).anonymize(Panel(x, subjects=subjects))
        assert (candidate.values // 100 != subjects[:, None]).all()
        assert candidate.recipe.figures == {"stretches": 4, "exchanges": 4 * len(subjects)}


def test_a_subject_with_most_of_the_series_keeps_some_and_the_recipe_counts_the_rest():
    panel = Panel(np.arange(10.0)[:, None], subjects=[0] * 8 + [1, 2])
    candidate = Permutation(length=1, share=1.0).anonymize(panel)
    assert 0 < candidate.recipe.figures["exchanges"] < 10
    assert sorted(candidate.values.ravel()) == list(range(10))


def test_partners_are_drawn_anew_in_every_stretch():
    x = np.repeat(np.arange(20.0)[:, None], 30, axis=1)
    owners = Permutation(length=1, share=0.5).anonymize(Panel(x)).values
    moved = owners != x
    assert (moved.sum(axis=0) == 10).all()
    assert moved.any(axis=1).all()  # with chance 2^-30 each, somebody would never have been drawn
    assert any((owners[:, a] != owners[:, b]).any() for a, b in itertools.pairwise(range(30)))


def test_a_length_of_time_is_counted_in_instants():
    times = np.datetime64("2024-01-01T00:00") + np.arange(8) * np.timedelta64(30, "m")
    panel = Panel(np.random.default_rng(0).normal(size=(6, 8)), times=times)
    assert_array_equal(Permutation(length="2h").anonymize(panel).values, Permutation(length=4).anonymize(panel).values)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"length": 0}, "length: give a positive length"),
        ({"length": "soon"}, "length: give a positive length"),
        ({"length": 2, "share": 0.0}, "share must be a share above 0 and at most 1"),
        ({"length": 2, "share": 1.5}, "share must be a share above 0 and at most 1"),
        ({"length": 2, "seed": 1.5}, "seed must be a whole number"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        Permutation(**parameters)


def test_what_the_panel_cannot_do_is_refused():
    hours = np.datetime64("2024-01-01T00:00") + np.array([0, 1, 3]) * np.timedelta64(1, "h")
    with pytest.raises(ParameterError, match="needs at least 2 subjects to exchange between, the panel has 1"):
        Permutation(length=1).anonymize(Panel(np.ones((3, 2)), subjects=[0, 0, 0]))
    with pytest.raises(ParameterError, match="needs timestamps, and the panel's times are whole numbers"):
        Permutation(length="1h").anonymize(Panel(np.ones((3, 2))))
    with pytest.raises(ParameterError, match="needs evenly spaced instants; here are 2 different steps"):
        Permutation(length="1h").anonymize(Panel(np.ones((3, 3)), times=hours))
    with pytest.raises(ParameterError, match="is not a multiple of the step between instants"):
        Permutation(length="90min").anonymize(Panel(np.ones((3, 2)), times=hours[:2]))
