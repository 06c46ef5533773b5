"""Measures on blocks find what the same measures find in memory."""

from fractions import Fraction
from math import isclose

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.spread_out import named, spread_out
from engines.test_attacking import as_published
from shoal import (
    KP,
    Microaggregation,
    NoiseAddition,
    Panel,
    SamplingWithFictives,
    TimeAggregation,
    TimeSlicing,
    simulate,
)
from shoal.engines import Local
from shoal.engines.blocks import BlockPanel
from shoal.engines.measuring import measure, measures, note
from shoal.engines.methods import anonymize
from shoal.engines.summing import PIECE, add_up
from shoal.errors import ParameterError
from shoal.kernels.exact_sums import add_columns, add_squares, carry, no_sums, totals
from shoal.process.judging import measure_one
from shoal.utility import (
    CorrelationLoss,
    DaviesBouldin,
    DeviationShift,
    DivergenceClasses,
    EuclideanLoss,
    ForecastError,
    InformationLoss,
    InterestLoss,
    LoadDurationError,
    MeanDayError,
    NormalizedDivergence,
    OccupancyError,
    PatternLoss,
    PeakHeightError,
    PeakTimeError,
    Prediction,
    QueryError,
    RampError,
    SeasonalityShift,
    SignalToNoise,
    Silhouette,
    ValueLoss,
)

WITH_GAPS = [
    InformationLoss(),
    InformationLoss(standardized=True),
    NormalizedDivergence(),
    DivergenceClasses(0.1),
    EuclideanLoss(),
    DeviationShift(),
    SignalToNoise(),
    SignalToNoise(per="series"),
    MeanDayError(),
    PeakHeightError(),
    PeakTimeError(),
    LoadDurationError(),
    RampError(),
    SeasonalityShift(),
    SeasonalityShift(period="week"),
    CorrelationLoss(between="mean"),
    CorrelationLoss(between="instants"),
]
OF_THE_MEAN = [MeanDayError("all"), PeakHeightError("all"), PeakTimeError("all"), LoadDurationError("all")]
WITHOUT_GAPS = [
    PatternLoss(),
    InterestLoss("total", start=3, end=40),
    InterestLoss("arrival", above=0.4),
    OccupancyError("departure", above=0.4),
    OccupancyError(compare="histogram", above=0.4),
]


def households(n=90, days=15, gaps=0.0, timezone=None, channels=1):
    panel = simulate.meters(n, days=days, step="1h", seed=3)
    values = panel.values.copy()
    if channels > 1:
        values = np.stack([values, np.random.default_rng(2).gamma(2.0, size=values.shape)], axis=2)
    values[np.random.default_rng(1).random(values.shape) < gaps] = np.nan
    return named(Panel(values, times=panel.times, timezone=timezone))


def same_as_in_memory(asked, candidate, blocks):
    found, expected = measure(asked, blocks), measure_one(asked, candidate)
    assert isclose(found.value, expected.value, rel_tol=1e-9, abs_tol=1e-12)
    assert (found.goal, found.range) == (expected.goal, expected.range)
    return found


def test_the_same_score_on_every_engine_as_in_memory(engine):
    candidate = Microaggregation(k=5).anonymize(households(gaps=0.01))
    blocks = spread_out(candidate, engine)
    score = same_as_in_memory(InformationLoss(), candidate, blocks)
    same_as_in_memory(MeanDayError(), candidate, blocks)
    same_as_in_memory(CorrelationLoss(between="mean"), candidate, blocks)
    with Local() as here:
        # Not only near: the same bits wherever it is measured.
        assert measure(InformationLoss(), spread_out(candidate, here, parts=1)) == score


@pytest.mark.parametrize("asked", [*WITH_GAPS, *OF_THE_MEAN], ids=str)
def test_every_sum_is_that_of_the_measure_in_memory_with_gaps_zones_and_channels(asked, local):
    for panel in (households(gaps=0.03, timezone="Europe/Paris"), households(40, channels=2, gaps=0.01)):
        candidate = Microaggregation(k=4).anonymize(panel)
        same_as_in_memory(asked, candidate, spread_out(candidate, local))


@pytest.mark.parametrize("asked", WITHOUT_GAPS, ids=str)
def test_every_sum_over_complete_series_is_that_of_the_measure_in_memory(asked, local):
    panel = households(days=2)
    for made in (Microaggregation(k=4), NoiseAddition(snr=5.0)):
        candidate = made.anonymize(panel)
        same_as_in_memory(asked, candidate, spread_out(candidate, local))


@pytest.mark.parametrize("asked", [InformationLoss(), MeanDayError(), PeakTimeError("all"), PatternLoss()], ids=str)
def test_a_coarser_release_is_compared_at_the_instants_of_the_originals(asked, local):
    candidate = TimeAggregation(step="4h").anonymize(households(days=4))
    same_as_in_memory(asked, candidate, spread_out(candidate, local))


def test_fictive_series_are_not_compared_with_anybody(engine):
    candidate = SamplingWithFictives().anonymize(households(days=4))
    assert measure(NormalizedDivergence(), spread_out(candidate, engine)).value == 0.0
    assert measure(DivergenceClasses(), spread_out(candidate, engine)).value == 1.0


def test_envelopes_are_measured_by_their_width_their_middle_and_their_word(engine):
    panel = households(120, days=1)
    method = KP(k=8, p=3, pattern_instants=tuple(range(0, 24, 2)))
    candidate, blocks = method.anonymize(panel), anonymize(method, BlockPanel.of(panel, engine))
    for asked in (ValueLoss(), PatternLoss(), InformationLoss(), NormalizedDivergence()):
        same_as_in_memory(asked, candidate, blocks)


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_the_score_does_not_depend_on_blocks(data):
    n = data.draw(st.integers(1, 8))
    numbers = st.floats(-1e6, 1e6, width=32) | st.just(np.nan) | st.sampled_from([0.0, 1e-9, 1e15])
    before, after = (
        Panel(np.array(data.draw(st.lists(numbers, min_size=4 * n, max_size=4 * n))).reshape(n, 4)) for _ in range(2)
    )
    candidate = as_published(named(before), after)
    asked = data.draw(st.sampled_from([InformationLoss(), NormalizedDivergence(), DeviationShift(), RampError()]))
    with Local() as engine:
        found = [measure(asked, spread_out(candidate, engine, parts=parts)).value for parts in (1, n)]
    assert found[0] == found[1]


def test_an_offset_common_to_all_costs_no_digits(engine):
    small = np.random.default_rng(4).normal(size=(40, 6))
    lost = [
        measure(InformationLoss(), spread_out(as_published(named(Panel(x)), Panel(y)), engine)).value
        for x, y in ((small, np.round(small)), (small + 2.0**40, np.round(small) + 2.0**40))
    ]
    # Adding 2^40 rounds the values themselves to 2^-12; nothing else may be lost.
    assert lost[0] == pytest.approx(lost[1], rel=1e-3)


@given(st.lists(st.floats(-1e100, 1e100), max_size=40), st.integers(0, 40))
def test_sums_are_exact_in_any_order(numbers, cut):
    column = np.array(numbers, dtype=np.float64).reshape(-1, 1)
    sums, squares, later = no_sums(1), no_sums(1), no_sums(1)
    add_columns(sums, column[:cut])
    add_columns(later, column[cut:])
    assert totals(sums + later) == [sum(map(Fraction, numbers))]
    large = column[np.abs(column[:, 0]) > 1e-100]
    add_squares(squares, large)
    assert totals(squares) == [sum((Fraction(x) ** 2 for x in large[:, 0].tolist()), Fraction(0))]


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=20), st.integers(1, 2**29))
def test_what_is_handed_on_changes_no_sum_and_leaves_room(numbers, times):
    sums = no_sums(1)
    add_columns(sums, np.array(numbers).reshape(-1, 1))
    sums *= times  # as if each had been added so often
    expected = totals(sums)
    carry(sums)
    assert totals(sums) == expected == [times * sum(map(Fraction, numbers))]
    assert np.abs(sums).max() < 2**32


def test_counts_of_all_parts_are_added_piece_by_piece(local):
    table = spread_out(Microaggregation(k=2).anonymize(households(10, days=1)), local, parts=4).table
    found = add_up(local, table, _one_for_each_row, 3 * PIECE)
    assert found.tolist() == [10] + [0] * (2 * PIECE) + [20] + [0] * (PIECE - 2)


def _one_for_each_row(blocks):
    counts = np.zeros(3 * PIECE, dtype=np.int64)
    for block in blocks:
        counts[0] += block.num_rows
        counts[2 * PIECE + 1] += 2 * block.num_rows
    return counts


def test_what_is_sampled_says_so_and_draws_whole_groups(local):
    panel = households(90, days=15)
    candidate = Microaggregation(k=5).anonymize(panel)
    blocks = spread_out(candidate, local)
    asked = CorrelationLoss(sample=20)
    assert note(asked, blocks) == "estimated from at most 20 of 90 series, drawn with seed 0"
    assert measure(asked, blocks) == measure(asked, spread_out(candidate, local, parts=2))
    assert note(CorrelationLoss(sample=90), blocks) == ""
    same_as_in_memory(CorrelationLoss(sample=90), candidate, blocks)
    same_as_in_memory(ForecastError(), candidate, blocks)
    asked = Prediction(sample=30, above=0.4)
    assert note(asked, blocks) == "estimated from at most 30 of 90 series, whole groups, drawn with seed 0"
    drawn = measures._sample(blocks, measures._pairs(blocks, unfolded=True), measures._draw(asked, blocks))
    sizes = np.unique(drawn[1].values, axis=0, return_counts=True)[1]
    assert drawn[0].n_series <= 30
    assert sizes.min() >= 5
    assert note(InformationLoss(), blocks) == ""


def test_of_long_series_fewer_are_drawn(local, monkeypatch):
    monkeypatch.setattr(measures, "MOST_COLLECTED", 10 * 16 * 48)
    blocks = spread_out(Microaggregation(k=5).anonymize(households(30, days=2)), local)
    assert note(CorrelationLoss(), blocks) == "estimated from at most 10 of 30 series, drawn with seed 0"
    assert 0.0 < measure(CorrelationLoss(), blocks).value <= 2.0


def test_what_needs_all_rows_together_is_refused_with_the_way_out(local):
    blocks = spread_out(Microaggregation(k=5).anonymize(households(30, days=2)), local)
    for asked in (Silhouette(), DaviesBouldin(), QueryError()):
        with pytest.raises(ParameterError, match=f"{asked.name} .* does not run on an engine. Measure a smaller"):
            measure(asked, blocks)
    with pytest.raises(ParameterError, match=r"of='pooled' .* does not run on an engine. Use of='series' or of='all'"):
        measure(RampError("pooled"), blocks)
    with pytest.raises(ParameterError, match="ValueLoss measures the width of envelopes"):
        measure(ValueLoss(), blocks)
    with pytest.raises(ParameterError, match="correlation-loss needs at least 102 instants; the panel has 48"):
        measure(CorrelationLoss(between="instants", lags=100), blocks)


def test_gaps_are_counted_where_a_measure_refuses_them(local):
    values = np.random.default_rng(1).gamma(2.0, size=(12, 6))
    values[[2, 7], 3] = np.nan
    panel = named(Panel(values))
    for asked in (InterestLoss("total"), OccupancyError(compare="histogram"), PatternLoss()):
        with pytest.raises(ParameterError, match=f"{asked.name} needs complete series; 2 have gaps"):
            measure(asked, spread_out(as_published(panel, panel), local))


def test_other_instants_cannot_be_compared(local):
    panel = households(12, days=2)
    other = Panel(panel.values[:, :3], times=panel.times[:3] + np.timedelta64(1, "m"))
    with pytest.raises(ParameterError, match="by-hand publishes other instants or channels than the originals have"):
        measure(InformationLoss(), spread_out(as_published(panel, other), local))


def test_slices_are_measured_in_memory(local):
    method = TimeSlicing(length=24)
    with pytest.raises(ParameterError, match="this candidate has slices of them"):
        measure(InformationLoss(), anonymize(method, BlockPanel.of(households(12, days=2), local)))
