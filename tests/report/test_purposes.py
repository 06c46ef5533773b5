"""Utility figures under their purpose: order, leftovers, and certificates that say nonsense."""

from __future__ import annotations

import pytest

from shoal.report.page import OTHERS, by_purpose

SCORES = [{"key": name} for name in ("load-error", "sse", "silhouette")]


def keys(found):
    return [(purpose, [score["key"] for score in scores]) for purpose, scores in found]


def test_without_purposes_the_figures_stand_together():
    assert keys(by_purpose({}, SCORES)) == [("", ["load-error", "sse", "silhouette"])]
    assert by_purpose({}, []) == []


def test_each_figure_stands_once_under_the_first_purpose_that_lists_it():
    process = {"purposes": {"clusters": ["silhouette", "gone"], "values": ["sse", "silhouette"], "none": []}}
    found = keys(by_purpose({"process": process}, SCORES))
    assert found == [("Clusters", ["silhouette"]), ("Values", ["sse"]), (OTHERS, ["load-error"])]


@pytest.mark.parametrize(
    "purposes", [3, ["sse"], {"values": 3}, {"values": [["sse"], None]}], ids=["number", "list", "no-names", "no-text"]
)
def test_purposes_that_are_none_lose_no_figure(purposes):
    assert keys(by_purpose({"process": {"purposes": purposes}}, SCORES)) == [("", ["load-error", "sse", "silhouette"])]
