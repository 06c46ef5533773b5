"""A verdict has three outcomes, and only one of them is true."""

import pytest

from shoal import Verdict


def test_only_what_holds_is_true():
    assert Verdict.of(True, 3, 3).outcome == "holds"
    assert Verdict.of(False, 2, 3).outcome == "does not hold"
    assert [bool(Verdict(o, None, 3)) for o in ("holds", "does not hold", "not judged")] == [True, False, False]
    assert [Verdict(o, None, 3).holds for o in ("holds", "does not hold", "not judged")] == [True, False, False]


def test_each_outcome_has_its_words():
    assert Verdict("holds", 3, 3).words == "holds: measured 3, required 3"
    assert Verdict("does not hold", 2, 3, note="few").words == "does not hold: measured 2, required 3"
    assert Verdict("not judged", None, 3, note="nothing to go by").words == "not judged: nothing to go by"


@pytest.mark.parametrize("outcome", [True, False, "fails", None])
def test_there_is_no_fourth(outcome):
    with pytest.raises(ValueError, match="outcome must be one of holds, does not hold, not judged"):
        Verdict(outcome, 3, 3)
