"""What every exported method, guarantee and measure must do. A new one is tested by being exported."""

import dataclasses
import json
import pickle
import re
from functools import cache
from typing import get_args

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from shoal import Events, Panel, attacks, guarantees, methods, simulate, utility
from shoal.errors import ParameterError, ShoalError
from shoal.guarantees import build_guarantee
from shoal.guarantees.crowds import published_classes
from shoal.model import Profiles
from shoal.model.attack import QUESTIONS
from shoal.model.score import Unit
from shoal.process.catalogue import catalogue

K = 3


SMALLER = {"n": 1, "l": 2, "lower": -3.0}  # known instants, those to protect, and the lower of two bounds
EXAMPLES = {
    "sampling-with-fictives": {"share": 1.0},
    "scope-aggregation": {"size": K, "share": 1.0},
    "steps": {"steps": (methods.NoiseAddition(snr=10.0), methods.Microaggregation(k=K, algorithm="mdav"))},
    "known-totals": {"step": 1},
    "subset-sum": {"step": 1},
    "nearest-neighbour": {"cycle": 1},
    "relink": {"cycle": 1},
    "unmixing": {"step": 1},
    "intersection": {"step": 1},
    "membership": {"step": 1},
    "window-error": {"n": 20},
}  # methods whose defaults are too much for so few series, or that need more than a number
# Guarantees that published values cannot show.
UNSEEN = {"m-invariance", "none", "differential-privacy", "local-differential-privacy"}
ANY_SIZE = {
    "noise-addition",
    "noisy-aggregates",
    "permutation",
    "time-aggregation",
    "time-slicing",
    "transformation",
}  # methods that need no crowd
RESHAPING = {"noisy-aggregates", "sampling-with-fictives", "scope-aggregation", "time-aggregation", "time-slicing"}
REFUSED = {
    "nlk": {"gaps", "one instant"},
    "kp": {"gaps"},
    "sampling-with-fictives": {"gaps"},
    "noisy-aggregates": {"gaps"},
}  # panels a method says it cannot do
UNMEASURED = {
    "interest-loss": {"gaps"},
    "occupancy-error": {"gaps"},
    # With k = 3 the small ones are published in one way, and nothing is left to learn from.
    "prediction": {"gaps", "constant", "n = k", "n = 2k - 1"},
}  # panels a measure says it cannot do


UNATTACKED = {
    "completion": {"one instant", "constant", "gaps"},
    "copies": {"one instant", "constant", "gaps"},
    "nearest-neighbour": {"one instant"},
    "relink": {"one instant"},
}  # panels an attack says it cannot do; those of gaps never change


def example(cls):
    """An instance with 3 for every whole number that has no default, or less where 3 would be impossible."""
    if cls.name in EXAMPLES:
        return cls(**EXAMPLES[cls.name])
    required = [f for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING]
    return cls(**{f.name: SMALLER.get(f.name, K) for f in required})


def repeatable(cls):
    """The same instance, with a seed where it would draw fresh numbers."""
    instance = example(cls)
    return dataclasses.replace(instance, insecure_seed=1) if hasattr(instance, "insecure_seed") else instance


NAMED = [getattr(room, name) for room in (methods, guarantees, attacks, utility) for name in room.__all__]


@pytest.mark.parametrize("cls", [cls for cls in NAMED if hasattr(cls, "name")], ids=lambda cls: cls.name)
def test_parameters_are_values(cls):
    """They compare, hash and pickle by what they are, and tools of the scikit-learn family can copy and vary them."""
    one, other = example(cls), example(cls)
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one
    copied = clone(one)
    assert copied == one
    assert type(copied) is cls
    assert copied.get_params(deep=False) == one.get_params()
    assert one.set_params(**one.get_params()) == one
    assert "\n" not in repr(one)
    with pytest.raises(ParameterError, match=f"{re.escape(cls.name)} has no parameter 'nothing'"):
        one.set_params(nothing=1)


def methods_of(what):
    return [getattr(methods, n) for n in methods.__all__ if getattr(getattr(methods, n), "reads", "series") == what]


def panels_for(cls, refused):
    """The panels that it can do, by name."""
    return {name: panel for name, panel in PANELS.items() if name not in refused.get(cls.name, ())}


@cache
def anonymized(cls, name):
    return example(cls).anonymize(PANELS[name])


@cache
def averaged(name):
    return methods.Microaggregation(k=K).anonymize(PANELS[name]).published


def exported(room):
    return [pytest.param(getattr(room, n), id=n) for n in room.__all__ if hasattr(getattr(room, n), "name")]


ALL = [*exported(methods), *exported(guarantees), *exported(attacks), *exported(utility)]
SERIES = ("values", "releases", "membership")
EVENTS = simulate.events(days=6, per_day=30, seed=2)
rng = np.random.default_rng(11)
PANELS = {
    "plain": Panel(rng.normal(size=(20, 8))),
    "n = k": Panel(rng.normal(size=(K, 4))),
    "n = 2k - 1": Panel(rng.normal(size=(2 * K - 1, 4))),
    "n = 3k - 1": Panel(rng.normal(size=(3 * K - 1, 4))),
    "ties": Panel(rng.integers(0, 2, size=(25, 3)).astype(float)),
    "constant": Panel(np.full((12, 5), 0.1)),
    "one instant": Panel(rng.normal(size=(15, 1))),
    "two channels": Panel(rng.normal(size=(14, 4, 2))),
    "gaps": Panel(np.where(rng.random((16, 6)) < 0.3, np.nan, 1.5)),
    "subjects": Panel(rng.normal(size=(24, 5)), subjects=np.repeat(np.arange(8), 3)),
    "identified": Panel(
        rng.normal(size=(10, 4)), ids=[f"secret-{i}" for i in range(10)], attributes={"zip": range(10)}
    ),
    "three days": Panel(
        rng.normal(size=(9, 12)), times=np.datetime64("2024-01-05T00:00") + np.arange(12) * np.timedelta64(6, "h")
    ),
}
# Measures of days need a clock; only one of the panels has one.
UNMEASURED |= dict.fromkeys(
    ("forecast-error", "mean-day-error", "peak-height-error", "peak-time-error", "seasonality-shift"),
    set(PANELS) - {"three days"},
)
UNMEASURED |= {key: {"one instant"} for key in ("correlation-loss", "ramp-error")}
CANNOT = (
    "need complete series|needs series published in at least 2 ways|needs to know how long a day is|"
    "needs at least 2 instants"
)


@pytest.mark.parametrize("cls", ALL)
class TestEveryone:
    def test_parameters_are_frozen(self, cls):
        instance = example(cls)
        for field in dataclasses.fields(cls):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(instance, field.name, None)

    def test_the_name_is_a_word_for_the_command_line(self, cls):
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", cls.name)

    def test_parameters_are_the_fields_in_plain_types_and_build_it_again(self, cls):
        instance = example(cls)
        names = {field.name for field in dataclasses.fields(cls)}
        assert names - {"seed", "insecure_seed"} <= set(instance.parameters) <= names
        assert cls(**json.loads(json.dumps(instance.parameters))) == instance

    def test_the_docstring_says_what_parameters_mean_and_has_an_example(self, cls):
        entry = next(e for e in catalogue() if e.name == cls.name)
        assert entry.summary.endswith(".")
        assert all(parameter.meaning for parameter in entry.parameters)
        assert ">>>" in cls.__doc__


@pytest.mark.parametrize("cls", methods_of("series"))
class TestMethods:
    def test_it_aims_at_a_guarantee_that_then_checks(self, cls):
        for name in panels_for(cls, REFUSED):
            candidate = anonymized(cls, name)
            aims_at = candidate.guarantee if cls is methods.Steps else example(cls).aims_at
            assert candidate.guarantee == aims_at, name
            assert candidate.check().holds == (aims_at.name != "none"), name
            if not aims_at.needs_originals:
                assert candidate.check() == aims_at.check(candidate.published), name

    def test_it_is_deterministic_and_leaves_its_input_untouched(self, cls):
        for name, panel in panels_for(cls, REFUSED).items():
            before = panel.digest()
            first, second = (repeatable(cls).anonymize(panel) for _ in range(2))
            assert first.published.digest() == second.published.digest(), name
            assert panel.digest() == before, name

    def test_watching_changes_nothing_and_ends_with_everything_done(self, cls):
        told = []
        watched = repeatable(cls).anonymize(PANELS["plain"], progress=lambda done, total: told.append((done, total)))
        assert watched.published.digest() == repeatable(cls).anonymize(PANELS["plain"]).published.digest()
        assert all(0 <= done <= total for done, total in told)
        assert not told or told[-1][0] == told[-1][1]

    def test_no_identifier_or_static_column_is_in_what_would_be_published(self, cls):
        for name, panel in panels_for(cls, REFUSED).items():
            published = anonymized(cls, name).published
            if isinstance(published, Profiles):
                assert published.names == tuple(str(place) for place in range(published.n_groups)), name
            else:
                assert published.ids.tolist() == list(range(published.n_series)), name
            assert getattr(published, "attributes", {}) == getattr(published, "sensitive", {}) == {}, name
            if cls.name not in RESHAPING:
                assert_array_equal(published.times, panel.times)

    def test_no_seed_is_in_the_recipe_of_a_method_that_hides_by_chance(self, cls):
        for name in panels_for(cls, REFUSED):
            candidate = anonymized(cls, name)
            if candidate.guarantee.name in UNSEEN or cls.name in RESHAPING:
                assert "seed" not in json.dumps(candidate.recipe.parameters), name

    def test_every_published_row_says_which_original_it_stands_for(self, cls):
        for name, panel in panels_for(cls, REFUSED).items():
            candidate = anonymized(cls, name)
            rows = candidate.stands_for
            assert -1 <= rows.min() <= rows.max() < panel.n_series, name
            if isinstance(candidate.published, Panel):
                assert len(rows) == candidate.published.n_series, name
            assert candidate.curves.values.shape == candidate.originals.values.shape, name
            assert len(candidate.private.groups) == panel.n_series, name


@pytest.mark.parametrize(("method", "name"), [(method, name) for method in REFUSED for name in sorted(REFUSED[method])])
def test_what_a_method_cannot_do_it_refuses(method, name):
    cls = next(m for m in (getattr(methods, n) for n in methods.__all__) if m.name == method)
    with pytest.raises(ParameterError, match="needs"):
        example(cls).anonymize(PANELS[name])


@pytest.mark.parametrize("cls", methods_of("events"))
class TestMethodsForEvents:
    def test_it_aims_at_a_guarantee_that_then_checks(self, cls):
        method = example(cls)
        candidate = method.anonymize(EVENTS)
        assert candidate.guarantee == method.aims_at
        assert candidate.guarantees == (method.aims_at,)
        assert candidate.check().holds
        assert candidate.check() == method.aims_at.check(candidate.published)

    def test_it_repeats_with_a_seed_and_leaves_its_input_untouched(self, cls):
        before = EVENTS.frame
        first, second = (dataclasses.replace(example(cls), seed=1).anonymize(EVENTS).published for _ in range(2))
        assert first.records.equals(second.records)
        assert EVENTS.frame.equals(before)

    def test_watching_ends_with_everything_done(self, cls):
        told = []
        example(cls).anonymize(EVENTS, progress=lambda done, total: told.append((done, total)))
        assert told == sorted(told)
        assert told[-1] == (len(EVENTS), len(EVENTS))

    def test_no_identifier_is_in_what_would_be_published(self, cls):
        published = example(cls).anonymize(EVENTS).published
        assert "id" not in published.records.columns
        assert published.quasi == EVENTS.quasi

    def test_it_refuses_series_and_events_that_are_too_few(self, cls):
        with pytest.raises(ParameterError, match="needs events"):
            example(cls).anonymize(PANELS["plain"])
        with pytest.raises(ParameterError, match="the events have 1"):
            example(cls).anonymize(Events(EVENTS.frame.head(1), sensitive="diagnosis"))


@pytest.mark.parametrize("cls", [cls for cls in methods_of("series") if cls.name not in ANY_SIZE])
def test_a_method_refuses_a_panel_that_is_too_small(cls):
    with pytest.raises(ParameterError, match="the panel has 2"):
        example(cls).anonymize(Panel(np.ones((2, 3))))


def sixty_in_groups_of_twenty():
    """A candidate with a sensitive column, for guarantees that judge one."""
    candidate = methods.Microaggregation(k=20).anonymize(Panel(np.random.default_rng(0).random((60, 4)) + 1))
    return dataclasses.replace(candidate, published=Panel(candidate.values, sensitive={"illness": np.arange(60)}))


def checkable():
    return [param for param in exported(guarantees) if param.values[0].name not in UNSEEN]


@pytest.mark.parametrize("cls", [p for p in exported(guarantees) if p.values[0].name in UNSEEN])
def test_what_published_values_cannot_show_does_not_hold_on_them(cls):
    for subject in (sixty_in_groups_of_twenty(), sixty_in_groups_of_twenty().published):
        verdict = example(cls).check(subject)
        assert not verdict.holds
        assert verdict.measured is None
        assert verdict.note
    assert example(cls).needs_originals


@pytest.mark.parametrize("cls", checkable())
class TestGuarantees:
    def test_it_checks_a_panel_and_a_candidate(self, cls):
        candidate = sixty_in_groups_of_twenty()
        for subject in (candidate, candidate.published):
            verdict = example(cls).check(subject)
            assert bool(verdict) is verdict.holds
            json.dumps(dataclasses.asdict(verdict))
        assert example(cls).check(candidate).holds

    def test_sabotage_is_refused_with_a_witness(self, cls):
        candidate = sixty_in_groups_of_twenty()
        values = candidate.values.copy()
        values[17, 1:3] += 0.5
        spoiled = dataclasses.replace(candidate, published=Panel(values, sensitive=candidate.published.sensitive))
        verdict = example(cls).check(spoiled)
        assert not verdict.holds
        assert verdict.witness == 17 or verdict.witness["series"] == 17


@pytest.mark.parametrize("cls", exported(guarantees))
def test_the_certificate_can_build_a_guarantee_again(cls):
    instance = example(cls)
    assert build_guarantee(instance.name, instance.parameters) == instance
    assert instance.statement.endswith(".")
    assert isinstance(instance.needs_originals, bool)


def test_a_guarantee_nobody_knows_is_refused():
    with pytest.raises(ShoalError, match="Unknown guarantee 'magic'"):
        build_guarantee("magic", {})
    with pytest.raises(ShoalError, match="does not take these parameters: q"):
        build_guarantee("k-anonymity", {"q": 1})


def measures_of(what):
    return [param for param in exported(utility) if param.values[0].judges == what]


@pytest.mark.parametrize("cls", [*measures_of("values"), *measures_of("groups"), *measures_of("models")])
class TestMeasures:
    def test_the_score_is_in_its_range_repeatable_and_leaves_its_input_untouched(self, cls):
        for name, panel in panels_for(cls, UNMEASURED).items():
            published = averaged(name)
            before = panel.digest(), published.digest()
            score = example(cls).measure(panel, published)
            assert score.range[0] <= score.value <= score.range[1], name
            assert score.unit == example(cls).unit, name
            assert score.unit in get_args(Unit), name
            assert example(cls).measure(panel, published) == score, name
            assert (panel.digest(), published.digest()) == before, name

    def test_the_order_of_the_rows_does_not_matter(self, cls):
        for name, panel in panels_for(cls, UNMEASURED).items():
            order = np.random.default_rng(3).permutation(panel.n_series)
            shuffled = example(cls).measure(panel.take(order), averaged(name).take(order))
            assert shuffled.value == pytest.approx(example(cls).measure(panel, averaged(name)).value), name


@pytest.mark.parametrize(("measure", "name"), [(m, name) for m in UNMEASURED for name in sorted(UNMEASURED[m])])
def test_what_a_measure_cannot_do_it_refuses(measure, name):
    cls = next(m for m in (getattr(utility, n) for n in utility.__all__) if m.name == measure)
    with pytest.raises(ShoalError, match=CANNOT):
        example(cls).measure(PANELS[name], averaged(name))


@pytest.mark.parametrize("cls", measures_of("events"))
def test_a_measure_of_events_is_in_its_range_and_repeats(cls):
    published = methods.Reposition(l=2, window=2, seed=1).anonymize(EVENTS).published
    score = example(cls).measure(EVENTS, published)
    assert score.range[0] <= score.value <= score.range[1]
    assert example(cls).measure(EVENTS, published) == score
    assert cls.meaning


@pytest.mark.parametrize("cls", measures_of("values"))
def test_nothing_beats_publishing_the_originals(cls):
    for name, panel in panels_for(cls, UNMEASURED).items():
        best = example(cls).measure(panel, panel)
        assert not example(cls).measure(panel, averaged(name)).better_than(best), name


@pytest.mark.parametrize("cls", measures_of("groups"))
def test_of_the_published_values_only_the_groups_matter(cls):
    for name, panel in PANELS.items():
        values = np.empty(panel.values.shape)
        values[:] = published_classes(averaged(name)).reshape(-1, *[1] * (values.ndim - 1))
        expected = example(cls).measure(panel, averaged(name)).value
        assert example(cls).measure(panel, Panel(values)).value == pytest.approx(expected), name


@pytest.mark.parametrize("cls", measures_of("groups"))
def test_groups_that_belong_together_beat_groups_drawn_by_chance(cls):
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(6), 5)
    panel = Panel(rng.normal(size=(30, 4)) + 20.0 * rng.normal(size=(6, 4))[group])
    together, by_chance = (Panel(np.repeat(g[:, None], 4, axis=1)) for g in (group, rng.permutation(group)))
    assert example(cls).measure(panel, together).better_than(example(cls).measure(panel, by_chance))


@pytest.mark.parametrize("cls", exported(attacks))
def test_an_attack_says_what_it_is_against_and_what_the_adversary_holds(cls):
    attack = example(cls)
    assert attack.against in ("values", "slices", "releases", "membership", "envelopes", "events")
    assert re.fullmatch(r"[A-Z].*\.", attack.knows)
    assert cls.meaning
    assert cls.answers
    assert set(cls.answers) <= set(QUESTIONS)


def attacked(cls, panel, published, **more):
    """The attack on a release in which each series stands for its original; of slices, each of which is there twice."""
    attack = example(cls)
    if cls.against == "releases":
        return attack.attack(panel, [published, published], **more)
    if cls.against == "slices":
        twice = np.repeat(np.arange(panel.n_series), 2)
        return attack.attack(panel, Panel(published.values[twice], times=published.times), rows=twice, **more)
    if cls.name == "membership":
        more["outside"] = Panel(panel.values + 1.0, times=panel.times)
    return attack.attack(panel, published, **more)


@pytest.mark.parametrize("cls", [p for p in exported(attacks) if p.values[0].against in ("slices", *SERIES)])
def test_every_risk_has_all_figures_and_repeats_and_an_outsider_finds_at_most_one_in_k(cls):
    for name, panel in panels_for(cls, UNATTACKED).items():
        published = averaged(name)
        before = panel.digest(), published.digest()
        risk = attacked(cls, panel, published)
        assert attacked(cls, panel, published) == risk, name
        assert (panel.digest(), published.digest()) == before, name
        assert risk.interval.low <= risk.success <= risk.interval.high, name
        assert risk.baseline_interval.low <= risk.baseline <= risk.baseline_interval.high, name
        assert 0.0 <= risk.prosecutor <= 1.0, name
        assert 0.0 <= risk.confidence <= 1.0, name
        assert (risk.control is None) == (risk.control_interval is None), name
        assert risk.control is None or cls.control, name
        assert all(isinstance(position, int) and 0 <= position < panel.n_series for position in risk.worst), name
        json.dumps(dataclasses.asdict(risk))
        assert all(0.0 <= getattr(risk, figure) <= 1.0 for figure in cls.answers.values()), name
        if isinstance(risk, attacks.LinkRisk) and cls.against == "values" and panel.one_series_per_subject:
            assert risk.highest <= 1 / K, name
        assert re.fullmatch(r"(The table repeats .*\. )?Some(one|body) who .*\.", risk.sentence), name


@pytest.mark.parametrize("cls", [p for p in exported(attacks) if p.values[0].against in SERIES])
def test_an_attack_tells_no_value_and_no_identity(cls):
    """Values and identifiers that would be recognised in any text."""
    values = 7919.0 + np.random.default_rng(5).random((12, 6))
    panel = Panel(values, ids=[f"secret-{i}" for i in range(12)], subjects=[f"person-{i}" for i in range(12)])
    risk = attacked(cls, panel, Panel(values))
    text = f"{risk!r} {risk.sentence} {example(cls)!r} {example(cls).knows}"
    assert not re.search(r"secret|person|79(19|2\d)", text)
    # Some need nobody to say who is who: these do not know what to do with other channels.
    other = Panel(values[:5]) if getattr(cls, "needs_rows", True) else Panel(np.stack([values, values], axis=2))
    with pytest.raises(ParameterError) as refused:
        example(cls).attack(panel, [other] if cls.against == "releases" else other)
    assert not re.search(r"secret|person|79(19|2\d)", str(refused.value))
