"""The report shows what was tried, whatever the certificate holds."""

import json

import pytest

from shoal.report import render
from shoal.report.search import attack_curves, search_part

PROCESS = {
    "scenario": "prosecutor",
    "limits": {"risk": 0.09, "utility": {"information-loss": {"at_most": 0.3}}},
    "measure": "information-loss",
    "points": [
        {"parameters": {"k": 4}, "risk": 0.25, "utility": {"information-loss": 0.1}, "meets": False},
        {"parameters": {"k": 12}, "risk": 0.083, "utility": {"information-loss": 0.2}, "meets": True},
        {"parameters": {"k": 16}, "risk": 0.06, "utility": {"information-loss": 0.25}, "meets": True},
        {"parameters": {"k": 900}, "refused": "k=900 needs at least 900 subjects."},
    ],
    "chosen": {"k": 12},
    "sentence": "Chosen: k = 12.",
}


def page(process, audience="publisher"):
    return render({"counts": {"subjects": 50}, "guarantees": [], "figures": {"process": process}}, audience)


def test_every_point_is_in_the_table_with_what_became_of_it():
    part = search_part({"process": PROCESS})
    assert [(point["name"], point["kind"]) for point in part["points"]] == [
        ("k = 4", "beyond"),
        ("k = 12", "chosen"),
        ("k = 16", "good"),
        ("k = 900", "refused"),
    ]
    assert "What was tried" not in page(PROCESS, "public")
    assert "k = 16" not in page(PROCESS, "public")
    text = page(PROCESS)
    assert "What was tried" in text
    assert "Chosen: k = 12." in text
    assert "k=900 needs at least 900 subjects." in text
    assert 'data-plot="search"' in text


def test_the_plot_has_the_points_that_have_figures_and_the_limits():
    plot = search_part({"process": PROCESS})["plot"]
    assert plot["x"] == [0.25, 0.083, 0.06]
    assert plot["y"] == [0.1, 0.2, 0.25]
    assert (plot["limit"], plot["bounds"]) == (0.09, [0.3])


def test_the_scenario_is_said_in_words():
    assert "the target the adversary may be surest of" in page(PROCESS)
    assert "share of all targets" in page(PROCESS | {"scenario": "journalist"})


def test_without_a_search_there_is_no_such_part():
    assert search_part({}) is None
    assert "What was tried" not in render({"counts": {}, "guarantees": []})


@pytest.mark.parametrize(
    "process",
    [
        "text",
        {"points": "text"},
        {"points": []},
        {"points": [1, None, "x"]},
        {"points": [{}]},
        {"points": [{"parameters": 3, "utility": 4, "risk": "much"}], "limits": 5, "measure": 6},
        {"points": [{"parameters": {"k": float("nan")}, "risk": float("inf"), "utility": {"x": None}}], "measure": "x"},
        {"points": [{"risk": 1e308, "utility": {"m": 1}}, {"risk": True, "utility": {"m": 1}}], "measure": "m"},
    ],
)
def test_a_process_that_is_none_does_no_harm(process):
    page(process)


def test_text_of_the_certificate_is_escaped_and_cut():
    hostile = json.loads(json.dumps(PROCESS))
    hostile["sentence"] = "<script>alert(1)</script>" + "x" * 5000
    hostile["points"][0]["parameters"] = {"</script><script>alert(2)</script>": "y" * 5000}
    hostile["points"] = hostile["points"] * 1000
    text = page(hostile)
    assert "<script>alert" not in text
    assert "x" * 1000 not in text
    assert "y" * 1000 not in text
    assert len(text.encode()) < 5_000_000


CURVES = {"known-points": {"along": "readings known", "at": [1, 5, 20], "success": [0.01, 0.02, 0.08]}}


def test_the_curve_of_each_attack_is_drawn_and_said():
    text = page(PROCESS | {"curves": CURVES})
    # Without risks there is no part on attacks, and so no curve.
    assert 'data-plot="curve"' not in text
    risk = {"known-points": {"success": 0.02, "sentence": "Somebody who holds <b>readings</b> finds 2 %."}}
    certificate = {"counts": {}, "guarantees": [], "figures": {"process": PROCESS | {"curves": CURVES}}, "risk": risk}
    text = render(certificate)
    assert text.count('data-plot="curve"') == 1
    assert "The chance is 1 % at 1, 8 % at 20." in text
    assert "Somebody who holds &lt;b&gt;readings" in text


@pytest.mark.parametrize(
    "curves",
    [
        "x",
        {"a": 1},
        {"a": {"at": [1, 2], "success": [0.1]}},
        {"a": {"at": ["1", 2], "success": [0.1, 0.2]}},
        {"a": {"at": [1, 2], "success": [0.1, 7]}},
        {"a": {"at": 3, "success": None}},
    ],
)
def test_a_curve_that_is_none_is_left_out(curves):
    assert attack_curves({"process": {"curves": curves}}) == []
