import importlib.util
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.offline_reposition import offline_by_enumeration
from naive.reposition import Window, cheapest_step, cheapest_step_by_enumeration, is_eligible, loss_of
from shoal.kernels.reposition import _gain, _relay, advance, fill, loss, retire

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
_spec = importlib.util.spec_from_file_location("offline_reposition", EXPERIMENTS / "offline_reposition.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
offline = _module.offline

LINEAR, QUADRATIC = np.arange(40.0), np.arange(40.0) ** 2
CURVES = [LINEAR, QUADRATIC, 0.1 * LINEAR, np.cumsum([0.0, 1.0, 1.0, 2.0] + [2.5] * 36), 3.0 * LINEAR]
BETAS = [0.5, 1.0, 2.0, 3.0, 4.0, 10.0, 30.0]


@st.composite
def streams(draw, most_events=6, most_snapshots=8, most_values=5, longest_window=5):
    """(counts, w, l, cost, beta); costs go on beyond the window, for oracles that look there."""
    w = draw(st.integers(1, longest_window))
    n_values = draw(st.integers(1, most_values))
    n_snapshots = draw(st.integers(1, most_snapshots))
    number = st.sampled_from([0, 0, 1, 1, 2, 3, most_events])
    row = st.lists(number, min_size=n_values, max_size=n_values)
    counts = np.array(draw(st.lists(row, min_size=n_snapshots, max_size=n_snapshots)), dtype=np.int64)
    beta = st.lists(st.sampled_from(BETAS), min_size=n_values, max_size=n_values)
    return counts, w, draw(st.integers(1, 4)), draw(st.sampled_from(CURVES)), np.array(draw(beta))


def empty(n_values, w):
    return np.zeros((n_values, w, w), dtype=np.int64), np.zeros((n_values, w), dtype=np.int64)


def standing_in(placed, suppressed):
    """The state as the table of the oracles."""
    table = {(int(s), int(j - d), int(j)): int(placed[s, j, d]) for s, j, d in np.argwhere(placed)}
    return table | {(int(s), int(t), None): int(suppressed[s, t]) for s, t in np.argwhere(suppressed)}


def steps(counts, w, l, cost, beta):
    """For each step what stood in the window when the snapshot had arrived, and the state after it."""
    placed, suppressed = empty(len(beta), w)
    for arriving in counts:
        retired = placed.copy(), suppressed.copy()
        retire(*retired)
        before = standing_in(*retired) | {(s, w - 1, None): int(n) for s, n in enumerate(arriving) if n}
        advance(placed, suppressed, arriving, l, cost[:w], beta)
        yield before, placed, suppressed


@given(stream=streams())
def test_every_step_of_500_streams_costs_what_an_integer_program_over_the_papers_moves_costs(stream):
    _, w, l, cost, beta = stream
    for before, placed, suppressed in steps(*stream):
        least = cheapest_step(before, w - 1, w - 1, l, cost, beta)
        assert loss(placed, suppressed, cost[:w], beta) == pytest.approx(least, rel=1e-9, abs=1e-9)
        assert loss_of(standing_in(placed, suppressed), cost, beta) == pytest.approx(least, rel=1e-9, abs=1e-9)


@given(stream=streams(most_snapshots=6, longest_window=4))
def test_moves_that_the_paper_leaves_out_would_not_help(stream):
    """Back towards the home, into suppression, out of the window: as long as other snapshots keep their numbers."""
    _, w, l, cost, beta = stream
    for before, placed, suppressed in steps(*stream):
        least = cheapest_step(before, w - 1, w - 1, l, cost, beta, anything=True)
        assert loss(placed, suppressed, cost[:w], beta) == pytest.approx(least, rel=1e-9, abs=1e-9)


@given(stream=streams(most_events=2, most_snapshots=4, most_values=3, longest_window=3), anything=st.booleans())
def test_on_tiny_streams_a_step_costs_the_least_of_all_moves(stream, anything):
    _, w, l, cost, beta = stream
    for before, placed, suppressed in steps(*stream):
        if sum(before.values()) <= 8:
            given = (before, w - 1, w - 1, l, cost, beta, anything)
            least = cheapest_step_by_enumeration(*given)
            assert loss(placed, suppressed, cost[:w], beta) == pytest.approx(least, rel=1e-9, abs=1e-9)
            assert cheapest_step(*given) == pytest.approx(least, rel=1e-9, abs=1e-9)


# Whole costs, so that equal gains are equal in both.
@given(stream=streams().filter(lambda stream: stream[3] is not CURVES[2]))
def test_the_kernel_moves_the_same_events_as_relays_of_single_events_ties_included(stream):
    _, w, l, cost, beta = stream
    for before, placed, suppressed in steps(*stream):
        naive = Window(before, w - 1, l, cost, beta).run(as_printed=False).standing()
        assert standing_in(placed, suppressed) == naive
        assert all(place - home <= w - 1 for _, home, place in naive if place is not None)  # which nothing asks there


@given(stream=streams())
def test_snapshots_are_eligible_their_numbers_stay_and_every_event_is_published_or_lost_once(stream):
    counts, w, l, cost, beta = stream
    n_snapshots, n_values = counts.shape
    placed, suppressed = empty(n_values, w)
    came_out = np.zeros_like(counts)
    for turn in range(n_snapshots + w):
        kept = placed.sum(axis=2)[:, 1:]
        if turn < n_snapshots:
            published, lost = advance(placed, suppressed, counts[turn], l, cost[:w], beta)
        else:
            published, lost = retire(placed, suppressed)
        assert_array_equal(placed.sum(axis=2)[:, : w - 1], kept)
        assert (placed >= 0).all()
        assert (suppressed >= 0).all()
        for j in range(w):
            assert is_eligible(placed[:, j].sum(axis=1).tolist(), l)
        leaving = turn - w
        assert is_eligible(published.sum(axis=1).tolist(), l)
        for d in range(w):  # d late: its home is that long before
            if leaving - d >= 0:
                came_out[leaving - d] += published[:, d]
            else:
                assert not published[:, d].any()
        if leaving >= 0:
            came_out[leaving] += lost
        else:
            assert not lost.any()
    assert not placed.any()
    assert not suppressed.any()
    assert_array_equal(came_out, counts)


@given(stream=streams())
def test_homes_follow_the_order_of_snapshots(stream):
    """Theorem 1."""
    for _, placed, _ in steps(*stream):
        w = placed.shape[1]
        for value in placed:
            homes = [j - d for j in range(w) for d in reversed(range(w)) for _ in range(value[j, d])]
            assert homes == sorted(homes)


@given(stream=streams())
def test_gains_of_one_value_never_rise_from_relay_to_relay(stream):
    _, w, _, cost, beta = stream
    for _, placed, suppressed in steps(*stream):
        for s in range(len(beta)):
            p, u = placed[s].copy(), suppressed[s].copy()
            gains = []
            while u.any():
                gains.append(_gain(p, u, w - 1, cost[:w], beta[s]))
                _relay(p, u, w - 1)
            assert all(later <= earlier + 1e-9 for earlier, later in pairwise(gains))
            assert _gain(p, u, w - 1, cost[:w], beta[s]) == -np.inf


def test_as_printed_the_algorithm_stops_where_a_lift_needs_nothing():
    """Line 4 gives m = 0, so LL relays nothing, IG(M2) = 0 <= 0 and line 6 stops, though one relay gains 4."""
    beta = np.full(4, 5.0)
    placed, suppressed = empty(4, 2)
    advance(placed, suppressed, np.array([1, 0, 0, 0]), 2, LINEAR[:2], beta)  # alone, so suppressed
    before = {(0, 0, None): 1} | {(s, 1, None): 1 for s in range(4)}
    printed = Window(before, 1, 2, LINEAR, beta).run(as_printed=True)
    assert printed.trace == [("roll back", 0)]
    assert loss_of(printed.standing(), LINEAR, beta) == 5.0
    assert cheapest_step(before, 1, 1, 2, LINEAR, beta) == 1.0
    advance(placed, suppressed, np.array([1, 1, 1, 1]), 2, LINEAR[:2], beta)
    assert loss(placed, suppressed, LINEAR[:2], beta) == 1.0
    assert placed[:, 1].tolist() == [[1, 1], [1, 0], [1, 0], [1, 0]]


def test_a_lift_may_take_more_than_it_needs():
    """Two events gain where the next level needs one: both are relayed, whether by this lift or the next LP."""
    beta = np.full(4, 5.0)
    before = {(s, 0, None): 1 for s in (0, 1)} | {(s, 1, None): 1 for s in range(4)}
    placed, suppressed = empty(4, 2)
    advance(placed, suppressed, np.array([1, 1, 0, 0]), 3, LINEAR[:2], beta)
    assert suppressed[:, 1].tolist() == [1, 1, 0, 0]
    advance(placed, suppressed, np.array([1, 1, 1, 1]), 3, LINEAR[:2], beta)
    assert loss(placed, suppressed, LINEAR[:2], beta) == cheapest_step(before, 1, 1, 3, LINEAR, beta) == 2.0


def test_an_empty_snapshot_is_filled_from_level_zero():
    beta = np.full(3, 5.0)
    placed, suppressed = empty(3, 2)
    suppressed[:, 1] = [2, 1, 1]
    advance(placed, suppressed, np.zeros(3, dtype=np.int64), 3, LINEAR[:2], beta)
    assert placed[:, 1, 1].tolist() == [1, 1, 1]
    assert suppressed[:, 0].tolist() == [1, 0, 0]


def test_a_relay_that_gains_exactly_nothing_is_not_made():
    beta = np.array([1.0, 1.0])
    placed, suppressed = empty(2, 2)
    suppressed[0, 1] = 1
    placed[:, 1, 0] = 1
    advance(placed, suppressed, np.array([1, 2]), 1, LINEAR[:2], beta)
    assert placed[:, 1].tolist() == [[1, 0], [2, 0]]
    assert suppressed[:, 0].tolist() == [1, 0]


def test_of_equal_gains_the_first_value_goes():
    """Two of value 0 wait for level 2, which needs one more event, and values 1 and 2 lose 1 each by giving one."""
    beta, cost = np.array([9.0, 4.0, 4.0]), np.array([0.0, 5.0])
    placed, suppressed = empty(3, 2)
    suppressed[1:, 1] = 2
    advance(placed, suppressed, np.array([2, 1, 0]), 2, cost, beta)
    assert placed[:, 1].tolist() == [[2, 0], [1, 1], [0, 0]]


def test_a_dear_value_is_lifted_at_the_price_of_a_cheap_one():
    """The first solution suppresses the fewest, whatever they cost. The relays after it make up for that."""
    beta = np.array([100.0, 0.5, 0.5])
    placed, suppressed = empty(3, 3)
    suppressed[1, 2] = 3
    advance(placed, suppressed, np.array([3, 0, 1]), 2, LINEAR[:3], beta)
    assert placed[:, 2].sum(axis=1).tolist() == [3, 2, 1]  # each of the two lost 0.5 for 100 gained


@pytest.mark.parametrize("w", [1, 4])
def test_without_diversity_everything_is_published_at_once(w):
    placed, suppressed = empty(2, w)
    advance(placed, suppressed, np.array([5, 0]), 1, LINEAR[:w], np.ones(2))
    assert placed[:, w - 1, 0].tolist() == [5, 0]
    assert not suppressed.any()


def test_in_a_window_of_one_snapshot_nothing_moves():
    placed, suppressed = empty(2, 1)
    assert_array_equal(advance(placed, suppressed, np.array([3, 1]), 2, LINEAR[:1], np.ones(2))[0], [[0], [0]])
    published, lost = advance(placed, suppressed, np.array([1, 3]), 2, LINEAR[:1], np.ones(2))
    assert published.tolist() == [[1], [1]]
    assert lost.tolist() == [2, 0]


def test_more_values_than_the_window_has_room_for_are_suppressed_for_good():
    placed, suppressed = empty(2, 2)
    given = [advance(placed, suppressed, np.array([4, 0]), 2, LINEAR[:2], np.ones(2)) for _ in range(4)]
    assert [published.sum() for published, _ in given] == [0, 0, 0, 0]
    assert [lost.tolist() for _, lost in given] == [[0, 0], [0, 0], [4, 0], [4, 0]]


@given(stream=streams())
def test_fill_gives_a_window_with_these_numbers_at_the_same_loss(stream):
    """Relays lay out a window as cheaply as possible for the numbers its snapshots have."""
    counts, _, l, cost, beta = stream
    w = len(counts)
    *_, (_, placed, suppressed) = steps(counts, w, l, cost, beta)
    again = fill(counts, np.ascontiguousarray(placed.sum(axis=2).T))
    assert_array_equal(again[0], placed)
    assert_array_equal(again[1], suppressed)


def test_figure_1_loss_is_one_suppression_and_one_event_late_by_one():
    """Snapshots 6 to 8, one value: P6 = {r1, r2}, S6 = {r0}, P7 = {r3, r4}, P8 = {r5 of 7, r6 of 8}."""
    placed, suppressed = empty(1, 3)
    placed[0, 0, 0], placed[0, 1, 0], placed[0, 2, 0], placed[0, 2, 1], suppressed[0, 0] = 2, 2, 1, 1, 1
    beta, mu = np.array([7.0]), np.array([0.0, 1.5, 9.0])
    assert loss(placed, suppressed, mu, beta) == 7.0 + 1.5


# Snapshots w - 1, w and w + 1 of the paper are 1, 2 and 3 here. The figure gives gains, no costs, and leaves open how
# the earlier snapshots look and what r6 gains. r7 and r8 both wait in S_w, where every relay costs mu(1): gains of -2
# and +1 can only come of different betas. These costs give the gains of the figure.
FIGURE_2 = {
    "last": 3,
    "l": 4,
    "cost": 3.0 * LINEAR,
    "beta": np.array([3.0, 3.0, 1.0, 4.0, 3.0]),
}
FIGURE_2_SUPPRESSED = {(1, 1, None): 1, (2, 2, None): 1, (3, 2, None): 1, (4, 1, None): 1}  # r6, r7, r8, r9
FIGURE_2_ARRIVING = np.array([6, 3, 2, 1, 1])


def figure_2():
    arriving = {(s, 3, None): int(n) for s, n in enumerate(FIGURE_2_ARRIVING)}
    return Window(FIGURE_2_SUPPRESSED | arriving, **FIGURE_2)


def test_figure_2_the_initial_solution_and_the_gains():
    window = figure_2()
    window.start()
    assert window.counts() == [2, 2, 2, 1, 1]
    assert [window.gain(s) for s in range(5)] == [3.0, 3.0, -2.0, 1.0, -3.0]


@pytest.mark.parametrize("as_printed", [True, False])
def test_figures_2_and_3_r8_keeps_the_level_and_r1_r5_r7_lift_it(as_printed):
    """m = 12 - 9 = 3 events; the next lift needs 4, finds the 3 events r2, r6 and r9, and is rolled back."""
    window = figure_2().run(as_printed=as_printed)
    assert window.trace[:4] == [("LP", 3), ("LL", 0), ("LL", 1), ("LL", 2)]
    assert sorted(window.trace[4:-1]) == [("LL", 0), ("LL", 1), ("LL", 4)]
    assert window.trace[-1] == ("roll back", 3)
    assert window.counts() == [3, 3, 3, 2, 1]


def test_figure_3_is_what_the_kernel_makes_of_figure_2():
    placed, suppressed = empty(5, 4)
    for (s, home, _), n in FIGURE_2_SUPPRESSED.items():
        suppressed[s, home + 1] = n  # before the window moves on
    before = loss(placed, suppressed, FIGURE_2["cost"][:4], FIGURE_2["beta"])
    advance(placed, suppressed, FIGURE_2_ARRIVING, 4, FIGURE_2["cost"][:4], FIGURE_2["beta"])
    assert placed[:, 3].sum(axis=1).tolist() == [3, 3, 3, 2, 1]
    assert suppressed[:, 3].tolist() == [3, 0, 0, 0, 0]
    assert suppressed[:, 1].tolist() == [0, 1, 0, 0, 1]
    assert not suppressed[:, 2].any()
    initial = before + 4 * 3.0 + 3.0  # r1 to r4 and r5
    assert loss(placed, suppressed, FIGURE_2["cost"][:4], FIGURE_2["beta"]) == initial - 1 - 4


@given(stream=streams(most_snapshots=6, most_values=4))
def test_knowing_the_whole_stream_is_never_dearer(stream):
    counts, w, l, cost, beta = stream
    best = offline(counts, w, l, cost[:w], beta)
    assert best.bound == pytest.approx(best.loss, rel=1e-6, abs=1e-6)
    assert best.loss <= online_loss(stream) + 1e-9


def online_loss(stream):
    counts, w, l, cost, beta = stream
    placed, suppressed = empty(len(beta), w)
    total = 0.0
    for turn in range(len(counts) + w):
        if turn < len(counts):
            published, lost = advance(placed, suppressed, counts[turn], l, cost[:w], beta)
        else:
            published, lost = retire(placed, suppressed)
        total += published.sum(axis=0) @ cost[:w] + lost @ beta
    return total


def test_each_step_is_optimal_but_not_the_stream():
    """Two events of other values, published on time, would have helped the next snapshot: an online step cannot move
    them, because the snapshots before the last keep their numbers."""
    counts = np.array([[1, 1, 1, 1, 1], [2, 0, 0, 0, 0]])
    stream = counts, 2, 2, LINEAR, np.full(5, 10.0)
    assert online_loss(stream) == 20.0
    best = offline(counts, 2, 2, LINEAR[:2], np.full(5, 10.0))
    assert best.loss == 2.0


@given(stream=streams(most_events=2, most_snapshots=3, most_values=3, longest_window=3), both=st.booleans())
def test_the_offline_program_equals_enumeration_on_tiny_streams(stream, both):
    counts, w, l, cost, beta = stream
    if counts.sum() <= (6 if both else 8):
        least = offline_by_enumeration(counts, w, l, cost, beta, both=both)
        assert offline(counts, w, l, cost[:w], beta, both=both).loss == pytest.approx(least, rel=1e-9, abs=1e-9)
