"""Members of a published mean, against trying every set."""

import dataclasses
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.releases import households, like
from naive.attack_subset import naive_left_over, naive_members, naive_nearest_sum
from shoal import Microaggregation, Panel
from shoal.attacks import SubsetSum
from shoal.attacks.subsets import find_members
from shoal.errors import ParameterError

HOW = {"exact": True, "tolerance": 1e-6, "most": 99, "largest": 99, "seconds": 20.0, "seed": 0}


@st.composite
def problems(draw):
    """A few rows of small whole numbers, often equal, and the sum of some of them or not."""
    n, n_steps = draw(st.integers(2, 7)), draw(st.integers(1, 3))
    numbers = st.lists(st.integers(1, 4).map(float), min_size=n_steps, max_size=n_steps)
    a = np.array(draw(st.lists(numbers, min_size=n, max_size=n)))
    members = sorted(draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=4)))
    b = a[members].sum(axis=0)
    if draw(st.booleans()):
        b = b + 0.5
    return a, b, len(members)


@given(problem=problems())
def test_the_program_finds_every_set_that_fits_and_no_other(problem):
    a, b, size = problem
    found = find_members(a, b, size, **HOW)
    assert set(found.sets) == set(naive_members(a.tolist(), b.tolist(), size))
    assert len(set(found.sets)) == len(found.sets)
    assert found.complete
    assert not found.searched


@given(problem=problems())
def test_the_nearest_sum_is_the_nearest(problem):
    a, b, size = problem
    (members,) = find_members(a, b, size, **HOW | {"exact": False}).sets
    least = naive_nearest_sum(a.tolist(), b.tolist(), size)
    assert naive_left_over(a.tolist(), b.tolist(), members) == pytest.approx(least, abs=1e-6)


@given(problem=problems())
def test_a_search_tells_only_sets_that_fit(problem):
    a, b, size = problem
    found = find_members(a, b, size, **HOW | {"largest": 0})
    assert found.searched
    assert set(found.sets) <= set(naive_members(a.tolist(), b.tolist(), size))


def means_of_four(n=60, days=14):
    panel = households(n, days, 3)
    return panel, Microaggregation(k=4).anonymize(panel).published


def with_noise(panel, published, share, seed=0):
    """Every mean with some noise of its own, in shares of its values; members stay alike."""
    means, which = np.unique(published.values, axis=0, return_inverse=True)
    dice = np.random.default_rng(seed)
    return like(panel, (means * (1.0 + share * dice.normal(size=means.shape)))[which.reshape(-1)])


def test_all_members_of_all_means_of_four_among_sixty_are_found_exactly():
    panel, published = means_of_four()
    risk = SubsetSum(n_means=None).attack(panel, published)
    assert (risk.success, risk.recovered, risk.n_means, risk.n_targets) == (1.0, 1.0, 15, 60)
    assert (risk.n_open, risk.n_searched) == (0, 0)  # every set was found and proven to be the only one
    assert risk.prosecutor == risk.confidence == 1.0
    assert risk.control == 0.0
    assert risk.baseline == pytest.approx(4 / 60)


def test_a_little_noise_ends_it():
    panel, published = means_of_four()
    risk = SubsetSum(n_means=None).attack(panel, with_noise(panel, published, 0.001))
    assert risk.success == risk.recovered == risk.prosecutor == 0.0
    assert risk.n_open == 0  # proven: no set fits


def test_but_not_for_an_adversary_who_takes_the_nearest_of_many_sums():
    """Where the paper holds that any noise is enough: with fourteen totals it is not, it must be larger."""
    panel, published = means_of_four()
    slight, strong = (with_noise(panel, published, share) for share in (0.01, 2.0))
    assert SubsetSum(exact=False, n_means=8).attack(panel, slight).success >= 0.9
    search = SubsetSum(exact=False, largest=0, n_means=None)
    assert search.attack(panel, slight).success >= 0.9
    assert search.attack(panel, strong).success <= 0.5


def test_of_one_total_a_little_noise_ends_it_for_the_nearest_sum_too():
    panel, published = means_of_four(30)
    nearest = SubsetSum("all", exact=False, largest=0, n_means=None)
    assert nearest.attack(panel, with_noise(panel, published, 0.01)).success <= 0.5


def test_a_search_finds_them_too_where_there_are_too_many_for_the_program():
    panel, published = means_of_four()
    risk = SubsetSum(largest=0).attack(panel, published)
    assert risk.n_searched == risk.n_means == 15
    assert risk.recovered >= 0.9
    assert risk.n_open == 15  # a search proves nothing about other sets
    assert SubsetSum(largest=0).attack(panel, with_noise(panel, published, 0.001)).success == 0.0


def test_where_time_runs_out_a_search_takes_over():
    panel, published = means_of_four()
    risk = SubsetSum(time_limit=0.0, n_means=3).attack(panel, published)
    assert risk.n_searched == 3


def test_sets_that_fit_alike_count_for_their_share():
    original = Panel([[1.0], [2.0], [3.0], [4.0]])
    published = Panel([[2.5]] * 4)  # 4 of 4: one set only
    assert SubsetSum(step=1).attack(original, published).success == 1.0
    published = Panel([[2.5], [1.0], [9.0], [2.5]])  # 1 + 4 and 2 + 3
    risk = SubsetSum(step=1).attack(original, published, targets=[0, 3])
    assert risk.success == 0.5
    assert risk.confidence == 0.5
    assert risk.recovered == 0.0
    assert set(SubsetSum(step=1).members(original, published, 0)) == {(0, 3), (1, 2)}


def test_only_means_are_sampled():
    panel, published = means_of_four()
    risk = SubsetSum(n_means=2, seed=4).attack(panel, published)
    assert (risk.n_means, risk.n_targets, risk.baseline) == (2, 8, pytest.approx(4 / 60))
    assert SubsetSum(n_means=2, seed=4).attack(panel, published) == risk


def test_fictive_rows_in_a_mean_are_no_targets():
    original = Panel([[1.0, 9.0], [2.0, 5.0], [4.0, 4.0]])
    published = Panel([[1.5, 7.0], [1.5, 7.0], [4.0, 4.0], [4.0, 4.0]])
    risk = SubsetSum(step=1).attack(original, published, rows=[0, 1, 2, -1])
    assert risk.n_targets == 3
    assert risk.success == pytest.approx(2 / 3)  # no two originals sum to twice the last row


def mean_of_known(rows, k):
    """The mean of those who have a reading; missing if they are fewer than k."""
    n_known = (~np.isnan(rows)).sum(axis=0)
    return np.where(n_known >= k, np.nansum(rows, axis=0) / np.maximum(n_known, 1), np.nan)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("k", [1, 4])
def test_gaps_hide_no_member_as_long_as_enough_of_a_mean_is_published(share, k):
    """Means of those who have a reading, or only of whole groups (k = 4): totals of what is published do."""
    panel, published = means_of_four()
    values = np.where(np.random.default_rng(0).random(panel.values.shape) < share, np.nan, panel.values)
    groups = np.unique(published.values, axis=0, return_inverse=True)[1].reshape(-1)
    shown = like(panel, np.stack([mean_of_known(values[groups == group], k) for group in groups]))
    risk = SubsetSum(n_means=None).attack(like(panel, values), shown)
    assert (risk.success, risk.recovered, risk.n_means, risk.control) == (1.0, 1.0, 15, 0.0)
    assert "these totals cover the instants at which the mean is published" in risk.sentence


@given(seed=st.integers(0, 10_000))
def test_sets_that_fit_a_mean_with_gaps_are_those_with_that_mean(seed):
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((6, 3)) < 0.4, np.nan, rng.integers(1, 4, (6, 3)).astype(float))
    published = np.full((6, 3), 50.0)
    published[:2] = np.where(rng.random(3) < 0.2, np.nan, mean_of_known(x[:2], 1))
    shown = ~np.isnan(published[0])
    expected = set()
    for pair in combinations(range(6), 2):
        mean = mean_of_known(x[list(pair)], 1)[shown]
        if (np.isnan(mean) | (np.abs(mean - published[0, shown]) < 1e-9)).all():
            expected.add(frozenset(pair))
    attack = dataclasses.replace(SubsetSum(step=1), time_limit=20.0)
    found = {frozenset(members) for members in attack.members(Panel(x), Panel(published), 0)}
    assert found <= expected
    assert len(found) == (min(len(expected), 4) if shown.any() else 0)


def test_means_of_which_nothing_is_published_are_not_judged():
    nan = np.nan
    original = Panel([[1.0, 9.0], [2.0, 5.0], [4.0, 4.0], [7.0, 1.0]])
    hidden = Panel([[1.5, 7.0], [1.5, 7.0], [nan, nan], [nan, nan]])
    risk = SubsetSum(step=1).attack(original, hidden)
    assert (risk.success, risk.n_means, risk.n_targets, risk.n_withheld) == (1.0, 1, 2, 1)
    assert risk.sentence.endswith("Not judged: 1 mean of which no value is published.")
    assert SubsetSum(step=1).members(original, hidden, 2) == ()
    with pytest.raises(ParameterError, match="needs means with published values, and all of them are missing"):
        SubsetSum(step=1).attack(original, Panel(np.full((4, 2), nan)))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"step": "year"}, "step must be one of"),
        ({"tolerance": -1.0}, "tolerance must be a number of at least 0"),
        ({"largest": -1}, "largest must be a whole number of at least 0"),
        ({"time_limit": None}, "time_limit must be a number of at least 0"),
        ({"n_means": 0}, "n_means must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
    ],
)
def test_what_is_no_parameter_is_refused(more, message):
    with pytest.raises(ParameterError, match=message):
        dataclasses.replace(SubsetSum(), **more)
