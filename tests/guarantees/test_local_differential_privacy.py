"""The promise of a device: what the check asks of its account."""

import pytest

from shoal import LocalDifferentialPrivacy, Panel
from shoal.errors import ParameterError
from shoal.guarantees.local_differential_privacy import DeviceAccount

ACCOUNT = {"scheme": "budget-uniform", "mechanism": "randomised response", "instants": 48, "reports": 100}
PUBLISHED = Panel([[1.0]])


def promised(*windows, epsilon=1.0, w=48):
    return LocalDifferentialPrivacy(epsilon, w, [ACCOUNT | {"window": window} for window in windows])


def test_it_holds_where_no_device_spent_more_than_the_budget():
    verdict = promised("1/2", "1").check(PUBLISHED)
    assert (verdict.outcome, verdict.measured, verdict.required) == ("holds", 1.0, 1.0)


def test_it_does_not_hold_by_a_hair_above():
    verdict = promised("1000000000000000001/1000000000000000000").check(PUBLISHED)
    assert verdict.outcome == "does not hold"
    assert verdict.measured > 1.0
    assert "a device spent more" in verdict.note


def test_it_does_not_hold_without_an_account():
    verdict = LocalDifferentialPrivacy(1.0, 48).check(PUBLISHED)
    assert verdict.outcome == "does not hold"
    assert "no account" in verdict.note


def test_it_is_built_again_from_its_parameters():
    one = promised("1/3")
    assert LocalDifferentialPrivacy(**one.parameters) == one
    assert LocalDifferentialPrivacy(**one.parameters).accounting == one.accounting
    assert isinstance(one.accounting[0], DeviceAccount)


def test_a_union_is_as_weak_as_its_weakest_part():
    parts = [promised("1/2").check(PUBLISHED), promised("3/4").check(PUBLISHED)]
    assert promised("1").merge(parts).measured == 0.75
    parts.append(promised("2").check(PUBLISHED))
    assert not promised("1").merge(parts).holds


def test_one_reading_is_told_in_the_singular():
    assert LocalDifferentialPrivacy(1.0, 1).statement.startswith("Any reading of a meter changes the odds")


@pytest.mark.parametrize("entry", [{}, ACCOUNT, ACCOUNT | {"window": "1", "more": 1}, 7])
def test_accounts_that_are_none_are_refused(entry):
    with pytest.raises(ParameterError, match="accounting needs scheme"):
        LocalDifferentialPrivacy(1.0, 48, [entry])


@pytest.mark.parametrize("window", ["", "x", "1/0", None])
def test_windows_that_are_none_are_refused(window):
    with pytest.raises(ParameterError, match="must be a fraction"):
        promised(window)


def test_impossible_parameters_are_refused():
    with pytest.raises(ParameterError, match="window above 0"):
        promised("0")
    with pytest.raises(ParameterError, match="w must be a whole number"):
        LocalDifferentialPrivacy(1.0, 0)
    with pytest.raises(ParameterError, match="epsilon must be a number"):
        LocalDifferentialPrivacy(0.0, 1)
