"""Nothing is promised: what the gate asks for instead."""

import pytest

from shoal import NoGuarantee, NoiseAddition, Panel
from shoal.errors import ParameterError
from shoal.model import Interval, Risk


def risk(high, success=0.01):
    return Risk(success, Interval(0.0, high), 0.0, Interval(0.0, 0.1), n_targets=50)


def test_its_words_are_those_of_the_design():
    assert NoGuarantee.name == "none"
    assert NoGuarantee().statement.startswith("none: judged by attack only")
    assert NoGuarantee().parameters == {}


def test_the_check_never_holds():
    panel = Panel([[1.0, 2.0]] * 50)
    for judged in (panel, NoiseAddition(snr=1.0).anonymize(panel)):
        verdict = NoGuarantee().check(judged)
        assert not verdict
        assert verdict.measured is None
        assert "attack it and give the risks with a limit" in verdict.note


@pytest.mark.parametrize(("high", "limit", "holds"), [(0.09, 0.09, True), (0.0901, 0.09, False), (0.0, 0.001, True)])
def test_the_upper_end_of_the_worst_interval_decides(high, limit, holds):
    verdict = NoGuarantee().judge({"mild": risk(0.0), "worst": risk(high), "other": risk(high / 2)}, limit)
    assert (verdict.holds, verdict.measured, verdict.required) == (holds, high, limit)
    assert high == 0.0 or verdict.note == "upper end of the interval of 'worst'"


def test_a_low_success_with_a_wide_interval_is_not_enough():
    assert not NoGuarantee().judge({"few targets": risk(0.5, success=0.0)}, 0.1)


def test_without_risks_or_without_a_limit_it_does_not_hold():
    assert NoGuarantee().judge({}, 0.1).note == "no risk was measured"
    assert NoGuarantee().judge({"a": risk(0.0)}, None).note == "no limit on the risk was given"
    assert not NoGuarantee().judge({}, 0.1)
    assert not NoGuarantee().judge({"a": risk(0.0)}, None)


@pytest.mark.parametrize("limit", [0.0, -0.1, 1.1, float("nan"), True, "0.1"])
def test_a_limit_that_is_no_share_is_refused(limit):
    with pytest.raises(ParameterError, match="risk_limit is a share of the targets"):
        NoGuarantee().judge({"a": risk(0.0)}, limit)
