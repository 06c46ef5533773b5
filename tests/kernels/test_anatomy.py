import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.anatomy import naive_anatomy
from shoal.kernels.anatomy import anatomy_groups


@st.composite
def eligible_snapshots(draw, largest=6):
    """(codes, l, order, luck): values of an l-eligible snapshot, more often one that only just is."""
    l = draw(st.integers(2, 4))
    n_groups = draw(st.integers(1, largest))
    n = n_groups * l + draw(st.integers(0, l - 1))
    counts, left = [], n
    while left:
        count = draw(st.sampled_from([n_groups, n_groups, 1, draw(st.integers(1, n_groups))]))
        counts.append(min(count, left))
        left -= counts[-1]
    values = draw(st.permutations(range(len(counts))))
    codes = draw(st.permutations(np.repeat(values, counts).tolist()))
    order = draw(st.permutations(range(n)))
    luck = draw(st.lists(st.floats(0, 1, exclude_max=True), min_size=l - 1, max_size=l - 1))
    return np.array(codes), l, np.array(order), np.array(luck)


def groups_of(codes, l, order, luck):
    return anatomy_groups(codes, int(codes.max()) + 1, l, order, luck)


@given(case=eligible_snapshots())
def test_anatomy_equals_naive_with_ties(case):
    assert_array_equal(groups_of(*case), naive_anatomy(*case))


@given(case=eligible_snapshots(largest=12))
def test_every_record_is_in_a_group_of_l_or_more_different_values(case):
    codes, l, _, _ = case
    groups = groups_of(*case)
    assert groups.min() == 0
    assert groups.max() + 1 == len(codes) // l  # exactly as many as fit
    for group in range(len(codes) // l):
        values = codes[groups == group]
        assert len(values) >= l
        assert len(set(values)) == len(values)


def test_every_snapshot_of_up_to_twelve_records_has_a_place_for_what_is_left_over():
    """What the module says in (a) to (c), for all numbers of records per value that are eligible."""

    def partitions(n, most):
        if n == 0:
            yield []
        for first in range(min(n, most), 0, -1):
            for rest in partitions(n - first, first):
                yield [first, *rest]

    for l in (2, 3, 4):
        for n in range(l, 13):
            for counts in partitions(n, n // l):
                codes = np.repeat(np.arange(len(counts)), counts)
                for luck in (0.0, 0.999):
                    groups = groups_of(codes, l, np.arange(n), np.full(l - 1, luck))
                    assert groups.min() == 0
                    assert groups.max() + 1 == n // l
                    assert len({*zip(groups.tolist(), codes.tolist(), strict=True)}) == n


def test_the_order_decides_which_record_of_a_value_is_taken():
    codes = np.array([0, 0, 1, 1])
    assert_array_equal(groups_of(codes, 2, np.array([0, 1, 2, 3]), np.zeros(1)), [1, 0, 1, 0])
    assert_array_equal(groups_of(codes, 2, np.array([1, 0, 2, 3]), np.zeros(1)), [0, 1, 1, 0])


def test_luck_decides_which_group_takes_what_is_left_over():
    codes = np.array([0, 0, 1, 1, 2])
    places = {groups_of(codes, 2, np.arange(5), np.array([luck])).tolist()[-1] for luck in (0.0, 0.4, 0.6, 0.99)}
    assert places == {0, 1}
