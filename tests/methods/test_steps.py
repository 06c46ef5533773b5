"""Methods one after the other: what each works on, what is left of the guarantees, what makes no sense."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from shoal import (
    KP,
    NLK,
    AggregateRule,
    DifferentialPrivacy,
    KAnonymity,
    Microaggregation,
    NLKAnonymity,
    NoGuarantee,
    NoiseAddition,
    NoisyAggregates,
    Panel,
    Permutation,
    Reposition,
    SamplingWithFictives,
    ScopeAggregation,
    Steps,
    TimeAggregation,
    TimeSlicing,
    Transformation,
)
from shoal.errors import ParameterError
from shoal.guarantees.crowds import published_classes
from shoal.methods.first_panel import working_panel
from shoal.model import Method
from strategies import small_panels

rng = np.random.default_rng(9)
HOURS = np.datetime64("2024-01-01T00:00") + np.arange(48) * np.timedelta64(1, "h")
METERS = Panel(
    rng.gamma(2.0, size=(60, 48)),
    times=HOURS,
    ids=[f"meter-{i}" for i in range(60)],
    attributes={"area": np.repeat(["north", "south"], 30)},
)
NOISE, CROWD = NoiseAddition(snr=10.0), Microaggregation(k=5)


def by_hand(panel, *methods):
    for method in methods:
        candidate = method.anonymize(panel)
        published = candidate.published
        if isinstance(published, Panel):
            panel = Panel(
                published.values, times=published.times, subjects=published.subject_codes, timezone=published.timezone
            )
    return candidate


@pytest.mark.parametrize(
    "methods",
    [
        (NOISE, CROWD),
        (CROWD, NOISE),
        (TimeAggregation(step="6h"), CROWD),
        (TimeSlicing(length="1d"), CROWD),
        (Transformation(), Permutation(length="1d"), NOISE),
        (SamplingWithFictives(fictives=0.0), CROWD),
        (CROWD, SamplingWithFictives()),
    ],
    ids=lambda methods: "-".join(m.name for m in methods),
)
def test_each_step_works_on_what_the_former_would_publish(methods):
    candidate = Steps(methods).anonymize(METERS)
    assert_array_equal(candidate.values, by_hand(METERS, *methods).values)
    assert candidate.private.original is METERS
    assert candidate.originals.values.shape == candidate.curves.values.shape
    assert [step["name"] for step in candidate.recipe.parameters["steps"]] == [m.name for m in methods]
    assert len(candidate.recipe.figures["steps"]) == len(methods)


def claims(*methods):
    candidate = Steps(methods).anonymize(METERS)
    assert candidate.check().holds or candidate.guarantee == NoGuarantee()
    return list(candidate.guarantees), candidate.recipe.figures["not_claimed"]


def test_a_guarantee_is_claimed_where_it_still_holds():
    assert claims(NOISE, CROWD) == ([KAnonymity(5)], [])
    assert claims(CROWD, NOISE) == ([KAnonymity(5)], [])  # equal series get equal noise
    assert claims(CROWD, Transformation(), TimeAggregation(step="6h")) == ([KAnonymity(5)], [])
    assert claims(CROWD, TimeSlicing(length="1d")) == ([KAnonymity(5)], [])
    assert claims(NOISE, ScopeAggregation(within="area")) == ([AggregateRule(), KAnonymity(15)], [])
    assert claims(TimeSlicing(length="1d"), NoisyAggregates(epsilon=1.0, lower=0.0, upper=9.0)) == (
        [DifferentialPrivacy(1.0)],
        [],
    )
    assert claims(NLK(n=2, l=6, k=5), Transformation(kind="coarsen", resolution=0.1)) == ([NLKAnonymity(2, 6, 5)], [])


def test_a_guarantee_that_a_later_step_breaks_is_not_claimed():
    assert claims(CROWD, Permutation(length="6h")) == ([NoGuarantee()], ["k-anonymity"])
    assert claims(CROWD, SamplingWithFictives()) == ([NoGuarantee()], ["k-anonymity"])
    assert claims(Microaggregation(k=10), Microaggregation(k=3)) == ([KAnonymity(3)], ["k-anonymity"])
    assert claims(NOISE, Transformation()) == ([NoGuarantee()], [])


def test_what_a_step_says_of_itself_is_not_believed():
    class Careless(Method):
        name = "careless"
        keeps_equal = True
        each_alone = True
        parameters = {}  # noqa: RUF012

        def _anonymize(self, panel, progress):
            values = panel.values.copy()
            values[3, 2] = np.nextafter(values[3, 2], np.inf)
            return NOISE.anonymize(Panel(values, times=panel.times, subjects=panel.subject_codes))

    candidate = Steps((CROWD, Careless())).anonymize(METERS)
    assert candidate.guarantee == NoGuarantee()
    assert candidate.recipe.figures["not_claimed"] == ["k-anonymity"]


@pytest.mark.parametrize(
    "method",
    [
        NoiseAddition(snr=2.0),
        NoiseAddition(snr=2.0, kind="coloured", per="series"),
        Transformation(),
        Transformation(kind="smooth", window=3),
        Transformation(kind="coarsen", resolution=0.5),
        TimeAggregation(step=7),
        TimeSlicing(length=2),
    ],
    ids=lambda method: f"{method.name}-{getattr(method, 'kind', '')}",
)
@given(x=small_panels(), pick=st.randoms(use_true_random=False))
def test_a_step_that_says_so_keeps_equal_series_equal(method, x, pick):
    assert method.keeps_equal
    panel = Panel(np.concatenate([x, x])[[pick.randrange(2 * len(x)) for _ in range(2 * len(x))]])
    candidate = method.anonymize(panel)
    before = published_classes(panel)
    rows, after = candidate.stands_for, published_classes(candidate.published)
    per_series = {}
    for row, place in zip(rows.tolist(), after.tolist(), strict=True):
        per_series.setdefault(row, []).append(place)
    for i in range(panel.n_series):
        assert per_series[i] == per_series[int(before[i])]


def test_the_curves_are_those_of_the_first_series_at_the_first_instants():
    chain = (TimeSlicing(length="1d"), TimeAggregation(step=6), SamplingWithFictives(share=0.5, fictives=0.0))
    candidate = Steps(chain).anonymize(METERS)
    steps = METERS.values.reshape(60, 2, 4, 6).mean(axis=3)
    assert_allclose(candidate.values, steps.reshape(120, 4)[np.isin(np.repeat(np.arange(60), 2), candidate.stands_for)])
    assert candidate.curves.values.shape == METERS.values.shape
    drawn = np.unique(candidate.stands_for)
    assert len(drawn) == 30
    assert_allclose(candidate.curves.values[drawn], steps.repeat(6, axis=2).reshape(60, 48)[drawn])
    assert np.isnan(np.delete(candidate.curves.values, drawn, axis=0)).all()
    assert (np.delete(candidate.private.groups, drawn) == -1).all()


def test_fictive_rows_stand_for_nobody_also_after_further_steps():
    candidate = Steps((SamplingWithFictives(share=0.5, fictives=0.25), NOISE)).anonymize(METERS)
    assert (candidate.stands_for == -1).sum() == 10
    assert candidate.published.n_series == 40


def test_attributes_are_there_for_later_steps_and_are_not_published():
    candidate = Steps((NOISE, Microaggregation(k=5, within="area"))).anonymize(METERS)
    areas = METERS.attributes["area"]
    for label in np.unique(candidate.private.groups):
        assert len(set(areas[candidate.private.groups == label])) == 1
    assert candidate.published.attributes == {}
    assert candidate.published.ids.tolist() == list(range(60))


def test_seeds_are_secret_in_every_step():
    candidate = Steps((NoiseAddition(snr=5.0, seed=77123), Permutation(length=4, seed=88123))).anonymize(METERS)
    assert "123" not in json.dumps(candidate.recipe.parameters)
    assert candidate.private.secrets == {"steps": [{"seed": 77123}, {"seed": 88123}]}


def test_steps_can_be_named_as_a_policy_names_them():
    named = Steps([{"name": "noise-addition", "snr": 10.0}, {"name": "microaggregation", "k": 5}])
    assert named == Steps((NOISE, CROWD))
    assert Steps(**json.loads(json.dumps(named.parameters))) == named


def test_an_order_of_mean_days_needs_less_noise_than_the_whole_time():
    method = NoisyAggregates(epsilon=1.0, lower=0.0, upper=10.0)
    days = Steps((TimeSlicing(length="1d"), method)).anonymize(METERS)
    assert days.guarantee.accounting[0].sensitivity * 2 == method.anonymize(METERS).guarantee.accounting[0].sensitivity
    assert days.values.shape == (1, 24, 1, 1)
    assert_array_equal(days.curves.values[:, :24], days.curves.values[:, 24:])


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((), "steps needs a list of methods"),
        ("noise-addition", "steps needs a list of methods"),
        ((NOISE, "microaggregation"), "steps needs methods, such as NoiseAddition(snr=10)"),
        ((NOISE, KAnonymity(3)), "steps needs methods, such as NoiseAddition(snr=10)"),
        ([{"name": "magic"}], "steps names an unknown method. Known: kp, microaggregation"),
        ([{"name": "permutation", "snr": 3}], "steps: permutation does not take these parameters: snr"),
        ((NOISE, KP(k=4, p=2)), "kp cannot be one of several steps: its envelopes must contain the readings"),
        ((NOISE, Steps((CROWD,))), "steps cannot be one of several steps: put its steps into this list"),
        ((NOISE, Reposition(l=2, window=2)), "reposition cannot be one of several steps: it takes events"),
        (
            (ScopeAggregation(), NOISE),
            "scope-aggregation publishes groups or bands, so noise-addition after it has no series to work on",
        ),
        ((Microaggregation(k=5, form="profiles"), NOISE), "microaggregation publishes groups or bands"),
        ((Microaggregation(k=9, aggregate="quantiles"), NOISE), "microaggregation publishes groups or bands"),
        (
            (SamplingWithFictives(), CROWD),
            "microaggregation after sampling-with-fictives would count fictive series in its crowds",
        ),
        ((SamplingWithFictives(), NOISE, ScopeAggregation()), "would count fictive series in its crowds"),
        ((TimeSlicing(length=2), ScopeAggregation()), "would count slices of a subject separately"),
        (
            (NOISE, NoisyAggregates(epsilon=1.0, lower=0.0, upper=1.0)),
            "noisy-aggregates after noise-addition keeps no differential privacy",
        ),
        ((CROWD, NoisyAggregates(epsilon=1.0, lower=0.0, upper=1.0)), "after microaggregation keeps no differential"),
        (
            (
                Transformation(kind="smooth", window=3),
                NoisyAggregates(epsilon=1.0, lower=0.0, upper=1.0, unit="reading"),
            ),
            "noisy-aggregates with unit='reading' after transformation 'smooth': one reading changes several numbers",
        ),
        (
            (TimeSlicing(length="1d", dates="kept"), CROWD),
            "microaggregation after time-slicing with dates='kept' has slices that share no instant. Use dates=",
        ),
        (
            (SamplingWithFictives(), Permutation(length=2)),
            "permutation after sampling-with-fictives would count fictive",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(steps, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        Steps(steps)


@given(seed=st.integers(0, 1000), subject=st.integers(0, 4), by=st.sampled_from(["mean", "sum"]))
def test_one_subject_or_reading_changes_no_more_through_the_steps_that_may_come_before(seed, subject, by):
    def sums(panel, unit, *before):
        for step in before:
            panel = working_panel(step.anonymize(panel))
        last = NoisyAggregates(epsilon=1.0, lower=-1.0, upper=1.0, unit=unit, insecure_seed=2)
        Steps((*before, last))  # is allowed
        found = last._sums(0, panel)
        return found.steps, last._noisy_sums(found, 1.0)[1]

    draw = np.random.default_rng(seed)
    one = draw.normal(size=(5, 12))
    whole, cell = one.copy(), one.copy()
    whole[subject] = draw.normal(scale=9.0, size=12)
    cell[subject, 7] = 50.0 * draw.normal()
    chains = [
        (TimeSlicing(length=4),),
        (TimeAggregation(step=3, by=by),),
        (Transformation(kind="coarsen", resolution=0.5), TimeSlicing(length=6)),
    ]
    for chain in chains:
        for other, unit in ((whole, "subject"), (cell, "reading")):
            before, spent = sums(Panel(one), unit, *chain)
            after, _ = sums(Panel(other), unit, *chain)
            assert np.abs(before - after).sum() <= spent.sensitivity


def test_several_series_and_channels_go_through_all_steps():
    panel = Panel(rng.normal(size=(24, 8, 2)), subjects=np.repeat(np.arange(12), 2))
    candidate = Steps((TimeAggregation(step=2), Microaggregation(k=3), NOISE)).anonymize(panel)
    assert candidate.values.shape == (24, 4, 2)
    assert candidate.check().holds
    assert candidate.curves.values.shape == panel.values.shape


def test_every_step_can_be_watched():
    seen = []
    Steps((NOISE, CROWD)).anonymize(METERS, progress=lambda done, total: seen.append((done, total)))
    assert seen.count((60, 60)) >= 2


def test_noise_after_means_is_the_same_for_equal_series_of_different_attributes(rng):
    panel = Panel(rng.gamma(2.0, size=(40, 6)), attributes={"tariff": ["day", "night"] * 20})
    candidate = Steps((Microaggregation(k=4), NoiseAddition(snr=20.0))).anonymize(panel)
    assert candidate.guarantees == (KAnonymity(4),)
    assert candidate.check().holds
