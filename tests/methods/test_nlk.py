"""NLK: what it publishes, refuses and puts on record. Kernels and check have tests of their own."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from naive.nlk import naive_nlk_anonymous
from shoal import NLK, AggregateRule, NLKAnonymity, Panel, load_release, publish, simulate, verify
from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.utility import NormalizedDivergence

STRATEGIES = ["optimal", "mth", "mil", "cluster"]


@pytest.fixture
def meters(rng):
    return Panel(rng.gamma(2.0, size=(30, 20)))


def divergence(panel, **options):
    return NormalizedDivergence().measure(panel, NLK(**options).anonymize(panel).published).value


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("representative", ["mean", "median"])
def test_every_setting_keeps_the_guarantee(meters, strategy, loss, representative):
    method = NLK(n=2, l=6, k=4, strategy=strategy, loss=loss, representative=representative)
    candidate = method.anonymize(meters)
    verdict = candidate.check()
    assert verdict.holds
    assert verdict.measured <= 3
    assert NLKAnonymity(n=2, l=6, k=4).check(Panel(candidate.values)).holds


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("n", "l"), [(1, 2), (1, 3), (2, 4), (3, 4)])
def test_the_guarantee_also_holds_by_enumeration(rng, strategy, n, l):
    panel = Panel(rng.integers(0, 4, size=(7, 5)).astype(float))
    published = NLK(n=n, l=l, k=3, strategy=strategy).anonymize(panel).values
    assert naive_nlk_anonymous(published, n, l, 3)


def test_the_order_of_the_strategies_is_that_of_their_effort(meters):
    found = {s: divergence(meters, n=3, l=8, k=5, strategy=s) for s in STRATEGIES}
    assert found["optimal"] < found["mth"] < found["cluster"]
    assert found["mil"] < found["cluster"]


def test_a_larger_budget_loses_less(meters):
    losses = [divergence(meters, n=3, l=3 + budget, k=5) for budget in (1, 3, 6, 12)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_in_the_worst_case_every_group_has_k_members(meters, strategy):
    few = Panel(meters.values[:12, :2])
    for panel, n in ((meters, 19), (few, 1)):
        candidate = NLK(n=n, l=n + 1, k=4, strategy=strategy).anonymize(panel)
        for column in candidate.values.T:
            assert np.unique(column, return_counts=True)[1].min() >= 4
        assert candidate.check().holds


def test_published_values_are_the_representatives_of_the_groups(meters):
    for representative, middle in (("mean", np.mean), ("median", np.median)):
        candidate = NLK(n=3, l=6, k=4, representative=representative).anonymize(meters)
        for t in range(meters.n_instants):
            labels = candidate.private.groups[:, t]
            for label in set(labels):
                members = labels == label
                assert len(set(candidate.values[members, t])) == 1
                assert_allclose(candidate.values[members, t], middle(meters.values[members, t]))


def test_nobody_is_alone_more_often_than_allowed_and_it_is_on_record(meters):
    candidate = NLK(n=3, l=6, k=4).anonymize(meters)
    groups = candidate.private.groups
    small = np.array([np.bincount(column)[column] < 4 for column in groups.T]).T
    assert small.sum(axis=1).max() <= 2
    figures = candidate.recipe.figures
    assert figures["cells_alone"] == small.sum() == (candidate.values == meters.values).sum()
    assert 0.0 <= figures["at_most_above_best"] < 0.05


def test_the_default_never_loses_to_the_papers_clusters():
    # With absolute loss around means a group of 2k can lose less than any two of k.
    x = np.array([-10.0, 0, 0, 0, 0, 0, 0, 10])[:, None] * [1.0, 2.0]
    optimal, cluster = (NLK(n=1, l=2, k=4, strategy=s).anonymize(Panel(x)) for s in ("optimal", "cluster"))
    assert np.abs(optimal.values - x).sum() <= np.abs(cluster.values - x).sum() == 60.0
    assert optimal.check().holds


def test_a_median_that_is_always_the_same_series_is_refused():
    rng = np.random.default_rng(0)
    levels = np.sort(rng.gamma(2.0, size=30))[:, None] * (1 + 0.02 * rng.standard_normal((30, 48)))
    with pytest.raises(ParameterError, match=r"are its own values at \d+ % of the instants, more than 50 %"):
        NLK(n=5, l=6, k=3, representative="median").anonymize(Panel(levels))
    mixed = NLK(n=5, l=6, k=3, representative="median").anonymize(Panel(rng.gamma(2.0, size=(30, 48))))
    assert 0.0 < mixed.recipe.figures["largest_likeness"] <= 0.5
    same = NLK(n=1, l=2, k=3, representative="median").anonymize(Panel(np.ones((6, 4))))
    assert same.recipe.figures["largest_likeness"] == 0.0


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("n", "l"), [(1, 2), (2, 4), (3, 5)])
def test_nobody_is_alone_at_more_than_l_minus_n_instants(meters, strategy, n, l):
    groups = NLK(n=n, l=l, k=5, strategy=strategy).anonymize(meters).private.groups
    alone = np.array([np.bincount(column)[column] == 1 for column in groups.T]).sum(axis=0)
    assert alone.max() <= l - n - (strategy == "optimal" and n > 2)


def test_where_one_instant_dwarfs_the_rest_no_gap_is_claimed():
    x = np.random.default_rng(0).standard_normal((4, 3)) * [1e-9, 1.0, 1e9]
    figures = NLK(n=1, l=3, k=2, loss="squared").anonymize(Panel(x)).recipe.figures
    assert np.isfinite(figures.get("at_most_above_best", 0.0))


def test_little_knowledge_allows_further_splits():
    # Two halves that never agree: with one known value the other half stays possible, so a group may be split.
    x = np.random.default_rng(1).gamma(2.0, size=(20, 12))
    one, five = (NLK(n=n, l=n + 2, k=8).anonymize(Panel(x)) for n in (1, 5))
    assert one.recipe.figures.get("further_splits", 0) > 0
    assert "further_splits" not in five.recipe.figures
    score = NormalizedDivergence()
    assert score.measure(Panel(x), one.published).value < score.measure(Panel(x), five.published).value
    assert one.check().holds


@pytest.mark.parametrize("strategy", ["optimal", "cluster"])
def test_several_channels_are_grouped_together(rng, strategy):
    panel = Panel(rng.gamma(2.0, size=(20, 8, 2)) * [1.0, 1000.0], channels=["kw", "litres"])
    candidate = NLK(n=2, l=4, k=4, strategy=strategy).anonymize(panel)
    assert candidate.check().holds
    assert candidate.values.shape == panel.values.shape
    for t in range(8):
        for label in set(candidate.private.groups[:, t]):
            members = candidate.private.groups[:, t] == label
            assert_allclose(
                candidate.values[members, t], np.tile(panel.values[members, t].mean(axis=0), (members.sum(), 1))
            )


@pytest.mark.parametrize("strategy", ["optimal", "mth"])
def test_a_large_common_offset_changes_no_group(rng, strategy):
    x = rng.integers(0, 1000, size=(25, 10)).astype(float)
    near, far = (NLK(n=2, l=4, k=4, strategy=strategy).anonymize(Panel(x + o)).private.groups for o in (0.0, 1e8))
    assert_array_equal(near, far)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_watching_changes_nothing(meters, strategy):
    seen = []
    method = NLK(n=2, l=4, k=4, strategy=strategy)
    watched = method.anonymize(meters, progress=lambda done, total: seen.append((done, total)))
    assert_array_equal(watched.values, method.anonymize(meters).values)
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 5, "l": 5, "k": 3}, "n=5 known instants are not fewer than l=5 in all"),
        ({"n": 1, "l": 2, "k": 1}, "k must be a whole number of at least 2"),
        ({"n": 1, "l": 2, "k": 3, "strategy": "best"}, "strategy must be one of: optimal, mth, mil, cluster"),
        ({"n": 1, "l": 2, "k": 3, "loss": "cubic"}, "loss must be one of: "),
        ({"n": 1, "l": 2, "k": 3, "representative": "mode"}, "representative must be one of: "),
    ],
)
def test_impossible_parameters_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        NLK(**options)


@pytest.mark.parametrize(
    ("panel", "options", "message"),
    [
        (Panel(np.ones((5, 9))), {"k": 6}, "k=6 needs at least 6 subjects, the panel has 5"),
        (Panel(np.ones((5, 3))), {}, "l=4 needs at least 4 instants, the panel has 3"),
        (Panel(np.full((5, 9), np.nan)), {}, "45 values are missing"),
        (
            Panel(np.ones((6, 9))),
            {"sensitivity": "3=3"},
            "k=3, where sensitivity is highest, needs at least 9 subjects",
        ),
        (Panel(np.ones((9, 9))), {"sensitivity": "7:11=2"}, "sensitivity goes up to position 10; the panel has 9"),
        (Panel(np.ones((6, 9, 2))), {"strategy": "mth"}, "strategy 'mth' is for one channel, the panel has 2"),
    ],
)
def test_panels_it_cannot_do_are_refused(panel, options, message):
    with pytest.raises(ParameterError, match=message):
        NLK(**({"n": 2, "l": 4, "k": 3} | options)).anonymize(panel)


class TestRelease:
    def test_a_release_verifies_and_counts_groups_at_each_instant(self, tmp_path, meters):
        candidate = NLK(n=2, l=5, k=4).anonymize(meters)
        publish(candidate, tmp_path / "out")
        outcome = verify(tmp_path / "out")
        assert outcome.holds
        assert [name for name, _ in outcome.verdicts] == ["nlk-anonymity"]
        counts = load_release(tmp_path / "out").certificate["counts"]
        assert counts["grouped"] == "instants"
        assert counts["groups"] == sum(len(set(column)) for column in candidate.values.T)
        page = (tmp_path / "out" / "report.html").read_text()
        assert "Groups are formed at each instant" in page
        # It follows from readings, and few originals could have led to this release.
        assert "above the minimum for groups of k to 2k − 1 neighbouring values" not in page
        assert f"{candidate.recipe.figures['cells_alone']} readings are alone in a group" in page
        assert load_release(tmp_path / "out").certificate["figures"]["crowd"] == 4

    def test_promises_of_one_name_are_told_apart_where_they_are_refused_and_verified(self, tmp_path, meters):
        candidate = NLK(n=2, l=5, k=4).anonymize(meters)
        vague = NLKAnonymity(2, 5, 4, within=0.5)
        publish(candidate, tmp_path / "out", require=[vague])
        names = ["nlk-anonymity within=0.0", "nlk-anonymity within=0.5"]
        assert [name for name, _ in verify(tmp_path / "out").verdicts] == names
        with pytest.raises(
            GuaranteeNotMetError,
            match=r"nlk-anonymity l=3, within=0\.01 does not hold: .* \(so many instants can be inferred; required is",
        ):
            publish(candidate, tmp_path / "b", require=[NLKAnonymity(2, 3, 4, within=0.01)])

    def test_a_large_release_says_how_far_at_most_it_is_from_the_best(self, tmp_path):
        candidate = NLK(n=2, l=5, k=4).anonymize(simulate.meters(800, days=1, step="1h", seed=1))
        publish(candidate, tmp_path / "out")
        figures = load_release(tmp_path / "out").certificate["method"]["figures"]
        assert figures["at_most_above_best"] == candidate.recipe.figures["at_most_above_best"]
        page = (tmp_path / "out" / "report.html").read_text()
        assert "above the minimum for groups of k to 2k − 1 neighbouring values" in page

    def test_one_group_split_too_far_is_found_by_a_recipient(self, tmp_path, meters):
        publish(NLK(n=2, l=5, k=4, strategy="cluster").anonymize(meters), tmp_path / "out")
        data = tmp_path / "out" / "data.parquet"
        table = pl.read_parquet(data)
        victim = table["id"][0]
        changed = pl.when((pl.col("id") == victim) & (pl.int_range(pl.len()) < 5)).then(pl.col("value") + 0.5)
        table.with_columns(changed.otherwise(pl.col("value")).alias("value")).write_parquet(data)
        outcome = verify(tmp_path / "out")
        assert not outcome.holds
        assert any("nlk-anonymity does not hold: measured" in f and "series 0, known" in f for f in outcome.findings)

    def test_the_gate_refuses_it_too(self, tmp_path, meters):
        import dataclasses

        candidate = NLK(n=2, l=5, k=4, strategy="cluster").anonymize(meters)
        values = candidate.values.copy()
        values[7, 3:8] += 0.5
        spoiled = dataclasses.replace(candidate, published=Panel(values))
        with pytest.raises(
            GuaranteeNotMetError, match=r"nlk-anonymity does not hold: measured .* first at series 7, known"
        ):
            publish(spoiled, tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_the_aggregate_rule_says_why_it_cannot_hold(self, meters):
        verdict = AggregateRule(size=2, share=1.0).check(NLK(n=2, l=5, k=4).anonymize(meters))
        assert not verdict.holds
        assert "groups differ from instant to instant" in verdict.note

    def test_the_private_map_keeps_the_groups_of_every_instant(self, tmp_path, meters):
        candidate = NLK(n=2, l=5, k=4).anonymize(meters)
        publish(candidate, tmp_path / "out", private=tmp_path / "keep")
        (kept,) = (pl.read_parquet(p) for p in (tmp_path / "keep").glob("pseudonyms-*.parquet"))
        assert_array_equal(np.array(kept["group"].to_list()), candidate.private.groups)


class TestSeveralSeriesPerSubject:
    @pytest.mark.parametrize("strategy", ["optimal", "mth", "mil", "cluster"])
    @pytest.mark.parametrize("seed", range(4))
    def test_crowds_are_of_subjects(self, strategy, seed):
        rng = np.random.default_rng(seed)
        subjects = rng.permutation(np.concatenate([np.arange(7), rng.integers(0, 7, size=13)]))
        x = rng.normal(size=(20, 6)) if seed % 2 else rng.integers(0, 4, size=(20, 6)).astype(float)
        candidate = NLK(n=2, l=4, k=3, strategy=strategy).anonymize(Panel(x, subjects=subjects))
        assert naive_nlk_anonymous(candidate.values[:, :, None], 2, 4, 3, subjects.tolist())
        assert candidate.check().holds

    def test_a_series_left_over_is_published_like_the_nearest(self):
        x = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0], [9.5, 9.0]])
        candidate = NLK(n=1, l=2, k=2).anonymize(Panel(x, subjects=[0, 1, 2, 3, 3]))
        assert_array_equal(candidate.values[4], candidate.values[2])
        assert candidate.recipe.figures["series_left_over"] == 1

    def test_a_release_of_it_is_published_and_read_back(self, tmp_path, rng):
        panel = Panel(rng.normal(size=(20, 6)), subjects=np.repeat(range(10), 2))
        publish(NLK(n=1, l=3, k=3).anonymize(panel), tmp_path / "out")
        assert verify(tmp_path / "out").findings == ()


class TestSensitivity:
    def test_sensitive_instants_have_wider_groups_and_nobody_alone(self, rng):
        panel = Panel(rng.normal(size=(60, 8)))
        plain, careful = (NLK(n=2, l=5, k=4, sensitivity=s).anonymize(panel) for s in (None, "2:4=2.5,7=1.2"))
        assert careful.check().holds
        least = [min(np.bincount(column)) for column in careful.private.groups.T]
        assert least[2] >= 10
        assert least[3] >= 10
        assert least[7] >= 5
        assert plain.recipe.figures["cells_alone"] > 0
        assert min(least) == 1  # elsewhere series may still be alone
        assert naive_nlk_anonymous(careful.values[:, :, None], 2, 5, 4)
        worse, better = (np.abs(c.values - panel.values)[:, 2].mean() for c in (careful, plain))
        assert worse > better

    def test_several_channels_and_the_papers_clusters_take_it_too(self, rng):
        panel = Panel(rng.normal(size=(40, 5, 2)))
        for strategy in ("optimal", "cluster"):
            candidate = NLK(n=1, l=3, k=4, strategy=strategy, sensitivity=[1, 1, 2, 1, 1]).anonymize(panel)
            assert candidate.check().holds
            assert np.bincount(candidate.private.groups[:, 2]).min() >= 8

    def test_all_spellings_are_one(self):
        methods = [NLK(n=1, l=3, k=4, sensitivity=s) for s in ("1:3=2, 4=1.50", "4=1.5,1=2,2=2", (1, 2.0, 2, 1, 1.5))]
        assert {method.parameters["sensitivity"] for method in methods} == {"1:3=2,4=1.5"}
        assert NLK(**methods[0].parameters) == methods[0]

    def test_factors_of_one_are_as_good_as_none(self):
        assert NLK(n=1, l=3, k=4, sensitivity=[1, 1, 1]) == NLK(n=1, l=3, k=4, sensitivity="2=1") == NLK(n=1, l=3, k=4)

    def test_one_factor_for_each_instant_means_each(self, rng):
        for n_factors in (4, 6):
            with pytest.raises(ParameterError, match=f"sensitivity has {n_factors} factors, the panel has 5 instants"):
                NLK(n=1, l=3, k=4, sensitivity=[2.0] * n_factors).anonymize(Panel(rng.normal(size=(40, 5))))

    @pytest.mark.parametrize("wrong", ["5:3=2", "4=2,3:3=2", "", []])
    def test_instants_that_are_none_are_not_silently_left_unprotected(self, wrong):
        with pytest.raises(ParameterError, match="sensitivity chooses no instant"):
            NLK(n=1, l=3, k=4, sensitivity=wrong)

    def test_shards_have_room_for_the_widest_groups(self):
        assert NLK(n=1, l=3, k=4).shard_plan.least == 12
        assert NLK(n=1, l=3, k=4, sensitivity="1=2,4=2.2").shard_plan.least == 27

    @pytest.mark.parametrize("wrong", ["1:3", "a=2", "1=0.5", "1=inf", [0.5, 1.0], [None], {1: 2.0}, {2.0}, 2.0])
    def test_what_is_no_factor_is_refused(self, wrong):
        with pytest.raises(ParameterError, match="sensitivity must have the form of"):
            NLK(n=1, l=3, k=4, sensitivity=wrong)

    def test_strategies_that_split_everywhere_refuse_it(self):
        with pytest.raises(ParameterError, match="sensitivity needs strategy 'optimal' or 'cluster': 'mth'"):
            NLK(n=1, l=3, k=4, sensitivity="1=2", strategy="mth")
