"""When to stop labelling."""

import pytest

from shoal.labels import CurvePoint, Label, Labels, advice


def labels(n=200, alike=20, repeated=20):
    """n answers, of which some are repeated, and so many of those answered alike."""
    fresh = [Label("anna", at, at, at + 1, "similar" if at % 2 else "dissimilar") for at in range(n - repeated)]
    again = [
        Label(
            "anna",
            n - repeated + at,
            at + 1,
            at,
            fresh[at].answer if at < alike else "similar" if fresh[at].answer == "dissimilar" else "dissimilar",
            repeat_of=at,
        )
        for at in range(repeated)
    ]
    return Labels((*fresh, *again))


def points(half, last, *, n=200, euclidean=0.6, error=0.05):
    return [
        CurvePoint(n // 2, half, euclidean, error),
        CurvePoint(int(n * 0.7), (half + last) / 2, euclidean, error),
        CurvePoint(n, last, euclidean, error),
    ]


def test_while_labels_help_go_on():
    found = advice(points(0.8, 0.9), labels())
    assert not found.stop
    assert found.reason == (
        "Labels still help: the score on held-out pairs went from 0.800 at 100 labels to 0.900 at 200, Euclidean "
        "distance has 0.600."
    )


@pytest.mark.parametrize("last", [0.905, 0.9, 0.85])
def test_when_the_last_doubling_brought_nothing_stop(last):
    found = advice(points(0.9, last), labels())
    assert found.stop
    assert found.reason.startswith("The last doubling of labels gained nothing: the score on held-out pairs went from")


def test_what_is_flat_but_not_surely_better_gets_more_labels_and_then_up():
    flat = {"half": 0.65, "last": 0.655}
    found = advice(points(**flat), labels())
    assert (found.stop, found.reason.split(":")[0]) == (False, "Not clearly better than Euclidean distance yet")
    found = advice(points(**flat, n=400), labels(400))
    assert (found.stop, found.reason.split(":")[0]) == (True, "Labels do not teach this metric anything")
    assert found.reason.endswith("try the other metric or another question.")


def test_with_few_labels_nothing_is_said():
    for found in (advice([], labels()), advice(points(0.9, 0.9), labels(40)), advice(points(0.9, 0.9)[2:], labels())):
        assert not found.stop
        assert found.reason.startswith("Too few labels to judge: ")
    assert "; at least 50 are needed, with enough" in advice(points(0.9, 0.9), labels(40)).reason
    assert advice([], labels()).reason.endswith(
        "decided answers, but not enough of both kinds in every part that is held out."
    )


def test_contradictory_answers_stop_everything():
    found = advice(points(0.8, 0.9), labels(alike=10))
    assert found.stop
    assert found.reason == (
        "Answers are inconsistent: of 20 questions asked twice, 50% were answered alike; explain more clearly what "
        "matters before anyone continues."
    )


def test_a_few_slips_are_no_contradiction():
    assert not advice(points(0.8, 0.9), labels(alike=14)).stop
    assert not advice(points(0.8, 0.9), labels(alike=0, repeated=4)).stop
