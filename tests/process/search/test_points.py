"""What a policy leaves open is tried, and nothing else."""

import pytest

from shoal.errors import ParameterError
from shoal.process.search import Setting, choices_of


def described(method):
    choices = choices_of(method)
    return [choices.described(point) for point in choices.settings()]


def test_without_a_search_there_is_one_point():
    assert described({"name": "microaggregation", "k": 10}) == [{}]
    assert choices_of({"name": "microaggregation", "k": 10}).parameters(Setting(0)) == [("microaggregation", {"k": 10})]


def test_lists_are_tried_as_given_and_combined():
    found = described({"name": "m", "k": {"search": [8, 4, 8]}, "features": {"search": ["raw", "haar"]}})
    assert found == [
        {"k": 8, "features": "raw"},
        {"k": 8, "features": "haar"},
        {"k": 4, "features": "raw"},
        {"k": 4, "features": "haar"},
    ]


def test_parameters_of_steps_are_told_apart():
    choices = choices_of([{"name": "noise", "snr": {"search": [1, 2]}}, {"name": "m", "k": {"search": [3]}}])
    point = list(choices.settings())[1]
    assert choices.described(point) == {"noise.snr": 2, "m.k": 3}
    assert choices.parameters(point) == [("noise", {"snr": 2}), ("m", {"k": 3})]


def test_a_range_of_whole_numbers_has_a_grid_with_its_ends():
    assert [point["k"] for point in described({"name": "m", "k": {"search": {"from": 4, "to": 28}}})] == [
        4, 8, 12, 16, 20, 24, 28,
    ]  # fmt: skip
    assert [point["k"] for point in described({"name": "m", "k": {"search": {"from": 2, "to": 4}}})] == [2, 3, 4]
    assert [p["k"] for p in described({"name": "m", "k": {"search": {"from": 2, "to": 9, "step": 3}}})] == [2, 5, 8]


def test_a_range_is_halved_until_nothing_lies_between():
    (span,) = choices_of({"name": "m", "k": {"search": {"from": 4, "to": 28}}}).alternatives[0].spans.values()
    assert span.between(8, 12) == 10
    assert span.between(10, 12) == 11
    assert span.between(10, 11) is None
    (span,) = choices_of({"name": "m", "snr": {"search": {"from": 0.0, "to": 1.0}}}).alternatives[0].spans.values()
    assert span.between(0.5, 0.6) == 0.55
    assert span.between(0.5, 0.51) is None


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ([], "the list of steps is empty"),
        ({"k": 3}, "step 1 has no name"),
        ({"name": "m", "k": {"seek": [1]}}, r"method.k: give a value or \{search: \[...\]\}"),
        ({"name": "m", "k": {"search": 4}}, "give a list of values or"),
        ({"name": "m", "k": {"search": []}}, "give a list of values or"),
        ({"name": "m", "k": {"search": {"from": 4}}}, "a range has from and to"),
        ({"name": "m", "k": {"search": {"from": 4, "to": "x"}}}, "from, to and step must be numbers"),
        ({"name": "m", "k": {"search": {"from": 4, "to": 4}}}, "from must be below to"),
        ({"name": "m", "seed": {"search": [1, 2]}}, "a seed cannot be searched"),
        ({"name": "m", "k": {"search": list(range(501))}}, "501 combinations to try, more than the 500 allowed"),
    ],
)
def test_a_search_that_is_none_is_told(method, told):
    with pytest.raises(ParameterError, match=told):
        choices_of(method)


def test_a_step_never_leads_beyond_the_end():
    assert [p["snr"] for p in described({"name": "m", "snr": {"search": {"from": 4, "to": 6, "step": 3}}})] == [4]
    assert [p["s"] for p in described({"name": "m", "s": {"search": {"from": 0.1, "to": 0.3, "step": 0.1}}})] == [
        0.1, 0.2, 0.3,
    ]  # fmt: skip


def test_alternatives_have_open_parameters_of_their_own_and_equal_points_are_tried_once():
    found = described(
        {
            "search": [
                {"name": "m", "k": {"search": [8, 12]}},
                {"name": "kp", "k": 10, "p": {"search": [2, 3]}},
                {"steps": [{"name": "t", "step": "1h"}, {"name": "m", "k": {"search": [4]}}]},
                {"name": "m", "k": 12},
            ]
        }
    )
    assert found == [
        {"method": "m", "k": 8},
        {"method": "m", "k": 12},
        {"method": "kp", "k": 10, "p": 2},
        {"method": "kp", "k": 10, "p": 3},
        {"method": "t + m", "t.step": "1h", "m.k": 4},
    ]


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ({"search": []}, "method.search: give a list of alternatives"),
        ({"search": {"from": 1, "to": 2}}, "method.search: give a list of alternatives"),
        ({"search": [{"name": "m"}], "name": "m"}, "alternatives must be the only field"),
        ({"search": [{"k": 3}]}, "method.search.1: step 1 has no name"),
        ({"search": [{"name": "m"}, {"steps": [], "k": 1}]}, "method.search.2: steps must be the only field"),
        ({"search": [{"name": "m"}, {"steps": []}]}, "method.search.2: the list of steps is empty"),
        ({"search": [{"name": "m", "k": {"search": 4}}]}, "method.search.1.k.search: give a list of values"),
        ({"search": [{"name": "m", "k": {"search": list(range(300))}}] * 2}, "600 combinations to try"),
    ],
)
def test_alternatives_that_are_none_are_told(method, told):
    with pytest.raises(ParameterError, match=told):
        choices_of(method)
