import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from naive.nlk import marks_of, naive_inferred, naive_most_inferred
from shoal import Panel
from shoal.kernels.nlk_check import find_breach, inferred_by
from shoal.kernels.nlk_labels import instant_labels, make_groups, small_instants
from shoal.kernels.nlk_search import FOUND, NOTHING, RAN_OUT, make_work

PLENTY = 10**6


def labels_of(x):
    values = Panel(x).values
    return instant_labels(np.ascontiguousarray(values).reshape(*values.shape[:2], -1).view(np.uint64))


@st.composite
def few_valued(draw):
    """(x, subjects) of at most 7 series and 6 instants with at most 3 values and a gap; often rows that are near."""
    n_series, n_instants = draw(st.integers(1, 7)), draw(st.integers(2, 6))
    shape = (n_series, n_instants, *draw(st.sampled_from([(), (), (2,)])))
    values = [0.0, 1.0, 2.0, np.nan][: draw(st.integers(2, 4))]
    x = draw(arrays(np.float64, shape, elements=st.sampled_from(values)))
    if draw(st.booleans()):
        like = draw(arrays(np.int64, n_series, elements=st.integers(0, n_series - 1)))
        changed = draw(arrays(np.bool_, shape, elements=st.sampled_from([False, False, True])))
        x = np.where(changed, x, x[like])
    subjects = np.arange(n_series)
    if draw(st.booleans()):
        subjects = np.array(
            Panel(x, subjects=draw(st.lists(st.integers(0, 4), min_size=n_series, max_size=n_series))).subject_codes
        )
    return x, subjects


def assert_check_equals_enumeration(x, subjects, known_sizes, ks):
    labels, cells = labels_of(x), marks_of(x)
    n_instants = labels.shape[1]
    for n in known_sizes:
        for k in ks:
            most = naive_most_inferred(cells, n, k, subjects)
            for l in range(n + 1, n_instants + 1):
                breach = find_breach(labels, subjects, n, l, k, PLENTY)
                assert breach.status == (NOTHING if most < l - n else FOUND)
                if breach.status == NOTHING:
                    assert most <= breach.at_most < l - n
                else:
                    assert len(set(breach.known.tolist())) == n
                    assert len(breach.inferred) >= l - n
                    inferred = naive_inferred(cells, breach.series, breach.known.tolist(), k, subjects)
                    assert breach.inferred.tolist() == inferred


@given(case=few_valued())
def test_the_check_equals_enumeration_for_all_parameters_and_its_witness_is_a_breach(case):
    x, subjects = case
    n_series, n_instants = x.shape[:2]
    assert_check_equals_enumeration(x, subjects, range(1, n_instants), range(2, n_series + 2))


@pytest.mark.parametrize("seed", range(12))
def test_the_check_equals_enumeration_on_larger_panels(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, size=(14, 8)).astype(float)
    x = np.where(rng.random(x.shape) < 0.6, x[rng.integers(0, 14, size=14)], x)
    subjects = np.arange(14) if seed % 2 else np.arange(14) // 2
    assert_check_equals_enumeration(x, subjects, (1, 2, 3, 6), (3, 5, 8))


@given(case=few_valued(), data=st.data())
def test_what_given_knowledge_infers_equals_the_definition(case, data):
    x, subjects = case
    f = data.draw(st.integers(0, len(x) - 1))
    k = data.draw(st.integers(2, len(x) + 1))
    known = sorted(data.draw(st.sets(st.integers(0, x.shape[1] - 1))))
    groups = make_groups(labels_of(x), subjects)
    work = make_work(*x.shape[:2], 1)
    found = inferred_by(groups, small_instants(groups, k)[f], f, np.array(known, dtype=np.int64), k, work)
    assert np.flatnonzero(found).tolist() == naive_inferred(marks_of(x), f, known, k, subjects)


@given(case=few_valued(), data=st.data())
def test_coarser_groups_never_break_it(case, data):
    x, subjects = case
    labels = labels_of(x)
    n_series, n_instants = labels.shape
    n = data.draw(st.integers(1, n_instants - 1))
    l = data.draw(st.integers(n + 1, n_instants))
    k = data.draw(st.integers(2, n_series + 1))
    before = find_breach(labels, subjects, n, l, k, PLENTY)
    t = data.draw(st.integers(0, n_instants - 1))
    coarser = labels.copy()
    coarser[:, t] = np.unique(np.minimum(labels[:, t], data.draw(st.integers(0, n_series))), return_inverse=True)[1]
    after = find_breach(coarser, subjects, n, l, k, PLENTY)
    assert before.status == FOUND or after.status == NOTHING


@given(case=few_valued())
def test_labels_number_the_classes_of_each_instant_by_their_first_series(case):
    x, _ = case
    cells = marks_of(x)
    for t, column in enumerate(labels_of(x).T):
        seen = list(dict.fromkeys(row[t] for row in cells))
        assert column.tolist() == [seen.index(row[t]) for row in cells]


@given(case=few_valued())
def test_groups_hold_the_partition_of_the_labels(case):
    x, subjects = case
    labels = labels_of(x)
    groups = make_groups(labels, subjects)
    for t in range(labels.shape[1]):
        for i in range(labels.shape[0]):
            begin = groups.start[t, i]
            members = groups.order[t, begin : groups.stop[t, begin]]
            assert_array_equal(members, np.flatnonzero(labels[:, t] == labels[i, t]))
            assert groups.crowd[t, begin] == len(set(subjects[members]))


def test_a_panel_without_small_groups_is_accepted_without_a_search():
    labels = np.repeat([[0, 1], [1, 0]], 3, axis=0).astype(np.int32)
    breach = find_breach(labels, np.arange(6), 1, 2, 3, limit=0)
    assert (breach.status, breach.at_most, breach.nodes) == (NOTHING, 0, 0)


def test_a_limit_that_runs_out_is_neither_a_breach_nor_a_proof():
    rng = np.random.default_rng(5)
    # Twins at a distance of one instant: no two known instants tell them apart from all others.
    labels = rng.integers(0, 2, size=(40, 12)).astype(np.int32)
    needed = find_breach(labels, np.arange(40), 2, 4, 20, PLENTY)
    assert needed.status == NOTHING
    assert needed.nodes > 1
    short = find_breach(labels, np.arange(40), 2, 4, 20, limit=needed.nodes - 1)
    assert short.status == RAN_OUT
    assert short.nodes == needed.nodes - 1
    assert short.at_most >= 2  # what is not ruled out
    assert short.series == -1


@pytest.mark.parametrize("n", [1, 3, 30, 118])
def test_many_words_and_long_knowledge_work(n):
    # 150 series fill three words; groups of 3 shift by one series from instant to instant.
    labels = np.array([[(i + t) // 3 for t in range(120)] for i in range(150)], dtype=np.int32)
    breach = find_breach(labels, np.arange(150), n, n + 2, 6, PLENTY)
    assert breach.status == FOUND
    inferred = naive_inferred(labels.tolist(), breach.series, breach.known.tolist(), 6, range(150))
    assert breach.inferred.tolist() == inferred
    assert len(breach.known) == n
