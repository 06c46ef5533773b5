"""One verb for a panel in memory and for one in shards, and results that merge."""

from dataclasses import replace

import numpy as np
import pytest

from shard_examples import (
    SIZE,
    K,
    all_of,
    hours,
    limited,
    shift_one_value,
    small_candidate,
    small_panel,
    small_shards,
    spoilt,
)
from shoal import (
    KP,
    NLK,
    AggregateRule,
    Microaggregation,
    NoiseAddition,
    Panel,
    Permutation,
    SamplingWithFictives,
    ScopeAggregation,
    Steps,
    TimeAggregation,
    simulate,
    utility,
)
from shoal.attacks import Denoising, KnownPoints, KnownTotals, Linkage, NearestNeighbour
from shoal.engines import Memory, in_shards
from shoal.errors import ParameterError
from shoal.guarantees import KAnonymity, NoGuarantee
from shoal.model import CandidateShards, Measure
from shoal.model.candidate_shards import facts_of
from shoal.model.joined import join_candidates
from shoal.utility import (
    CorrelationLoss,
    DaviesBouldin,
    InformationLoss,
    NormalizedDivergence,
    QueryError,
    RampError,
    Silhouette,
)

METHODS = {
    "microaggregation": Microaggregation(k=K),
    "profiles": Microaggregation(k=K, form="profiles"),
    "nlk": NLK(n=1, l=3, k=K),
    "kp": KP(k=4, p=2),
    "scopes": ScopeAggregation(size=4, share=0.9),
    "permutation": Permutation(length=2),
    "fictives": SamplingWithFictives(share=0.8),
    "coarser": TimeAggregation(step="2h"),
    "pipeline": Steps((TimeAggregation(step="2h"), Microaggregation(k=K))),
}


@pytest.fixture(scope="module")
def meters():
    return simulate.meters(240, days=14, step="1h", seed=3)


@pytest.fixture(scope="module")
def candidate(meters):
    return Microaggregation(k=4).anonymize(in_shards(meters, Memory(), size=40))


@pytest.fixture(scope="module")
def together(candidate):
    """The same, in one place."""
    return join_candidates(all_of(candidate))


class TestMethods:
    @pytest.mark.parametrize("name", METHODS)
    def test_shards_are_anonymized_as_if_each_were_a_panel(self, name):
        method = METHODS[name]
        found = method.anonymize(small_shards())
        assert isinstance(found, CandidateShards)
        assert found.n_shards > 3
        by_hand = [method.anonymize(panel) for panel in all_of(small_shards().split(method.shard_plan))]
        for one, other in zip(all_of(found), by_hand, strict=True):
            assert one.curves.values.tobytes() == other.curves.values.tobytes()
            assert one.private.groups.tobytes() == other.private.groups.tobytes()
            assert one.private.original.ids.tolist() == other.private.original.ids.tolist()
        assert found.guarantees == by_hand[0].guarantees
        assert found.n_series == sum(len(one.published) for one in by_hand)
        assert found.shows_everybody == all(one.shows_everybody for one in by_hand)
        assert (found.has_profiles, found.has_envelopes) == (by_hand[0].has_profiles, by_hand[0].has_envelopes)
        assert found.recipe.method == method.name

    def test_one_shard_is_the_panel(self):
        panel = small_panel()
        found = Microaggregation(k=K).anonymize(in_shards(panel, Memory(), size=500))
        assert found.n_shards == 1
        alone = Microaggregation(k=K).anonymize(panel)
        assert all_of(found)[0].values.tobytes() == alone.values.tobytes()
        assert found.check() == alone.check()
        assert found.measure(InformationLoss()) == alone.measure(InformationLoss())

    def test_figures_of_recipes_add_up(self):
        found = KP(k=4, p=2).anonymize(small_shards())
        figures = [one.recipe.figures for one in all_of(found)]
        assert found.recipe.figures["shards"] == found.n_shards
        for name, value in found.recipe.figures.items():
            if name == "shards":
                continue
            listed = [one[name] for one in figures]
            assert value == (max(listed) if isinstance(listed[0], float) else sum(listed)), name

    def test_what_needs_everybody_in_one_place_says_so(self):
        for method in (Microaggregation(k=3, bound=True), Steps((Microaggregation(k=3, bound=True),))):
            with pytest.raises(ParameterError, match="The bound is computed for a panel in memory"):
                method.anonymize(small_shards())

    def test_nothing_works_before_it_is_split(self):
        with pytest.raises(ParameterError, match="not split into shards yet; methods do that"):
            small_shards().map(lambda number, panel: panel)
        assert repr(small_shards()) == "Shards(120 series, 6 instants, 120 subjects)"
        assert (
            repr(small_candidate()) == f"Shards(microaggregation, 120 series in {small_candidate().n_shards} shard(s))"
        )


class TestPrepared:
    """What a method must know of the whole is known in every shard."""

    @pytest.mark.parametrize("kind", ["gaussian", "coloured"])
    def test_noise_is_as_strong_as_the_spread_of_all_asks_for(self, kind):
        rng = np.random.default_rng(1)
        level = np.repeat([0.0, 1000.0], 60)  # nearly all of the spread is between shards
        panel = Panel(level[:, None] + rng.normal(size=(120, 50)), times=hours(50))
        method = NoiseAddition(snr=4.0, kind=kind)
        found = join_candidates(all_of(method.anonymize(in_shards(panel, Memory(), size=SIZE))))
        whole = method.anonymize(panel)
        noise = [(one.curves.values - one.originals.values).std() for one in (found, whole)]
        assert noise[0] == pytest.approx(250.0, rel=0.1)
        assert noise[0] == pytest.approx(noise[1], rel=0.1)
        alone = [(one.values - one.originals.values).std() for one in map(method.anonymize, np_halves(panel))]
        assert max(alone) < 2.0

    def test_standardized_features_are_those_of_all(self):
        panel = small_panel(120)
        values = panel.values * np.array([1, 1, 1, 1, 1, 1e6])
        values[:60, 0] += 1e5
        panel = Panel(values, times=panel.times)
        method = Microaggregation(k=K, features="standardized")
        shards = in_shards(panel, Memory(), size=SIZE)
        prepared = method.prepare(shards.split(method.shard_plan))
        whole, own = prepared.features(panel), panel.take(np.arange(20))
        observed = (values - values.mean(axis=0)) / values.std(axis=0)
        np.testing.assert_allclose(whole, observed, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(prepared.features(own), observed[:20], rtol=1e-9, atol=1e-9)

    def test_a_step_is_prepared_with_what_the_steps_before_it_make(self):
        level = np.repeat([0.0, 1000.0], 60)
        panel = Panel(level[:, None] + np.zeros((120, 4)) + np.arange(120)[:, None] / 1e3, times=hours(4))
        steps = Steps((Microaggregation(k=K), NoiseAddition(snr=4.0)))
        found = join_candidates(all_of(steps.anonymize(in_shards(panel, Memory(), size=SIZE))))
        assert (found.curves.values - found.originals.values).std() == pytest.approx(250.0, rel=0.2)
        assert found.check().holds


def np_halves(panel):
    half = panel.n_series // 2
    return [panel.take(np.arange(half)), panel.take(np.arange(half, panel.n_series))]


class TestChecks:
    @pytest.mark.parametrize("name", ["microaggregation", "profiles", "nlk", "kp", "scopes", "pipeline"])
    def test_the_verdict_is_that_on_the_joined_data(self, name):
        found = METHODS[name].anonymize(small_shards())
        whole = join_candidates(all_of(found))
        for guarantee in found.guarantees:
            verdict, expected = found.judge(guarantee), guarantee.check(whole)
            assert (verdict.outcome, verdict.measured, verdict.required) == (
                expected.outcome,
                expected.measured,
                expected.required,
            )
        assert found.check().holds

    def test_one_shard_that_does_not_hold_is_the_verdict_and_says_where(self):
        found = spoilt(small_candidate(), shift_one_value)
        verdict = found.check()
        assert (verdict.outcome, verdict.measured) == ("does not hold", 1)
        assert verdict.witness["shard"] == 1
        assert not join_candidates(all_of(found)).check().holds

    def test_of_further_guarantees_the_first_that_does_not_hold_counts(self):
        found = small_candidate()
        assert found.judge(KAnonymity(K + 30)).outcome == "does not hold"
        assert found.judge(AggregateRule(size=2, share=1.0)).holds
        assert found.judge(NoGuarantee()).outcome == "not judged"

    def test_what_one_shard_does_not_claim_is_not_claimed_of_all(self):
        candidate = small_candidate()
        store = candidate.store.each(claim_nothing, facts_of)
        assert CandidateShards.of(store, candidate.panel, Microaggregation(k=K).merged).guarantees == (NoGuarantee(),)


def claim_nothing(number, candidate):
    return replace(candidate, guarantee=NoGuarantee()) if number == 2 else candidate


class TestMeasures:
    SUMS = tuple(
        kind(**way)
        for kind in (getattr(utility, name) for name in utility.__all__)
        for way in kind.usual or ({},)
        if issubclass(kind, Measure) and kind.judges not in ("envelopes", "scenarios") and not kind(**way).why_whole
    )

    @pytest.mark.parametrize("measure", SUMS, ids=lambda m: f"{m.name} {m.parameters}")
    def test_tallies_add_up_to_the_figure_of_all(self, candidate, together, measure):
        expected = together.measure(measure)
        found = candidate.measure(measure)
        assert found.value == pytest.approx(expected.value, rel=1e-9, abs=1e-12)
        assert (found.goal, found.range) == (expected.goal, expected.range)
        assert candidate.meaning_of(measure) == measure.meaning

    @pytest.mark.parametrize("measure", [utility.ValueLoss(), utility.PatternLoss()], ids=lambda m: m.name)
    def test_so_they_do_of_envelopes(self, measure):
        found = KP(k=4, p=2).anonymize(small_shards())
        expected = join_candidates(all_of(found)).measure(measure).value
        assert found.measure(measure).value == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize(
        "measure",
        [
            CorrelationLoss(between="series"),
            Silhouette(),
            DaviesBouldin(),
            QueryError(n_queries=50),
            RampError(of="pooled"),
        ],
        ids=lambda measure: measure.name,
    )
    def test_a_figure_that_is_no_sum_is_that_of_the_whole_where_the_whole_fits(self, candidate, together, measure):
        assert measure.sampled > together.private.original.n_series
        assert candidate.measure(measure).value == pytest.approx(together.measure(measure).value, rel=1e-9)
        assert candidate.meaning_of(measure) == measure.meaning

    @pytest.mark.parametrize(
        "measure", [DaviesBouldin(sample=80), QueryError(n_queries=400)], ids=lambda measure: measure.name
    )
    def test_where_part_of_the_groups_would_flatter_a_sample_is_compared_with_all(
        self, candidate, together, measure, monkeypatch
    ):
        monkeypatch.setattr(QueryError, "sampled", property(lambda self: 80))
        said = "; on a sample of about 80 of 240 series, in whole groups, compared with all of them"
        assert candidate.meaning_of(measure) == measure.meaning + said
        whole, alone = together.measure(measure).value, candidate.sample(80).measure(measure).value
        found = candidate.measure(measure).value
        assert found == pytest.approx(whole, rel=0.25)
        assert abs(found - whole) < abs(alone - whole)

    def test_silhouettes_of_a_sample_are_those_they_have_among_all(self, candidate, together):
        whole, _ = Silhouette().per_series(together.originals, together.curves)
        drawn = candidate.sample(80)
        there = [np.flatnonzero((together.originals.rows == row).all(axis=1))[0] for row in drawn.originals.rows]
        found = candidate.measure(Silhouette(sample=80)).value
        assert found == pytest.approx(whole[there].mean(), abs=1e-6)
        assert found < drawn.measure(Silhouette()).value  # fewer rivals

    def test_what_cannot_be_sampled_is_refused(self, candidate, monkeypatch):
        monkeypatch.setattr(Silhouette, "sampled", None)
        with pytest.raises(ParameterError, match=r"silhouette .* not measured on a panel in shards"):
            candidate.measure(Silhouette())

    def test_a_sample_is_of_whole_groups_and_said_to_be_one(self, candidate, monkeypatch):
        monkeypatch.setattr(CorrelationLoss, "sampled", property(lambda self: 80))
        measure = CorrelationLoss(between="series")
        assert candidate.meaning_of(measure).endswith("; on a sample of about 80 of 240 series, in whole groups")
        drawn = candidate.sample(80)
        assert 30 < drawn.private.original.n_series < 140
        assert drawn.check().holds
        assert candidate.measure(measure) == drawn.measure(measure)

    def test_several_figures_take_one_visit_and_are_those_of_each_alone(self, candidate, monkeypatch):
        monkeypatch.setattr(CorrelationLoss, "sampled", property(lambda self: 80))
        monkeypatch.setattr("shoal.model.candidate_shards.SAMPLE", 150)
        series, loss, points = CorrelationLoss(between="series"), InformationLoss(), KnownPoints(2)
        alone = [
            candidate.measure(series),
            candidate.measure(loss),
            candidate.attack(Denoising()),
            candidate.attack(points, n_targets=50, seed=1),
            candidate.sample(40).values.tolist(),
        ]
        visits = []
        plain = type(candidate.store).reduce
        monkeypatch.setattr(type(candidate.store), "reduce", lambda *given: visits.append(1) or plain(*given))
        answers = candidate.reduce(
            candidate.to_measure(series),
            candidate.to_measure(loss),
            candidate.to_attack(Denoising()),
            candidate.to_attack(points, n_targets=50, seed=1),
            candidate.to_sample(40, lambda drawn: drawn.values.tolist()),
        )
        assert [answer() for answer in answers] == alone
        assert len(visits) == 1

    def test_what_is_too_much_together_is_found_by_and_by(self, candidate, monkeypatch):
        measures = [InformationLoss(), CorrelationLoss(sample=80), NormalizedDivergence()]
        alone = [candidate.measure(measure) for measure in measures]
        limited(monkeypatch, candidate.store, 1)
        answers = candidate.reduce(*map(candidate.to_measure, measures))
        assert [answer() for answer in answers] == alone
        limited(monkeypatch, candidate.store, 0)
        with pytest.raises(ParameterError, match="too much"):
            candidate.measure(measures[0])

    def test_what_does_not_apply_does_not_stop_the_others(self, candidate):
        class Short(InformationLoss):
            def tally(self, original, published):
                raise ParameterError("too short")

        refused, loss = candidate.reduce(*map(candidate.to_measure, (Short(), InformationLoss())))
        assert loss() == candidate.measure(InformationLoss())
        with pytest.raises(ParameterError, match="too short"):
            refused()

    def test_something_is_always_drawn(self, candidate):
        assert candidate.sample(0).private.original.n_series > 0


class TestAttacks:
    @pytest.mark.parametrize(
        "attack",
        [KnownPoints(2), KnownPoints(3, choose="peaks"), KnownTotals("day"), NearestNeighbour()],
        ids=lambda a: f"{a.name} {a.parameters}",
    )
    @pytest.mark.parametrize("method", [Microaggregation(k=4), NoiseAddition(snr=1.0)], ids=lambda m: m.name)
    def test_what_is_found_in_shards_bounds_what_is_found_in_all(self, meters, attack, method):
        found = method.anonymize(in_shards(meters, Memory(), size=40))
        whole = join_candidates(all_of(found))
        told, alone = found.attack(attack), whole.attack(attack)
        assert attack.bounded_by_shard
        assert told.n_targets == alone.n_targets == 240
        assert told.success >= alone.success - 1e-12

    def test_of_envelopes_too(self):
        found = KP(k=4, p=2).anonymize(small_shards())
        attack = Linkage()
        assert found.attack(attack).success >= join_candidates(all_of(found)).attack(attack).success - 1e-12

    def test_targets_are_drawn_once_for_all(self, candidate):
        risk = candidate.attack(KnownPoints(2), n_targets=50, seed=4)
        assert risk.n_targets == 50
        assert candidate.attack(KnownPoints(2), n_targets=50, seed=4) == risk
        assert candidate.attack(KnownPoints(2), n_targets=50, seed=5).worst != risk.worst
        # As if somebody attacked those of each shard by hand.
        starts = np.cumsum([0, *(fact.n_original for fact in candidate.facts)])
        drawn = np.sort(np.random.default_rng(np.random.SeedSequence([4, 17])).permutation(starts[-1])[:50])
        found = [
            one.find(KnownPoints(2), drawn[(drawn >= first) & (drawn < first + n)] - first, first=int(first))
            for one, first, n in zip(all_of(candidate), starts, np.diff(starts), strict=False)
        ]
        assert KnownPoints(2).risk(type(found[0]).merged(found)) == risk

    def test_an_attack_that_counts_its_own_targets_draws_them_from_all(self, candidate):
        assert candidate.attack(KnownPoints(2, n_targets=30)).n_targets == 30

    def test_what_is_not_bounded_is_tried_on_the_whole_where_it_fits(self, candidate, together):
        attack = Denoising()
        assert not attack.bounded_by_shard
        assert candidate.attack(attack) == together.attack(attack)

    def test_and_on_a_sample_of_whole_groups_where_it_does_not(self, candidate, monkeypatch):
        monkeypatch.setattr("shoal.model.candidate_shards.SAMPLE", 80)
        risk = candidate.attack(Denoising())
        assert 20 < risk.n_targets < 140
        assert risk == candidate.sample(80).attack(Denoising())


def test_a_figure_says_where_an_attack_searched_only_where_there_are_several_shards():
    attack = KnownPoints(2)
    assert small_candidate().meaning_of(attack) == (
        f"{attack.meaning}; searched in the target's own shard, so the success is an upper bound; other figures are "
        "of that search"
    )
    one = Microaggregation(k=K).anonymize(small_shards(size=1000))
    assert one.n_shards == 1
    assert one.meaning_of(attack) == attack.meaning
