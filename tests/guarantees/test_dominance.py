"""Whether one member is most of a group's mean, for the publisher's eyes."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import AggregateRule, Microaggregation, Panel
from shoal.engines import Memory
from shoal.guarantees.dominance import Dominance, find_dominance, merge_dominance
from shoal.process.publication import render_report


def homes(n=40, large=1000.0):
    values = np.random.default_rng(5).uniform(0.5, 1.5, (n, 24))
    values[7] *= large
    return Panel(values)


@given(seed=st.integers(0, 10_000), k=st.integers(2, 5))
def test_the_largest_share_is_that_of_the_aggregate_rule(seed, k):
    draw = np.random.default_rng(seed)
    values = draw.lognormal(0.0, 2.0, (12, 3, 2)) * draw.choice([-1.0, 1.0], (12, 3, 2))
    candidate = Microaggregation(k=k).anonymize(Panel(values))
    exact = AggregateRule(size=2, share=1.0).check(candidate)
    found = find_dominance(candidate)
    assert found is not None
    assert found.largest == pytest.approx(exact.measured)


def test_one_huge_member_is_found_and_even_members_are_not():
    found = find_dominance(Microaggregation(k=10).anonymize(homes()))
    assert (found.n_groups, found.n_dominated) == (4, 1)
    assert found.largest > 0.98
    assert "In 1 of 4 groups the mean is mostly one subject's" in found.warning
    even = find_dominance(Microaggregation(k=10).anonymize(homes(large=1.0)))
    assert even.n_dominated == 0
    assert even.warning == ""


@pytest.mark.parametrize(
    "form", [{"form": "profiles"}, {"form": "profiles", "aggregate": "quantiles"}, {"form": "scenarios", "levels": 3}]
)
def test_a_mean_next_to_other_figures_of_its_group_is_a_mean(form):
    found = find_dominance(Microaggregation(k=10, **form).anonymize(homes()))
    assert found == find_dominance(Microaggregation(k=10).anonymize(homes()))
    assert found.n_dominated == 1


@pytest.mark.parametrize(("share", "n_dominated"), [(0.6, 0), (0.89, 0), (0.91, 1)])
def test_in_a_group_of_two_a_half_is_nothing_special(share, n_dominated):
    candidate = Microaggregation(k=2).anonymize(Panel([[share], [1.0 - share]]))
    assert find_dominance(candidate).n_dominated == n_dominated


@pytest.mark.parametrize(
    "method",
    [
        Microaggregation(k=10, aggregate="median"),
        shoal.KP(k=10, p=2),
        shoal.NLK(n=2, l=4, k=3),
    ],
    ids=lambda method: method.name,
)
def test_where_no_mean_is_published_nothing_is_said(method):
    assert find_dominance(method.anonymize(homes())) is None


def test_shards_merge_by_their_largest_share_and_add_up():
    several = [Dominance(4, 0, 0.2), Dominance(3, 1, 0.97)]
    assert merge_dominance(several) == Dominance(7, 1, 0.97)
    assert merge_dominance([*several, None]) is None
    whole = shoal.anonymize(homes(), k=10)
    shards = shoal.anonymize(homes().to_polars(), k=10, engine=Memory(), shard_size=20)
    assert whole.dominance.n_dominated == shards.dominance.n_dominated == 1
    assert shards.dominance.largest > 0.98


def test_the_publisher_is_warned_and_the_release_says_nothing(tmp_path):
    result = shoal.anonymize(homes(), k=10)
    assert "mostly one subject's" in repr(result)
    assert "mostly one subject&#x27;s" in result._repr_html_() or "mostly one subject&#39;s" in result._repr_html_()
    assert "mostly" not in repr(shoal.anonymize(homes(large=1.0), k=10))
    release = result.publish(tmp_path / "out", private=tmp_path / "private")
    assert release.measured["dominance"] == {"groups": 4, "dominated": 1, "largest_share": 0.99}
    certificate = (tmp_path / "out" / "release.json").read_text()
    assert "dominance" not in json.loads(certificate)
    assert "of 4 groups" not in certificate + (tmp_path / "out" / "report.html").read_text()
    _, page = render_report(tmp_path / "out", "publisher", tmp_path / "private")
    assert "In 1 of 4 groups the mean is mostly one subject" in page


@pytest.mark.parametrize("found", [None, {}, {"groups": 1}, {"groups": "3", "dominated": 1, "largest_share": 0.9}, [1]])
def test_anything_else_in_its_place_says_nothing(found):
    assert Dominance.from_dict(found) is None
