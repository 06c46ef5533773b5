import itertools

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from naive.nlk import group_loss, labels_of, naive_cluster, naive_most_inferred, naive_split
from shoal.kernels.nlk_check import find_breach
from shoal.kernels.nlk_search import FOUND, NOTHING
from shoal.kernels.nlk_splits import cluster_instants, split_groups

PLENTY = 10**6


@st.composite
def complete(draw, largest=10, longest=5):
    """(x, k, subjects): whole numbers, so that means, losses and ties are the same in any order of sums."""
    n_series, n_instants = draw(st.integers(2, largest)), draw(st.integers(2, longest))
    x = draw(arrays(np.float64, (n_series, n_instants), elements=st.integers(0, 12).map(float)))
    subjects = np.arange(n_series)
    if draw(st.booleans()):
        subjects = np.unique(draw(arrays(np.int64, n_series, elements=st.integers(0, 5))), return_inverse=True)[1]
    n_subjects = len(set(subjects.tolist()))
    return x, draw(st.integers(2, max(2, min(4, n_subjects)))), subjects


def same_partition(a, b):
    return all(len(set(zip(u, v, strict=True))) == len(set(u)) == len(set(v)) for u, v in zip(a.T, b.T, strict=True))


@given(case=complete())
def test_stage_1_equals_the_listing(case):
    x, k, subjects = case
    expected = np.array(labels_of(naive_cluster(x.tolist(), k, subjects.tolist()), len(x)))
    assert_array_equal(cluster_instants(x, k, subjects), expected)


@given(case=complete())
def test_stage_1_keeps_k_subjects_per_group_and_equal_values_together(case):
    x, k, subjects = case
    labels = cluster_instants(x, k, subjects)
    for t in range(x.shape[1]):
        order = np.argsort(x[:, t], kind="stable")
        assert np.all(np.diff(labels[order, t]) >= 0)
        for i, j in itertools.combinations(range(len(x)), 2):
            assert x[i, t] != x[j, t] or labels[i, t] == labels[j, t]
        for label in set(labels[:, t].tolist()):
            crowd = len(set(subjects[labels[:, t] == label].tolist()))
            assert crowd >= k or (labels[:, t] == 0).all()  # one group, if there are fewer than k subjects at all


def test_stage_1_splits_at_the_largest_gap_first_though_the_listing_says_ascending():
    x = np.array([[0.0], [1.0], [2.0], [9.0], [10.0]])
    assert cluster_instants(x, 2)[:, 0].tolist() == [0, 0, 0, 1, 1]
    # In ascending order the split between 1 and 2 would have come first, and prevented the good one.


def test_stage_1_takes_equal_gaps_from_the_smallest_values_up():
    x = np.arange(7.0)[:, None]
    assert cluster_instants(x, 3)[:, 0].tolist() == [0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("order", ["mil", "mth"])
@pytest.mark.parametrize("squared", [False, True])
@given(case=complete(largest=7, longest=4), data=st.data())
def test_stage_2_equals_the_listings_with_the_exact_check(order, squared, case, data):
    x, k, subjects = case
    n = data.draw(st.integers(1, x.shape[1] - 1))
    l = data.draw(st.integers(n + 1, x.shape[1]))
    if len(set(subjects.tolist())) < k:
        return
    x = (
        x * np.array([1.0, 1.7, 0.6, 2.3])[: x.shape[1]]
    )  # equal scores at different instants would be a matter of rounding
    first = cluster_instants(x, k, subjects)
    labels, figures = split_groups(x, first, n, l, k, order, PLENTY, subjects, squared)
    groups = naive_cluster(x.tolist(), k, subjects.tolist())
    expected = naive_split(x.tolist(), groups, n, l, k, order, squared, subjects.tolist())
    assert_array_equal(labels, labels_of(expected, len(x)))
    assert naive_most_inferred(labels.tolist(), n, k, subjects.tolist()) < l - n
    assert find_breach(labels, subjects, n, l, k, PLENTY).status == NOTHING
    assert figures.tried == figures.made + figures.refused
    assert figures.ran_out == 0
    loss = sum(group_loss(x, t, rows, squared) for t, groups in enumerate(expected) for rows in groups)
    assert figures.loss_after == pytest.approx(loss, abs=1e-9)


@pytest.mark.parametrize("order", ["mil", "mth"])
@pytest.mark.parametrize(("n", "l"), [(1, 2), (1, 4), (2, 3), (3, 8), (11, 12), (5, 12)])
@pytest.mark.parametrize("seed", range(3))
def test_stage_2_stays_anonymous_and_is_finer(order, n, l, seed):
    rng = np.random.default_rng(seed)
    subjects = np.arange(30) if seed else np.arange(30) // 2
    x = rng.gamma(2.0, size=(30, 12)).round(1)
    first = cluster_instants(x, 4, subjects)
    before = first.copy()
    labels, figures = split_groups(x, first, n, l, 4, order, PLENTY, subjects)
    assert_array_equal(first, before)
    assert find_breach(labels, subjects, n, l, 4, PLENTY).status == NOTHING
    for t in range(12):
        assert len(set(zip(first[:, t], labels[:, t], strict=True))) == labels[:, t].max() + 1
    assert figures.made > 0 or l - n == 1


def test_a_group_split_too_far_is_found_at_the_series_it_exposes():
    rng = np.random.default_rng(2)
    x = rng.gamma(2.0, size=(40, 20))
    labels, _ = split_groups(x, cluster_instants(x, 5), 4, 7, 5, "mth", PLENTY)
    sizes = np.stack([np.bincount(column)[column] for column in labels.T], axis=1)
    n_small = (sizes < 5).sum(axis=1)
    exposed = int(np.argmax(n_small))
    assert n_small[exposed] == 2  # as far as l - n = 3 allows
    t = int(np.flatnonzero(sizes[exposed] >= 5)[0])
    labels[exposed, t] = labels[:, t].max() + 1
    breach = find_breach(labels, np.arange(40), 4, 7, 5, PLENTY)
    assert breach.status == FOUND
    assert t in breach.inferred or t in breach.known
    assert len(breach.inferred) >= 3


@pytest.mark.parametrize("order", ["mil", "mth"])
def test_a_split_whose_check_runs_out_of_its_limit_is_not_made(order):
    rng = np.random.default_rng(0)
    x = rng.gamma(2.0, size=(30, 8))
    first = cluster_instants(x, 5)
    labels, figures = split_groups(x, first, 1, 2, 5, order, limit=0)
    assert same_partition(labels, first)
    assert figures.ran_out == figures.tried > 0
    assert find_breach(split_groups(x, first, 1, 3, 5, order, 3)[0], np.arange(30), 1, 3, 5, PLENTY).status == NOTHING


def test_absolute_loss_around_means_can_rise_by_a_split_and_the_figures_say_so():
    # Instants 1 and 2 together tell everybody apart, so nobody may be alone at instant 0. That leaves one split: the
    # two below 0 from the others, whose mean then moves away from 0, where nearly all of them are.
    series = np.arange(100)
    x = np.stack([[-99.0, -1.0, *[0.0] * 97, 100.0], series // 10, series % 10], axis=1)
    labels = np.stack([np.zeros(100), series // 10, series % 10], axis=1).astype(np.int32)
    split, figures = split_groups(x, labels, 2, 3, 2, "mth", PLENTY)
    assert (figures.tried, figures.made, figures.refused, figures.raised) == (3, 1, 2, 1)
    assert np.bincount(split[:, 0]).tolist() == [2, 98]
    assert figures.loss_before == pytest.approx(200.0)
    assert figures.loss_after == pytest.approx(98.0 + 2 * 97 * 100 / 98)
    _, figures = split_groups(x, labels, 2, 3, 2, "mth", PLENTY, squared=True)
    assert figures.raised == 0  # of squares the mean is the best representative, so they only fall


@given(case=complete(largest=12), data=st.data())
def test_groups_that_part_equal_values_and_any_numbering_of_labels_are_taken(case, data):
    x, _, _ = case
    order = np.argsort(x, axis=0, kind="stable")
    cuts = data.draw(arrays(np.bool_, x.shape, elements=st.booleans()))
    labels = np.empty(x.shape, dtype=np.int32)
    np.put_along_axis(labels, order, np.cumsum(cuts, axis=0).astype(np.int32), axis=0)
    renumbered = labels.max() - labels
    same = [split_groups(x, given, 1, 2, 2, "mth", PLENTY)[0] for given in (labels, renumbered)]
    assert_array_equal(*same)
    finer = same[0]
    for t in range(x.shape[1]):
        pairs = set(zip(labels[:, t].tolist(), finer[:, t].tolist(), strict=True))
        assert len(pairs) == finer[:, t].max() + 1


def test_real_meters_reach_the_divergence_known_from_the_prototype(shared_data):
    path = shared_data / "energyhack_sk_meters" / "energyhack_hourly_4weeks.parquet"
    table = pq.read_table(path, columns=["series_id", "timestamp", "value"]).to_pandas()
    wide = table.pivot(index="series_id", columns="timestamp", values="value").reindex(table["series_id"].unique())
    x = wide.iloc[:, :336].dropna().iloc[:180].to_numpy()
    first = cluster_instants(x, 10)
    _, figures = split_groups(x, first, 5, 15, 10, "mth", PLENTY)
    assert figures.loss_before / x.sum() == pytest.approx(0.126, abs=0.001)
    assert figures.loss_after / x.sum() == pytest.approx(0.1127, abs=0.001)
    assert (figures.raised, figures.ran_out) == (0, 0)
