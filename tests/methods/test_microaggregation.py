import numpy as np
import polars as pl
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from naive.mdav import naive_group_means, naive_mdav
from shoal import KAnonymity, Microaggregation, Panel
from shoal.errors import ParameterError
from shoal.utility import InformationLoss
from strategies import panels_with_subjects

LITERATURE = {
    "census": {3: 5.69, 5: 9.09, 10: 14.16},
    "tarragona": {3: 16.93, 5: 22.46, 10: 33.19},
}


def percent_lost(shared_data, name, **options):
    """Loss on a standardised reference set, by a candidate that checks."""
    x = pl.read_parquet(shared_data / "sdc" / f"{name}.parquet").drop("rownames").to_numpy().astype(float)
    panel = Panel((x - x.mean(axis=0)) / x.std(axis=0))
    candidate = Microaggregation(**options).anonymize(panel)
    assert candidate.check().holds
    return 100 * InformationLoss(standardized=True).measure(panel, candidate.published).value


@pytest.mark.parametrize(("name", "k"), [(name, k) for name, losses in LITERATURE.items() for k in losses])
def test_loss_on_the_reference_sets_is_the_literatures(shared_data, name, k):
    assert round(percent_lost(shared_data, name, k=k, algorithm="mdav"), 2) == LITERATURE[name][k]


BETTER = {
    "census": {3: 5.25, 5: 8.20, 10: 12.34},
    "tarragona": {3: 14.89, 5: 20.75, 10: 30.79},
}


@pytest.mark.parametrize(("name", "k"), [(name, k) for name, losses in BETTER.items() for k in losses])
def test_refined_loss_on_the_reference_sets_is_below_plain_moves_and_swaps(shared_data, name, k):
    assert percent_lost(shared_data, name, k=k, refine=True) <= BETTER[name][k]


@pytest.mark.parametrize("name", LITERATURE)
def test_the_default_loses_clearly_less_than_mdav(shared_data, name):
    for k, mdav in LITERATURE[name].items():
        assert percent_lost(shared_data, name, k=k) < 0.96 * mdav


def relative_to_first(rows):
    """Each column minus its first observed value: where a common offset would round, ties would be broken by it."""
    moved = rows.copy()
    for c in range(rows.shape[1]):
        observed = [v for v in rows[:, c] if v == v]
        moved[:, c] -= observed[0] if observed else 0.0
    return moved


@given(case=panels_with_subjects())
def test_published_values_are_the_naive_means_of_the_naive_groups(case):
    x, k, subjects = case
    panel = Panel(x, subjects=subjects)
    candidate = Microaggregation(k=k, algorithm="mdav").anonymize(panel)
    labels = naive_mdav(relative_to_first(panel.rows), k, panel.subject_codes)
    assert_array_equal(candidate.private.groups, labels)
    assert_array_equal(candidate.values, naive_group_means(panel.values, labels, k, panel.subject_codes))
    assert candidate.check().holds


def test_a_person_with_many_days_is_hidden_among_persons(rng):
    days = rng.normal(size=(12, 30, 5)) + rng.normal(size=(12, 1, 5)) * 10  # a person's days are alike
    panel = Panel(days.reshape(360, 5), subjects=np.repeat(np.arange(12), 30))
    candidate = Microaggregation(k=4).anonymize(panel)
    assert candidate.check().holds
    assert KAnonymity(4).check(candidate).measured >= 4
    # Groups stay small: the rule for the remainder must not swallow everything.
    assert len(np.unique(candidate.private.groups)) >= 60


def test_gaps_are_counted():
    panel = Panel([[1.0, np.nan], [1.0, 4.0], [9.0, np.nan], [9.0, np.nan]])
    candidate = Microaggregation(k=2).anonymize(panel)
    assert candidate.recipe.figures == {"cells_withheld": 1, "gaps_covered": 0}


def test_more_groups_than_subjects_allow_is_refused():
    with pytest.raises(ParameterError, match="k=3 needs at least 3 subjects, the panel has 2"):
        Microaggregation(k=3).anonymize(Panel(np.ones((6, 2)), subjects=[0, 0, 0, 1, 1, 1]))


@pytest.mark.parametrize("algorithm", ["auto", "mdav", "v-mdav", "k-ward"])
def test_watching_changes_nothing(rng, algorithm):
    panel = Panel(rng.normal(size=(200, 5)))
    seen = []
    method = Microaggregation(k=3, algorithm=algorithm)
    watched = method.anonymize(panel, progress=lambda done, total: seen.append((done, total)))
    assert_array_equal(watched.values, method.anonymize(panel).values)
    assert seen[-1] == (200, 200)
    assert seen == sorted(seen)


def test_the_longest_search_tells_how_far_it_is(rng):
    seen = []
    method = Microaggregation(k=3, algorithm="best", proposals=20_000)
    method.anonymize(Panel(rng.normal(size=(200, 5))), progress=lambda done, total: seen.append(done))
    assert seen == sorted(seen)
    assert any(0 < done < 200 for done in seen)
