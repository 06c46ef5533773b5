"""The 15/15 rule on an engine: the verdict of the check in memory."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal import AggregateRule, KAnonymity, Panel
from shoal.engines.blocks import BlockCandidate, BlockPanel, Clock
from shoal.engines.checks import check
from shoal.engines.guarantees import aggregate_rule
from shoal.engines.guarantees.aggregate_rule import check as check_rule
from shoal.engines.rows import pack
from shoal.errors import ParameterError
from shoal.model import Candidate, Private, Recipe


def candidates(engine, original, published, groups, *, method="microaggregation", parts=4):
    """The same candidate in memory and in blocks; ids are in the order of rows."""
    n = len(groups)
    ids = [f"s{i:04}" for i in range(n)]
    subjects = [f"h{code:04}" for code in original.subject_codes]
    in_memory = Candidate(
        published=Panel(published, subjects=original.subject_codes, channels=original.channels),
        guarantee=AggregateRule(),
        recipe=Recipe(method, {}),
        private=Private(original=original, groups=np.asarray(groups)),
    )
    table = pa.table(
        {
            "id": ids,
            "subject": subjects,
            "row": pack(original.rows),
            "published": pack(in_memory.published.rows),
            "group": pa.array(groups, pa.int64()),
        }
    )
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(n)))
    clock = Clock(original.times, original.channels)
    n_missing = int(np.isnan(original.values).sum())
    panel = BlockPanel(engine, engine.scatter(shuffled, parts), clock, n, original.n_subjects, n_missing)
    in_blocks = BlockCandidate(panel, engine.scatter(shuffled, parts), clock, AggregateRule(), Recipe(method, {}))
    return in_memory, in_blocks


def means(original, groups):
    """Every series as the mean of its group, missing where nobody was observed."""
    published = np.full(original.values.shape, np.nan)
    for label in np.unique(groups):
        own = original.values[groups == label]
        counts = (~np.isnan(own)).sum(axis=0)
        total = np.where(np.isnan(own), 0.0, own).sum(axis=0)
        published[groups == label] = np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
    return published


def assert_same_verdict(rule, in_memory, in_blocks):
    expected, found = rule.check(in_memory), check(rule, in_blocks)
    assert (found.holds, found.required, found.note) == (expected.holds, expected.required, expected.note)
    assert found.measured == pytest.approx(expected.measured, rel=1e-12)
    if in_memory.private.original.one_series_per_subject:
        assert found.measured == expected.measured
    assert found.witness is None
    return found


def some_panel(n=120, per_subject=2, seed=0, gaps=0.0):
    rng = np.random.default_rng(seed)
    values = rng.gamma(2.0, size=(n, 6, 2))
    values[rng.random(values.shape) < gaps] = np.nan
    return Panel(values, subjects=np.arange(n) // per_subject)


@pytest.mark.parametrize("per", ["period", "instant"])
def test_verdict_is_that_of_memory_on_every_engine(engine, per):
    original = some_panel(gaps=0.05 if per == "instant" else 0.0)
    groups = np.arange(120) % 3
    pair = candidates(engine, original, means(original, groups), groups)
    for size, share in ((15, 0.15), (15, 0.01), (21, 0.15)):
        assert_same_verdict(AggregateRule(size, share, per), *pair)
    assert check(AggregateRule(15, 0.3, per), pair[1]).holds


values = st.sampled_from([0.0, 1.0, 1.0, 2.0, 0.1, -3.0, 7.25, float("nan")])


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), n=st.integers(2, 14), n_instants=st.integers(1, 3), n_channels=st.integers(1, 2))
def test_verdicts_equal_those_of_memory(local, data, n, n_instants, n_channels):
    per = data.draw(st.sampled_from(["period", "instant"]))
    cells = data.draw(st.lists(values, min_size=n * n_instants * n_channels, max_size=n * n_instants * n_channels))
    if per == "period":  # with gaps it is not judged on an engine
        cells = [0.5 if cell != cell else cell for cell in cells]
    original = Panel(
        np.array(cells).reshape(n, n_instants, n_channels),
        subjects=data.draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
        if data.draw(st.booleans())
        else None,
    )
    groups = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    published = means(original, groups)
    size = data.draw(st.integers(2, 4))
    share = data.draw(st.sampled_from([1 / size, 0.25, 0.5, 0.15, 1.0]))
    rule = AggregateRule(size, share, per)
    assert_same_verdict(rule, *candidates(local, original, published, groups, parts=data.draw(st.integers(1, 4))))


def test_a_share_at_the_limit_is_decided_exactly(local):
    """Twenty times a tenth is not two in floating point; 15 of 100 equals 0.15."""
    rows = np.full((8, 20), 0.1)
    original = Panel(rows)
    groups = np.zeros(8, dtype=np.int64)
    pair = candidates(local, original, means(original, groups), groups)
    assert assert_same_verdict(AggregateRule(8, 1 / 8), *pair).holds
    rows[3, 7] = np.nextafter(0.1, 1.0)
    original = Panel(rows)
    pair = candidates(local, original, means(original, groups), groups)
    expected = AggregateRule(8, 1 / 8).check(pair[0])
    assert check(AggregateRule(8, 1 / 8), pair[1]).measured == expected.measured


def test_too_many_shares_at_the_limit_do_not_hold(local, monkeypatch):
    monkeypatch.setattr(aggregate_rule, "_MOST_CLOSE", 0)
    original = Panel(np.full((8, 3), 0.1))
    groups = np.zeros(8, dtype=np.int64)
    verdict = check(AggregateRule(8, 1 / 8), candidates(local, original, means(original, groups), groups)[1])
    assert not verdict.holds
    assert verdict.note == "1 aggregates are too near to the limit to be decided one by one"


def test_two_groups_with_the_same_mean_are_two_aggregates(local):
    original = Panel(np.array([[1.0], [3.0], [2.0], [2.0]]))
    groups = np.array([0, 0, 1, 1])
    found = assert_same_verdict(AggregateRule(4, 1.0), *candidates(local, original, means(original, groups), groups))
    assert (found.holds, found.measured) == (False, 2)


def test_one_subject_that_grows_breaks_the_rule(engine):
    original = some_panel(60, 1)
    groups = np.arange(60) % 2
    assert check(AggregateRule(15, 0.15), candidates(engine, original, means(original, groups), groups)[1]).holds
    grown = original.values.copy()
    grown[7] *= 40.0
    original = Panel(grown)
    pair = candidates(engine, original, means(original, groups), groups)
    assert not assert_same_verdict(AggregateRule(15, 0.15), *pair).holds


def test_one_changed_cell_makes_an_aggregate_of_one(engine):
    original = some_panel(60, 1)
    groups = np.arange(60) % 2
    published = means(original, groups)
    published[11, 2] += 0.5
    found = check(AggregateRule(15, 0.15), candidates(engine, original, published, groups)[1])
    assert (found.holds, found.measured) == (False, 1)


def test_what_is_no_aggregate_does_not_keep_the_rule(local):
    original = some_panel(60, 1)
    groups = np.arange(60) % 2
    _, blocks = candidates(local, original, means(original, groups), groups)
    changed = {
        "the ends of an envelope": {"form": "envelopes"},
        "groups differ from instant to instant": {"recipe": Recipe("nlk", {})},
        "has other instants than the originals": {"clock": Clock(np.arange(5), original.channels)},
        "not the means of their members' readings": {"recipe": Recipe("microaggregation", {"aggregate": "median"})},
        "exchange nothing between subjects before": {
            "recipe": Recipe("steps", {"steps": [{"name": "permutation"}, {"name": "microaggregation"}]})
        },
        "with gaps, subjects are counted in every published value": {
            "panel": dataclasses.replace(blocks.panel, n_missing=1)
        },
    }
    for words, fields in changed.items():
        known = {name: getattr(blocks, name) for name in ("panel", "table", "clock", "guarantee", "recipe")}
        verdict = check(AggregateRule(), BlockCandidate(**(known | fields)))
        assert not verdict.holds
        assert words in verdict.note


def test_only_the_publisher_can_check_it(local):
    original = some_panel(60, 1)
    groups = np.arange(60) % 2
    blocks = candidates(local, original, means(original, groups), groups)[1]
    with pytest.raises(ParameterError, match="about the originals: only the publisher can check it"):
        check(AggregateRule(), blocks.published)
    with pytest.raises(ParameterError, match="k-anonymity is not the aggregate rule"):
        check_rule(KAnonymity(2), blocks)
