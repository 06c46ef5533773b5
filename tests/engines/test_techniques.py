"""The techniques on an engine: as in memory where they are sure, the same on every engine where they are by chance."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from shoal import (
    NLK,
    AggregateRule,
    KAnonymity,
    Microaggregation,
    NoiseAddition,
    Panel,
    Permutation,
    SamplingWithFictives,
    ScopeAggregation,
    TimeAggregation,
    TimeSlicing,
    Transformation,
)
from shoal.engines import Local
from shoal.engines.blocks import OF, BlockPanel
from shoal.engines.checks import check
from shoal.engines.methods import anonymize
from shoal.engines.rows import unpack
from shoal.engines.techniques import anonymize as technique
from shoal.engines.techniques.exchange import exchanged
from shoal.engines.techniques.noise import _signal
from shoal.engines.techniques.random import random_bits, secret_key
from shoal.engines.techniques.sums import Steps as Sums
from shoal.errors import ParameterError
from shoal.guarantees import NoGuarantee
from shoal.methods import Steps
from shoal.methods.noise_addition import _memory, deviation_of


def some_panel(n=150, n_instants=14, *, channels=1, gaps=0.0, per_subject=1, seed=0):
    rng = np.random.default_rng(seed)
    values = np.round(rng.gamma(2.0, size=(n, n_instants, channels)), 3)
    values[n // 2 : n // 2 + 10] = values[:10]  # some are equal
    if gaps:
        values[rng.random(values.shape) < gaps] = np.nan
    return Panel(
        values if channels > 1 else values[:, :, 0],
        ids=[f"s{i:04}" for i in range(n)],
        times=np.datetime64("2024-03-31", "us") + np.arange(n_instants) * np.timedelta64(1, "h"),
        subjects=[f"h{i // per_subject:04}" for i in range(n)],
        attributes={"area": rng.integers(0, 5, n)[np.arange(n) // per_subject]},
    )


def in_blocks(panel, engine, parts=5):
    return BlockPanel.of(panel, engine, parts=parts)


SURE = [
    Transformation(kind="standardise"),
    Transformation(kind="smooth", window="5h"),
    Transformation(kind="coarsen", resolution=0.5),
    TimeAggregation(step="3h", by="sum"),
    TimeAggregation(step="4h"),
    TimeSlicing(length="4h"),
    TimeSlicing(length=5, dates="kept"),
]
BY_CHANCE = [
    NoiseAddition(snr=5.0),
    NoiseAddition(snr=5.0, kind="coloured", per="series", seed=3),
    NoiseAddition(snr=1.0, kind="laplace"),
    Permutation(length="4h", share=0.7),
    ScopeAggregation(within="area", size=10, share=0.2),
]


@pytest.mark.parametrize("method", SURE, ids=lambda method: repr(method)[:60])
def test_each_series_by_itself_is_changed_as_in_memory(local, method):
    panel = some_panel(channels=2, gaps=0.05)
    expected = method.anonymize(panel)
    found = anonymize(method, in_blocks(panel, local))
    np.testing.assert_array_equal(found.values().view(np.uint64), expected.values.view(np.uint64))
    np.testing.assert_array_equal(found.clock.times, expected.published.times)
    assert (found.clock.channels, found.clock.timezone) == (expected.published.channels, expected.published.timezone)
    assert found.recipe == expected.recipe
    assert found.guarantee == NoGuarantee()
    assert found.n_series == expected.published.n_series


def test_techniques_give_the_same_on_every_engine(engine):
    """And therefore whatever the parts are."""
    panel = some_panel(channels=2, gaps=0.02, per_subject=2)
    whole = some_panel(channels=2, per_subject=2)
    with Local() as other:
        for method in (*SURE[1:6:2], *BY_CHANCE, SamplingWithFictives(share=0.4, fictives=0.0)):
            given = whole if method.name in ("scope-aggregation", "sampling-with-fictives") else panel
            found = anonymize(method, in_blocks(given, engine, parts=7))
            again = anonymize(method, in_blocks(given, other, parts=1))
            assert found.values().tobytes() == again.values().tobytes(), method
            assert found.groups().tolist() == again.groups().tolist()
            assert found.recipe == again.recipe


def test_steps_give_the_same_on_every_engine(engine):
    panel = some_panel(per_subject=2)
    method = Steps((Transformation(kind="coarsen", resolution=0.1), ScopeAggregation(within="area", size=8, share=0.3)))
    found = anonymize(method, in_blocks(panel, engine))
    with Local() as other:
        again = anonymize(method, in_blocks(panel, other, parts=1)).values()
    assert found.values().tobytes() == again.tobytes()
    # Shares are of rounded readings then, which an engine does not keep: only the crowd is claimed.
    assert [guarantee.name for guarantee in found.guarantees] == ["k-anonymity"]
    assert found.recipe.figures["not_claimed"] == ["aggregate-rule"]
    assert all(check(guarantee, found).holds for guarantee in found.guarantees)
    assert_originals(found, panel)


def test_steps_may_end_with_groups_that_change_from_instant_to_instant(engine):
    panel = some_panel(90)
    method = Steps((TimeAggregation(step="2h"), NLK(n=2, l=4, k=5)))
    found = anonymize(method, in_blocks(panel, engine))
    with Local() as other:
        assert found.values().tobytes() == anonymize(method, in_blocks(panel, other, parts=1)).values().tobytes()
    assert found.guarantee.name == "nlk-anonymity"
    assert check(found.guarantee, found).holds
    assert_originals(found, panel)


def assert_originals(candidate, panel):
    """The private column `row` holds the series as they were at first."""
    engine = candidate.panel.engine
    rows = engine.collect(candidate.table).sort_by("id")
    places = np.searchsorted(panel.ids.astype(str), rows["id"].to_numpy(zero_copy_only=False).astype(str))
    np.testing.assert_array_equal(unpack(rows["row"]), panel.rows[places])
    assert rows["subject"].to_pylist() == panel.subjects[places].tolist()


# Noise


def test_noise_has_the_strength_asked_for(local):
    panel = some_panel(400, 48)
    for method in (
        NoiseAddition(snr=4.0),
        NoiseAddition(snr=4.0, kind="uniform"),
        NoiseAddition(snr=4.0, kind="laplace"),
    ):
        noise = anonymize(method, in_blocks(panel, local)).values() - panel.values
        assert panel.values.var() / noise.var() == pytest.approx(4.0, rel=0.05)
        assert noise.mean() == pytest.approx(0.0, abs=0.02)
    coloured = anonymize(NoiseAddition(snr=1.0, kind="coloured", memory=0.8), in_blocks(panel, local)).values()
    noise = coloured - panel.values
    assert np.corrcoef(noise[:, 1:].ravel(), noise[:, :-1].ravel())[0, 1] == pytest.approx(0.8, abs=0.03)


def test_noise_is_not_the_same_at_two_instants_or_series(local):
    panel = some_panel(100, 10)
    noise = anonymize(NoiseAddition(snr=1.0), in_blocks(panel, local)).values() - panel.values
    distinct = np.unique(panel.values, axis=0)
    assert len(np.unique(np.round(noise, 9))) == pytest.approx(distinct.size, abs=distinct.size // 100)


def test_strength_and_memory_are_those_of_memory(engine):
    panel = some_panel(300, 20, channels=2, gaps=0.1)
    cube = panel.values.reshape(300, 20, 2)
    deviation, memory = _signal(NoiseAddition(snr=1.0, kind="coloured"), in_blocks(panel, engine))
    np.testing.assert_allclose(deviation, deviation_of(cube, (0, 1)).ravel(), rtol=1e-12)
    np.testing.assert_allclose(memory, _memory(cube), rtol=1e-9)


def test_equal_series_get_equal_noise_and_gaps_stay(engine):
    panel = some_panel(gaps=0.05)
    same = Panel(np.repeat(panel.values, 2, axis=0), ids=[f"{i:04}" for i in range(300)])
    found = anonymize(NoiseAddition(snr=2.0, per="series"), in_blocks(same, engine, parts=9)).values()
    np.testing.assert_array_equal(found[::2], found[1::2])
    np.testing.assert_array_equal(np.isnan(found), np.isnan(same.values))
    kept = anonymize(Steps((Microaggregation(k=5), NoiseAddition(snr=9.0))), in_blocks(some_panel(), engine))
    assert kept.guarantee == KAnonymity(5)
    assert check(kept.guarantee, kept).holds
    assert_originals(kept, some_panel())


def test_noise_follows_from_seed_and_readings(local):
    panel = some_panel()
    first = anonymize(NoiseAddition(snr=2.0), in_blocks(panel, local)).values()
    other = anonymize(NoiseAddition(snr=2.0, seed=1), in_blocks(panel, local)).values()
    assert not np.any(first == other)
    changed = panel.values.copy()
    changed[0, 0] += 1e-9
    again = Panel(changed, ids=panel.ids, subjects=panel.subjects)
    third = anonymize(NoiseAddition(snr=2.0), in_blocks(again, local)).values()
    assert not np.any(np.isclose(third - changed, first - panel.values, rtol=1e-6, atol=0.0))


def test_the_key_needs_every_reading_and_hides_in_no_recipe(local):
    panel = some_panel()
    key = secret_key(in_blocks(panel, local), 0, "noise-addition")
    assert key == secret_key(in_blocks(panel, local, parts=1), 0, "noise-addition")
    assert key != secret_key(in_blocks(panel, local), 0, "permutation")
    swapped = panel.values[[1, 0, *range(2, 150)]]
    assert key != secret_key(
        in_blocks(Panel(swapped, ids=panel.ids, subjects=panel.subjects), local), 0, "noise-addition"
    )
    candidate = anonymize(NoiseAddition(snr=2.0, seed=77), in_blocks(panel, local))
    assert "seed" not in candidate.recipe.parameters
    assert candidate.secrets == {"seed": 77}


def test_random_bits_belong_to_their_thing():
    bits = random_bits(b"key", [b"a", b"b", b"a"], 4)
    assert bits.shape == (3, 4)
    np.testing.assert_array_equal(bits[0], bits[2])
    assert len(np.unique(bits)) == 8


def test_sums_in_whole_steps_are_exact_in_any_order():
    rng = np.random.default_rng(0)
    for scale in (1e-300, 1.0, 1e200):
        numbers = rng.normal(size=5000) * scale
        steps = Sums.of(float(np.abs(numbers).max()), len(numbers))
        coarse, fine = steps.split(numbers)
        total = steps.exact(coarse.sum(), fine.sum())
        order = rng.permutation(5000)
        assert steps.exact(coarse[order].sum(), fine[order].sum()) == total
        assert float(total) == pytest.approx(float(np.sum(numbers.astype(np.longdouble))), rel=1e-14)
    assert Sums.of(0.0, 3).exact(0, 0) == 0


# Slices


def test_slices_have_names_of_their_own_and_know_their_series(local):
    panel = some_panel(40)
    candidate = anonymize(TimeSlicing(length=5), in_blocks(panel, local))
    rows = local.collect(candidate.table)
    assert rows.num_rows == candidate.n_series == 80
    assert len(set(rows["id"].to_pylist())) == 80
    assert sorted(set(rows[OF].to_pylist())) == panel.ids.tolist()
    assert rows["row"].to_pylist() == rows["published"].to_pylist()
    assert not candidate.row_by_row


def test_slices_that_are_changed_again_know_their_series(engine):
    panel = some_panel(40)
    method = Steps((TimeSlicing(length=6), TimeSlicing(length=2), NoiseAddition(snr=8.0)))
    candidate = anonymize(method, in_blocks(panel, engine))
    rows = engine.collect(candidate.table)
    assert rows.num_rows == 40 * 6
    assert sorted(rows[OF].to_pylist()) == np.repeat(panel.ids, 6).tolist()
    assert candidate.recipe.figures["steps"][0] == {"slices": 2, "instants_withheld": 2}


# Sampling


def test_sampling_publishes_whole_subjects_as_they_are(engine):
    panel = some_panel(600, per_subject=3)
    candidate = anonymize(SamplingWithFictives(share=0.3, fictives=0.0), in_blocks(panel, engine))
    rows = engine.collect(candidate.table)
    assert rows.num_rows == candidate.n_series == candidate.recipe.figures["series_drawn"]
    assert 100 < rows.num_rows < 270
    drawn, counts = np.unique(rows["subject"].to_pylist(), return_counts=True)
    assert (counts == 3).all()
    assert rows["row"].to_pylist() == rows["published"].to_pylist()
    other = anonymize(SamplingWithFictives(share=0.3, fictives=0.0, seed=1), in_blocks(panel, engine))
    assert set(engine.collect(other.table)["subject"].to_pylist()) != set(drawn)


def test_sampling_then_grouping_counts_only_drawn_subjects(engine):
    panel = some_panel(600, per_subject=3)
    method = Steps((SamplingWithFictives(share=0.5, fictives=0.0), ScopeAggregation(within="area", size=15, share=0.3)))
    candidate = anonymize(method, in_blocks(panel, engine))
    assert candidate.guarantees == (AggregateRule(15, 0.3), KAnonymity(15))
    assert candidate.n_series < 450
    assert_originals(candidate, panel)


# Exchange


def assert_exchanged(panel, candidate, length):
    found = candidate.values()
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(panel.values, axis=0))
    for start in range(0, panel.n_instants, length):
        own = panel.values[:, start : start + length]
        by_piece = {own[i].tobytes(): i for i in range(len(own))}
        assert all(piece.tobytes() in by_piece for piece in found[:, start : start + length])
    assert_originals(candidate, panel)
    return found


@pytest.mark.parametrize("per_part", [4096, 12])
def test_every_value_stays_at_its_instant_and_goes_to_one_series(local, monkeypatch, per_part):
    monkeypatch.setattr("shoal.engines.techniques.exchange._PER_PART", per_part)
    rng = np.random.default_rng(0)
    panel = Panel(
        rng.random((200, 11)), ids=[f"{i:03}" for i in range(200)], subjects=[f"h{i // 2}" for i in range(200)]
    )
    candidate = anonymize(Permutation(length=4, share=0.6), in_blocks(panel, local))
    found = assert_exchanged(panel, candidate, 4)
    changed = (found != panel.values)[:, ::4].sum()
    assert candidate.recipe.figures == {"stretches": 3, "exchanges": changed}
    assert 0.5 * 600 < changed < 0.7 * 600
    # Nobody gets a stretch of his own subject.
    other = panel.values[np.arange(200) ^ 1]
    assert not np.any(found == other)


def test_stretches_are_dealt_anew_each_time(local):
    panel = some_panel(60, 12)
    panel = Panel(np.arange(60 * 12.0).reshape(60, 12), ids=panel.ids)
    found = anonymize(Permutation(length=4, share=1.0), in_blocks(panel, local)).values()
    givers = (found // 12).astype(int)
    assert len({tuple(givers[:, t]) for t in (0, 4, 8)}) == 3


def test_exchange_names_each_series_once_and_no_subject_itself():
    rng = np.random.default_rng(0)
    for n in (2, 3, 10, 101):
        subjects = np.sort(rng.integers(0, n, n)) if n > 2 else np.arange(2)
        takers, givers = exchanged(
            rng.integers(0, 9, n)[subjects % n], rng.integers(0, 1 << 60, n), subjects, rng.uniform(0.1, 1.0)
        )
        assert len(takers) >= 2
        np.testing.assert_array_equal(np.sort(takers), np.sort(givers))
        assert len(np.unique(takers)) == len(takers)
        largest = np.unique(subjects[takers], return_counts=True)[1].max()
        if 2 * largest <= len(takers):
            assert (subjects[takers] != subjects[givers]).all()
    assert not len(exchanged(np.array([1]), np.array([1]), np.array([0]), 1.0)[0])


# Scopes


@pytest.mark.parametrize(
    ("settings", "grown"),
    [
        ({"size": 10, "share": 0.2}, 1.0),
        ({"size": 35, "share": 0.2}, 1.0),
        ({"size": 35, "share": 0.2, "otherwise": "withhold"}, 1.0),
        ({"size": 10, "share": 0.15}, 60.0),
        ({"size": 10, "share": 0.15}, 900.0),
        ({"size": 10, "share": 0.12, "otherwise": "withhold"}, 9.0),
    ],
)
def test_scopes_are_those_of_memory(local, settings, grown):
    panel = some_panel(300, channels=2, per_subject=2)
    values = panel.values.copy()
    values[[4, 17, 90]] *= grown
    panel = Panel(values, ids=panel.ids, subjects=panel.subjects, attributes=panel.attributes)
    method = ScopeAggregation(within="area", **settings)
    expected = method.anonymize(panel)
    found = anonymize(method, in_blocks(panel, local))
    assert found.recipe == expected.recipe
    rows = local.collect(found.table).sort_by("id")
    kept = expected.private.groups >= 0
    assert rows["id"].to_pylist() == panel.ids[kept].tolist()
    assert rows["group"].to_pylist() == expected.private.groups[kept].tolist()
    np.testing.assert_allclose(found.values(), expected.curves.values[kept], rtol=1e-13)
    assert found.guarantees == expected.guarantees
    verdict = check(found.guarantee, found)
    assert verdict.holds
    assert verdict.measured == pytest.approx(expected.guarantee.check(expected).measured, rel=1e-12)
    assert check(KAnonymity(settings["size"]), found).holds


def test_series_without_an_entry_are_a_group_of_their_own(engine):
    panel = some_panel(90)
    area = np.array([None, "", "x"], dtype=object)[np.arange(90) % 3]
    panel = Panel(panel.values, ids=panel.ids, attributes={"area": area})
    found = anonymize(ScopeAggregation(within="area"), in_blocks(panel, engine))
    assert found.recipe.figures["groups"] == 3
    assert np.array_equal(found.groups(), np.arange(90) % 3)


# What is refused


def test_what_cannot_be_distributed_is_refused_with_the_way_out(local):
    panel = in_blocks(some_panel(gaps=0.1), local)
    whole = in_blocks(some_panel(per_subject=2), local)
    refused = [
        (SamplingWithFictives(share=0.5, fictives=0.0), panel, "needs a panel without gaps; 223 values are missing"),
        (SamplingWithFictives(share=0.5), whole, r"fictives=0.2 does not run on an engine.* Set fictives=0"),
        (SamplingWithFictives(share=1e-9, fictives=0.0), whole, "share=1e-09 draws none of 75 subjects. Raise share"),
        (ScopeAggregation(), whole, "groups drawn by chance does not run on an engine.* within=, or use microaggreg"),
        (ScopeAggregation(within="area", figure="total"), whole, "figure='total' does not run .* Use figure='mean'"),
        (ScopeAggregation(within="town"), whole, "within='town' is not among the 1 attributes of the panel"),
        (ScopeAggregation(within="area"), panel, "scope-aggregation needs a panel without gaps"),
        (ScopeAggregation(within="area", size=80), whole, "size=80 needs at least 80 subjects, the panel has 75"),
        (
            ScopeAggregation(within="area", size=70, otherwise="withhold"),
            whole,
            "No group keeps the rule of at least 70 subjects, none with more than 0.15 of the total; the panel has 75",
        ),
        (TimeAggregation(step="1h"), whole, "is no longer than the panel's own, so nothing would change"),
        (Transformation(kind="smooth", window="4h"), whole, "window has 4 instants, and needs an odd number"),
        (Permutation(length="7min"), whole, "is no multiple of the step between instants"),
    ]
    for method, given, words in refused:
        with pytest.raises(ParameterError, match=words):
            anonymize(method, given)
    one = in_blocks(Panel([[1.0, 2.0]], ids=["a"]), local)
    with pytest.raises(
        ParameterError, match="permutation needs at least 2 subjects to exchange between, the panel has 1"
    ):
        anonymize(Permutation(length=1), one)
    with pytest.raises(ParameterError, match=r"microaggregation is no technique. Known: noise-addition"):
        technique(Microaggregation(k=3), whole)


def test_subjects_in_several_groups_are_refused(local):
    panel = some_panel(60, per_subject=2)
    split = Panel(panel.values, ids=panel.ids, subjects=panel.subjects, attributes={"area": np.arange(60) % 2})
    with pytest.raises(ParameterError, match="30 of 30 subjects have series in several groups of 'area'"):
        anonymize(ScopeAggregation(within="area"), in_blocks(split, local))


def test_attributes_go_along(local):
    candidate = anonymize(NoiseAddition(snr=3.0), in_blocks(some_panel(), local))
    assert candidate.table.schema.field("area").type == pa.int64()
