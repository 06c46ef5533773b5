"""Random queries are what the docstring says, and the same under the same seed."""

import numpy as np
import pytest

from shoal import Panel
from shoal.errors import ParameterError
from shoal.queries import Combined, PatternRange, PatternSimilarity, RangeCount, prepare, random_queries

KINDS = {
    "range": RangeCount,
    "pattern-range": PatternRange,
    "pattern-similarity": PatternSimilarity,
    "combined": Combined,
}


@pytest.fixture
def panel(rng):
    return Panel(rng.normal(size=(150, 6)))


@pytest.mark.parametrize("kind", KINDS)
class TestEveryKind:
    def test_some_original_answers_every_query(self, panel, kind):
        ready = prepare(panel)
        asked = random_queries(panel, 200, kind, seed=3, tolerance=0.02)
        assert {type(query) for query in asked} == {KINDS[kind]}
        assert min(query.count(ready) for query in asked) >= 1.0

    def test_the_seed_decides(self, panel, kind):
        first, second, other = (random_queries(panel, 20, kind, seed=s, tolerance=0.02) for s in (1, 1, 2))
        assert first == second != other

    def test_ties_and_few_series_are_no_obstacle(self, kind):
        for x in (np.ones((5, 3)), [[1.0, 2.0]], np.repeat([[0.0, 1.0], [1.0, 0.0]], 4, axis=0)):
            asked = random_queries(Panel(x), 30, kind, tolerance=0.1)
            assert min(query.count(Panel(x)) for query in asked) >= 1.0

    def test_times_are_those_of_the_panel(self, panel, kind):
        moved = Panel(panel.values, times=np.arange("2024-01", "2024-07", dtype="M8[M]").astype("M8[us]"))
        pairs = zip(*(random_queries(p, 20, kind, tolerance=0.02) for p in (panel, moved)), strict=True)
        assert all(a.count(panel) == b.count(moved) for a, b in pairs)


def test_a_range_covers_its_share_of_the_series(panel):
    for query in random_queries(panel, 100, "range", selectivity=0.1):
        shares = [RangeCount([one]).count(panel) / 150 for one in query.ranges]
        assert shares == pytest.approx([0.1 ** (1 / len(shares))] * len(shares), abs=1 / 150)


def test_numbers_of_conditions_go_from_one_to_the_most(panel):
    asked = random_queries(panel, 300, "range", most_conditions=3)
    assert {len(query.ranges) for query in asked} == {1, 2, 3}
    assert {len(query.conditions) for query in random_queries(panel, 300, "pattern-range")} == {1, 2, 3, 4}


def test_tolerances_are_one_to_ten_times_the_given_one(panel):
    within = [query.within for query in random_queries(panel, 500, "pattern-similarity", tolerance=0.02)]
    assert 0.02 <= min(within) < 0.024
    assert 0.196 < max(within) <= 0.2


def test_combined_queries_ask_for_both_kinds_of_pattern(panel):
    asked = random_queries(panel, 100, "combined", tolerance=0.02)
    assert {type(query.pattern) for query in asked} == {PatternRange, PatternSimilarity}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "magic"}, "kind must be one of range, pattern-range, pattern-similarity, combined"),
        ({"n": 0}, "n and most_conditions of at least 1"),
        ({"most_conditions": 0}, "n and most_conditions of at least 1"),
        ({"selectivity": 0.0}, "selectivity in"),
        ({"panel": Panel([[1.0, np.nan]])}, "1 gaps"),
        ({"panel": Panel([[1.0]]), "kind": "pattern-range"}, "1 instants"),
        ({"kind": "pattern-similarity"}, "needs tolerance"),
        ({"kind": "combined", "tolerance": -1.0}, "needs tolerance"),
    ],
)
def test_what_cannot_be_drawn_is_refused(panel, arguments, message):
    with pytest.raises(ParameterError, match=message):
        random_queries(**({"panel": panel, "n": 2, "kind": "range"} | arguments))
