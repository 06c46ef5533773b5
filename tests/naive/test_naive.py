"""The oracles against examples worked out by hand, and the two MDAVs against each other."""

import math
import random

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from numpy.testing import assert_array_equal

from naive.crowds import (
    naive_aggregate_rule,
    naive_classes,
    naive_crowd_sizes,
    naive_distinct_subjects,
    naive_k_anonymous,
)
from naive.mdav import centroid, naive_group_means, naive_mdav, squared_distance, textbook_mdav
from strategies import panels_with_k, panels_with_subjects, small_panels

NAN = math.nan


def column(*values):
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def flat(x):
    return x.reshape(len(x), -1)


# Crowds


def test_crowds_count_equal_rows_and_name_the_first():
    x = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [1.0, 4.0], [1.0, 2.0]])
    assert_array_equal(naive_crowd_sizes(x), [3, 1, 3, 1, 3])
    assert_array_equal(naive_classes(x), [0, 1, 0, 3, 0])


def test_missing_equals_only_missing():
    x = np.array([[NAN, 1.0], [NAN, 1.0], [0.0, 1.0], [NAN, NAN]])
    assert_array_equal(naive_crowd_sizes(x), [2, 2, 1, 1])


def test_nans_with_different_bits_are_the_same_mark():
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000001, 0x7FF8DEADBEEF0000], dtype=np.uint64)
    assert_array_equal(naive_crowd_sizes(bits.view(np.float64).reshape(-1, 1)), [3, 3, 3])


def test_negative_zero_differs_from_zero():
    assert_array_equal(naive_classes(column(0.0, -0.0, 0.0, -0.0)), [0, 1, 0, 1])


def test_neighbouring_floats_differ():
    assert_array_equal(naive_crowd_sizes(column(1.0, np.nextafter(1.0, 2.0))), [1, 1])


def test_distinct_subjects_are_counted_once_each():
    x = column(5.0, 5.0, 5.0, 7.0, 7.0)
    assert_array_equal(naive_distinct_subjects(x, np.array([8, 8, 9, 8, 8])), [2, 2, 2, 1, 1])


def test_k_anonymity_is_lost_by_one_changed_value():
    x = np.repeat([[1.0, 2.0], [3.0, 4.0]], 3, axis=0)
    assert naive_k_anonymous(x, 3)
    assert not naive_k_anonymous(x, 4)
    x[4, 1] = 4.25
    assert not naive_k_anonymous(x, 3)


def test_k_anonymity_with_subjects_needs_distinct_ones():
    x = column(1.0, 1.0, 1.0)
    assert naive_k_anonymous(x, 3, subjects=np.array([0, 1, 2]))
    assert not naive_k_anonymous(x, 3, subjects=np.array([0, 1, 1]))


@given(x=small_panels())
@settings(deadline=None)
def test_classes_and_crowds_tell_the_same_story(x):
    classes = naive_classes(x)
    assert_array_equal(naive_crowd_sizes(x), np.bincount(classes, minlength=len(x))[classes])
    assert_array_equal(naive_distinct_subjects(x, np.arange(len(x))), naive_crowd_sizes(x))


# The aggregate rule


def readings(*rows):
    """One channel."""
    return np.array(rows, dtype=np.float64)[:, :, None]


def alike(original):
    """Every row as the mean of all."""
    return np.broadcast_to(np.nanmean(original, axis=0), original.shape)


def test_aggregate_rule_bounds_the_largest_share():
    original = readings([1, 1], [1, 1], [2, 2])  # shares 1/4, 1/4, 1/2
    assert naive_aggregate_rule(original, alike(original), size=3, share=0.5)
    assert not naive_aggregate_rule(original, alike(original), size=3, share=0.49)


def test_aggregate_rule_needs_enough_distinct_subjects():
    original = readings([1], [1], [1], [1])
    assert naive_aggregate_rule(original, alike(original), size=4, share=0.5)
    assert not naive_aggregate_rule(original, alike(original), size=5, share=0.5)
    assert not naive_aggregate_rule(original, alike(original), size=4, share=0.5, subjects=np.array([0, 1, 2, 2]))


def test_aggregate_rule_adds_up_the_rows_of_a_subject():
    original = readings([1], [1], [1], [1])
    subjects = np.array([0, 1, 2, 2])  # shares 1/4, 1/4, 1/2
    assert naive_aggregate_rule(original, alike(original), size=3, share=0.5, subjects=subjects)
    assert not naive_aggregate_rule(original, alike(original), size=3, share=0.4, subjects=subjects)


def test_aggregate_rule_per_instant_sees_what_the_period_averages_out():
    original = readings([4, 0], [0, 4], [2, 2])  # a third each over the period, 4 of 6 at either instant
    assert naive_aggregate_rule(original, alike(original), size=3, share=1 / 3)
    assert not naive_aggregate_rule(original, alike(original), size=3, share=0.6, per="instant")
    assert naive_aggregate_rule(original, alike(original), size=3, share=0.67, per="instant")


def test_aggregate_rule_looks_at_every_channel():
    original = np.ones((3, 1, 2))
    assert naive_aggregate_rule(original, alike(original), size=3, share=0.4)
    original[1, 0, 1] = 8.0
    assert not naive_aggregate_rule(original, alike(original), size=3, share=0.4)


def test_aggregate_rule_looks_at_every_group():
    original = readings([1], [1], [1], [9])
    published = readings([1], [1], [5], [5])
    assert naive_aggregate_rule(original, published, size=2, share=0.9)
    assert not naive_aggregate_rule(original, published, size=2, share=0.8)


def test_aggregate_rule_measures_feed_in_by_its_size():
    original = readings([-6], [2], [2])  # 6 of 10, although the signed total is -2
    assert naive_aggregate_rule(original, alike(original), size=3, share=0.6)
    assert not naive_aggregate_rule(original, alike(original), size=3, share=0.5)


def test_aggregate_rule_counts_missing_as_zero_and_zero_totals_as_no_share():
    original = readings([NAN, 0], [1, 0], [1, NAN])
    assert naive_aggregate_rule(original, alike(original), size=2, share=0.5, per="instant")
    assert not naive_aggregate_rule(original, alike(original), size=2, share=0.4, per="instant")
    assert naive_aggregate_rule(readings([0], [0]), readings([0], [0]), size=2, share=0.0)


def test_aggregate_rule_holds_only_for_means():
    original = readings([1], [1], [4])
    assert naive_aggregate_rule(original, alike(original), size=3, share=0.7)
    assert not naive_aggregate_rule(original, readings([1], [1], [1]), size=3, share=0.7)  # the median


def test_aggregate_rule_does_not_count_subjects_without_a_reading():
    original = readings([NAN, 0], [1, 0], [1, NAN])
    assert naive_aggregate_rule(original, alike(original), size=2, share=0.5)
    assert not naive_aggregate_rule(original, alike(original), size=3, share=0.5)
    assert not naive_aggregate_rule(readings([0], [NAN]), readings([0], [0]), size=2, share=0.0)


def test_fifteen_of_a_hundred_does_not_exceed_fifteen_percent():
    shares = [15, 15, *[5] * 14]
    original = readings(*[[value] for value in shares])
    assert naive_aggregate_rule(original, alike(original), size=15, share=0.15)
    original[0] += 1
    original[2] -= 1
    assert not naive_aggregate_rule(original, alike(original), size=15, share=0.15)


def test_aggregate_rule_refuses_an_unknown_period():
    original = readings([1], [1])
    with pytest.raises(ValueError, match="neither 'period' nor 'instant'"):
        naive_aggregate_rule(original, alike(original), size=2, share=0.5, per="day")


# Distances and means


def test_distance_without_gaps_is_the_squared_euclidean_one():
    assert squared_distance([1.0, 2.0], [4.0, 6.0]) == 25.0


def test_distance_with_gaps_is_scaled_up_to_all_columns():
    assert squared_distance([1.0, NAN, 3.0], [2.0, 5.0, NAN]) == 3.0
    assert squared_distance([0.0, 0.0, NAN], [1.0, 2.0, 5.0]) == 7.5


def test_distance_with_nothing_in_common_is_infinite():
    assert squared_distance([1.0, NAN], [NAN, 1.0]) == math.inf
    assert squared_distance([NAN], [NAN]) == math.inf


def test_distance_divides_columns_by_observed_before_it_multiplies():
    assert 25.0 * (4 / 3) != 25.0 * 4 / 3
    assert squared_distance([5.0, 0.0, 0.0, NAN], [0.0, 0.0, 0.0, 0.0]) == 25.0 * (4 / 3)


def test_centroid_is_the_mean_of_observed_values_summed_in_row_order():
    points = [[1e16, NAN, 1.0], [1.0, NAN, NAN], [-1e16, NAN, 4.0]]
    first, second, third = centroid(points, [0, 1, 2])
    assert first == 0.0  # (1e16 + 1) rounds to 1e16; the exact mean is 1/3
    assert math.isnan(second)
    assert third == 2.5


def test_group_means_are_shared_by_the_members():
    values = np.array([[[1.0], [2.0]], [[10.0], [20.0]], [[3.0], [6.0]], [[30.0], [40.0]]])
    means = naive_group_means(values, np.array([0, 1, 0, 1]), k=2)
    assert_array_equal(means[:, :, 0], [[2.0, 4.0], [20.0, 30.0], [2.0, 4.0], [20.0, 30.0]])


def test_group_means_need_k_observed_subjects_at_each_instant():
    values = np.array([[1.0, NAN, NAN], [2.0, 2.0, NAN], [6.0, 4.0, 5.0]])[:, :, None]
    labels = np.zeros(3, dtype=int)
    assert_array_equal(naive_group_means(values, labels, k=2)[:, :, 0], [[3.0, 3.0, NAN]] * 3)
    assert_array_equal(naive_group_means(values, labels, k=3)[:, :, 0], [[3.0, NAN, NAN]] * 3)
    of_two = naive_group_means(values, labels, k=2, subjects=np.array([0, 1, 1]))
    assert_array_equal(of_two[:, :, 0], [[3.0, NAN, NAN]] * 3)


def test_group_means_weigh_every_row_of_a_subject():
    values = np.array([1.0, 1.0, 4.0]).reshape(3, 1, 1)
    means = naive_group_means(values, np.zeros(3, dtype=int), k=2, subjects=np.array([0, 0, 1]))
    assert_array_equal(means.ravel(), [2.0, 2.0, 2.0])


@given(case=panels_with_subjects())
@settings(deadline=None)
def test_group_means_of_mdav_groups_are_k_anonymous(case):
    x, k, subjects = case
    labels = naive_mdav(flat(x), k, subjects)
    assert naive_k_anonymous(naive_group_means(x, labels, k, subjects), k, subjects)


# MDAV


@pytest.mark.parametrize(
    ("k", "labels"),
    [
        (2, [0, 0, 2, 2, 1, 1]),  # |D| = 3k: around row 0 (ties with row 5), around row 5, the rest
        (3, [0, 0, 0, 1, 1, 1]),  # |D| = 2k: around row 0, the rest
        (4, [0, 0, 0, 0, 0, 0]),  # |D| < 2k
        (6, [0, 0, 0, 0, 0, 0]),  # |D| = k
    ],
)
def test_mdav_on_six_points_of_a_line(k, labels):
    x = column(0, 1, 2, 10, 11, 12)
    assert_array_equal(naive_mdav(x, k), labels)
    assert_array_equal(textbook_mdav(x, k), labels)


def test_mdav_breaks_ties_by_row():
    # Mean 2.4, so 9 is farthest and takes the first of the three ones; the rest is one group.
    x = column(0, 1, 1, 1, 9)
    assert_array_equal(naive_mdav(x, 2), [1, 0, 1, 1, 0])
    assert_array_equal(textbook_mdav(x, 2), [1, 0, 1, 1, 0])


def test_mdav_groups_a_constant_panel_by_row():
    x = np.full((8, 3), 0.1)
    assert_array_equal(naive_mdav(x, 2), [0, 0, 1, 1, 2, 2, 3, 3])
    assert_array_equal(textbook_mdav(x, 2), [0, 0, 1, 1, 2, 2, 3, 3])


def test_mdav_skips_further_rows_of_a_subject():
    # d1 = 13, with 11; d2 = 0, passes over 1 (same subject), with 2; then 1 and 10 are left.
    x = column(0, 1, 2, 10, 11, 13)
    assert_array_equal(naive_mdav(x, 2, np.array([0, 0, 1, 2, 2, 3])), [1, 2, 1, 2, 0, 0])


def test_mdav_closes_when_too_few_subjects_would_be_left():
    # d1 = 12 takes 2, which leaves two rows: a group of two subjects, but not of one.
    x = column(0, 1, 2, 12)
    assert_array_equal(naive_mdav(x, 2, np.array([0, 3, 1, 2])), [1, 1, 0, 0])
    assert_array_equal(naive_mdav(x, 2, np.array([0, 0, 1, 2])), [0, 0, 0, 0])


def test_mdav_starts_with_a_series_that_is_missing_altogether():
    # Row 2 is infinitely far from everything: it is d1, takes row 0, and the two others remain.
    x = np.array([[5.0, 5.0], [1.0, 1.0], [NAN, NAN], [1.0, 2.0]])
    assert_array_equal(naive_mdav(x, 2), [0, 1, 0, 1])


def test_mdav_puts_d_into_its_own_group_however_far_from_itself():
    x = np.full((4, 2), NAN)
    assert_array_equal(naive_mdav(x, 2), [0, 0, 1, 1])
    x = np.array([[0.0], [0.0], [0.0], [NAN]])
    assert_array_equal(naive_mdav(x, 2), [0, 1, 1, 0])


def test_mdav_refuses_fewer_subjects_than_k():
    with pytest.raises(ValueError, match="k=3 needs at least 3 subjects, found 2"):
        naive_mdav(column(1, 2, 3), 3, np.array([0, 1, 1]))


@given(case=panels_with_k(gaps=False))
@settings(deadline=None, max_examples=300)
def test_mdav_equals_the_textbook_on_complete_panels(case):
    x, k = case
    assert_array_equal(naive_mdav(flat(x), k), textbook_mdav(flat(x), k))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("decimals", [0, 1, 15])
def test_mdav_equals_the_textbook_on_larger_panels(seed, decimals):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 8))
    x = rng.normal(size=(int(rng.integers(k, 70)), int(rng.integers(1, 6)))).round(decimals)
    assert_array_equal(naive_mdav(x, k), textbook_mdav(x, k))


def assert_groups_are_sound(labels, k, subjects):
    n_groups = labels.max() + 1
    assert_array_equal(np.unique(labels), np.arange(n_groups))  # no row without a group, no number left out
    for label in range(n_groups):
        assert len(set(subjects[labels == label])) >= k
    # All groups but the last have k rows: a row counted in two groups would be missing from one of them.
    assert_array_equal(np.bincount(labels)[:-1], k)


@given(case=panels_with_k())
@settings(deadline=None)
def test_mdav_puts_every_row_into_one_group_of_k_to_2k_minus_1(case):
    x, k = case
    labels = naive_mdav(flat(x), k)
    assert_groups_are_sound(labels, k, np.arange(len(x)))
    assert np.bincount(labels).max() <= 2 * k - 1


@given(case=panels_with_subjects())
@settings(deadline=None)
def test_mdav_groups_hold_k_distinct_subjects(case):
    x, k, subjects = case
    assert_groups_are_sound(naive_mdav(flat(x), k, subjects), k, subjects)


@given(case=panels_with_k())
@settings(deadline=None)
def test_mdav_reads_one_subject_per_row_as_no_subjects(case):
    x, k = case
    backwards = np.arange(len(x))[::-1]
    assert_array_equal(naive_mdav(flat(x), k, backwards), naive_mdav(flat(x), k))


# The strategies


SEARCH = settings(max_examples=5000, database=None, phases=[Phase.generate])  # any example will do

NASTY_PANELS = {
    "constant": lambda x: len(x) > 2 and np.unique(x).size == 1,
    "negative zero": lambda x: np.any((x == 0) & np.signbit(x)),
    "both zeros": lambda x: np.any((x == 0) & np.signbit(x)) and np.any((x == 0) & ~np.signbit(x)),
    "equal columns": lambda x: x.shape[1] > 1 and (x == x[:, :1]).all() and np.unique(x).size > 2,
    "large offset": lambda x: np.abs(x).min() > 1e8 and np.unique(x).size > 2,
    "missing series": lambda x: np.isnan(flat(x)).all(axis=1).sum() == 1,
    "missing instant": lambda x: x.shape[1] > 1 and np.isnan(x[:, 0]).all() and not np.isnan(x).all(),
    "missing channel": lambda x: x.ndim == 3 and np.isnan(x[..., 0]).all() and not np.isnan(x).all(),
    "missing altogether": lambda x: np.isnan(x).all(),
    "one instant": lambda x: x.shape[1] == 1,
    "two channels": lambda x: x.shape[2:] == (2,),
    "two dimensions": lambda x: x.ndim == 2,
    "ties and gaps": lambda x: np.isnan(x).any() and naive_crowd_sizes(x).max() > 1 and np.unique(x).size > 3,
}


@pytest.mark.parametrize("kind", NASTY_PANELS)
def test_small_panels_reach(kind):
    find(small_panels(), NASTY_PANELS[kind], settings=SEARCH, random=random.Random(0))


@given(x=small_panels(gaps=False, channels=False))
@settings(deadline=None)
def test_small_panels_without_gaps_and_channels_have_neither(x):
    assert x.dtype == np.float64
    assert x.ndim == 2
    assert np.isfinite(x).all()


@pytest.mark.parametrize("size", [(1, 0), (2, -1), (2, 0), (3, -1), (3, 0), (3, 1)])
def test_panels_with_k_reach_the_corner_sizes(size):
    times, plus = size
    find(
        panels_with_k(),
        lambda case: case[1] > 2 and len(case[0]) == times * case[1] + plus,
        settings=SEARCH,
        random=random.Random(0),
    )


@given(case=panels_with_subjects())
@settings(deadline=None)
def test_panels_with_subjects_have_k_subjects_with_unequal_numbers_of_rows(case):
    x, k, subjects = case
    assert subjects.shape == (len(x),)
    counts = np.bincount(subjects)
    assert len(counts) >= k
    assert counts.min() >= 1
    assert counts.min() < counts.max()
