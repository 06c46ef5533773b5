"""The rule of the search: what is tried next follows from what was found, and from nothing else."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.model import Score
from shoal.process.policy import Limit
from shoal.process.search.frontier import Limits, Point
from shoal.process.search.points import choices_of
from shoal.process.search.rule import better_half, round_lengths, sample_sizes, try_points

LIMITS = Limits(0.1, {"loss": Limit(at_most=0.5)})


def point(risk, loss, **more):
    return Point({}, risk=risk, scores={"loss": Score(loss, "lower", (0.0, 1.0))}, **more)


def grid(n):
    return choices_of({"search": [{"name": "a", "k": {"search": list(range(n))}}, {"name": "b", "x": 1}]})


@given(n=st.integers(1, 500), budget=st.integers(1, 100), n_subjects=st.integers(1, 3000))
def test_rounds_halve_until_the_budget_is_kept_and_samples_only_grow(n, budget, n_subjects):
    lengths = round_lengths(n, budget)
    assert lengths[0] == n
    assert lengths[-1] <= max(budget, 1)
    assert all(after == (before + 1) // 2 for before, after in pairwise(lengths))
    assert all(length > budget for length in lengths[:-1])
    sizes = sample_sizes(len(lengths), n_subjects)
    assert sizes[-1] == n_subjects
    assert sizes == sorted(sizes)
    assert len(sizes) == len(lengths)


def test_where_the_budget_is_enough_every_point_is_tried_once_on_the_whole_sample():
    seen = []
    tried = try_points(grid(5), LIMITS, 6, lambda number, setting, part: seen.append((number, part)) or point(0.2, 0.2))
    assert seen == [(number, 0) for number in range(6)]
    assert tried.stopped is None


def test_where_it_is_not_the_better_half_goes_on_to_a_larger_sample():
    """With figures that do not depend on the sample, what is left is what nothing beats."""
    rng = np.random.default_rng(0)
    figures = {number: (float(rng.uniform()), float(rng.uniform())) for number in range(33)}
    figures[7] = (0.01, 0.01)
    seen = []

    def trial(number, setting, part):
        seen.append((part, number))
        return point(*figures[number], n_subjects=100 * 2**part)

    tried = try_points(grid(32), LIMITS, 10, trial)
    assert [sum(part == one for part, _ in seen) for one in range(3)] == [33, 17, 9]
    assert len(seen) == len(set(seen))
    last = {number for part, number in seen if part == 2}
    naive = sorted(
        figures,
        key=lambda one: sum(
            all(a <= b for a, b in zip(figures[other], figures[one], strict=True)) and figures[other] != figures[one]
            for other in figures
        ),
    )
    assert 7 in last
    assert naive[0] in last
    assert {number for number, found in tried.points.items() if found.n_subjects == 400} == last
    assert len(tried.points) == 33


def test_what_a_small_sample_cannot_bear_goes_on_where_there_is_room_and_what_breaks_a_promise_does_not():
    found = {
        0: point(1.0, 0.0, refused="needs 200 subjects", impossible=True),
        1: point(1.0, 0.0, refused="k does not hold"),
        2: point(0.2, 0.2),
        3: point(0.3, 0.3),
        4: point(0.4, 0.4),
        5: point(1.0, 0.0, refused="k does not hold"),
    }
    assert better_half(found, LIMITS) == [2, 3, 4]
    assert better_half({number: found[number] for number in (0, 1, 2, 5)}, LIMITS) == [0, 2]


def test_a_third_measure_with_a_limit_keeps_a_point_that_is_best_in_it():
    limits = Limits(0.1, {"loss": Limit(at_most=0.5), "peaks": Limit(at_most=0.1)})

    def three(risk, loss, peaks):
        scores = {"loss": Score(loss, "lower", (0.0, 1.0)), "peaks": Score(peaks, "lower", (0.0, 1.0))}
        return Point({}, risk=risk, scores=scores)

    found = {0: three(0.1, 0.1, 0.9), 1: three(0.2, 0.2, 0.05), 2: three(0.2, 0.2, 0.95), 3: three(0.3, 0.3, 0.99)}
    assert better_half(found, limits) == [0, 1]


def test_of_equals_within_the_limits_the_more_useful_goes_on():
    found = {0: point(0.01, 0.4), 1: point(0.02, 0.3), 2: point(0.03, 0.2), 3: point(0.04, 0.1)}
    assert better_half(found, LIMITS) == [2, 3]
    assert better_half(found | {3: point(0.4, 0.1)}, LIMITS) == [1, 2]  # beyond the limit of risk


@pytest.mark.parametrize("interrupted", [1, 4, 20, 40])
def test_an_interrupted_search_that_is_given_its_trials_again_ends_the_same(interrupted):
    def trial(number, setting, part):
        return point(((number * 7919 + part * 31) % 97) / 97, ((number * 104729 + part) % 89) / 89)

    whole = try_points(grid(30), LIMITS, 8, trial)
    kept = {}

    def kept_trial(number, setting, part):
        if (number, part) not in kept:
            if len(kept) == interrupted:
                raise KeyboardInterrupt
            kept[number, part] = trial(number, setting, part)
        return kept[number, part]

    with pytest.raises(KeyboardInterrupt):
        try_points(grid(30), LIMITS, 8, kept_trial)
    again = try_points(grid(30), LIMITS, 8, lambda *which: kept.get((which[0], which[2])) or trial(*which))
    assert again.points == whole.points


def test_a_person_ends_it_after_the_first_point_at_the_earliest_and_is_told_how_far_it_was():
    tried = try_points(grid(5), LIMITS, 10, lambda *which: point(0.2, 0.2), stop=lambda: True)
    assert len(tried.points) == 1
    assert tried.stopped.sentence == "A person stopped the search after 1 of 6 planned points."
    done = []
    tried = try_points(
        grid(9), LIMITS, 6, lambda *which: done.append(which) or point(0.2, 0.2), stop=lambda: len(done) == 12
    )
    assert tried.stopped.sentence == (
        "A person stopped the search after 12 of 15 planned trials, "
        "in which a point tried again on more subjects counts again."
    )
    assert len(tried.points) == 10


def test_a_range_is_bisected_within_its_own_alternative_and_the_budget():
    choices = choices_of({"search": [{"name": "a", "k": {"search": {"from": 0, "to": 60}}}, {"name": "b", "x": 1}]})

    def trial(number, setting, part):
        return point(1 - setting.values[0] / 100 if setting.alternative == 0 else 0.05, 0.2)

    limits = Limits(0.666, {"loss": Limit(at_most=0.5)})
    tried = try_points(choices, limits, 60, trial)
    values = {setting.values[0] for setting in tried.settings.values() if setting.alternative == 0}
    assert {33, 34} <= values  # the step in which the limit is crossed
    assert [tried.settings[number].values for number in tried.in_order()] == [*((v,) for v in sorted(values)), ()]
    assert len(try_points(choices, limits, 9, trial).points) == 9
