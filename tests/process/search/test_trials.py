"""The search finds what trying everything would find, and believes nothing it did not confirm."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from shoal import KP, Microaggregation, Panel, simulate
from shoal.attacks import KnownTotals
from shoal.errors import ParameterError
from shoal.model import Attack, Interval, Risk
from shoal.process.policy import parse_policy
from shoal.process.search import Setting, search, task_of
from shoal.process.search.trials import Sample, draw_sample, evaluate, halves, samples_of
from shoal.utility import InformationLoss


def days(n=60, n_instants=48, seed=0):
    return Panel(
        np.random.default_rng(seed).gamma(2.0, size=(n, 1))
        * np.random.default_rng(seed + 1).gamma(4.0, size=(n, n_instants)),
        times=np.datetime64("2026-01-01", "us") + np.arange(n_instants) * np.timedelta64(1, "h"),
    )


@dataclass(frozen=True)
class Told(Attack):
    """An attack that achieves what a test tells it to, for its targets."""

    name = "told"
    meaning = "as told"
    against = "values"

    rule: object

    def find(self, original, published, *, rows=None, targets=None, first=None):
        return float(self.rule(published, targets)), len(targets)

    def risk(self, findings):
        chance, n = findings
        return Risk(chance, Interval(chance, chance), 0.0, Interval(0.0, 0.0), n, prosecutor=chance)


def task(text, rule=None):
    found = task_of(parse_policy(text))
    return found if rule is None else replace(found, attacks={"told": Told(rule)})


def test_targets_are_halved_without_overlap_and_by_the_seed():
    tuning, confirming = halves(101, None, 0)
    assert sorted([*tuning, *confirming]) == list(range(101))
    assert abs(len(tuning) - len(confirming)) == 1
    assert np.array_equal(halves(101, None, 0)[0], tuning)
    assert not np.array_equal(halves(101, None, 1)[0], tuning)
    few, others = halves(101, 10, 0)
    assert len(few) == len(others) == 5
    assert not set(few) & set(others)


def test_a_sample_has_all_series_of_its_subjects():
    panel = Panel(np.arange(800.0).reshape(800, 1), subjects=np.repeat(np.arange(400), 2))
    sample = draw_sample(panel, parse_policy("search: {sample: 0.5}"))
    assert sample.n_subjects == 200
    assert sample.n_series == 400
    assert draw_sample(panel, parse_policy("")) is panel
    assert draw_sample(panel, parse_policy("search: {sample: 0.01}")).n_subjects == 100


def test_the_chosen_point_is_the_one_that_trying_everything_gives():
    panel = days()
    text = "method: {name: microaggregation, k: {search: [2, 3, 4, 6, 8]}}\nrequire: {risk: {at_most: 0.2}}"
    found = search(task(text + "\nadversary: {knows: {totals: day}}"), panel)
    good = {}
    for k in (2, 3, 4, 6, 8):
        candidate = Microaggregation(k=k).anonymize(panel)
        risks = [
            KnownTotals(step="day").attack(panel, candidate.published, targets=half) for half in halves(60, None, 0)
        ]
        # The upper end of the interval counts, but no link succeeds more often than one in k.
        if all(min(1 / k, max(risk.prosecutor, risk.interval.high)) <= 0.2 for risk in risks):
            good[k] = InformationLoss().measure(panel, candidate.published).value
    assert good
    assert found.frontier.chosen.parameters == {"k": min(good, key=good.get)}
    assert found.candidate.recipe.parameters["k"] == found.frontier.chosen.parameters["k"]
    assert found.frontier.chosen.on == "all 60 subjects"


@pytest.mark.parametrize("limit", [0.34, 0.2, 0.13, 0.06])
def test_a_range_is_searched_to_the_first_value_that_keeps_the_limit(limit):
    text = "method: {name: microaggregation, k: {search: {from: 2, to: 26}}}\nrequire: {risk: {at_most: %s}}" % limit  # noqa: UP031

    def one_over_smallest_group(published, targets):
        return 1 / np.unique(published.values, axis=0, return_counts=True)[1].min()

    found = search(task(text, one_over_smallest_group), days(n=80))
    smallest = {
        k: np.unique(Microaggregation(k=k).anonymize(days(n=80)).values, axis=0, return_counts=True)[1].min()
        for k in range(2, 27)
    }
    assert found.frontier.chosen.parameters["k"] == min(k for k, size in smallest.items() if 1 / size <= limit)
    assert len(found.frontier.points) < 13


def test_what_met_the_limits_only_on_the_tuning_targets_is_turned_down():
    tuning = halves(60, None, 0)[0]
    found = search(
        task("method: {name: microaggregation, k: 4}", lambda published, targets: not set(targets) <= set(tuning)),
        days(),
    )
    assert found.candidate is None
    assert found.frontier.chosen is None
    assert "met them in the search but not on all 60 subjects" in found.frontier.sentence


def test_the_next_best_is_tried_when_the_best_is_turned_down():
    tuning = halves(60, None, 0)[0]

    def four_looks_good_at_first(published, targets):
        n_groups = len(np.unique(published.values, axis=0))
        return n_groups > 10 and not set(targets) <= set(tuning)

    text = "method: {name: microaggregation, k: {search: [4, 8]}}"
    found = search(task(text, four_looks_good_at_first), days())
    assert found.frontier.chosen.parameters == {"k": 8}
    assert [point.parameters for point in found.frontier.turned_down] == [{"k": 4}]


def test_a_parameter_the_data_cannot_bear_is_a_point_that_was_refused():
    found = search(
        task("method: {name: microaggregation, k: {search: [4, 400]}}", lambda published, targets: 0.0), days()
    )
    assert [point.refused is None for point in found.frontier.points] == [True, False]
    assert "needs at least 400 subjects" in found.frontier.points[1].refused
    assert found.frontier.chosen.parameters == {"k": 4}


def test_a_guarantee_required_beyond_the_method_s_own_is_checked_at_every_point():
    text = (
        "method: {name: microaggregation, k: {search: [4, 20]}}\n"
        "require: {guarantees: [{aggregate-rule: {size: 15, share: 0.9}}]}"
    )
    found = search(task(text, lambda published, targets: 0.0), days())
    assert "aggregate-rule does not hold" in found.frontier.points[0].refused
    assert found.frontier.chosen.parameters == {"k": 20}


def test_a_point_that_leaves_out_more_than_the_policy_allows_is_refused():
    panel = days()
    areas = Panel(panel.values, times=panel.times, attributes={"area": ["a"] * 20 + ["b"] * 40})
    method = "{name: scope-aggregation, within: area, size: {search: [4, 30]}, share: 0.9, otherwise: withhold}"
    found = search(task(f"method: {method}", lambda published, targets: 0.0), areas)
    assert found.frontier.chosen.parameters == {"size": 4}
    refused = found.frontier.points[1].refused
    assert "20 of 60 series (33.3 %) would be suppressed, more than the limit of 25 %." in refused
    assert "require: {suppression: {at_most: 0.5}}" in refused
    allowed = f"method: {method}\nrequire: {{suppression: {{at_most: 0.4}}}}"
    found = search(task(allowed, lambda published, targets: 0.0), areas)
    assert [point.refused for point in found.frontier.points] == [None, None]


def test_methods_without_a_guarantee_are_held_to_the_upper_end_of_every_interval():
    text = "method: {name: noise-addition, snr: 1.0}\nadversary: {knows: {totals: day}, scenario: prosecutor}"
    one = task(text)
    point = evaluate(one, Setting(0), Sample(days(), np.arange(30), "all"))[2]
    assert point.refused is None
    assert point.risk >= point.risks["known-totals"].interval.high


def test_targets_are_the_only_thing_that_is_sampled():
    seen = []

    def note(published, targets):
        seen.append((published.n_series, len(targets)))
        return 0.0

    search(task("method: {name: microaggregation, k: 4}\nadversary: {targets: 20}", note), days())
    assert seen == [(60, 10), (60, 10)]


def test_a_few_targets_do_not_look_safe_by_luck():
    text = "method: {name: noise-addition, snr: 1.0}\nadversary: {knows: {points: 3}, targets: 2, scenario: %s}"
    for scenario in ("prosecutor", "journalist"):
        point = evaluate(task(text % scenario), Setting(0), Sample(days(), np.array([3]), "all"))[2]
        assert point.risk >= 0.5  # one target that was not found says next to nothing


def test_no_link_counts_for_more_than_the_guarantee_leaves():
    text = "method: {name: microaggregation, k: 10}\nadversary: {knows: {points: 3}}"
    point = evaluate(task(text), Setting(0), Sample(days(), np.array([3]), "all"))[2]
    assert point.risk == 0.1
    several = Panel(days().values, times=days().times, subjects=np.repeat(np.arange(30), 2))
    assert (
        evaluate(task(text), Setting(0), Sample(several, np.array([3]), "all"))[2].risk > 0.1
    )  # one subject may own much of a group


def test_differential_privacy_is_drawn_once_and_judged_by_no_figure():
    calls = []

    def note(published, targets):
        calls.append(published)
        return 1.0

    text = "method: {name: noisy-aggregates, epsilon: 1.0, lower: 0, upper: 10}\nrequire: {risk: {at_most: 0.01}}"
    one = task(text)
    found = search(replace(one, attacks={"told": Told(note)}), days())
    assert found.candidate is not None
    assert not calls
    assert found.frontier.sentence.startswith("Drawn once.")


def test_points_of_mixed_kinds_are_put_in_the_order_of_the_policy():
    text = "method: {name: permutation, length: {search: [6, 1d]}, share: {search: {from: 0.2, to: 0.4, step: 0.2}}}"
    found = search(task(text, lambda published, targets: 1.0), days())
    assert [tuple(point.parameters.values()) for point in found.frontier.points] == [
        (6, 0.2), (6, 0.4), ("1d", 0.2), ("1d", 0.4),
    ]  # fmt: skip


OVER_METHODS = """
method:
  search:
    - {name: microaggregation, k: {search: [4, 8]}}
    - {name: kp, k: 6, p: 2}
    - {name: noise-addition, snr: {search: [0.5, 50.0]}}
"""


def test_methods_are_searched_each_attacked_in_its_form_of_release_and_the_best_of_all_is_chosen():
    found = search(task(OVER_METHODS + "adversary: {knows: {totals: day}}\nrequire: {risk: {at_most: 0.3}}"), days())
    points = found.frontier.points
    assert [tuple(point.parameters.values()) for point in points] == [
        *(("microaggregation", 4), ("microaggregation", 8), ("kp", 6, 2)),
        *(("noise-addition", 0.5), ("noise-addition", 50.0)),
    ]
    assert [list(point.risks) for point in points] == [["known-totals"]] * 2 + [["linkage"]] + [["known-totals"]] * 2
    assert points[2].risk >= 0.4  # told the word, two share it; who works it out alone would look elsewhere
    assert points[4].risk > 0.9  # hardly any noise, and nothing is promised
    good = [point for point in points if point.meets(found.frontier.limits)]
    best = min(good, key=lambda point: point.scores["information-loss"].value)
    assert found.frontier.chosen.parameters == best.parameters
    assert found.candidate.recipe.method == best.parameters["method"]


def test_differential_privacy_is_no_alternative():
    noisy = "{name: noisy-aggregates, epsilon: 1.0, lower: 0, upper: 10}"
    with pytest.raises(ParameterError, match="differential privacy allows no search"):
        task(f"method: {{search: [{{name: microaggregation, k: 4}}, {noisy}]}}")
    with pytest.raises(ParameterError, match="differential privacy allows no search"):
        task("method: {name: noisy-aggregates, epsilon: {search: [1.0, 2.0]}, lower: 0, upper: 10}")


def test_what_is_to_be_kept_decides_where_no_measure_has_a_limit_also_for_methods_that_do_not_group():
    text = OVER_METHODS + "keep: [peaks]\nadversary: {knows: {totals: day}}\nrequire: {risk: {at_most: 1.0}}"
    one = task(text)
    assert [getattr(one.method_at(setting), "features", None) for setting in one.choices.settings()][:3] == [
        "keep:peaks", "keep:peaks", None,
    ]  # fmt: skip
    found = search(one, days())
    assert found.frontier.limits.first == "peak-height-error"
    good = [point for point in found.frontier.points if point.refused is None]
    best = min(good, key=lambda point: point.scores["peak-height-error"].value)
    assert found.frontier.chosen.parameters == best.parameters


def test_of_more_points_than_the_budget_the_better_half_goes_on_to_more_subjects():
    panel = days(n=400, n_instants=24)
    ks = list(range(2, 18))
    text = f"method: {{name: microaggregation, k: {{search: {ks}}}}}\nsearch: {{points: 4}}\nadversary: {{targets: 40}}"
    seen = []

    def note(published, targets):
        seen.append(published.n_series)
        return 1 / np.unique(published.values, axis=0, return_counts=True)[1].min()

    found = search(task(text + "\nrequire: {risk: {at_most: 0.2}}", note), panel)
    assert [seen.count(size) for size in (100, 200)] == [16, 8]
    assert seen.count(400) >= 5  # four, and one confirmed
    assert [point.n_subjects for point in found.frontier.points].count(400) == 4
    assert found.frontier.chosen is not None
    assert found.frontier.chosen.on == "all 400 subjects"
    # Figures of different samples are not compared: only those on most subjects can be efficient.
    assert all(
        point.n_subjects == 400
        for point, efficient in zip(found.frontier.points, found.frontier.efficient, strict=True)
        if efficient
    )


def test_targets_of_the_confirmation_are_attacked_in_no_sample_before():
    panel = days(n=300, n_instants=24)
    panel = Panel(panel.values, times=panel.times, ids=[f"m{i}" for i in range(300)])
    one = task("method: {name: microaggregation, k: {search: [4, 5, 6]}}\nsearch: {points: 1, sample: 0.7}")
    samples = samples_of(one, panel)
    confirmed = {f"m{i}" for i in halves(300, None, 0)[1]}
    assert [sample.panel.n_subjects for sample in samples] == [100, 105, 210]
    for sample in samples:
        assert len(sample.targets) >= 20
        assert not {sample.panel.ids[i] for i in sample.targets} & confirmed
        assert list(panel.ids[sample.positions]) == list(sample.panel.ids)
    ids = [set(sample.panel.ids) for sample in samples]
    assert ids[0] <= ids[1] <= ids[2]


def test_a_stopped_search_concludes_from_what_was_tried():
    asked = iter([False, False, True])
    text = "method: {name: microaggregation, k: {search: [4, 6, 8, 10, 12]}}"
    found = search(task(text, lambda published, targets: 0.0), days(), stop=lambda: next(asked))
    assert [point.parameters["k"] for point in found.frontier.points] == [4, 6, 8]
    assert found.frontier.chosen.parameters == {"k": 4}
    said = "A person stopped the search after 3 of 5 planned points."
    assert found.frontier.sentence.endswith(said)
    assert found.frontier.as_dict()["stopped"] == {"after": 3, "of": 5, "sentence": said}


def test_what_promises_nothing_is_attacked_by_another_period_as_well():
    panel = simulate.meters(60, days=14, step="3h", families={"household": 1.0}, seed=4)
    noise = "method: {name: noise-addition, snr: 200.0}\nadversary: {knows: {%s}, scenario: journalist}"
    risks = {}
    for knows in ("totals: month", "totals: month, nearest-neighbour: null"):
        asked = task_of(parse_policy(noise % knows)).on(panel)
        risks[knows] = evaluate(asked, Setting(0), Sample(panel, np.arange(60), "all"))[2].risks
    assert [list(found) for found in risks.values()] == [
        ["known-totals", "relink"],
        ["known-totals", "nearest-neighbour"],
    ]
    one_reading = noise.replace("200.0", "10.0") % "points: 1" + "\nrequire: {risk: {at_most: 0.38}}"
    asked = task_of(parse_policy(one_reading)).on(panel)
    point = evaluate(asked, Setting(0), Sample(panel, np.arange(60), "all"))[2]
    assert point.risks["known-points"].interval.high < 0.38 < point.risks["relink"].interval.high
    assert list(point.misses(asked.limits)) == ["risk"]  # the other attack alone would let it out
    crowd = task_of(parse_policy("method: {name: microaggregation, k: 4}")).on(panel)
    assert "relink" not in crowd.attacks
    slices = task_of(parse_policy("method: {name: time-slicing, length: 1d}")).on(panel)
    candidate = slices.method_at(Setting(0)).anonymize(panel)
    assert list(slices.attacks_on(candidate)) == ["known-points", "known-totals"]


def test_a_single_method_is_attacked_in_its_form_if_the_policy_names_no_attack():
    kp = "method: {name: kp, k: {search: [4, 6]}, p: 2}\nrequire: {risk: {at_most: 0.99}}\ndata: {path: x.parquet}\n"
    candidate = KP(k=4, p=2).anonymize(simulate.meters(40, days=1, step="2h", seed=1))
    assert list(task(kp).attacks_on(candidate)) == ["linkage"]
    named = task(kp + "adversary: {knows: {points: 5}}\n")
    assert list(named.attacks_on(candidate)) == ["known-points"]  # and refused, since it attacks values
