"""The accounting of differential privacy: it must add up, exactly."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import DifferentialPrivacy, Microaggregation, Panel
from shoal.errors import ParameterError
from shoal.guarantees import build_guarantee
from shoal.guarantees.differential_privacy import Spent


def query(epsilon, *, sensitivity=3, scale=None, **changes):
    scale = sensitivity / epsilon * (1 + 1e-15) if scale is None else scale
    return Spent("totals", "discrete Laplace", sensitivity, scale, epsilon, **changes)


def test_it_holds_by_its_accounting_alone():
    promise = DifferentialPrivacy(1.0, accounting=[query(0.25), query(0.5)])
    verdict = promise.check(Panel([[1.0]]))
    assert (verdict.holds, verdict.measured, verdict.required) == (True, 0.75, 1.0)
    assert "true by mechanism" in verdict.note


@pytest.mark.parametrize(
    ("accounting", "why"),
    [
        ([], "no accounting says that one was run"),
        ([query(0.5), query(0.6)], "more than the budget was spent"),
        ([query(0.5, fresh=False)], "noise from a fixed seed can be drawn again"),
        ([query(0.5, scale=5.0)], "a query cost more than the accounting says"),
    ],
)
def test_sabotage_of_the_accounting_is_found(accounting, why):
    verdict = DifferentialPrivacy(1.0, accounting=accounting).check(Panel([[1.0]]))
    assert not verdict.holds
    assert why in verdict.note


def test_no_other_method_keeps_it():
    candidate = Microaggregation(k=2).anonymize(Panel([[1.0], [2.0], [3.0], [4.0]]))
    assert not DifferentialPrivacy(1.0).check(candidate)


@given(parts=st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=20))
def test_sums_are_exact_and_errors_go_to_the_safe_side(parts):
    total = DifferentialPrivacy(1.0, accounting=[query(part, scale=1e9) for part in parts]).total
    assert total >= math.fsum(parts) * (1 - 1e-15)
    budget = DifferentialPrivacy(math.nextafter(total, 0.0) if total <= 100 else 100.0, accounting=[])
    spent = DifferentialPrivacy(budget.epsilon, accounting=[query(part, scale=1e9) for part in parts])
    assert not spent.check(Panel([[1.0]])).holds or spent.total <= budget.epsilon


def test_ten_tenths_are_more_than_one():
    # In floating point 0.1 is a little above a tenth, and so is the sum of ten above 1; rounded sums would hide it.
    assert not DifferentialPrivacy(1.0, accounting=[query(0.1) for _ in range(10)]).check(Panel([[1.0]])).holds


def test_the_certificate_can_build_it_again_with_its_accounting():
    promise = DifferentialPrivacy(2.0, "reading", [query(0.5, lower=0.0, upper=3.0)])
    again = build_guarantee(promise.name, json.loads(json.dumps(promise.parameters)))
    assert again == promise
    assert again.accounting == promise.accounting
    assert again.check(Panel([[1.0]])) == promise.check(Panel([[1.0]]))


def test_what_is_promised_is_the_same_whatever_was_spent():
    assert DifferentialPrivacy(1.0, accounting=[query(0.5)]) == DifferentialPrivacy(1.0)
    assert DifferentialPrivacy(1.0, "reading") != DifferentialPrivacy(1.0)
    assert DifferentialPrivacy(0.5, "reading").statement == (
        "Any one reading changes the odds of every published result by a factor of at most e^0.5 = 1.65."
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a number from 1e-9 to 100"),
        ({"epsilon": True}, "epsilon must be a number from 1e-9 to 100"),
        ({"epsilon": 1.0, "unit": "day"}, "unit must be 'subject' or 'reading'"),
        ({"epsilon": 1.0, "accounting": ["all is well"]}, "accounting needs query, mechanism, sensitivity, scale"),
        (
            {"epsilon": 1.0, "accounting": [{**vars(query(0.5)), "trust": "me"}]},
            "accounting takes for each query only: query, mechanism",
        ),
        (
            {"epsilon": 1.0, "accounting": [{**vars(query(0.5)), "epsilon": -0.5}]},
            "accounting needs a sensitivity, scale and epsilon above 0",
        ),
        (
            {"epsilon": 1.0, "accounting": [{**vars(query(0.5)), "lower": [0.0], "upper": 1.0}]},
            "accounting needs numbers as lower and upper",
        ),
    ],
)
def test_what_is_no_budget_is_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        DifferentialPrivacy(**parameters)
