"""What every exported method, guarantee and measure must do. A new one is tested by being exported."""

import dataclasses
import json
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from shoal import Events, Panel, attacks, guarantees, methods, simulate, utility
from shoal.errors import ParameterError, ShoalError
from shoal.guarantees import build_guarantee
from shoal.guarantees.crowds import published_classes
from shoal.process import catalogue

K = 3


SMALLER = {"n": 1, "l": 2}  # known instants, and those to protect
REFUSED = {
    "nlk": {"gaps", "subjects", "one instant"},
    "kp": {"gaps", "subjects", "two channels"},
}  # panels a method says it cannot do


def example(cls):
    """An instance with 3 for every whole number that has no default, or less where 3 would be impossible."""
    required = [f for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING]
    return cls(**{f.name: SMALLER.get(f.name, K) for f in required})


def methods_of(what):
    return [getattr(methods, n) for n in methods.__all__ if getattr(getattr(methods, n), "reads", "series") == what]


def methods_and_panels():
    return [
        pytest.param(method, panel, id=f"{method.name}-{name}")
        for method in methods_of("series")
        for name, panel in PANELS.items()
        if name not in REFUSED.get(method.name, ())
    ]


def exported(room):
    return [pytest.param(getattr(room, n), id=n) for n in room.__all__ if hasattr(getattr(room, n), "name")]


ALL = [*exported(methods), *exported(guarantees), *exported(attacks), *exported(utility)]
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
}


@pytest.mark.parametrize("cls", ALL)
class TestEveryone:
    def test_parameters_are_frozen(self, cls):
        instance = example(cls)
        for field in dataclasses.fields(cls):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(instance, field.name, None)

    def test_the_name_is_a_word_for_the_command_line(self, cls):
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", cls.name)

    def test_parameters_are_plain_and_build_it_again(self, cls):
        instance = example(cls)
        assert cls(**json.loads(json.dumps(instance.parameters))) == instance

    def test_the_docstring_says_what_parameters_mean_and_has_an_example(self, cls):
        entry = next(e for e in catalogue() if e.name == cls.name)
        assert entry.summary.endswith(".")
        assert all(parameter.meaning for parameter in entry.parameters)
        assert ">>>" in cls.__doc__


@pytest.mark.parametrize(("cls", "panel"), methods_and_panels())
class TestMethods:
    def test_it_aims_at_a_guarantee_that_then_checks(self, cls, panel):
        method = example(cls)
        candidate = method.anonymize(panel)
        assert candidate.guarantee == method.aims_at
        assert candidate.check().holds
        assert candidate.check() == method.aims_at.check(candidate.published)

    def test_it_is_deterministic_and_leaves_its_input_untouched(self, cls, panel):
        before = panel.digest()
        first, second = (example(cls).anonymize(panel) for _ in range(2))
        assert first.published.digest() == second.published.digest()
        assert panel.digest() == before

    def test_rows_stay_in_the_panels_order(self, cls, panel):
        candidate = example(cls).anonymize(panel)
        order = np.random.default_rng(3).permutation(panel.n_series)
        assert candidate.curves.values.shape == candidate.originals.values.shape
        assert len(order) == len(candidate.private.groups)

    def test_no_identifier_or_static_column_is_in_what_would_be_published(self, cls, panel):
        published = example(cls).anonymize(panel).published
        assert published.ids.tolist() == list(range(published.n_series))
        assert getattr(published, "attributes", {}) == getattr(published, "sensitive", {}) == {}
        assert_array_equal(published.times, panel.times)


@pytest.mark.parametrize(("method", "name"), [(method, name) for method in REFUSED for name in REFUSED[method]])
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

    def test_no_identifier_is_in_what_would_be_published(self, cls):
        published = example(cls).anonymize(EVENTS).published
        assert "id" not in published.records.columns
        assert published.quasi == EVENTS.quasi

    def test_it_refuses_series_and_events_that_are_too_few(self, cls):
        with pytest.raises(ParameterError, match="needs events"):
            example(cls).anonymize(PANELS["plain"])
        with pytest.raises(ParameterError, match="the events have 1"):
            example(cls).anonymize(Events(EVENTS.frame.head(1), sensitive="diagnosis"))


@pytest.mark.parametrize("cls", methods_of("series"))
def test_a_method_refuses_a_panel_that_is_too_small(cls):
    with pytest.raises(ParameterError, match="the panel has 2"):
        example(cls).anonymize(Panel(np.ones((2, 3))))


def sixty_in_groups_of_twenty():
    """A candidate with a sensitive column, for guarantees that judge one."""
    candidate = methods.Microaggregation(k=20).anonymize(Panel(np.random.default_rng(0).random((60, 4)) + 1))
    return dataclasses.replace(candidate, published=Panel(candidate.values, sensitive={"illness": np.arange(60)}))


@pytest.mark.parametrize("cls", exported(guarantees))
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

    def test_the_certificate_can_build_it_again(self, cls):
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


@pytest.mark.parametrize("cls", [*measures_of("values"), *measures_of("groups")])
@pytest.mark.parametrize("panel", [pytest.param(panel, id=name) for name, panel in PANELS.items()])
class TestMeasures:
    def test_the_score_is_in_its_range_repeatable_and_leaves_its_input_untouched(self, cls, panel):
        published = methods.Microaggregation(k=K).anonymize(panel).published
        before = panel.digest(), published.digest()
        score = example(cls).measure(panel, published)
        assert score.range[0] <= score.value <= score.range[1]
        assert example(cls).measure(panel, published) == score
        assert (panel.digest(), published.digest()) == before
        assert cls.meaning
        assert cls.judges in ("values", "groups")

    def test_the_order_of_the_rows_does_not_matter(self, cls, panel):
        published = methods.Microaggregation(k=K).anonymize(panel).published
        order = np.random.default_rng(3).permutation(panel.n_series)
        shuffled = example(cls).measure(Panel(panel.values[order]), Panel(published.values[order]))
        assert shuffled.value == pytest.approx(example(cls).measure(panel, published).value)


@pytest.mark.parametrize("cls", measures_of("events"))
def test_a_measure_of_events_is_in_its_range_and_repeats(cls):
    published = methods.Reposition(l=2, window=2, seed=1).anonymize(EVENTS).published
    score = example(cls).measure(EVENTS, published)
    assert score.range[0] <= score.value <= score.range[1]
    assert example(cls).measure(EVENTS, published) == score
    assert cls.meaning


@pytest.mark.parametrize("cls", measures_of("values"))
@pytest.mark.parametrize("panel", [pytest.param(panel, id=name) for name, panel in PANELS.items()])
def test_nothing_beats_publishing_the_originals(cls, panel):
    published = methods.Microaggregation(k=K).anonymize(panel).published
    assert not example(cls).measure(panel, published).better_than(example(cls).measure(panel, panel))


@pytest.mark.parametrize("cls", measures_of("groups"))
@pytest.mark.parametrize("panel", [pytest.param(panel, id=name) for name, panel in PANELS.items()])
def test_of_the_published_values_only_the_groups_matter(cls, panel):
    published = methods.Microaggregation(k=K).anonymize(panel).published
    values = np.empty(panel.values.shape)
    values[:] = published_classes(published).reshape(-1, *[1] * (values.ndim - 1))
    expected = example(cls).measure(panel, published).value
    assert example(cls).measure(panel, Panel(values)).value == pytest.approx(expected)


@pytest.mark.parametrize("cls", measures_of("groups"))
def test_groups_that_belong_together_beat_groups_drawn_by_chance(cls):
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(6), 5)
    panel = Panel(rng.normal(size=(30, 4)) + 20.0 * rng.normal(size=(6, 4))[group])
    together, by_chance = (Panel(np.repeat(g[:, None], 4, axis=1)) for g in (group, rng.permutation(group)))
    assert example(cls).measure(panel, together).better_than(example(cls).measure(panel, by_chance))
