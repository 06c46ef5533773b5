import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.mondrian import naive_mondrian
from shoal.kernels.mondrian import mondrian_groups


def groups_of(columns, is_number, codes, l):
    """The kernel on lists of values with None for missing."""
    n = len(codes)
    ranks, values = np.zeros((len(columns), n), dtype=np.int64), np.zeros((len(columns), n))
    for a, (column, number) in enumerate(zip(columns, is_number, strict=True)):
        different = sorted({entry for entry in column if entry is not None})
        ranks[a] = [0 if entry is None else 1 + different.index(entry) for entry in column]
        if number:
            values[a] = [np.nan if entry is None else entry for entry in column]
    order = np.argsort(ranks, axis=1, kind="stable")
    return mondrian_groups(ranks, values, np.array(is_number, dtype=np.bool_), order, np.array(codes), l)


@st.composite
def snapshots(draw):
    l = draw(st.integers(2, 3))
    n_times = draw(st.integers(1, 10))
    codes = draw(st.permutations(list(range(draw(st.integers(l, 4)))) * n_times))
    n_attributes = draw(st.integers(1, 3))
    is_number = draw(st.lists(st.booleans(), min_size=n_attributes, max_size=n_attributes))
    columns = []
    for number in is_number:
        entries = st.sampled_from([0.0, 1.0, 2.0, 3.0, 7.5, 100.0]) if number else st.sampled_from("abcdef")
        holes = draw(st.booleans())
        columns.append(
            draw(st.lists(st.none() | entries if holes else entries, min_size=len(codes), max_size=len(codes)))
        )
    return columns, is_number, codes, l


@given(case=snapshots())
def test_mondrian_equals_naive_with_ties_and_gaps(case):
    assert_array_equal(groups_of(*case), naive_mondrian(*case))


@given(case=snapshots())
def test_groups_are_eligible_and_equal_records_stay_together(case):
    columns, _, codes, l = case
    groups = groups_of(*case)
    codes = np.array(codes)
    for group in range(groups.max() + 1):
        inside = codes[groups == group]
        assert np.bincount(inside).max() * l <= len(inside)
    rows = list(zip(*columns, strict=True))
    assert len(set(zip(rows, groups.tolist(), strict=True))) == len(set(rows))


@given(case=snapshots(), data=st.data())
def test_a_union_of_eligible_parts_is_eligible(case, data):
    _, _, codes, l = case
    groups, codes = groups_of(*case), np.array(codes)
    some = data.draw(st.sets(st.integers(0, int(groups.max())), min_size=1))
    inside = codes[np.isin(groups, list(some))]
    assert np.bincount(inside).max() * l <= len(inside)


def test_the_widest_attribute_is_cut_at_its_middle():
    fine, coarse = [float(i) for i in range(8)], [0.0, 10.0] * 4
    # Both are as wide as the snapshot, so the first is cut; then the second is wider in both halves.
    assert groups_of([fine, coarse], [True, True], [0, 0, 1, 1] * 2, 2).tolist() == [0, 1, 0, 1, 2, 3, 2, 3]
    # Here cutting the second would leave one value on each side.
    assert groups_of([fine, coarse], [True, True], [0, 1] * 4, 2).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_missing_and_known_numbers_are_parted_first_where_that_is_eligible():
    column = [None, None, 1.0, 2.0, 3.0, 4.0]
    assert groups_of([column], [True], [0, 1, 0, 1, 0, 1], 2).tolist() == [0, 0, 1, 1, 2, 2]
    # Both missing have one value: they must stay with known ones, the lowest.
    assert groups_of([[*column, 5.0, 6.0]], [True], [0, 0, 1, 1, 0, 1, 0, 1], 2).tolist() == [0] * 4 + [1, 1, 2, 2]


def test_infinite_numbers_are_cut_like_others():
    column = [-np.inf, -np.inf, 0.0, 1.0, 2.0, 3.0, np.inf, np.inf]
    assert groups_of([column], [True], [0, 1] * 4, 2).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_without_attributes_all_is_one_group():
    assert groups_of([], [], [0, 1, 0, 1], 2).tolist() == [0] * 4
