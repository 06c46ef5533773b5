import numpy as np
from hypothesis import given
from numpy.testing import assert_array_equal

from naive.mdav import naive_mdav, textbook_mdav
from shoal.kernels.mdav import mdav_groups
from shoal.model import Panel
from strategies import panels_with_k, panels_with_subjects


def groups(x, k, subjects=None):
    panel = Panel(x, subjects=subjects)
    return mdav_groups(panel.rows, panel.subject_codes, k, np.zeros(1, dtype=np.int64))


@given(case=panels_with_k())
def test_mdav_equals_naive_with_ties_gaps_and_channels(case):
    x, k = case
    assert_array_equal(groups(x, k), naive_mdav(Panel(x).rows, k))


@given(case=panels_with_subjects())
def test_mdav_equals_naive_with_many_series_per_subject(case):
    x, k, subjects = case
    panel = Panel(x, subjects=subjects)
    assert_array_equal(groups(x, k, subjects), naive_mdav(panel.rows, k, panel.subject_codes))


@given(case=panels_with_k(gaps=False))
def test_one_series_per_subject_is_the_textbook_algorithm(case):
    x, k = case
    assert_array_equal(groups(x, k), textbook_mdav(Panel(x).rows, k))
