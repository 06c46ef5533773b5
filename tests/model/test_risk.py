"""Intervals of shares, and what a risk may hold."""

import polars as pl
import pytest

from shoal import Events, Panel
from shoal.attacks import Homogeneity, Linkage
from shoal.errors import ParameterError
from shoal.model import Envelopes, EventTables, Interval, Risk


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 20, 0.0, 0.1611), (20, 20, 0.8389, 1.0), (10, 20, 0.2993, 0.7007), (1, 10, 0.0179, 0.4042)],
)
def test_wilsons_interval_is_that_of_the_tables(hits, n, low, high):
    found = Interval.wilson(hits / n, n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)
    assert found.low <= hits / n <= found.high


def test_a_wider_level_is_wider_and_more_targets_are_narrower():
    usual = Interval.wilson(0.3, 50)
    assert Interval.wilson(0.3, 50, level=0.99).low < usual.low < Interval.wilson(0.3, 500).low


def test_what_was_worked_out_is_a_point():
    assert Interval.exactly(0.25) == Interval(0.25, 0.25, level=1.0)


@pytest.mark.parametrize(("n", "level"), [(0, 0.95), (10, 0.0), (10, 1.0)])
def test_an_interval_of_nothing_is_refused(n, level):
    with pytest.raises(ParameterError, match="at least 1 target and a level between 0 and 1"):
        Interval.wilson(0.5, n, level)


@pytest.mark.parametrize("name", ["prosecutor", "control", "confidence"])
def test_further_figures_are_shares_too(name):
    with pytest.raises(ParameterError, match=f"{name} is a share"):
        Risk(0.5, Interval(0, 1), 0.1, Interval(0, 1), 3, **{name: 1.5})


def test_the_journalist_is_after_all_targets():
    assert Risk(0.5, Interval(0, 1), 0.1, Interval(0, 1), 3, prosecutor=1.0).journalist == 0.5


def test_envelopes_and_events_are_judged_in_the_same_words():
    original = Panel([[1.0, 2.0], [2.0, 3.0], [4.0, 1.0], [5.0, 2.0]])
    low, high = [[1.0, 1.0]] * 4, [[5.0, 3.0]] * 4
    published = Envelopes(low, high, levels=[2] * 4, patterns=["ab", "ab", "ba", "ba"], times=[0, 1])
    risk = Linkage().attack(original, published)
    assert risk.prosecutor == risk.highest == 0.5
    assert risk.sentence == (
        "Someone who knows the values at all published instants and the published word of a target learns what is at "
        "stake with a chance of 50 % (4 targets), 50 % for the one most at risk; by guessing 25 %."
    )
    table = pl.DataFrame({"time": [0, 0, 1, 1], "age": [30, 30, 52, 52], "result": ["a", "a", "a", "b"]})
    counts = pl.DataFrame({"time": [1, 1], "group": [0, 0], "result": ["a", "b"], "count": [2, 2]})
    records = pl.DataFrame({"time": [1] * 4, "group": [0] * 4, "age": [30, 30, 52, 52]})
    events = Events(table, sensitive="result", quasi=["age"])
    risk = Homogeneity(window=2).attack(events, EventTables(records, counts, ("age",), "result"))
    assert risk.prosecutor == 0.5
    assert risk.sentence == (
        "Someone who knows the quasi-identifiers and the time of an event learns its sensitive value with a chance of "
        "50 % (4 events); published as they are 75 %, by guessing 62.5 %. For the event most "
        "at risk it is 50 %."
    )
