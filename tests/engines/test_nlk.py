"""NLK on an engine: the bits it publishes in memory, and what it refuses."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from shoal import NLK, Panel, simulate
from shoal.engines import nlk
from shoal.engines.blocks import BlockPanel
from shoal.engines.checks import check
from shoal.engines.local import Local
from shoal.engines.methods import anonymize
from shoal.engines.nlk import Limits
from shoal.errors import ParameterError
from shoal.kernels.nlk_splits import cluster_instants


def shuffled(panel, seed=0):
    order = np.random.default_rng(seed).permutation(panel.n_series)
    return Panel(
        panel.values[order],
        ids=[panel.ids[i] for i in order],
        times=panel.times,
        attributes={name: column[order] for name, column in panel.attributes.items()},
        channels=panel.channels,
    )


def with_ids(values):
    """Ids of different lengths, in order."""
    ids = sorted(f"meter {i}" for i in range(len(values)))
    return Panel(values, ids=ids)


def assert_as_in_memory(method, panel, engine):
    candidate = anonymize(method, BlockPanel.of(shuffled(panel), engine))
    expected = method.anonymize(panel)
    assert_array_equal(candidate.values().view(np.uint64), expected.values.view(np.uint64))
    assert candidate.recipe == expected.recipe
    return candidate


@pytest.fixture(scope="module")
def meters():
    return with_ids(simulate.meters(400, days=1, seed=3).values)


@pytest.mark.parametrize(
    "settings",
    [{"strategy": "cluster"}, {"strategy": "optimal", "l": 4, "representative": "median"}],
    ids=["clusters", "nobody alone"],
)
def test_the_same_bits_and_figures_as_in_memory_on_every_engine(engine, rng, settings):
    panel = with_ids(np.round(rng.gamma(2.0, 100.0, size=(300, 20)), 1))
    method = NLK(**{"n": 3, "l": 7, "k": 6} | settings)
    candidate = assert_as_in_memory(method, panel, engine)
    assert check(method.aims_at, candidate).holds


def test_prices_and_moves_are_the_same_on_every_engine(engine, local, rng):
    # Each round is a job; with all of them the engine on this machine gives what there is in memory, see below.
    panel = shuffled(with_ids(np.round(rng.gamma(2.0, 100.0, size=(300, 20)), 1)))
    method, limits = NLK(n=3, l=7, k=6, loss="squared"), Limits(without_holes=1, with_holes=1, moves=1)
    found, expected = (nlk.anonymize(method, BlockPanel.of(panel, on), limits=limits) for on in (engine, local))
    assert_array_equal(found.values().view(np.uint64), expected.values().view(np.uint64))
    assert found.recipe == expected.recipe


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("representative", ["mean", "median"])
@pytest.mark.parametrize(("k", "l"), [(2, 5), (6, 9)])
def test_every_loss_and_representative_is_as_in_memory(local, rng, loss, representative, k, l):
    method = NLK(n=3, l=l, k=k, loss=loss, representative=representative)
    assert_as_in_memory(method, with_ids(rng.gamma(2.0, size=(180, 14))), local)


@pytest.mark.parametrize("strategy", ["optimal", "cluster"])
@pytest.mark.parametrize("values", [1, 3, 40])
def test_ties_fall_as_in_memory(local, rng, strategy, values):
    panel = with_ids(rng.integers(0, values, size=(150, 9)).astype(float))
    assert_as_in_memory(NLK(n=3, l=6, k=4, strategy=strategy), panel, local)


@pytest.mark.parametrize("n_series", [4, 5, 8, 65])
@pytest.mark.parametrize("n_instants", [5, 6])
def test_the_smallest_panels_are_as_in_memory(local, rng, n_series, n_instants):
    panel = with_ids(rng.normal(size=(n_series, n_instants)))
    for strategy in ("optimal", "cluster"):
        assert_as_in_memory(NLK(n=3, l=5, k=4, strategy=strategy), panel, local)


@pytest.mark.parametrize("strategy", ["optimal", "mth", "mil"])
def test_where_all_but_one_instant_are_known_it_is_as_in_memory(local, rng, strategy):
    assert_as_in_memory(NLK(n=5, l=6, k=3, strategy=strategy), with_ids(rng.normal(size=(90, 6))), local)


@pytest.mark.parametrize("strategy", ["optimal", "mth"])
def test_small_panels_are_split_further_by_one_worker_as_in_memory(engine, rng, strategy):
    assert_as_in_memory(NLK(n=2, l=5, k=4, strategy=strategy), with_ids(rng.gamma(2.0, size=(40, 12))), engine)


def test_several_channels_of_a_small_panel_are_as_in_memory(engine, rng):
    panel = Panel(rng.normal(size=(30, 6, 2)), ids=sorted(f"m{i}" for i in range(30)), channels=("a", "b"))
    for strategy in ("optimal", "cluster"):
        candidate = anonymize(NLK(n=3, l=5, k=4, strategy=strategy), BlockPanel.of(shuffled(panel), engine))
        assert_array_equal(candidate.values(), NLK(n=3, l=5, k=4, strategy=strategy).anonymize(panel).values)


def test_blocks_and_processes_make_no_difference(tmp_path, rng):
    panel = with_ids(rng.gamma(2.0, size=(900, 30)))
    method = NLK(n=3, l=8, k=5)
    found = []
    for memory, parts in (("16MiB", 1), ("16MiB", 37), ("2GB", 5)):
        with Local(memory=memory, scratch=tmp_path) as engine:
            candidate = nlk.anonymize(method, BlockPanel.of(shuffled(panel, parts), engine, parts=parts))
            found.append(candidate.values())
    for other in found[1:]:
        assert_array_equal(other, found[0])


def test_the_candidate_keeps_originals_attributes_and_groups(engine, rng):
    values = rng.gamma(2.0, size=(120, 8))
    ids = sorted(f"m{i}" for i in range(120))
    panel = Panel(values, ids=ids, attributes={"tariff": np.array([f"t{i % 3}" for i in range(120)])})
    method = NLK(n=3, l=6, k=4)
    candidate = anonymize(method, BlockPanel.of(shuffled(panel), engine))
    rows = engine.collect(candidate.table).sort_by("id")
    assert rows["id"].to_pylist() == ids
    assert rows["tariff"].to_pylist() == panel.attributes["tariff"].tolist()
    assert_array_equal(np.frombuffer(b"".join(rows["row"].to_pylist())).reshape(values.shape), values)
    groups = np.frombuffer(b"".join(rows["group"].to_pylist()), np.int32).reshape(values.shape)
    assert_array_equal(groups, method.anonymize(panel).private.groups)


@pytest.mark.parametrize(
    "limits",
    [
        Limits(without_holes=0, with_holes=0, moves=0),
        Limits(without_holes=1, with_holes=0, moves=0),
        Limits(without_holes=1, with_holes=1, moves=1),
    ],
)
def test_fewer_rounds_are_as_anonymous_and_lose_more(local, meters, limits):
    method = NLK(n=3, l=9, k=5)
    panel = BlockPanel.of(meters, local)
    quick, full = nlk.anonymize(method, panel, limits=limits), nlk.anonymize(method, panel)
    assert check(method.aims_at, quick).holds
    best, loss = (np.abs(meters.values - some.values()).sum() for some in (full, quick))
    clusters = np.abs(meters.values - NLK(n=3, l=9, k=5, strategy="cluster").anonymize(meters).values).sum()
    assert best <= loss < clusters
    assert ("at_most_above_best" in quick.recipe.figures) == (limits.with_holes > 0)


def test_medians_that_would_publish_a_series_are_refused_as_in_memory(local):
    values = np.repeat(np.arange(30.0)[:, None], 6, axis=1)
    method = NLK(n=3, l=5, k=3, representative="median")
    with pytest.raises(ParameterError) as in_memory:
        method.anonymize(with_ids(values))
    with pytest.raises(ParameterError, match="published medians of a series are its own values at") as found:
        anonymize(method, BlockPanel.of(with_ids(values), local))
    assert str(found.value) == str(in_memory.value)


@pytest.mark.parametrize(
    ("panel", "settings"),
    [
        (Panel(np.ones((3, 8))), {}),
        (Panel(np.ones((9, 4))), {}),
        (Panel(np.ones((9, 8)), subjects=["a"] * 2 + list("bcdefgh")), {}),
        (Panel(np.where(np.eye(9, 8) > 0, np.nan, 1.0)), {}),
        (Panel(np.ones((9, 8, 2))), {"strategy": "mth"}),
    ],
    ids=["few subjects", "few instants", "several series of a subject", "gaps", "channels"],
)
def test_refusals_are_those_in_memory(local, panel, settings):
    method = NLK(**{"n": 3, "l": 6, "k": 4} | settings)
    with pytest.raises(ParameterError) as in_memory:
        method.anonymize(panel)
    with pytest.raises(ParameterError) as found:
        anonymize(method, BlockPanel.of(panel, local))
    assert str(found.value) == str(in_memory.value)


@pytest.mark.parametrize("strategy", ["mth", "mil"])
def test_splits_judged_by_a_large_panel_are_refused(local, monkeypatch, strategy):
    monkeypatch.setattr("shoal.engines.nlk.method.ONE_PART", 100)
    with pytest.raises(
        ParameterError, match=f"strategy '{strategy}' judges each split by the whole panel: on an engine"
    ):
        anonymize(NLK(n=2, l=5, k=3, strategy=strategy), BlockPanel.of(with_ids(np.ones((20, 6))), local))


def test_several_channels_of_a_large_panel_are_refused(local, monkeypatch):
    monkeypatch.setattr("shoal.engines.nlk.method.ONE_PART", 100)
    with pytest.raises(
        ParameterError, match="is for one channel where there are more than 100 values; the panel has 2"
    ):
        anonymize(NLK(n=2, l=5, k=3), BlockPanel.of(with_ids(np.ones((20, 6, 2))), local))


def test_clusters_of_a_sorted_instant_are_those_of_the_paper(rng):
    from shoal.kernels.nlk_instant import cluster_sorted

    for values in (2, 12, 10**6):
        x = rng.integers(0, values, size=(57, 5)).astype(float)
        for k in (2, 3, 11):
            expected = cluster_instants(x, k)
            for t in range(5):
                rows = np.argsort(x[:, t], kind="stable").astype(np.int32)
                assert_array_equal(cluster_sorted(x[rows, t], rows, k), expected[:, t])
