import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.crowds import naive_aggregate_rule
from shoal import (
    AggregateRule,
    KAnonymity,
    Microaggregation,
    NoiseAddition,
    Panel,
    Permutation,
    SamplingWithFictives,
    ScopeAggregation,
    Steps,
    TimeAggregation,
    TimeSlicing,
    Transformation,
)
from shoal.errors import ParameterError
from shoal.model import Candidate, Private, Profiles, Recipe, Spread
from shoal.process.search.task import build_guarantee
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


@given(
    case=panels_with_subjects(),
    size=st.integers(2, 4),
    share=st.sampled_from([0.15, 0.25, 1 / 3, 0.5, 0.6, 1.0]),
    per=st.sampled_from(["period", "instant"]),
    data=st.data(),
)
def test_an_aggregate_in_several_shards_is_judged_as_in_one(case, size, share, per, data):
    """Some means are wrong, some aggregates have too few subjects, some shares are exactly at the limit."""
    x, _, subjects = case
    panel = Panel(x, subjects=subjects)
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        means = np.nanmean(panel.values, axis=0)
    if data.draw(st.booleans()):
        means = means + data.draw(st.sampled_from([0.0, 0.5]))
    flat = np.broadcast_to(means, panel.values.shape)
    rule = AggregateRule(size, share, per)
    original = panel.values.reshape(panel.n_series, panel.n_instants, -1)
    rows = flat.reshape(panel.n_series, -1)
    expected = naive_aggregate_rule(original, rows, size, share, panel.subject_codes, per)
    place = np.array(data.draw(st.lists(st.integers(0, 2), min_size=panel.n_subjects, max_size=panel.n_subjects)))
    of_row = place[panel.subject_codes]
    profile = Profiles(
        values=np.ascontiguousarray(means).reshape(1, panel.n_instants, panel.n_channels, 1),
        counts=np.array([panel.n_subjects]),
        bands=("mean",),
        times=panel.times,
        channels=panel.channels,
    )
    parts = []
    for number, shard in enumerate(np.unique(of_row).tolist()):
        own = panel.take(np.flatnonzero(of_row == shard))
        private = Private(own, np.zeros(own.n_series, dtype=np.int64), spread=Spread(0, number == 0))
        parts.append(rule.check(Candidate(profile, KAnonymity(2), Recipe("test", {}), private)))
    assert not any(part.holds for part in parts)
    assert rule.merge(parts).holds == expected


def mean_of(original):
    """Every series as the mean of all."""
    return np.broadcast_to(np.nanmean(original, axis=0), original.shape)


@given(
    case=panels_with_subjects(),
    size=st.integers(2, 4),
    share=st.sampled_from([0.15, 0.25, 1 / 3, 0.5, 0.6, 1.0]),
    per=st.sampled_from(["period", "instant"]),
    aggregate=st.sampled_from(["mean", "mean", "trimmed-mean"]),
)
def test_check_equals_enumeration(case, size, share, per, aggregate):
    x, k, subjects = case
    panel = Panel(x, subjects=subjects)
    published = Microaggregation(k=k, aggregate=aggregate).anonymize(panel).values
    verdict = AggregateRule(size, share, per).check(candidate(x, published, subjects))
    original = panel.values.reshape(panel.n_series, panel.n_instants, -1)
    flat = Panel(published).rows
    assert verdict.holds == naive_aggregate_rule(original, flat, size, share, panel.subject_codes, per)


def test_fifteen_equal_customers_pass_and_a_dominant_one_does_not():
    original = np.ones((15, 24))
    assert AggregateRule().check(candidate(original, mean_of(original))).holds
    original[3] *= 3  # 3 of 17 is more than 15 %
    verdict = AggregateRule().check(candidate(original, mean_of(original)))
    assert not verdict.holds
    assert verdict.measured == pytest.approx(3 / 17)
    assert verdict.note == "one subject has too large a share of an aggregate"


def test_exactly_the_share_is_allowed_in_spite_of_rounding():
    original = np.full((20, 10), 0.1)  # ten times 0.1 is not 1 in floating point
    assert AggregateRule(size=20, share=0.05).check(candidate(original, mean_of(original))).holds


def test_fourteen_customers_are_too_few_and_the_witness_is_in_their_aggregate():
    published = np.repeat([[1.0], [2.0]], [15, 14], axis=0)
    verdict = AggregateRule().check(candidate(published, published))
    assert (verdict.holds, verdict.measured, verdict.required, verdict.witness) == (False, 14, 15, 15)
    assert verdict.note == "an aggregate has too few subjects"


@pytest.mark.parametrize("per", ["period", "instant"])
@pytest.mark.parametrize("missing", [slice(None), 1])
def test_subjects_without_a_reading_do_not_count_in_a_published_value(per, missing):
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
    assert AggregateRule().check(candidate(original, mean_of(original))).holds
    assert not AggregateRule(per="instant").check(candidate(original, mean_of(original))).holds


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


METERS = Panel(
    np.random.default_rng(3).gamma(2.0, size=(60, 48)),
    times=np.datetime64("2024-01-01") + np.arange(48) * np.timedelta64(1, "h"),
    attributes={"area": np.repeat(["north", "south"], 30)},
)
LENIENT = AggregateRule(size=5, share=1.0)
CANNOT = "it cannot be judged: "


@pytest.mark.parametrize("aggregate", ["median", "trimmed-mean"])
@pytest.mark.parametrize("form", ["values", "steps"])
def test_values_that_may_be_one_subject_s_reading_are_not_judged(aggregate, form):
    method = Microaggregation(k=15, aggregate=aggregate)
    found = (Steps((NoiseAddition(snr=100.0), method)) if form == "steps" else method).anonymize(METERS)
    if aggregate == "median":  # in a group of odd size it always is
        assert np.isin(found.values, found.private.original.values).any() == (form == "values")
    verdict = LENIENT.check(found)
    assert (verdict.holds, verdict.measured) == (False, None)
    assert verdict.note.startswith(CANNOT + "published values are not the means of their members' readings")


def test_a_median_of_members_who_agree_is_their_mean():
    original = np.repeat([[1.0, 2.0], [5.0, 7.0]], 5, axis=0)
    assert LENIENT.check(Microaggregation(k=5, aggregate="median").anonymize(Panel(original))).holds


@pytest.mark.parametrize(
    "steps",
    [
        (Permutation(length="6h"), ScopeAggregation(size=15, share=0.9)),
        (Permutation(length="6h"), Microaggregation(k=15)),
        (Permutation(length="6h"), TimeAggregation(step="6h"), Microaggregation(k=15)),
        (Microaggregation(k=3), ScopeAggregation(within="area", size=15, share=0.9)),
        (Microaggregation(k=15), NoiseAddition(snr=10.0)),
        (Microaggregation(k=15), TimeSlicing(length="1d")),
        (Microaggregation(k=15), Permutation(length="6h")),
    ],
    ids=lambda steps: "-".join(step.name for step in steps),
)
def test_readings_of_others_inside_an_aggregate_are_not_judged_by_row(steps):
    found = Steps(steps).anonymize(METERS)
    assert AggregateRule(15, 0.9) not in found.guarantees
    verdict = LENIENT.check(found)
    assert (verdict.holds, verdict.measured) == (False, None)
    assert verdict.note.startswith(CANNOT)


def whose(panel, *steps):
    """For each published mean of the last step the absolute readings inside it by subject, from the definition."""
    working = panel
    for step in steps[:-1]:
        made = step.anonymize(working)
        working = Panel(
            made.values,
            times=made.published.times,
            subjects=made.published.subject_codes,
            attributes={name: column[made.stands_for] for name, column in working.attributes.items()},
        )
    groups = steps[-1].anonymize(working).private.groups
    for label in np.unique(groups[groups >= 0]):
        rows = np.flatnonzero(groups == label)
        yield {
            int(subject): float(np.abs(working.values[rows[working.subject_codes[rows] == subject]]).sum())
            for subject in np.unique(working.subject_codes[rows])
        }


@pytest.mark.parametrize(
    "steps",
    [
        (TimeAggregation(step="6h"), ScopeAggregation(within="area", size=15, share=0.9)),
        (TimeAggregation(step="6h", by="sum"), Microaggregation(k=15)),
        (Transformation(kind="coarsen", resolution=0.5), Microaggregation(k=15)),
        (NoiseAddition(snr=2.0), ScopeAggregation(size=15, share=0.9)),
        (SamplingWithFictives(share=0.8, fictives=0.0), Microaggregation(k=15)),
        (TimeSlicing(length="1d"), Microaggregation(k=15)),
        (Microaggregation(k=15, round_to=0.1),),
        (Microaggregation(k=15, form="profiles"),),
    ],
    ids=lambda steps: "-".join(step.name for step in steps),
)
def test_what_is_inside_is_tracked_through_steps_that_keep_subjects_apart(steps):
    found = (Steps(steps) if len(steps) > 1 else steps[0]).anonymize(METERS)
    verdict = AggregateRule(15, 0.9).check(found)
    assert verdict.holds
    inside = list(whose(METERS, *steps))
    assert min(map(len, inside)) >= 15
    assert verdict.measured == pytest.approx(max(max(own.values()) / sum(own.values()) for own in inside))


def test_a_gap_before_a_mean_over_time_makes_one_reading_count_for_a_whole_step():
    values = np.ones((24, 24))
    values[0] = np.nan
    values[0, 0] = 24.0  # one reading of 24 among 23 x 24 of 1: 4 % of the readings, 51 % of the means of a day
    panel = Panel(values, times=METERS.times[:24], attributes={"all": ["x"] * 24})
    day = Steps((TimeAggregation(step="1d"), Microaggregation(k=24))).anonymize(panel)
    assert AggregateRule(15, 0.15).check(day).measured == pytest.approx(24 / 47)


def test_a_published_value_that_is_not_the_mean_is_seen_behind_true_labels():
    found = ScopeAggregation(within="area", size=15, share=0.9).anonymize(METERS)
    assert AggregateRule(15, 0.9).check(found).holds
    values = found.values.copy()
    values[1, 30] = METERS.values[45, 30]
    forged = dataclasses.replace(found, published=dataclasses.replace(found.published, values=values))
    assert AggregateRule(15, 0.9).check(forged).note.startswith(CANNOT)


@pytest.mark.parametrize(
    ("name", "size", "share"),
    [("15/15", 15, 0.15), ("6/40", 6, 0.4), ("10", 10, 1.0), ("4/80", 4, 0.8), ("100", 100, 1.0)],
)
def test_rules_go_by_the_names_that_regulators_use(name, size, share):
    assert (
        AggregateRule.named(name) == AggregateRule(size=size, share=share) == build_guarantee({"aggregate-rule": name})
    )


def test_an_unknown_rule_is_refused_with_those_there_are():
    with pytest.raises(
        ParameterError, match=r"one of 15/15, 6/40, 10, 4/80, 100; for another rule, give size and share"
    ):
        AggregateRule.named("3/3")
