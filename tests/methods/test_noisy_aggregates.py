"""Differentially private means and counts: sensitivity, accounting, noise."""

import dataclasses
import math
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from shard_examples import all_of
from shoal import (
    DifferentialPrivacy,
    NoisyAggregates,
    Panel,
    Steps,
    TimeAggregation,
    load_release,
    publish,
    read_panel,
    verify,
)
from shoal.engines import Memory, in_shards
from shoal.errors import ParameterError
from shoal.methods.laplace import noisy_integers
from shoal.methods.noisy_aggregates import STEPS

rng = np.random.default_rng(6)
METERS = Panel(rng.uniform(0.0, 4.0, size=(400, 6)), attributes={"tariff": rng.choice(["day", "night"], size=400)})


def sums_of(method, panel):
    """The exact sums before noise."""
    sums = method._sums(0, panel)
    return sums.steps, method._noisy_sums(sums, 1.0)[1]


@pytest.mark.parametrize("within", [{}, {"within": "tariff", "entries": "day,night"}])
@pytest.mark.parametrize("steps", [(), (TimeAggregation(step="2h"),)])
def test_shards_draw_one_noise_for_sums_over_everybody(within, steps, tmp_path):
    """The same figures as in memory, bit for bit, and all series are counted, though one shard writes."""
    times = np.datetime64("2024-01-01T00", "h") + np.arange(6)
    homes = [f"home {i // 2}" for i in range(400)]
    day = np.repeat(rng.choice(["day", "night"], size=200), 2)
    panel = Panel(METERS.values, ids=np.arange(400), subjects=homes, times=times, attributes={"tariff": day})
    aggregates = NoisyAggregates(epsilon=1.0, lower=0.5, upper=3.0, figure="total", insecure_seed=4, **within)
    method = Steps((*steps, aggregates)) if steps else aggregates
    whole = method.anonymize(panel)
    shards = method.anonymize(in_shards(panel, Memory(), size=20))
    assert shards.n_shards > 4
    assert shards.n_series == len(whole.values)
    for one in all_of(shards):
        assert_array_equal(one.values, whole.values)
        assert_array_equal(one.published.counts, whole.published.counts)
    assert shards.guarantee == whole.guarantee
    fresh = dataclasses.replace(aggregates, insecure_seed=None)
    candidate = (Steps((*steps, fresh)) if steps else fresh).anonymize(in_shards(panel, Memory(), size=20))
    release = publish(candidate, tmp_path / "out", private=tmp_path / "private")
    assert not verify(tmp_path / "out").findings
    assert (release.certificate["counts"]["series"], release.certificate["counts"]["subjects"]) == (400, 200)
    names = set(load_release(tmp_path / "out").published.names)
    assert len(names) == len(whole.values)
    (kept,) = (tmp_path / "private").glob("pseudonyms-*")
    of_each = pl.read_parquet(kept).rows_by_key("id", named=True, unique=True)
    assert {name: own["group"] for name, own in of_each.items()} == {
        str(name): group for name, group in zip(panel.ids, whole.private.groups.tolist(), strict=True)
    }
    assert {own["pseudonym"] for own in of_each.values()} <= names


def test_in_shards_it_refuses_what_it_refuses_in_memory():
    gaps = METERS.values.copy()
    gaps[300, 2] = np.nan
    with pytest.raises(ParameterError, match="needs a panel without gaps; 1 values are missing"):
        NoisyAggregates(epsilon=1.0, lower=0.0, upper=1.0).anonymize(in_shards(Panel(gaps), Memory(), size=50))


@given(
    n=st.integers(1, 5),
    instants=st.integers(1, 4),
    channels=st.integers(1, 2),
    subject=st.integers(0, 4),
    each=st.integers(1, 2),
    grouped=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_one_subject_changes_the_sums_by_no_more_than_the_sensitivity(
    n, instants, channels, subject, each, grouped, seed
):
    draw = np.random.default_rng(seed)
    subjects = np.repeat(np.arange(n), each)
    one = draw.normal(scale=10.0, size=(n * each, instants, channels))
    other = one.copy()
    changed = subjects == subject % n
    other[changed] = draw.normal(scale=10.0, size=other[changed].shape)
    entries = draw.choice(["a", "b", "c"], size=n)[subjects]
    moved = np.where(changed, draw.choice(["a", "b", "c"]), entries)
    method = NoisyAggregates(
        epsilon=1.0, lower=-1.0, upper=3.0, **({"within": "x", "entries": "a,b"} if grouped else {})
    )
    before, spent = sums_of(method, Panel(one, subjects=subjects, attributes={"x": entries}))
    after, _ = sums_of(method, Panel(other, subjects=subjects, attributes={"x": moved}))
    assert np.abs(before - after).sum() <= spent.sensitivity == STEPS * instants * channels
    single = dataclasses.replace(method, unit="reading")
    touched = one.copy()
    touched[subject % (n * each), 0, 0] = 100.0 * draw.normal()
    before, spent = sums_of(single, Panel(one, subjects=subjects, attributes={"x": entries}))
    after, _ = sums_of(single, Panel(touched, subjects=subjects, attributes={"x": entries}))
    assert np.abs(before - after).sum() <= spent.sensitivity == STEPS


def test_the_noise_has_the_scale_the_accounting_says():
    values = np.zeros(20_000, dtype=np.int64)
    noisy, spent = noisy_integers(values, sensitivity=10, epsilon=0.5, query="q")
    # Laplace: mean size = scale, variance = 2 scale^2; five standard errors of 20 000 numbers and more.
    assert spent.scale == pytest.approx(20.0)
    assert np.abs(noisy).mean() == pytest.approx(20.0, rel=0.06)
    assert noisy.var() == pytest.approx(800.0, rel=0.2)
    assert abs(noisy.mean()) < 1.5
    assert "OpenDP" in spent.mechanism


def test_noise_is_fresh_every_time():
    method = NoisyAggregates(epsilon=1.0, lower=0.0, upper=4.0)
    first, second = (method.anonymize(METERS).values for _ in range(2))
    assert (first != second).all()  # numbers from a range of thousands of millions


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 2.7])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_budget_is_used_up_and_never_exceeded(epsilon, grouped):
    groups = {"within": "tariff", "entries": "day,night"} if grouped else {}
    candidate = NoisyAggregates(epsilon=epsilon, lower=0.0, upper=4.0, **groups).anonymize(METERS)
    promise = candidate.guarantee
    assert promise == DifferentialPrivacy(epsilon)
    assert len(promise.accounting) == 1 + grouped
    assert candidate.check().holds
    assert epsilon * (1 - 1e-9) <= promise.total <= epsilon
    totals = promise.accounting[-1]
    assert (totals.lower, totals.upper, totals.sensitivity) == (0.0, 4.0, STEPS * 6)
    if grouped:
        counts = promise.accounting[0]
        assert (counts.lower, counts.sensitivity) == (None, 2)
        assert counts.epsilon == pytest.approx(0.1 * epsilon)


def test_means_are_near_the_clipped_ones():
    candidate = NoisyAggregates(epsilon=5.0, lower=0.0, upper=3.0, figure="total").anonymize(METERS)
    clipped = np.clip(METERS.values, 0.0, 3.0).mean(axis=0)
    # Scale 3 * 6 / 5 / 400 = 0.009; forty times that is 17 orders of magnitude from happening.
    assert_allclose(candidate.values[0, :, 0, 0], clipped, atol=0.36)
    assert candidate.published.counts.tolist() == [400]
    assert_allclose(candidate.values[..., 1], candidate.values[..., 0] * 400)


def test_what_noise_leads_out_of_the_bounds_is_cut_off():
    candidate = NoisyAggregates(epsilon=0.001, lower=0.0, upper=4.0).anonymize(Panel(np.ones((3, 200))))
    assert candidate.values.min() == 0.0
    assert candidate.values.max() == 4.0


def test_noisy_counts_add_up_and_an_entry_nobody_named_is_a_last_group():
    panel = Panel(METERS.values, attributes={"tariff": [*METERS.attributes["tariff"][:-1], "secret"]})
    method = NoisyAggregates(epsilon=2.0, lower=0.0, upper=4.0, within="tariff", entries=["day", "night", "none"])
    candidate = method.anonymize(panel)
    assert candidate.published.n_groups == 4
    assert candidate.published.counts.sum() == 400
    assert candidate.published.counts.min() >= 1
    true = [int((panel.attributes["tariff"] == entry).sum()) for entry in ("day", "night")]
    # Scale 2 / 0.2 = 10, on several counts: 300 will not happen.
    assert abs(candidate.published.counts[0] - true[0]) < 300
    assert candidate.private.groups[-1] == 3
    few = dataclasses.replace(method, epsilon=0.001).anonymize(
        Panel(np.ones((4, 1)), attributes={"tariff": ["day"] * 4})
    )
    assert few.published.counts.tolist() == [1, 1, 1, 1]


def test_a_subject_counts_once_however_many_series_it_has():
    values = np.concatenate([np.zeros((99, 2)), np.full((1, 2), 1.0)])
    panel = Panel(values, subjects=[0] * 99 + [1])
    candidate = NoisyAggregates(epsilon=100.0, lower=0.0, upper=1.0).anonymize(panel)
    assert candidate.published.counts.tolist() == [2]
    assert_allclose(candidate.values, 0.5, atol=0.4)


def test_a_fixed_seed_is_for_tests_and_its_outcome_does_not_hold():
    method = NoisyAggregates(epsilon=1.0, lower=0.0, upper=4.0, insecure_seed=3)
    first, second = (method.anonymize(METERS) for _ in range(2))
    assert_array_equal(first.values, second.values)
    verdict = first.check()
    assert not verdict.holds
    assert "noise from a fixed seed can be drawn again" in verdict.note
    assert "insecure_seed" not in first.recipe.parameters
    with pytest.raises(TypeError, match="seed"):
        NoisyAggregates(epsilon=1.0, lower=0.0, upper=4.0, seed=3)


def test_insecure_noise_has_the_same_law():
    noisy, spent = noisy_integers(
        np.zeros(20_000, dtype=np.int64), sensitivity=10, epsilon=0.5, query="q", insecure_seed=5
    )
    assert np.abs(noisy).mean() == pytest.approx(spent.scale, rel=0.06)
    assert not spent.fresh


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be a number from 1e-9 to 100"),
        ({"epsilon": math.inf}, "epsilon must be a number from 1e-9 to 100"),
        ({"lower": 4.0}, "lower must be below upper"),
        ({"upper": math.nan}, "upper must be a number: a bound of readings that is known without the data"),
        ({"unit": "household"}, "unit must be 'subject' or 'reading'"),
        ({"figure": "median"}, "figure must be one of: mean, total"),
        ({"within": "tariff"}, "within and entries go together"),
        ({"within": "tariff", "entries": "a,a"}, "entries must be different words"),
        ({"within": "tariff", "entries": ""}, "entries must be different words"),
        ({"count_share": 0.95}, "count_share must be a share above 0 and at most 0.9"),
        ({"insecure_seed": -1}, "seed must be a whole number"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        NoisyAggregates(**({"epsilon": 1.0, "lower": 0.0, "upper": 4.0} | parameters))


def test_what_the_panel_cannot_do_is_refused():
    method = NoisyAggregates(epsilon=1.0, lower=0.0, upper=4.0, within="tariff", entries="day,night")
    with pytest.raises(ParameterError, match="needs a panel without gaps; 1 values are missing"):
        method.anonymize(Panel([[1.0, np.nan]]))
    with pytest.raises(ParameterError, match="within='tariff' is not among the 0 attributes"):
        method.anonymize(Panel(np.ones((5, 2))))
    with pytest.raises(ParameterError, match="3 groups need at least 3 subjects, the panel has 2"):
        method.anonymize(Panel(np.ones((2, 2)), attributes={"tariff": ["day", "night"]}))


def with_gap(value):
    """Three series of six readings; one misses its third to fifth."""
    values = np.ones((3, 6))
    values[1, 1], values[1, 2:5] = value, np.nan
    return values


def test_one_reading_changes_every_cell_that_was_filled_from_it():
    method = NoisyAggregates(epsilon=1.0, lower=0.0, upper=1.0, unit="reading")
    (low, spent), (high, _) = (
        sums_of(method, Panel(read_panel(with_gap(value), missing="interpolate:3").values)) for value in (0.0, 1.0)
    )
    # Why such a panel is refused: its sums differ by 2.5 times what the noise is meant to hide.
    assert np.abs(low - high).sum() == 2.5 * spent.sensitivity
    filled = read_panel(with_gap(0.5), missing="interpolate:3")
    with pytest.raises(ParameterError, match="unit='reading' after missing='interpolate:3': one reading"):
        method.anonymize(filled)
    assert dataclasses.replace(method, unit="subject").anonymize(filled).check().holds


def test_an_interpolated_panel_is_refused_after_an_earlier_step_too():
    filled = read_panel(with_gap(0.5), missing={"interpolate": 3})
    steps = Steps((TimeAggregation(step=2), NoisyAggregates(epsilon=1.0, lower=0.0, upper=1.0, unit="reading")))
    with pytest.raises(ParameterError, match="after missing='interpolate:3'"):
        steps.anonymize(filled)


@pytest.mark.parametrize("missing", ["drop-series", "drop-instants", ["interpolate:1", "drop-series"]])
@pytest.mark.parametrize("unit", ["subject", "reading"])
def test_one_subject_s_gap_must_not_decide_what_is_published(missing, unit):
    method = NoisyAggregates(epsilon=1.0, lower=0.0, upper=1.0, unit=unit)
    with pytest.raises(ParameterError, match=r"keeps no differential privacy after missing='.*drop-"):
        method.anonymize(read_panel(with_gap(0.5), missing=missing))
