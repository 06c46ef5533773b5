"""The frontier says what was tried, what binds, and what would have to give."""

from dataclasses import replace

from shoal.model import Score
from shoal.process.policy import Limit
from shoal.process.search.frontier import Frontier, Limits, Point

LIMITS = Limits(0.1, {"loss": Limit(at_most=0.2)})


def point(k, risk, loss, **more):
    return Point({"k": k}, risk=risk, scores={"loss": Score(loss, "lower", (0.0, 1.0))}, **more)


def test_a_limit_is_kept_at_its_very_value_and_broken_beyond():
    assert point(1, 0.1, 0.2).meets(LIMITS)
    assert point(1, 0.1001, 0.2).misses(LIMITS) == {"risk": (0.1001, 0.1)}
    assert point(1, 0.1, 0.21).misses(LIMITS) == {"loss": (0.21, 0.2)}
    assert not point(1, 0.1, float("nan")).meets(LIMITS)
    assert not point(1, 0.0, 0.0, refused="k does not hold").meets(LIMITS)


def test_at_least_bounds_from_below():
    limits = Limits(1.0, {"kept": Limit(at_least=0.5)})
    good = Point({}, risk=0.0, scores={"kept": Score(0.5, "higher", (0.0, 1.0))})
    bad = Point({}, risk=0.0, scores={"kept": Score(0.49, "higher", (0.0, 1.0))})
    assert good.meets(limits)
    assert not bad.meets(limits)


def test_efficient_points_are_those_nothing_beats():
    points = (point(4, 0.3, 0.1), point(8, 0.2, 0.15), point(9, 0.25, 0.16), point(12, 0.2, 0.15))
    assert Frontier(LIMITS, points).efficient == (True, True, False, True)


def test_the_most_useful_of_the_good_comes_first():
    points = (point(28, 0.03, 0.19), point(12, 0.09, 0.15), point(8, 0.2, 0.1), point(13, 0.08, 0.15))
    assert [points[at].parameters["k"] for at in Frontier(LIMITS, points).better_first()] == [13, 12, 28]


def test_the_binding_limit_is_named():
    points = (point(8, 0.2, 0.1), point(12, 0.09, 0.15))
    said = Frontier(LIMITS, points, chosen=points[1]).sentence
    assert said == (
        "Chosen: k = 12, with risk 0.09 (at most 0.1) and loss 0.15 (at most 0.2). "
        "The risk limit binds: k = 8 would be more useful, but has risk 0.2."
    )
    assert "No limit binds" in Frontier(LIMITS, points[1:], chosen=points[1]).sentence


def test_where_nothing_meets_both_limits_it_is_said_what_would_have_to_give():
    said = Frontier(LIMITS, (point(8, 0.2, 0.15), point(12, 0.09, 0.25), point(28, 0.03, 0.4))).sentence
    assert said == (
        "None of 3 points meets both limits. k = 12 keeps the risk limit (0.09) but loss is 0.25, above 0.2: change "
        "the limit on loss to 0.25. k = 8 is useful enough but has risk 0.2, above 0.1: allow that risk, or assume an "
        "adversary who knows less."
    )
    assert "The nearest is k = 8: risk is 0.2, above 0.1 and loss is 0.3, above 0.2" in (
        Frontier(LIMITS, (point(8, 0.2, 0.3), point(4, 0.9, 0.9))).sentence
    )


def test_points_that_could_not_be_tried_say_why():
    refused = (point(8, 0.2, 0.1, refused="k=8 needs at least 8 subjects."),)
    assert Frontier(LIMITS, refused).sentence == "The only point could not be tried: k=8 needs at least 8 subjects."
    assert Frontier(LIMITS, refused * 2).sentence.startswith("None of 2 points could be tried: k=8 needs")


def test_a_setting_without_a_name_begins_its_sentence_with_a_capital():
    said = Frontier(LIMITS, (replace(point(8, 0.2, 0.15), parameters={}),)).sentence
    assert said.startswith("The only point does not meet both limits. The one setting given is useful enough but has")


def test_a_point_that_failed_when_confirmed_is_told():
    good, later = point(8, 0.09, 0.15), point(8, 0.12, 0.15, on="all 40 subjects")
    said = Frontier(LIMITS, (good,), None, (later,)).sentence
    assert "k = 8 met them in the search but not on all 40 subjects: risk is 0.12, above 0.1." in said


def test_the_sentence_names_the_limit_that_really_binds():
    both = Limits(0.1, {"loss": Limit(at_most=0.5), "peaks": Limit(at_most=0.2)})

    def two(k, risk, loss, peaks):
        scores = {"loss": Score(loss, "lower", (0.0, 1.0)), "peaks": Score(peaks, "lower", (0.0, 1.0))}
        return Point({"k": k}, risk=risk, scores=scores)

    chosen, other = two(12, 0.05, 0.3, 0.1), two(8, 0.06, 0.2, 0.4)
    said = Frontier(both, (other, chosen), chosen).sentence
    assert "The limit on peaks binds: k = 8 would be more useful, but peaks is 0.4, above 0.2." in said
    fine = two(8, 0.06, 0.2, 0.1)
    said = Frontier(both, (fine, chosen), chosen, (two(8, 0.2, 0.2, 0.1),)).sentence
    assert "K = 8 would be more useful, but did not meet the limits when it was confirmed." in said
    again = two(12, 0.05, 0.29, 0.1)  # the same setting, drawn again
    assert "No limit binds" in Frontier(both, (again,), chosen).sentence
