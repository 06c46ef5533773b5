import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.crowds import naive_aggregate_rule
from shoal import AggregateRule, KAnonymity, Microaggregation, Panel
from shoal.errors import ParameterError
from shoal.model import Candidate, Private, Recipe
from strategies import panels_with_subjects


def candidate(original, published, subjects=None, groups=None):
    """A candidate; without groups its labels are all the same and tell nothing."""
    return Candidate(
        published=Panel(published, subjects=subjects),
        guarantee=KAnonymity(2),
        recipe=Recipe("test", {}),
        private=Private(
            Panel(original, subjects=subjects), np.full(len(original), -7) if groups is None else np.array(groups)
        ),
    )


@settings(max_examples=200)
@given(
    case=panels_with_subjects(),
    size=st.integers(2, 4),
    share=st.sampled_from([0.15, 0.25, 1 / 3, 0.5, 0.6, 1.0]),
    per=st.sampled_from(["period", "instant"]),
)
def test_check_equals_enumeration(case, size, share, per):
    x, k, subjects = case
    panel = Panel(x, subjects=subjects)
    published = Microaggregation(k=k).anonymize(panel).values
    verdict = AggregateRule(size, share, per).check(candidate(x, published, subjects))
    original = panel.values.reshape(panel.n_series, panel.n_instants, -1)
    flat = Panel(published).rows
    assert verdict.holds == naive_aggregate_rule(original, flat, size, share, panel.subject_codes, per)


def test_fifteen_equal_customers_pass_and_a_dominant_one_does_not():
    original = np.ones((15, 24))
    published = np.ones((15, 24))
    assert AggregateRule().check(candidate(original, published)).holds
    original[3] *= 3  # 3 of 17 is more than 15 %
    verdict = AggregateRule().check(candidate(original, published))
    assert not verdict.holds
    assert verdict.measured == pytest.approx(3 / 17)
    assert verdict.note == "one subject has too large a share of an aggregate"


def test_exactly_the_share_is_allowed_in_spite_of_rounding():
    original = np.full((20, 10), 0.1)  # ten times 0.1 is not 1 in floating point
    assert AggregateRule(size=20, share=0.05).check(candidate(original, np.ones((20, 10)))).holds


def test_fourteen_customers_are_too_few_and_the_witness_is_in_their_aggregate():
    published = np.repeat([[1.0], [2.0]], [15, 14], axis=0)
    verdict = AggregateRule().check(candidate(np.ones((29, 1)), published))
    assert (verdict.holds, verdict.measured, verdict.required, verdict.witness) == (False, 14, 15, 15)
    assert verdict.note == "an aggregate has too few subjects"


@pytest.mark.parametrize(("per", "missing"), [("period", slice(None)), ("instant", 1)])
def test_subjects_without_a_reading_do_not_count(per, missing):
    original = np.ones((15, 3))
    original[8:, missing] = np.nan
    verdict = AggregateRule(per=per).check(candidate(original, np.ones((15, 3))))
    assert (verdict.holds, verdict.measured) == (False, 8)


def test_groups_with_the_same_mean_by_chance_are_not_one_aggregate():
    original = np.ones((16, 2))
    assert AggregateRule(size=16).check(candidate(original, original)).holds
    assert AggregateRule(size=16).check(candidate(original, original, groups=[0, 1] * 8)).measured == 8


def test_one_instant_may_be_dominated_when_the_period_is_not():
    original = np.ones((15, 100))
    original[0, 7] = 5.0
    assert AggregateRule().check(candidate(original, np.ones((15, 100)))).holds
    assert not AggregateRule(per="instant").check(candidate(original, np.ones((15, 100)))).holds


def test_without_originals_it_does_not_hold_and_says_why():
    verdict = AggregateRule().check(Panel(np.ones((20, 2))))
    assert not verdict.holds
    assert verdict.note == "the rule needs the original series, which only the publisher has"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"size": 1}, "size must be a whole number of at least 2"),
        ({"size": 2.5}, "size must be a whole number of at least 2"),
        ({"share": 0.0}, "share must be above 0 and at most 1"),
        ({"share": 1.5}, "share must be above 0 and at most 1"),
        ({"per": "day"}, "per must be 'period' or 'instant'"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        AggregateRule(**parameters)
