import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.kernels.reposition import _gain, advance
from shoal.methods.reposition_costs import default_suppression, delay_costs, suppression_costs


def test_named_costs():
    assert delay_costs("linear", 4).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert delay_costs("quadratic", 4).tolist() == [0.0, 1.0, 4.0, 9.0]
    assert delay_costs("linear", 1).tolist() == [0.0]


@pytest.mark.parametrize(
    "function", [lambda d: d**3, lambda d: Fraction(d, 7), lambda d: np.float32(d), lambda d: math.expm1(d)]
)
def test_any_function_that_keeps_the_conditions_will_do(function):
    cost = delay_costs(function, 12)
    assert cost.dtype == np.float64
    assert cost.tolist() == [float(function(d)) for d in range(12)]


@given(step=st.floats(1e-6, 1e6), window=st.integers(1, 60))
def test_multiples_of_any_step_are_convex_despite_rounding(step, window):
    assert len(delay_costs(lambda d: step * d, window)) == window


def test_what_a_function_does_beyond_the_window_does_not_matter():
    assert delay_costs(lambda d: d if d < 5 else math.nan, 5).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda d: d + 1, r"\(C1\) fails.*0 at distance 0"),
        (lambda d: min(d, 3), r"\(C2\) fails.*at distance 4 it is not above that at distance 3"),
        (lambda d: -d, r"\(C2\) fails.*at distance 1"),
        (lambda d: 0, r"\(C2\) fails.*at distance 1"),
        (lambda d: d**0.5, r"\(C3\) fails.*the step to distance 2 is smaller"),
        (lambda d: d if d < 6 else 5 + (d - 5) / 2, r"\(C3\) fails.*the step to distance 6 is smaller"),
        (lambda d: math.inf if d == 7 else d, "finite number, but at distance 7"),
        (lambda d: math.nan if d == 2 else d, "finite number, but at distance 2"),
        (lambda d: 10 ** (400 * d) - 1, "finite number, but at distance 1"),
        (lambda d: "far", "finite number, but at distance 0"),
        (lambda d: None, "finite number, but at distance 0"),
        (lambda d: bool(d), "finite number, but at distance 0"),
        (lambda d: 1 / (d - 3), "raised ZeroDivisionError at distance 3"),
        (lambda: 0, "raised TypeError at distance 0"),
    ],
)
def test_the_message_names_the_condition_and_the_distance(function, message):
    with pytest.raises(ParameterError, match=message) as caught:
        delay_costs(function, 8)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("given", ["cubic", 3, None])
def test_unknown_costs_are_refused_with_the_names_there_are(given):
    with pytest.raises(ParameterError, match="one of: linear, quadratic; or a function"):
        delay_costs(given, 8)


def test_the_default_is_a_delay_just_beyond_the_window():
    assert default_suppression(delay_costs("linear", 12)) == 12.0
    assert default_suppression(delay_costs("quadratic", 12)) == 121.0 + 21.0
    assert default_suppression(delay_costs("linear", 1)) == 1.0


@given(
    counts=st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=1, max_size=12),
    window=st.integers(1, 6),
    l=st.integers(1, 4),
    curve=st.sampled_from(["linear", "quadratic", lambda d: d**3, lambda d: d + max(0, d - 2) * 5.0]),
)
def test_no_relay_costs_more_than_the_direct_way_so_with_the_default_every_relay_pays(counts, window, l, curve):
    cost = delay_costs(curve, window)
    beta = suppression_costs(None, cost).of("abcd")
    placed, suppressed = np.zeros((4, window, window), dtype=np.int64), np.zeros((4, window), dtype=np.int64)
    for arriving in counts:
        advance(placed, suppressed, np.array(arriving), l, cost, beta)
        for s in range(4):
            if suppressed[s].any():
                direct = cost[window - 1 - np.flatnonzero(suppressed[s])[-1]]
                gain = _gain(placed[s], suppressed[s], window - 1, cost, beta[s])
                assert gain >= beta[s] - direct > 0.0


def test_suppression_by_one_number_by_value_and_by_default():
    cost = delay_costs("linear", 12)
    assert suppression_costs(None, cost).of(["a", "b"]).tolist() == [12.0, 12.0]
    assert suppression_costs(3, cost).of(["a", "b"]).tolist() == [3.0, 3.0]
    assert suppression_costs({"a": 2.5}, cost).of(["a", "b"]).tolist() == [2.5, 12.0]
    assert suppression_costs({}, cost).of([]).tolist() == []
    assert suppression_costs({1: 7}, cost).of([1, 2]).tolist() == [7.0, 12.0]


@pytest.mark.parametrize("wrong", [0, -1.0, math.nan, math.inf, True, "dear", [1.0]])
def test_suppression_must_cost_something(wrong):
    cost = delay_costs("linear", 3)
    with pytest.raises(ParameterError, match="finite number above 0, or a mapping"):
        suppression_costs(wrong, cost)
    with pytest.raises(ParameterError, match="the one at position 1 of 2 is not") as caught:
        suppression_costs({"secret": 1.0, "hidden": wrong}, cost)
    assert "hidden" not in str(caught.value)
