import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from naive.nlk_prices import COMBINATIONS, loss_of_labels, lowest_interval_loss
from shoal.kernels.nlk_intervals import interval_groups, loss_between, publish_labels
from shoal.kernels.univariate import optimal_groups
from strategies import ANY_VALUES, FEW_VALUES, TENTHS

EACH = pytest.mark.parametrize(("loss", "representative"), COMBINATIONS)


@st.composite
def panels_with_k(draw, largest_n=8):
    k = draw(st.integers(1, 3))
    elements = draw(st.sampled_from([st.sampled_from(FEW_VALUES), TENTHS, ANY_VALUES, st.just(0.1)]))
    n = draw(st.integers(k, max(k, largest_n)))
    return draw(arrays(np.float64, (n, draw(st.integers(1, 2))), elements=elements)), k


def group_sizes(labels):
    return [np.bincount(labels[:, t])[labels[:, t]] for t in range(labels.shape[1])]


@EACH
@given(case=panels_with_k())
def test_no_cut_of_the_sorted_values_has_a_lower_loss(loss, representative, case):
    x, k = case
    labels, found = interval_groups(x, k, loss, representative)
    for sizes in group_sizes(labels):
        assert k <= sizes.min()
        assert sizes.max() <= 2 * k - 1
    lowest = float(lowest_interval_loss(x, k, loss, representative))
    exact = float(loss_of_labels(x, labels, loss, representative))
    # Values of up to a million and differences of a tenth: what is published is off by the last digits of the values.
    assert exact == pytest.approx(lowest, rel=1e-9, abs=1e-300)
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-8 if np.abs(x).max() > 10 else 1e-14)


@pytest.mark.parametrize(("loss", "representative"), [("squared", "mean"), ("absolute", "median")])
def test_each_instant_has_the_loss_of_the_optimal_groups_of_one_column(loss, representative, rng):
    x = rng.lognormal(size=(60, 5))
    for k in (2, 5, 10):
        labels, _ = interval_groups(x, k, loss, representative)
        best = np.stack([optimal_groups(x[:, t], k, loss) for t in range(5)], axis=1).astype(np.int32)
        found, expected = (loss_of_labels(x, given, loss, representative) for given in (labels, best))
        assert float(found) == pytest.approx(float(expected), rel=1e-12)


@EACH
def test_an_offset_changes_no_group(loss, representative, rng):
    x = rng.integers(-4000, 4000, size=(100, 6)) / 8.0  # exact with and without the offset
    for k in (2, 3, 10):
        assert_array_equal(
            interval_groups(x + 1e8, k, loss, representative)[0], interval_groups(x, k, loss, representative)[0]
        )


@EACH
def test_one_value_far_away_does_not_blur_the_others(loss, representative, rng):
    near = rng.integers(0, 200, size=(60, 2)) / 8.0
    far = np.concatenate([near, np.full((3, 2), 1e12)])
    assert_array_equal(
        interval_groups(far, 3, loss, representative)[0][:60], interval_groups(near, 3, loss, representative)[0]
    )


def test_equal_values_keep_row_order_and_groups_are_numbered_from_the_smallest():
    x = np.array([[9.0], [1.0], [9.0], [1.0]])
    assert_array_equal(interval_groups(x, 2, "absolute", "mean")[0].ravel(), [1, 0, 1, 0])
    assert_array_equal(interval_groups(np.zeros((4, 1)), 2, "absolute", "mean")[0].ravel(), [0, 0, 1, 1])


def test_a_larger_group_can_lose_less_about_the_mean_as_the_module_says():
    x = np.array([[-10.0, 0, 0, 0, 0, 0, 0, 10.0]]).T
    assert interval_groups(x, 4, "absolute", "mean")[1] == 30.0
    assert loss_between(x, np.full((8, 1), x.mean()), "absolute") == 20.0


@given(
    x=arrays(np.float64, (6, 2), elements=st.one_of(TENTHS, ANY_VALUES)),
    labels=arrays(np.int32, (6, 2), elements=st.integers(0, 2)),
    representative=st.sampled_from(["mean", "median"]),
)
def test_members_are_published_with_the_same_bits(x, labels, representative):
    labels = np.stack([np.unique(labels[:, t], return_inverse=True)[1].ravel() for t in range(2)], axis=1)
    published = publish_labels(x, labels.astype(np.int32), representative)
    aggregate = np.mean if representative == "mean" else np.median
    for t in range(2):
        for label in range(labels[:, t].max() + 1):
            members = labels[:, t] == label
            assert np.unique(published[members, t].view(np.uint64)).size == 1
            assert published[members, t][0] == pytest.approx(aggregate(x[members, t]), rel=1e-12, abs=1e-9)


def test_a_series_alone_keeps_its_bits():
    x = np.array([[0.1, -0.0], [0.2, 1e300], [0.3, 7.0]])
    labels = np.repeat(np.arange(3, dtype=np.int32)[:, None], 2, axis=1)
    for representative in ("mean", "median"):
        assert_array_equal(publish_labels(x, labels, representative).view(np.uint64), x.view(np.uint64))
