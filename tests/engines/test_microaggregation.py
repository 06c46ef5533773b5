"""Microaggregation where the series lie in blocks."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest

from shoal import Microaggregation, Panel, simulate
from shoal.engines import Local
from shoal.engines.blocks import BlockPanel
from shoal.engines.checks import check
from shoal.engines.microaggregation import anonymize
from shoal.engines.microaggregation.plans import plan_leaves
from shoal.engines.microaggregation.scaling import features_on
from shoal.errors import ParameterError
from shoal.features import LinearMetric, find_features

K = 4


def days(n, seed=3, **options):
    return simulate.meters(n, days=1, step="1h", seed=seed, **options)


def shuffled(panel, seed=8):
    """The same series in another order than that of their ids."""
    return panel.take(np.random.default_rng(seed).permutation(panel.n_series))


def by_id(panel):
    return panel.take(np.array(sorted(range(panel.n_series), key=lambda i: str(panel.ids[i]))))


def persons(n_subjects=300, per=3, seed=4):
    """A few days of each person; ids say nothing of the person."""
    rng = np.random.default_rng(seed)
    habits = rng.normal(size=(n_subjects, 12)) * 10
    values = np.repeat(habits, per, axis=0) + rng.normal(size=(n_subjects * per, 12))
    order = rng.permutation(len(values))
    names = np.repeat([f"person-{i}" for i in range(n_subjects)], per)
    return Panel(values[order], ids=[f"day-{i:05}" for i in order], subjects=names[order])


def sizes(candidate):
    return np.unique(candidate.groups(), return_counts=True)[1]


def same_partition(a, b):
    pairs = np.unique(np.stack([a, b], axis=1), axis=0)
    return len(pairs) == len(np.unique(a)) == len(np.unique(b))


def test_with_one_leaf_the_result_is_that_of_memory_bit_for_bit(engine):
    panel = shuffled(days(500))
    method = Microaggregation(k=K, features="standardized")
    found = anonymize(method, BlockPanel.of(panel, engine))
    expected = method.anonymize(by_id(panel))
    assert found.values().tobytes() == expected.values.tobytes()
    assert same_partition(found.groups(), expected.private.groups)
    assert found.recipe.parameters == expected.recipe.parameters
    assert found.recipe.figures == {**expected.recipe.figures, "groups": len(sizes(found)), "leaves": 1}


def test_with_many_leaves_every_engine_publishes_the_same_and_it_checks(engine):
    panel = shuffled(days(900))
    method = Microaggregation(k=K, algorithm="mdav", features="standardized")
    found = anonymize(method, BlockPanel.of(panel, engine, parts=5), leaf=100)
    verdict = check(method.aims_at, found)
    assert verdict.holds
    assert verdict.measured == K
    assert found.recipe.figures["leaves"] == 8
    with Local() as other:
        expected = anonymize(method, BlockPanel.of(panel, other, parts=1), leaf=100)
        assert digest(found) == digest(expected)


def test_gaps_strata_and_several_series_of_a_subject_survive_every_engine(engine, monkeypatch):
    panel = persons(160)
    rng = np.random.default_rng(12)
    values = np.where(rng.random(panel.values.shape) < 0.05, np.nan, panel.values)
    # The person's place, for some unknown; names of columns that are nearly those used inside.
    place = np.array(["north", None, "south"], dtype=object)[[int(name[7:]) % 3 for name in panel.subjects]]
    panel = Panel(values, ids=panel.ids, subjects=panel.subjects, attributes={"place": place, "key": rng.random(480)})
    method = Microaggregation(k=K, within="place")
    monkeypatch.setattr("shoal.engines.microaggregation.method._BATCH_BYTES", 1000)  # leaves in many pieces
    found = anonymize(method, BlockPanel.of(panel, engine, parts=4), leaf=15)
    assert found.recipe.figures["leaves"] == 6
    assert check(method.aims_at, found).holds
    with Local() as other:
        expected = anonymize(method, BlockPanel.of(panel, other, parts=1), leaf=15)
        assert digest(found) == digest(expected)
        assert found.recipe.figures == expected.recipe.figures


def digest(candidate):
    return hashlib.sha256(candidate.values().tobytes() + candidate.groups().tobytes()).hexdigest()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"aggregate": "trimmed-mean", "round_to": 0.5},
        {"features": "haar", "algorithm": "v-mdav"},
        {"features": "centred", "algorithm": "mdav", "refine": True},
        {"within": "family"},
        {"algorithm": "k-ward"},
        {"algorithm": "by-mean"},
    ],
)
def test_parameters_mean_the_same_as_in_memory(local, options):
    panel = shuffled(days(260))
    method = Microaggregation(k=K, **options)
    found = anonymize(method, BlockPanel.of(panel, local))
    expected = method.anonymize(by_id(panel))
    assert found.values().tobytes() == expected.values.tobytes()
    assert same_partition(found.groups(), expected.private.groups)
    divided = anonymize(method, BlockPanel.of(panel, local), leaf=40)
    assert divided.recipe.figures["leaves"] > 3
    assert check(method.aims_at, divided).holds
    assert sizes(divided).min() >= K


def test_every_leaf_is_anonymized_as_a_panel_of_its_own(local):
    panel = by_id(days(700))
    method = Microaggregation(k=K)
    found = anonymize(method, BlockPanel.of(panel, local), leaf=80)
    leaves = found.groups() >> 32
    assert len(np.unique(leaves)) == 8
    for leaf in np.unique(leaves):
        rows = np.flatnonzero(leaves == leaf)
        assert len(rows) >= 3 * K
        assert method.anonymize(panel.take(rows)).values.tobytes() == found.values()[rows].tobytes()


def test_neither_blocks_nor_memory_nor_processes_change_anything(tmp_path):
    panel = days(600)
    method = Microaggregation(k=K, algorithm="mdav")
    found = []
    for memory, parts in (("16MiB", 13), ("256MB", 1), ("64MB", 600)):
        with Local(memory=memory, scratch=tmp_path) as engine:
            found.append(digest(anonymize(method, BlockPanel.of(panel, engine, parts=parts), leaf=70)))
    assert len(set(found)) == 1


def test_gaps_are_counted_and_covered_as_in_memory(engine):
    panel = shuffled(days(300, missing=0.1))
    method = Microaggregation(k=K, algorithm="mdav")
    found = anonymize(method, BlockPanel.of(panel, engine))
    expected = method.anonymize(by_id(panel))
    assert found.values().tobytes() == expected.values.tobytes()
    assert expected.recipe.figures["cells_withheld"] > 0
    assert expected.recipe.figures.items() <= found.recipe.figures.items()
    divided = anonymize(method, BlockPanel.of(panel, engine), leaf=50)
    missing = np.isnan(divided.values()), np.isnan(by_id(panel).values)
    assert divided.recipe.figures["cells_withheld"] == int((missing[0] & ~missing[1]).sum())
    assert divided.recipe.figures["gaps_covered"] == int((missing[1] & ~missing[0]).sum())


def test_subjects_are_never_split_across_leaves_and_groups_count_them(engine):
    panel = persons()
    method = Microaggregation(k=K, algorithm="mdav")
    blocks = BlockPanel.of(panel, engine, parts=7)
    found = anonymize(method, blocks, leaf=40)
    groups, subjects = found.groups(), by_id(panel).subject_codes
    assert found.recipe.figures["leaves"] >= 4
    leaves_of = {(int(leaf), int(subject)) for leaf, subject in zip(groups >> 32, subjects, strict=True)}
    assert len(leaves_of) == panel.n_subjects
    assert min(len(np.unique(subjects[groups == group])) for group in np.unique(groups)) >= K
    assert check(method.aims_at, found).holds
    whole = anonymize(method, blocks)
    assert whole.values().tobytes() == method.anonymize(by_id(panel)).values.tobytes()


def test_a_subject_in_two_strata_is_counted_in_both(engine):
    panel = persons(200, per=4)
    tariff = np.array(["day", "night"])[np.random.default_rng(1).integers(0, 2, panel.n_series)]
    panel = Panel(panel.values, ids=panel.ids, subjects=panel.subjects, attributes={"tariff": tariff})
    method = Microaggregation(k=K, algorithm="mdav", within="tariff")
    found = anonymize(method, BlockPanel.of(panel, engine))
    assert found.values().tobytes() == method.anonymize(by_id(panel)).values.tobytes()
    divided = anonymize(method, BlockPanel.of(panel, engine), leaf=30)
    groups, ordered = divided.groups(), by_id(panel)
    assert divided.recipe.figures["leaves"] > 4
    for group in np.unique(groups):
        assert len(set(ordered.attributes["tariff"][groups == group])) == 1
        assert len(np.unique(ordered.subject_codes[groups == group])) >= K


def test_small_strata_are_refused_or_joined_as_in_memory(engine):
    panel = days(200)
    rng = np.random.default_rng(2)
    zone = np.array([f"z{i}" for i in rng.choice(7, 200, p=[0.5, 0.3, 0.14, 0.02, 0.02, 0.01, 0.01])], dtype=object)
    panel = shuffled(Panel(panel.values, ids=panel.ids, attributes={"zone": zone.astype(str)}))
    blocks = BlockPanel.of(panel, engine)
    with pytest.raises(ParameterError) as in_memory:
        Microaggregation(k=8, within="zone").anonymize(by_id(panel))
    with pytest.raises(ParameterError, match="strata of 'zone' have fewer than k=8 subjects") as caught:
        anonymize(Microaggregation(k=8, within="zone"), blocks)
    assert str(caught.value) == str(in_memory.value)
    method = Microaggregation(k=8, within="zone", merge_small=True)
    found, expected = anonymize(method, blocks), method.anonymize(by_id(panel))
    assert found.values().tobytes() == expected.values.tobytes()
    assert same_partition(found.groups(), expected.private.groups)


def test_missing_entries_of_an_attribute_are_one_stratum(engine):
    panel = days(60)
    zone = np.where(np.arange(60) % 3 == 0, np.nan, np.arange(60) % 2)
    panel = Panel(panel.values, ids=panel.ids, attributes={"zone": zone})
    method = Microaggregation(k=K, within="zone")
    found = anonymize(method, BlockPanel.of(panel, engine))
    assert found.recipe.figures["leaves"] == 3
    assert found.values().tobytes() == method.anonymize(by_id(panel)).values.tobytes()


def test_a_median_that_is_one_member_is_refused_and_others_say_how_near_they_come(local):
    rng = np.random.default_rng(5)
    near = by_id(Panel(rng.normal(size=(90, 40))))
    method = Microaggregation(k=5, aggregate="median")
    found = anonymize(method, BlockPanel.of(near, local))
    assert found.recipe.figures["largest_likeness"] == method.anonymize(near).recipe.figures["largest_likeness"]
    constant = Panel(np.repeat(rng.normal(size=(90, 1)), 40, axis=1))
    with pytest.raises(ParameterError, match="A published median equals one member's own values"):
        anonymize(method, BlockPanel.of(constant, local))


def test_a_learned_metric_decides_what_is_near(local):
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(400, 6)), rng.normal(size=(400, 6))
    learned = LinearMetric(form="diagonal").learn(left, right, abs(left[:, 2] - right[:, 2]) < 0.6)
    panel = Panel(rng.normal(size=(200, 6)))
    method = Microaggregation(k=K, features=learned)
    found = anonymize(method, BlockPanel.of(panel, local))
    assert found.recipe.parameters["features"]["sha256"] == learned.digest()
    assert found.values().tobytes() == method.anonymize(by_id(panel)).values.tobytes()


def test_standardized_features_from_merged_sums_are_those_of_memory_but_for_rounding(local):
    panel = by_id(days(300, missing=0.05))
    values = np.array(panel.values)
    values[:, 3] = 1e9 + values[:, 3]
    values[:, 5] = 42.5
    panel = Panel(values, ids=panel.ids)
    found = features_on(BlockPanel.of(panel, local, parts=9), "standardized")(panel)
    np.testing.assert_allclose(found, find_features("standardized")(panel), rtol=1e-6, atol=1e-12)
    assert np.nanmax(np.abs(found[:, 5])) == 0.0


def test_borders_of_leaves_cost_little(local):
    panel = days(3000)
    method = Microaggregation(k=K, algorithm="mdav")
    found = anonymize(method, BlockPanel.of(panel, local), leaf=300)
    x = by_id(panel).values
    divided, whole = (((x - y) ** 2).sum() for y in (found.values(), method.anonymize(by_id(panel)).values))
    assert found.recipe.figures["leaves"] == 8
    assert divided < 1.06 * whole


def test_leaves_are_bounded_by_memory_but_have_three_times_k_at_least(tmp_path):
    panel = Panel(np.random.default_rng(1).normal(size=(4000, 48)))
    with Local(memory="16MiB", scratch=tmp_path) as engine:
        blocks = BlockPanel.of(panel, engine)
        by_memory = plan_leaves(blocks, find_features("raw"), k=K, leaf=50_000, within=None, merge_small=False)
        assert by_memory.n_leaves == 2  # 1.5 MB of series, 1 MB of them at once
        smallest = plan_leaves(blocks, find_features("raw"), k=200, leaf=1, within=None, merge_small=False)
        leaves = engine.collect(smallest.table)["leaf"].to_numpy()
        assert np.bincount(leaves).min() >= 600


def test_equal_series_do_not_make_leaves_too_large_or_too_small(local):
    values = np.zeros((2000, 24))
    values[:100] = np.random.default_rng(1).normal(size=(100, 24))
    blocks = BlockPanel.of(Panel(values), local)
    plan = plan_leaves(blocks, find_features("raw"), k=K, leaf=100, within=None, merge_small=False)
    counts = np.bincount(local.collect(plan.table)["leaf"].to_numpy())
    assert plan.n_leaves >= 8
    assert counts.min() >= 3 * K
    assert counts.max() <= 300
    assert check(Microaggregation(k=K).aims_at, anonymize(Microaggregation(k=K), blocks, leaf=100)).holds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 61}, "k=61 needs at least 61 subjects, the panel has 60"),
        ({"k": 4, "form": "profiles"}, "form='profiles' is not made on an engine"),
        ({"k": 9, "aggregate": "quantiles"}, "aggregate='quantiles' is not made on an engine"),
        ({"k": 4, "algorithm": "best"}, "algorithm 'best' searches until its time is over"),
        ({"k": 4, "features": lambda panel: panel.rows}, "Features 'custom' are a function of the whole panel"),
        ({"k": 4, "within": "zone"}, "within='zone' is not among the 1 attributes"),
    ],
)
def test_what_an_engine_cannot_keep_is_refused_with_the_way_out(local, options, message):
    with pytest.raises(ParameterError, match=message):
        anonymize(Microaggregation(**options), BlockPanel.of(days(60), local))


def test_joining_strata_of_subjects_with_several_series_is_refused(local):
    panel = persons(30)
    panel = Panel(panel.values, ids=panel.ids, subjects=panel.subjects, attributes={"zone": np.arange(90) // 80})
    with pytest.raises(ParameterError, match="merge_small=True needs one series per subject on an engine"):
        anonymize(Microaggregation(k=12, within="zone", merge_small=True), BlockPanel.of(panel, local))
    many = Panel(np.zeros((10_100, 1)), attributes={"zone": np.arange(10_100)})
    with pytest.raises(ParameterError, match="'zone' has more than 10000 different values"):
        anonymize(Microaggregation(k=2, within="zone"), BlockPanel.of(many, local))


def test_rows_keep_their_original_and_their_attributes(local):
    panel = shuffled(days(80))
    found = anonymize(Microaggregation(k=K), BlockPanel.of(panel, local))
    rows = local.collect(found.table).sort_by("id")
    assert rows.schema.names == ["id", "subject", "row", "family", "published", "group"]
    assert rows.schema.field("group").type == pa.int64()
    assert rows["id"].to_pylist() == sorted(panel.ids)
    assert rows["family"].to_pylist() == by_id(panel).attributes["family"].tolist()
