"""Attacks on blocks find what the same attacks find in memory."""

from dataclasses import asdict, replace

import numpy as np
import pyarrow as pa
import pytest

from engines.spread_out import named, spread_out
from shoal import KP, Microaggregation, NoiseAddition, Panel, SamplingWithFictives, TimeAggregation, simulate
from shoal.attacks import Denoising, KnownPoints, KnownTotals, Linkage, NearestNeighbour
from shoal.engines import Local
from shoal.engines.attacking import attack
from shoal.engines.attacking.links import ENTRIES, narrowed
from shoal.engines.attacking.targets import draw_targets
from shoal.engines.blocks import BlockPanel
from shoal.engines.methods import anonymize
from shoal.errors import ParameterError
from shoal.guarantees import NoGuarantee
from shoal.model import Candidate, Recipe
from shoal.model.candidate import Private
from shoal.process.judging import attack_one

ATTACKS = [
    KnownPoints(4),
    KnownPoints(1, scale="same"),
    KnownPoints(5, choose="peaks"),
    KnownPoints(3, noise=0.1, shift=2),
    KnownTotals(),
    KnownTotals(step="all"),
    NearestNeighbour(),
    NearestNeighbour("dtw"),
    NearestNeighbour("features"),
]


def households(n=120, days=6):
    return named(simulate.meters(n, days=days, step="1h", seed=3))


def with_subjects(panel):
    """Two series of each subject."""
    return named(panel, [f"s{i // 2:04}" for i in range(panel.n_series)])


def as_published(original, published, rows=None):
    """A candidate of any values."""
    stands_for = None if rows is None else np.asarray(rows)
    private = Private(original, np.zeros(original.n_series, dtype=np.int64), stands_for=stands_for)
    return Candidate(published, NoGuarantee(), Recipe("by-hand", {}), private)


def same_as_in_memory(method, candidate, blocks, targets=None, seed=1):
    found = attack(method, blocks, targets=targets, seed=seed)
    positions = candidate.attacked[1][draw_targets(blocks.shown.panel, targets, seed).positions]
    expected = attack_one(method, candidate, positions)
    if found.n_left_out:  # an engine counts positions among the originals behind the release
        expected = replace(expected, worst=found.worst)
    assert asdict(found) == asdict(expected)
    return found


def test_the_same_risk_on_every_engine_as_in_memory(engine):
    panel = households()
    grouped = Microaggregation(k=5).anonymize(panel)
    noisy = NoiseAddition(snr=4.0).anonymize(panel)
    same_as_in_memory(KnownPoints(4), grouped, spread_out(grouped, engine), targets=30)
    found = same_as_in_memory(KnownTotals(), noisy, spread_out(noisy, engine), targets=30)
    assert found.n_targets == 30


@pytest.mark.parametrize("method", ATTACKS, ids=str)
def test_every_attack_finds_the_same_of_groups_of_noise_and_among_fictive_series(method, local):
    panel = households()
    for made in (Microaggregation(k=5), NoiseAddition(snr=4.0), SamplingWithFictives()):
        candidate = made.anonymize(panel)
        blocks = spread_out(candidate, local)
        everybody = same_as_in_memory(method, candidate, blocks)
        same_as_in_memory(method, candidate, blocks, targets=25)
        assert everybody.n_targets == 120 - everybody.n_left_out


def test_subjects_with_several_series_are_found_by_any_of_them(engine):
    candidate = Microaggregation(k=5).anonymize(with_subjects(households()))
    blocks = spread_out(candidate, engine)
    for method in ATTACKS[:6]:
        found = same_as_in_memory(method, candidate, blocks, targets=20)
        assert found.n_targets == 40  # all series of twenty subjects


@pytest.mark.parametrize("method", [KnownPoints(4), KnownTotals()], ids=str)
def test_what_a_coarser_release_shows_is_judged_by_all_blocks(method, local):
    panel = households()
    for by in ("mean", "sum"):
        candidate = TimeAggregation(step="4h", by=by).anonymize(panel)
        found = same_as_in_memory(method, candidate, spread_out(candidate, local), targets=20)
        assert found.success == 1.0


@pytest.mark.parametrize("method", [KnownPoints(5), KnownTotals()], ids=str)
def test_series_that_are_alike_up_to_a_factor_are_equally_alike_wherever_they_lie(method, local):
    dice = np.random.default_rng(5)
    shapes = np.repeat(dice.gamma(2.0, size=(12, 96)), 3, axis=0)
    times = np.datetime64("2024-01-01", "us") + np.arange(96) * np.timedelta64(1, "h")
    original = named(Panel(shapes, times=times))
    # Thirds and sevenths round differently, so that equal fits are equal only within the tolerance.
    scaled = Panel(shapes / np.tile([3.0, 7.0, 10.0], 12)[:, None], times=times)
    candidate = as_published(original, scaled)
    found = same_as_in_memory(method, candidate, spread_out(candidate, local, parts=9))
    assert found.candidates == 3.0
    assert found.success == pytest.approx(1 / 3)


def test_originals_of_absent_subjects_are_left_out_and_counted(engine):
    panel = with_subjects(households(20, 2))
    rows = [0, 2, 3, 5, -1]  # four series are published, and one is nobody's
    candidate = as_published(panel, Panel(panel.values[[0, 2, 3, 5, 9]], times=panel.times), rows)
    found = same_as_in_memory(KnownTotals(), candidate, spread_out(candidate, engine))
    assert (found.n_targets, found.n_left_out) == (4, 16)


def test_neither_blocks_nor_pieces_change_the_risk(monkeypatch):
    candidate = Microaggregation(k=4).anonymize(households(60, 3))
    method = KnownPoints(4, noise=0.05)
    found = []
    for parts, cells in ((1, 4_000_000), (7, 4_000_000), (3, 500)):
        monkeypatch.setattr("shoal.engines.attacking.targets.CELLS", cells)
        monkeypatch.setattr("shoal.engines.attacking.links.CELLS", cells)
        with Local() as engine:
            found.append(attack(method, spread_out(candidate, engine, parts=parts), targets=20))
    assert found[0] == found[1] == found[2]


def test_every_published_series_is_a_candidate(engine):
    panel = households(40, 3)
    same = panel.values.copy()
    same[17] = same[3]  # a stranger published exactly like target 3, in another block
    candidate = as_published(panel, Panel(same, times=panel.times))
    alone = attack(KnownPoints(10, scale="same"), spread_out(as_published(panel, panel), engine, parts=40))
    found = attack(KnownPoints(10, scale="same"), spread_out(candidate, engine, parts=40))
    assert alone.success == 1.0
    assert found.success == pytest.approx((38 + 1 / 2 + 0) / 40)


def test_targets_are_drawn_by_their_names_and_not_by_where_they_lie(local):
    panel = households(200, 1)
    candidate = Microaggregation(k=5).anonymize(panel)
    few, many = (draw_targets(spread_out(candidate, local, parts=p).panel, 15, 4) for p in (1, 11))
    assert few.positions.tolist() == many.positions.tolist()
    np.testing.assert_array_equal(few.values[:, :, 0], panel.values[few.positions])
    more = draw_targets(spread_out(candidate, local).panel, 30, 4)
    assert set(few.positions.tolist()) < set(more.positions.tolist())
    assert len(more.positions) == 30
    other = draw_targets(spread_out(candidate, local).panel, 15, 5)
    assert other.positions.tolist() != few.positions.tolist()


def test_an_attack_keeps_its_own_number_of_targets(local):
    blocks = spread_out(Microaggregation(k=5).anonymize(households(60, 2)), local)
    assert attack(KnownTotals(n_targets=7), blocks, targets=20).n_targets == 7
    assert attack(KnownTotals(n_targets=20), blocks, targets=7).n_targets == 7


def test_errors_in_totals_do_not_depend_on_who_else_is_attacked(local):
    blocks = spread_out(NoiseAddition(snr=9.0).anonymize(households(60, 6)), local)
    method = KnownTotals(noise=0.3)
    assert attack(method, blocks) == attack(method, blocks)
    assert attack(method, blocks).success < attack(KnownTotals(), blocks).success


def test_entries_are_narrowed_to_the_best_and_the_next():
    table = pa.table(
        [[0, 0, 0, 0, 0], [1, 1, 1, 1, 0], [2.0, 1.0, 3.0, 1.0, 7.0], [5, 1, 9, 2, 1], [0, 1, 0, 0, 1]],
        names=ENTRIES.names,
    ).cast(ENTRIES)
    kept = narrowed(table, np.array([0.0])).to_pydict()
    assert kept["target"] == [0, 1, 1]
    assert kept["value"] == [7.0, 1.0, 2.0]
    assert kept["rows"] == [1, 3, 5]
    assert kept["own"] == [1, 1, 0]


def test_nobody_in_the_release_is_nothing_to_attack(local):
    panel = households(10, 2)
    candidate = as_published(panel, panel, [-1] * 10)
    with pytest.raises(ParameterError, match="None of the targets is in the release"):
        attack(KnownTotals(), spread_out(candidate, local))


def test_gaps_everywhere_leave_nothing_to_know(local):
    panel = named(Panel(np.full((3, 4), np.nan)))
    with pytest.raises(ParameterError, match="KnownPoints needs readings to know"):
        attack(KnownPoints(1), spread_out(as_published(panel, panel), local))


def test_what_needs_all_series_at_once_is_refused_with_the_way_out(local):
    panel = households(20, 2)
    blocks = spread_out(as_published(panel, panel), local)
    with pytest.raises(ParameterError, match=r"denoising does not run on an engine. Those that do: known-points, "):
        attack(Denoising(), blocks)
    with pytest.raises(ParameterError, match=r"choose='worst' .* does not run on an engine. Use 'random' or 'peaks'"):
        attack(KnownPoints(2, choose="worst"), blocks)
    with pytest.raises(ParameterError, match="this candidate has envelopes"):
        attack(KnownPoints(2), replace(blocks, form="envelopes"))
    with pytest.raises(ParameterError, match="targets must be a whole number of at least 1"):
        attack(KnownPoints(2), blocks, targets=0)
    slices = as_published(panel, Panel(panel.values[:, :24]))
    with pytest.raises(ParameterError, match="does not compare slices without dates on an engine"):
        attack(KnownTotals(step="all"), spread_out(slices, local))


def test_warping_refuses_channels_gaps_and_other_cycles(local):
    days = np.random.default_rng(1).gamma(2.0, size=(6, 8, 2))
    two = named(Panel(days))
    with pytest.raises(ParameterError, match="needs one channel, the panels have 2"):
        attack(NearestNeighbour("dtw", cycle=4), spread_out(as_published(two, two), local))
    gappy = days[:, :, 0].copy()
    gappy[2, 4] = np.nan
    one = named(Panel(gappy))
    with pytest.raises(ParameterError, match="needs mean cycles without gaps, 1 have some"):
        attack(NearestNeighbour("dtw", cycle=4), spread_out(as_published(one, one), local))
    with pytest.raises(ParameterError, match="the two periods share none"):
        attack(NearestNeighbour(cycle=8), spread_out(as_published(two, two), local))


def test_more_targets_than_fit_are_refused_with_their_number(local, monkeypatch):
    monkeypatch.setattr("shoal.engines.attacking.targets.MOST_COLLECTED", 10 * 48 * 8)
    blocks = spread_out(Microaggregation(k=5).anonymize(households(30, 2)), local)
    with pytest.raises(ParameterError, match=r"30 targets are more than fit in one place.* at most 10 with targets="):
        attack(KnownTotals(), blocks)
    assert attack(KnownTotals(), blocks, targets=5).n_targets == 5


@pytest.mark.parametrize("method", [Linkage(), Linkage(values=False), Linkage(pattern=False)], ids=str)
def test_possible_sets_of_envelopes_are_counted_over_all_blocks(method, local):
    panel = named(Panel(np.random.default_rng(8).normal(size=(200, 5)).cumsum(axis=1)))
    kp = KP(k=8, p=3, pattern_instants=(0, 2, 4))
    candidate = kp.anonymize(panel)
    blocks = anonymize(kp, BlockPanel.of(panel, local))
    rows = candidate.stands_for
    everybody = attack(method, blocks)
    assert asdict(everybody) == asdict(method.attack(panel, candidate.published, rows=rows))
    some = attack(method, blocks, targets=40)
    drawn = draw_targets(blocks.panel, 40, 0).positions
    breach = method.possible(panel, candidate.published, rows=rows).probabilities[drawn]
    assert some.success == pytest.approx(breach.mean())
    assert some.highest == breach.max()
    assert some.n_targets == 40
    assert 0.0 < some.interval.low < some.success < some.interval.high
    assert set(some.worst) <= set(drawn.tolist())


def test_linkage_on_an_engine_refuses_what_needs_more_than_the_targets(local):
    panel = households(20, 1)
    blocks = spread_out(as_published(panel, panel), local)
    with pytest.raises(ParameterError, match="Linkage attacks envelopes with words"):
        attack(Linkage(), blocks)
    envelopes = replace(blocks, form="envelopes")
    with pytest.raises(ParameterError, match=r"word='published' .* does not run on an engine. Use word='own'"):
        attack(Linkage(word="published"), envelopes)
    with pytest.raises(ParameterError, match=r"Linkage to a sensitive column .* does not run on an engine"):
        attack(Linkage(sensitive="tariff"), envelopes)
