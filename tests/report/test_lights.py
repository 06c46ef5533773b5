"""A light shows the highest figure there is, and is green only below a limit that somebody stated."""

import pytest

from report.samples import certificate_of
from shoal.report.lights import _at_most, lights
from shoal.report.page import facts_of
from shoal.report.units import data_unit, score_text, unit_of

POINTS = {
    "success": 0.04,
    "interval": {"low": 0.02, "high": 0.07, "level": 0.95},
    "baseline": 0.002,
    "n_targets": 500,
    "prosecutor": 0.06,
    "control": 0.9,
    "inferred": 0.01,
    "inferred_baseline": 0.008,
    "sentence": "Somebody who holds five readings finds a target.",
}


def three(figures=None, **changes):
    return {light["name"]: light for light in lights(facts_of(certificate_of(figures or {}, **changes)))}


def attacked(limit=0.09, scenario="prosecutor", **figures):
    """The lights of a release with several series for a subject, of which nothing is proven."""
    process = {"process": {"limits": {"risk": limit}, "scenario": scenario}} if limit is not None else {}
    return three(figures=process, risk={"known-points": POINTS | figures})


def test_a_light_says_where_an_attack_is_no_better_than_guessing():
    assert attacked(success=0.04, baseline=0.04)["Singling out"]["guess_text"] == "no better than guessing, 4 %"
    assert attacked(success=0.04, baseline=0.03)["Singling out"]["guess_text"] == "guessing 3 %"


def test_an_attack_feeds_the_lights_it_answers_and_the_others_say_how_to_get_a_figure():
    found = attacked()
    one = found["Singling out"]
    assert (one["figure"], one["limit_text"], one["interval_text"], one["guess_text"]) == (
        "4 %",
        "publisher's limit 9 %",
        "2 % to 7 %",
        "guessing 0.2 %",
    )
    fits = "of the targets have someone else's series that fits them just as well"
    assert one["control"] == f"90 % {fits}, so a match says little"
    assert attacked(control=0.2)["Singling out"]["control"] == f"20 % {fits}"
    assert one["sentence"] == POINTS["sentence"]  # of another kind than ours, which is shortened
    assert found["Inference"]["figure"] == "1 %"
    assert found["Inference"]["guess_text"] == "guessing 0.8 %"
    assert found["Inference"]["interval_text"] == "0.43 % to 2.3 %"  # Wilson's, of 500 targets
    assert found["Linkability"]["figure"] == ""
    assert found["Linkability"]["none"] == "Not measured"
    assert "shoal run" in found["Linkability"]["sentence"]


def test_an_interval_of_what_is_inferred_counts_subjects_not_their_series():
    counts = certificate_of({})["counts"] | {"series": 500, "subjects": 20}
    found = three(counts=counts, risk={"known-points": POINTS})["Inference"]
    assert found["interval_text"] == "less than 0.1 % to 18 %"  # Wilson's, of 20


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "within"),
        ({"limit": None}, "open"),
        ({"limit": 1.0}, "open"),
        ({"limit": 0.065}, "above"),  # the upper end of the interval, not the figure, is held against it
        ({"prosecutor": 0.1}, "above"),
        ({"prosecutor": 0.1, "scenario": "journalist"}, "within"),
        ({"success": 0.09, "interval": {"low": 0.09, "high": 0.09}}, "within"),
    ],
)
def test_a_light_is_green_only_where_all_of_it_is_below_a_stated_limit(changes, state):
    assert attacked(**changes)["Singling out"]["state"] == state


def test_a_limit_that_was_not_meant_for_a_figure_is_said_to_be_none():
    found = attacked(inferred=0.3)["Inference"]
    assert found["state"] == "above"
    assert found["sentence"].endswith("this figure has no limit of its own.")
    assert "no limit of its own" not in attacked(limit=0.01)["Singling out"]["sentence"]


def test_a_sentence_of_an_attack_does_not_repeat_the_figures_beside_it():
    told = "Somebody who holds 5 readings finds a target's own series with a chance of 4 % (95 % interval 2 to 7 %)."
    found = attacked(sentence=told)["Singling out"]["sentence"]
    assert found == (
        "Someone who knows 5 readings finds a target's own series in this share of 500 attempts; where they look "
        "surest, in 6 %."
    )


def test_of_several_attacks_the_one_that_may_achieve_most_is_shown():
    totals = POINTS | {"success": 0.05, "interval": {"low": 0.04, "high": 0.06}, "prosecutor": 0.05}
    near = POINTS | {"success": 0.03, "interval": {"low": 0.01, "high": 0.08}, "prosecutor": 0.03}
    found = three(risk={"known-totals": totals, "nearest-neighbour": near, "another": POINTS | {"success": 1.0}})
    assert (found["Linkability"]["figure"], found["Linkability"]["others"]) == (
        "3 %",
        "knowing totals of a subject, as on a bill, 5 %",
    )
    assert found["Singling out"]["figure"] == ""


def one_series_each(figures=None, **changes):
    certificate = certificate_of(figures or {}, **changes)
    certificate["counts"] |= {"series": 12_001, "subjects": 12_001}
    certificate["columns"] = {"published": ["id", "time", "value"], "channels": ["kwh"], "withheld": 2}
    return certificate


def test_a_crowd_that_was_counted_is_a_proof():
    (light, *others) = lights(facts_of(one_series_each()))
    assert (light["figure"], light["limit_text"], light["state"]) == (
        "at most 8.4 %",
        "promised: at most 10 %",
        "within",
    )
    assert "at least 11 other subjects" in light["sentence"]
    assert [other["figure"] for other in others] == ["", ""]


def test_by_the_same_proof_chance_adds_nothing_to_a_link():
    lucky = {"known-points": POINTS | {"success": 0.08, "interval": {"low": 0.06, "high": 0.11}, "prosecutor": 0.3}}
    process = {"process": {"limits": {"risk": 0.09}, "scenario": "prosecutor"}}
    (light, *_) = lights(facts_of(one_series_each(risk=lucky, figures=process)))
    assert (light["figure"], light["state"]) == ("8 %", "within")
    assert three(risk=lucky, figures=process)["Singling out"]["state"] == "above"


@pytest.mark.parametrize(
    "changes",
    [
        {"pseudonyms": "keyed"},
        {"columns": {"published": ["id", "time", "value", "tariff"], "channels": ["kwh"]}},
        {"columns": {"published": ["id", "time", "value"], "channels": ["kwh"], "sensitive": {"income": "number"}}},
        {"counts": {"series": 12_345, "subjects": 12_001}},
    ],
)
def test_nothing_is_proven_where_rows_may_be_told_apart_otherwise(changes):
    certificate = one_series_each() | changes
    assert lights(facts_of(certificate))[0]["figure"] == ""


@pytest.mark.parametrize(("grown", "figure"), [(1, "at most 10 %"), (0, "")])
def test_keyed_names_prove_a_crowd_only_where_a_growing_panel_judged_all_releases(grown, figure):
    certificate = one_series_each() | {"pseudonyms": "keyed"}
    (one, *_) = certificate["guarantees"]
    certificate["guarantees"] = [one, one | {"name": "sequence-anonymity", "parameters": {"k": 10}}]
    certificate["method"] = {"name": "microaggregation", "figures": {"release_of_sequence": grown}}
    assert lights(facts_of(certificate))[0]["figure"] == figure


def test_published_attributes_are_part_of_what_is_alike():
    columns = {"published": ["id", "time", "value", "tariff"], "channels": ["kwh"], "attributes": {"tariff": "text"}}
    assert lights(facts_of(one_series_each() | {"columns": columns}))[0]["figure"] == "at most 8.4 %"


def test_a_guarantee_that_does_not_hold_proves_nothing():
    certificate = one_series_each()
    certificate["guarantees"][0]["verdict"]["holds"] = False
    assert lights(facts_of(certificate))[0]["figure"] == ""


def test_figures_have_units():
    facts = facts_of(one_series_each())
    said = {
        ("share", 0.3123): "31.2 %",
        ("share", 8.68e-16): "0 %",
        ("hours", 0.5833): "35 min",
        ("hours", 3.42): "3.4 hours",
        ("instants", 1.5): "90 min",
        ("data", 0.2134): "0.213 kWh",
        ("decibel", 12.34): "12.3 dB",
        ("times", 1.234): "1.23 times",
        ("number", -0.25): "−0.25",
    }
    for (unit, value), text in said.items():
        assert score_text({"value": value, "unit": unit, "range": [0.0, 1.0]}, facts) == text
    other = facts_of(certificate_of({}, time={"step": "1"}))
    assert data_unit(other) == ""
    assert score_text({"value": 2.0, "unit": "data"}, other) == "2 in the unit of the data"
    assert score_text({"value": 2.0, "unit": "instants"}, other) == "2 instants"
    assert [unit_of(name) for name in ("wh_and_kwh", "loadings", "Temp.degC")] == ["", "", "°C"]


@pytest.mark.parametrize(
    ("k", "told"), [(8, "13 %"), (10, "10 %"), (3, "34 %"), (64, "1.6 %"), (7, "15 %"), (1, "100 %")]
)
def test_a_bound_is_rounded_up(k, told):
    assert _at_most(1 / k) == told
    assert float(told.removesuffix(" %")) / 100 >= 1 / k - 1e-15
