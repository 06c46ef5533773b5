import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.crowds import naive_distinct_subjects, naive_k_anonymous
from shoal import KAnonymity, Panel
from shoal.errors import ParameterError
from strategies import panels_with_subjects, small_panels


@given(x=small_panels(), k=st.integers(2, 5))
def test_check_equals_enumeration(x, k):
    assert KAnonymity(k).check(Panel(x)).holds == naive_k_anonymous(Panel(x).rows, k)


@given(case=panels_with_subjects(), k=st.integers(2, 4))
def test_check_counts_distinct_subjects(case, k):
    x, _, subjects = case
    verdict = KAnonymity(k).check(Panel(x, subjects=subjects))
    sizes = naive_distinct_subjects(Panel(x).rows, subjects)
    assert verdict.holds == naive_k_anonymous(Panel(x).rows, k, subjects)
    assert verdict.measured == sizes.min()
    assert verdict.witness == (None if verdict.holds else sizes.argmin())


def test_one_subjects_own_days_are_no_crowd_unless_asked_by_name():
    panel = Panel(np.ones((4, 3)), subjects=["a", "a", "a", "b"])
    assert KAnonymity(3).check(panel).measured == 2
    assert not KAnonymity(3).check(panel).holds
    assert KAnonymity(4, per="series").check(panel).holds


def test_check_rejects_one_changed_value():
    released = np.repeat([[1.0, 2.0], [3.0, 4.0]], 3, axis=0)
    assert KAnonymity(3).check(Panel(released)).holds
    released[4, 1] = 4.25
    verdict = KAnonymity(3).check(Panel(released))
    assert not verdict
    assert (verdict.measured, verdict.required, verdict.witness) == (1, 3, 4)


@pytest.mark.parametrize("position", [(i, t, c) for i in range(6) for t in range(2) for c in range(2)])
def test_check_rejects_the_smallest_change_anywhere(position):
    released = np.repeat(np.arange(8.0).reshape(2, 2, 2), 3, axis=0)
    released[position] = np.nextafter(released[position], np.inf)
    verdict = KAnonymity(3).check(Panel(released))
    assert not verdict.holds
    assert verdict.witness == position[0]


def test_missing_equals_only_missing():
    assert KAnonymity(2).check(Panel([[1.0, np.nan], [1.0, np.nan]])).holds
    assert not KAnonymity(2).check(Panel([[1.0, np.nan], [1.0, 0.0]])).holds


def test_zero_and_minus_zero_are_told_apart():
    assert not KAnonymity(2).check(Panel([[0.0], [-0.0]])).holds


@pytest.mark.parametrize("k", [1, 0, -3, 2.5, "3", True, None])
def test_k_below_two_or_not_whole_is_refused(k):
    with pytest.raises(ParameterError, match="k must be a whole number of at least 2"):
        KAnonymity(k)


def test_unknown_per_is_refused():
    with pytest.raises(ParameterError, match="per must be 'subject' or 'series'"):
        KAnonymity(3, per="day")
