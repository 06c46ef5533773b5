"""Split plans: who goes to which leaf."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.engines.split_tree import Coordinates, SplitTree, learn_tree
from shoal.kernels.split_walk import project_rows, walk_down


def naive_walk(plan, z, drawn):
    """One row after another, by the definition."""
    if not len(plan.thresholds):
        return 0
    node = 0
    while node >= 0:
        at = drawn if plan.by_chance[node] else sum(a * b for a, b in zip(z, plan.directions[node], strict=True))
        node = int(plan.below[node] if at < plan.thresholds[node] else plan.above[node])
    return -1 - node


@st.composite
def samples(draw):
    n, d = draw(st.integers(2, 60)), draw(st.integers(1, 4))
    kinds = st.sampled_from([0.0, 1.0, -3.0, 2.5, 1e6])
    rows = draw(st.lists(st.lists(kinds, min_size=d, max_size=d), min_size=n, max_size=n))
    return np.array(rows)


def test_leaves_are_balanced_between_one_and_two_times_what_was_asked_for(rng):
    z = rng.normal(size=(8000, 6)) * [5, 3, 2, 1, 1, 1]
    plan = learn_tree(z[:2000], 8000, 500)
    counts = np.bincount(plan.assign(z, rng.random(8000)), minlength=plan.n_leaves)
    assert plan.n_leaves == 16
    assert counts.min() > 0.75 * 500
    assert counts.max() < 1.5 * 500


def test_neighbours_share_a_leaf(rng):
    centres = rng.normal(size=(4, 5)) * 100
    z = centres[np.arange(4000) % 4] + rng.normal(size=(4000, 5))
    plan = learn_tree(z[:1000], 4000, 1000)
    leaves = plan.assign(z, rng.random(4000))
    assert plan.n_leaves == 4
    assert all(len(np.unique(leaves[np.arange(4000) % 4 == c])) == 1 for c in range(4))


@given(z=samples(), leaf=st.integers(1, 10), n=st.integers(2, 400))
def test_every_row_walks_as_the_definition_says(z, leaf, n):
    plan = learn_tree(z, n, leaf)
    drawn = np.linspace(0, 0.999, len(z))
    leaves = plan.assign(z, drawn)
    assert leaves.tolist() == [naive_walk(plan, row, one) for row, one in zip(z, drawn, strict=True)]
    assert leaves.min() >= 0
    assert leaves.max() < plan.n_leaves


@given(z=samples(), leaf=st.integers(1, 10), n=st.integers(2, 400), least=st.integers(1, 30))
def test_after_repair_no_leaf_has_too_few_and_nobody_is_lost(z, leaf, n, least):
    plan = learn_tree(z, n, leaf)
    drawn = np.linspace(0, 0.999, len(z))
    counts = np.bincount(plan.assign(z, drawn), minlength=plan.n_leaves)
    repaired = plan.repaired(counts, least)
    found = np.bincount(repaired.assign(z, drawn), minlength=repaired.n_leaves)
    assert found.sum() == len(z)
    assert repaired.n_leaves == 1 or found.min() >= least
    assert repaired.n_leaves <= plan.n_leaves


def test_equal_rows_are_divided_by_chance(rng):
    z = np.zeros((4000, 3))
    plan = learn_tree(z[:500], 4000, 500)
    counts = np.bincount(plan.assign(z, rng.random(4000)), minlength=plan.n_leaves)
    assert plan.by_chance.all()
    assert plan.n_leaves == 8
    assert counts.min() > 400


def test_many_equal_rows_beside_others_neither_fill_a_leaf_nor_empty_one(rng):
    z = np.concatenate([np.zeros((3600, 2)), rng.normal(size=(400, 2)) * 10])
    plan = learn_tree(z[::8], 4000, 250)
    counts = np.bincount(plan.assign(z, rng.random(4000)), minlength=plan.n_leaves)
    assert counts.max() < 1000
    assert plan.by_chance.any()
    assert not plan.by_chance.all()


def test_a_leaf_that_came_out_too_large_is_halved(rng):
    z = rng.normal(size=(1000, 2))
    plan = learn_tree(z[:10], 1000, 400)
    counts = np.bincount(plan.assign(z, rng.random(1000)), minlength=plan.n_leaves)
    divided = plan.divided(counts, 150)
    drawn = rng.random(1000)
    found = np.bincount(divided.assign(z, drawn), minlength=divided.n_leaves)
    assert found.sum() == 1000
    assert found.max() < 200
    again = divided.divided(np.full(divided.n_leaves, 300), 150)
    assert np.bincount(again.assign(z, drawn), minlength=again.n_leaves).max() < 100


def test_a_sample_too_small_to_cut_is_one_leaf():
    plan = learn_tree(np.zeros((0, 3)), 100, 10)
    assert plan.n_leaves == 1
    assert plan.assign(np.ones((4, 3)), np.zeros(4)).tolist() == [0, 0, 0, 0]
    assert plan.repaired(np.array([4]), 10).n_leaves == 1


def test_places_do_not_depend_on_the_rows_beside(rng):
    x = rng.normal(size=(301, 48)) * 1e3
    x[rng.random(x.shape) < 0.1] = np.nan
    coordinates = Coordinates.learn(x)
    whole = coordinates.of(x)
    pieces = np.concatenate([coordinates.of(x[:1]), coordinates.of(x[1:8]), coordinates.of(x[8:])])
    assert whole.tobytes() == pieces.tobytes()
    filled = np.where(np.isnan(x), coordinates.centre, x)
    np.testing.assert_allclose(whole, (filled - coordinates.centre) @ coordinates.basis, atol=1e-8)


def test_long_series_have_as_many_coordinates_as_the_sample_allows(rng):
    coordinates = Coordinates.learn(rng.normal(size=(5, 100)))
    assert coordinates.basis.shape == (100, 5)
    assert Coordinates.learn(rng.normal(size=(500, 100))).basis.shape == (100, 24)


def test_a_plan_is_arrays_and_travels(rng):
    plan = learn_tree(rng.normal(size=(400, 4)), 400, 50)
    other = pickle.loads(pickle.dumps(plan))
    z, drawn = rng.normal(size=(100, 4)), rng.random(100)
    assert isinstance(other, SplitTree)
    assert plan.assign(z, drawn).tolist() == other.assign(z, drawn).tolist()


@pytest.mark.parametrize("n", [0, 1])
def test_kernels_take_few_rows(n):
    assert project_rows(np.ones((n, 2)), np.zeros(2), np.eye(2)).shape == (n, 2)
    empty = np.empty(0, dtype=np.int64)
    leaves = walk_down(np.ones((n, 2)), np.zeros(n), np.empty((0, 2)), empty.astype(bool), np.empty(0), empty, empty)
    assert leaves.tolist() == [0] * n
