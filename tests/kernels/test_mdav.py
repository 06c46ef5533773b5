import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_array_equal

from naive.mdav import naive_mdav, textbook_mdav
from shoal.kernels.mdav import mdav_groups
from shoal.model import Panel
from strategies import panels_with_k, panels_with_subjects


def groups(x, k, subjects=None):
    panel = Panel(x, subjects=subjects)
    return mdav_groups(panel.rows, panel.subject_codes, k, np.zeros(1, dtype=np.int64))


@settings(max_examples=400)
@given(case=panels_with_k())
def test_mdav_equals_naive_with_ties_gaps_and_channels(case):
    x, k = case
    assert_array_equal(groups(x, k), naive_mdav(Panel(x).rows, k))


@settings(max_examples=200)
@given(case=panels_with_subjects())
def test_mdav_equals_naive_with_many_series_per_subject(case):
    x, k, subjects = case
    panel = Panel(x, subjects=subjects)
    assert_array_equal(groups(x, k, subjects), naive_mdav(panel.rows, k, panel.subject_codes))


CORNERS = [
    "ties",
    "constant",
    "gaps",
    "n = k",
    "n = 2k - 1",
    "n = 3k - 1",
    "one instant",
    "two channels",
    "plain",
    "far",
]


@pytest.mark.parametrize("seed", range(100))
def test_mdav_equals_naive_on_a_hundred_random_panels(seed):
    rng = np.random.default_rng(seed)
    corner = CORNERS[seed % len(CORNERS)]
    k = int(rng.integers(2, 7))
    n = {"n = k": k, "n = 2k - 1": 2 * k - 1, "n = 3k - 1": 3 * k - 1}.get(corner, int(rng.integers(k, 60)))
    shape = (n, 1 if corner == "one instant" else int(rng.integers(2, 12)))
    if corner == "two channels":
        shape = (*shape, 2)
    x = rng.normal(size=shape)
    if corner == "ties":
        x = rng.integers(0, 3, size=shape).astype(float)
    if corner == "constant":
        x[:] = 0.1
    if corner == "gaps":
        x[rng.random(shape) < 0.3] = np.nan
    if corner == "far":
        x += 1e8
    assert_array_equal(groups(x, k), naive_mdav(Panel(x).rows, k))


@given(case=panels_with_k(gaps=False))
def test_one_series_per_subject_is_the_textbook_algorithm(case):
    x, k = case
    assert_array_equal(groups(x, k), textbook_mdav(Panel(x).rows, k))


def test_progress_ends_at_all_rows(rng):
    panel = Panel(rng.normal(size=(50, 3)))
    done = np.zeros(1, dtype=np.int64)
    mdav_groups(panel.rows, panel.subject_codes, 3, done)
    assert done[0] == 50
