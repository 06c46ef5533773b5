"""The published schemes: who is asked for how much, and what the composed state machine gives away."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from edge.enumeration import distribution, e_to
from shoal.edge import SCHEMES, Budget, Grid, Meter
from shoal.edge.response import UNIT, units
from shoal.edge.schemes import check_scheme
from shoal.errors import ParameterError

GRID = Grid(0.0, 1.0, 2)


def run_scheme(scheme, meters, instants, read):
    """Every answer, by instant and meter; and the estimates."""
    transcript, estimates = [], []
    for instant in range(instants):
        for number, meter in enumerate(meters):
            meter.measure(instant, read(number, instant))
        asking = scheme.instant(instant)
        try:
            question = next(asking)
            while True:
                said = [(number, meters[number].answer(instant, question.cost)) for number in question.whom]
                transcript.append((instant, question.cost, tuple(said)))
                counts = np.bincount([a for _, a in said if a is not None], minlength=scheme.grid.points)
                question = asking.send(counts)
        except StopIteration as done:
            estimates.append(done.value)
    return transcript, estimates


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("w", [1, 2, 3])
def test_the_composed_state_machine_keeps_epsilon_on_every_pair_of_streams(name, w):
    """One meter, readings 0 or 1, every stream, every transcript that chance can bring about, exactly.

    The collector adapts its questions to the answers as the scheme does. Streams that differ within w successive
    instants have transcripts whose probabilities differ by at most e^epsilon; those that differ everywhere by more.
    """
    epsilon, instants = Fraction(1), 4
    found = {}
    for stream in product((0.0, 1.0), repeat=instants):

        def transcript(chance, stream=stream):
            meter = Meter(GRID, Budget(units(epsilon), w), chance)
            scheme = SCHEMES[name](units(epsilon), w, [0], GRID)
            return tuple(run_scheme(scheme, [meter], instants, lambda _, t: stream[t])[0])

        found[stream] = distribution(transcript)
        assert sum(found[stream].values()) == 1
    limit, largest = e_to(epsilon), Fraction(0)
    for one, other in product(found, repeat=2):
        apart = [t for t in range(instants) if one[t] != other[t]]
        if apart and apart[-1] - apart[0] < w:
            for seen in found[one].keys() | found[other].keys():
                assert found[one].get(seen, 0) <= limit * found[other].get(seen, 0)
                largest = max(largest, found[one].get(seen, 0) / found[other][seen])
    assert largest > 1  # else nothing would have been said


def test_a_greedy_collector_gets_no_more():
    """It asks for everything, again and again; every window still holds, over all transcripts."""
    epsilon, w, instants = Fraction(1), 2, 3
    found = {}
    for stream in product((0.0, 1.0), repeat=instants):

        def transcript(chance, stream=stream):
            meter = Meter(GRID, Budget(units(epsilon), w), chance)
            said = []
            for instant, reading in enumerate(stream):
                meter.measure(instant, reading)
                for cost in (UNIT, UNIT // 2, UNIT // 2, UNIT // 2):
                    last = said[-1] if said else None
                    said.append(meter.answer(instant, cost if last else UNIT // 2))
                said += [meter.answer(instant - 1, 1), meter.answer(instant + 1, 1)]
            return tuple(said)

        found[stream] = distribution(transcript)
    for one, other in product(found, repeat=2):
        apart = [t for t in range(instants) if one[t] != other[t]]
        if apart and apart[-1] - apart[0] < w:
            assert all(found[one][seen] <= e_to(epsilon) * found[other].get(seen, 0) for seen in found[one])


@pytest.mark.parametrize("name", SCHEMES)
def test_no_honest_question_is_refused_and_nobody_is_asked_for_more_than_a_window_has(name):
    w, n, instants = 5, 60, 23
    rng = np.random.default_rng(3)
    readings = np.clip(0.5 + 0.3 * np.sin(np.arange(instants)) + 0.1 * rng.standard_normal((n, instants)), 0, 1)
    meters = [Meter(GRID, Budget(units(2.0), w)) for _ in range(n)]
    scheme = SCHEMES[name](units(2.0), w, range(n), GRID)
    transcript, estimates = run_scheme(scheme, meters, instants, lambda i, t: float(readings[i, t]))
    assert all(a is not None for _, _, said in transcript for _, a in said)
    assert len(estimates) == instants
    assert estimates[0].fresh
    spent = Counter()
    for instant, cost, said in transcript:
        for number, _ in said:
            spent[number, instant] += cost
    for number in range(n):
        for first in range(instants):
            assert sum(spent[number, t] for t in range(first, first + w)) <= units(2.0)
    assert len({number for number, _ in spent}) > n / 2


def test_uniform_schemes_are_always_new_and_others_repeat_while_nothing_changes():
    for name in SCHEMES:
        meters = [Meter(GRID, Budget(units(1.0), 4)) for _ in range(200)]
        scheme = SCHEMES[name](units(1.0), 4, range(200), GRID)
        estimates = run_scheme(scheme, meters, 20, lambda i, t: 1.0)[1]
        share = sum(estimate.fresh for estimate in estimates) / 20
        assert share == 1.0 if name.endswith("uniform") else share < 1.0, name


def test_a_group_in_which_nobody_answers_has_no_estimate():
    for name in SCHEMES:
        estimates = run_scheme(SCHEMES[name](UNIT, 3, range(6), GRID), [Silent()] * 6, 3, lambda i, t: 0.0)[1]
        assert all(estimate.shares is None and not estimate.fresh for estimate in estimates)


class Silent:
    def measure(self, instant, reading):
        pass

    def answer(self, instant, cost):
        return None


def test_a_missing_reading_is_not_answered():
    meter = Meter(GRID, Budget(UNIT, 2))
    meter.measure(0, float("nan"))
    assert meter.answer(0, UNIT) is None
    assert meter.budget.spent == 0


def test_unknown_schemes_are_refused():
    with pytest.raises(ParameterError, match="scheme must be one of budget-uniform"):
        check_scheme("uniform")
