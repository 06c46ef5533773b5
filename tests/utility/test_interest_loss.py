"""Loss of what somebody wants to know of a series."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from shoal import Microaggregation, Panel
from shoal.cli.options import build
from shoal.errors import InputError, ParameterError
from shoal.features import interests
from shoal.process.catalogue import catalogue
from shoal.utility import InterestLoss

TIMES = ["arrival", "departure", "occupied"]
BEFORE = [[0.0, 1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0]]
AFTER = [[0.0, 1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 0.0]]


def loss(before, after, *given, **options):
    score = InterestLoss(*given, **options).measure(Panel(before), Panel(after))
    assert (score.goal, score.range) == ("lower", (0.0, float("inf")))
    return score.value


@pytest.mark.parametrize(
    ("interest", "expected"),
    [
        ("arrival", (0 + 4 + 3) / 3),  # at 1, 4 and never, which is 5; published at 1, 0 and 2
        ("departure", (1 + 4 + 4) / 3),  # after 3, 5 and 0; published after 4, 1 and 4
        ("occupied", (1 + 0 + 2) / 3),
    ],
)
def test_times_by_hand(interest, expected):
    assert loss(BEFORE, AFTER, interest) == pytest.approx(expected)


def test_windows_by_hand():
    before, after = [[1.0, 2.0, 3.0, 4.0]], [[9.0, 5.0, -1.0, 9.0]]
    assert loss(before, after, "segment", 1, 3) == 5.0  # differences 3 and 4
    assert loss(before, after, "total", 1, 3) == 1.0
    assert loss(before, after, "total", end=1) == 8.0
    assert loss(before, after, "total", start=3) == 5.0
    assert loss(before, after) == pytest.approx(math.sqrt(8**2 + 3**2 + 4**2 + 5**2))


days = hnp.arrays(np.float64, (4, 9), elements=st.sampled_from([0.0, 1.0 / 3.0, 0.5, 2.0 / 3.0, 1.0]))


def naive_time(row, interest, above):
    there = [t for t, value in enumerate(row) if value > above]
    if interest == "occupied":
        return len(there)
    if interest == "arrival":
        return there[0] if there else len(row)
    return there[-1] + 1 if there else 0


@given(before=days, after=days, above=st.sampled_from([0.0, 0.5]), interest=st.sampled_from(TIMES))
def test_times_are_those_a_loop_finds(before, after, above, interest):
    rows = zip(before, after, strict=True)
    apart = [abs(naive_time(a, interest, above) - naive_time(b, interest, above)) for a, b in rows]
    assert loss(before, after, interest, above=above) == pytest.approx(sum(apart) / 4)


@given(before=days, after=days, interest=st.sampled_from([*TIMES, "segment", "total"]))
def test_nothing_is_lost_of_the_originals_and_series_lose_apart(before, after, interest):
    measure = InterestLoss(interest)
    assert measure.measure(Panel(before), Panel(before)).value == 0.0
    each = measure.per_series(Panel(before), Panel(after))
    assert_allclose(each, [loss(before[[i]], after[[i]], interest) for i in range(4)])
    assert measure.measure(Panel(before), Panel(after)).value == pytest.approx(each.mean())


def test_half_of_a_group_makes_it_there_and_a_trace_does_not():
    before, mean = [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1 / 3, 1.0, 1.0]] * 3
    assert loss(before, mean, "arrival") == pytest.approx(1 / 3)
    assert loss(before, mean, "arrival", above=0.0) == pytest.approx(2 / 3)


def test_what_happens_outside_the_window_does_not_matter(rng):
    x = rng.random((20, 96))
    y = x + rng.random(x.shape)
    y[:, 44:56] = x[:, 44:56]
    assert loss(x, y, "segment", "11:00", "14:00") == loss(x, y, "total", "11:00", "14:00") == 0.0
    assert loss(x, y, "segment", "11:00", "14:15") > 0.0


@pytest.mark.parametrize("n_instants", [24, 96, 1440])
def test_a_time_of_the_day_is_the_same_at_any_step_and_ends_may_be_left_out(rng, n_instants):
    x, y = rng.random((2, 5, n_instants))
    noon = n_instants // 2
    assert loss(x, y, "segment", end="12:00") == loss(x, y, "segment", 0, noon)
    assert loss(x, y, "total", start="12:00") == loss(x, y, "total", noon, n_instants)


def test_a_function_may_say_what_matters(rng):
    x, y = rng.random((2, 6, 10))
    assert loss(x, y, lambda values: values.max(axis=1)) == pytest.approx(np.abs(x.max(1) - y.max(1)).mean())
    assert loss(x, y, interests.Arrival(0.7).of) == loss(x, y, "arrival", above=0.7)
    assert InterestLoss(np.median).parameters["interest"] == "median"


def test_channels_count_together():
    before, after = np.zeros((1, 4, 2)), np.zeros((1, 4, 2))
    before[0, 1:, 0], after[0, :, 1] = 1.0, 1.0
    assert loss(before, after, "arrival") == 5.0  # 1 and never, published never and 0: √(3² + 4²)


def test_a_learned_group_by_the_interest_loses_less_of_it(rng):
    x = (np.arange(24) >= rng.integers(0, 24, size=(60, 1))).astype(float)
    x[:, 12:] = rng.integers(0, 2, size=(60, 12))
    panel, arrival = Panel(x), InterestLoss("arrival")
    generic, wanted = (
        Microaggregation(k=4, features=f, round_to="binary").anonymize(panel).published
        for f in ("raw", lambda p: interests.Arrival().of(p.values))
    )
    assert arrival.measure(panel, wanted).better_than(arrival.measure(panel, generic))


class TestCommandLine:
    def test_options_can_be_typed(self, rng):
        typed = build(InterestLoss, {"interest": "segment", "start": "11:00", "end": "14:00"})
        assert typed == InterestLoss("segment", "11:00", "14:00")
        x, y = rng.random((2, 5, 24))
        positions = build(InterestLoss, {"interest": "total", "start": "11", "end": "14"})
        assert positions.measure(Panel(x), Panel(y)) == InterestLoss("total", 11, 14).measure(Panel(x), Panel(y))
        assert build(InterestLoss, {"interest": "arrival", "above": "20"}) == InterestLoss("arrival", above=20.0)

    def test_a_word_of_keep_is_measured_by_the_clock_of_the_panel(self):
        typed = build(InterestLoss, {"interest": "window:01:00-02:00"})
        hours = np.datetime64("2024-01-01T00:00", "us") + np.arange(3) * np.timedelta64(1, "h")
        before, after = Panel([[1.0, 2.0, 3.0]], times=hours), Panel([[9.0, 5.0, 9.0]], times=hours)
        assert typed.measure(before, after).value == 3.0

    def test_a_wrong_word_is_refused(self):
        with pytest.raises(ParameterError, match="interest must be one of: segment, total"):
            build(InterestLoss, {"interest": "lunch"})

    def test_the_catalogue_says_what_can_be_typed(self):
        entry = next(entry for entry in catalogue() if entry.name == "interest-loss")
        types = {parameter.name: parameter.type for parameter in entry.parameters}
        assert types == {
            "interest": "segment|total|arrival|departure|occupied|str|function",
            "start": "int|str",
            "end": "int|str",
            "above": "float",
        }


def clock(first, step, n):
    return np.datetime64(first) + np.arange(n) * np.timedelta64(step, "m")


class TestTheClockOfThePanel:
    def measure(self, times, **options):
        x = np.arange(2.0 * len(times)).reshape(2, -1)
        panel = Panel(x, times=times, **options)
        return InterestLoss("segment", "11:00", "14:00").measure(panel, Panel(x + 1.0)).value

    def test_a_day_from_midnight_is_measured(self):
        assert self.measure(clock("2024-01-09", 60, 24)) == pytest.approx(math.sqrt(3))

    def test_midnight_is_that_of_the_zone(self):
        berlin = clock("2024-01-08T23:00", 60, 24)
        assert self.measure(berlin, timezone="Europe/Berlin") == pytest.approx(math.sqrt(3))
        with pytest.raises(ParameterError, match="one day from midnight on"):
            self.measure(berlin)

    def test_a_day_on_which_the_clock_is_set_forward_has_no_such_times(self):
        spring = clock("2024-03-30T23:00", 60, 24)
        with pytest.raises(ParameterError, match="in even steps"):
            self.measure(spring, timezone="Europe/Berlin")

    @pytest.mark.parametrize(
        "times",
        [
            clock("2024-01-09T06:00", 60, 24),
            clock("2024-01-09", 60, 336),
            clock("2024-01-09", 30, 24),
            np.delete(clock("2024-01-09", 60, 25), 7),
        ],
        ids=["from six", "two weeks", "half a day", "uneven"],
    )
    def test_other_series_have_no_time_of_the_day(self, times):
        with pytest.raises(ParameterError, match=r"Give start and end as positions of instants\."):
            self.measure(times)


class TestRefusals:
    def test_impossible_parameters(self):
        with pytest.raises(ParameterError, match="interest must be one of: segment, total, arrival, departure, occ"):
            InterestLoss("lunch")
        with pytest.raises(ParameterError, match="start and end apply to the interests 'segment' and 'total'"):
            InterestLoss("arrival", start="11:00")
        with pytest.raises(ParameterError, match="A window must end after it starts"):
            InterestLoss("segment", "14:00", "11:00")
        with pytest.raises(ParameterError, match="A time of the day has the form '11:00'"):
            InterestLoss("segment", end="noon")
        with pytest.raises(ParameterError, match="An interest is an instance"):
            InterestLoss(7)
        for above in (float("nan"), float("inf"), True):
            with pytest.raises(ParameterError, match="above must be a finite number"):
                InterestLoss("arrival", above=above)

    def test_a_window_beyond_the_series(self):
        with pytest.raises(ParameterError, match="The window ends at position 9, the series have 5 instants"):
            loss(BEFORE, AFTER, "segment", 0, 9)

    @pytest.mark.parametrize("which", ["original", "published"])
    def test_gaps_are_refused_and_the_panel_is_named(self, which):
        gappy = np.array(BEFORE)
        gappy[1, 2] = np.nan
        pair = (gappy, AFTER) if which == "original" else (BEFORE, gappy)
        with pytest.raises(InputError, match=f"1 of 3 series of the {which} panel have missing"):
            loss(*pair, "arrival")

    def test_other_shapes(self):
        with pytest.raises(ParameterError, match="differ in shape; compare them before shuffling rows"):
            loss(BEFORE, AFTER[:2])
