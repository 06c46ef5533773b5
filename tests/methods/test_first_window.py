import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.optimize import LinearConstraint, milp

from naive.offline_reposition import offline_by_enumeration
from naive.reposition import cheapest_step, is_eligible
from shoal.kernels.reposition import admit, advance, fill, loss, retire
from shoal.methods import first_window as module
from shoal.methods.first_window import first_window

LINEAR, QUADRATIC = np.arange(40.0), np.arange(40.0) ** 2


@st.composite
def windows(draw, most_events=6, most_snapshots=5, most_values=5):
    """(counts, l, cost, beta)."""
    n_values, n_snapshots = draw(st.integers(1, most_values)), draw(st.integers(1, most_snapshots))
    number = st.sampled_from([0, 0, 1, 1, 2, 3, most_events])
    row = st.lists(number, min_size=n_values, max_size=n_values)
    counts = np.array(draw(st.lists(row, min_size=n_snapshots, max_size=n_snapshots)), dtype=np.int64)
    beta = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0, 10.0]), min_size=n_values, max_size=n_values))
    return counts, draw(st.integers(1, 4)), draw(st.sampled_from([LINEAR, QUADRATIC, 0.1 * LINEAR])), np.array(beta)


def cheapest_window(counts, l, cost, beta):
    """The program of section III as it stands: every number of events whole, and no levels."""
    n_snapshots, n_values = counts.shape
    moves = [(s, i, j) for s in range(n_values) for i in range(n_snapshots) for j in range(i, n_snapshots)]
    rows, high = [], []
    for t in range(n_snapshots):
        for s in range(n_values):
            rows.append([float((s, t) == (u, i)) for u, i, _ in moves])
            high.append(float(counts[t, s]))
            rows.append([(l * (u == s) - 1.0) * (j == t) for u, _, j in moves])
            high.append(0.0)
    price = np.array([cost[j - i] - beta[s] for s, i, j in moves])
    constraints = LinearConstraint(np.array(rows), -np.inf, high)
    found = milp(price, integrality=np.ones(len(moves)), constraints=constraints, options={"mip_rel_gap": 0.0})
    assert found.status == 0
    return float(price @ np.rint(found.x) + counts.sum(axis=0) @ beta)


def step_by_step(counts, l, cost, beta):
    w, n_values = counts.shape
    placed, suppressed = np.zeros((n_values, w, w), dtype=np.int64), np.zeros((n_values, w), dtype=np.int64)
    for j in range(w):
        admit(placed, suppressed, j, counts[j], l, cost[:w], beta)
    return placed, suppressed


def streaky(rng, w, n_values, per_snapshot, spread=0.5):
    """Counts of snapshots with skewed values whose shares change from one to the next."""
    shares = np.arange(1, n_values + 1) ** -1.0 * rng.gamma(spread**-2, size=(w, n_values))
    return np.array([rng.multinomial(per_snapshot, row / row.sum()) for row in shares])


@given(window=windows())
def test_the_first_window_costs_what_the_plain_integer_program_costs(window):
    _, _, cost, beta = window
    placed, suppressed, optimal = first_window(*window)
    assert optimal
    assert loss(placed, suppressed, cost, beta) == pytest.approx(cheapest_window(*window), rel=1e-9, abs=1e-9)


@given(window=windows(most_events=2, most_snapshots=3, most_values=3))
def test_tiny_first_windows_cost_the_least_of_all_ways(window):
    counts, l, cost, beta = window
    if counts.sum() <= 8:
        placed, suppressed, _ = first_window(*window)
        least = offline_by_enumeration(counts, len(counts), l, cost, beta)
        assert loss(placed, suppressed, cost, beta) == pytest.approx(least, rel=1e-9, abs=1e-9)


@given(window=windows())
def test_all_events_are_there_snapshots_are_eligible_and_homes_in_order(window):
    counts, l, _, _ = window
    w = len(counts)
    placed, suppressed, _ = first_window(*window)
    homes = suppressed.T.copy()
    for s, j, d in np.argwhere(placed):
        homes[j - d, s] += placed[s, j, d]
    assert_array_equal(homes, counts)
    for j in range(w):
        assert is_eligible(placed[:, j].sum(axis=1).tolist(), l)
    for value in placed:
        order = [j - d for j in range(w) for d in reversed(range(w)) for _ in range(value[j, d])]
        assert order == sorted(order)


@given(window=windows(most_snapshots=4), more=windows(most_snapshots=4))
def test_steps_after_it_are_optimal_too(window, more):
    counts, l, cost, beta = window
    w, n_values = counts.shape
    placed, suppressed, _ = first_window(*window)
    for row in more[0]:
        arriving = np.resize(row, n_values)
        table = {(int(s), int(j - d) - 1, int(j) - 1): int(placed[s, j, d]) for s, j, d in np.argwhere(placed) if j}
        table |= {(int(s), int(t) - 1, None): int(suppressed[s, t]) for s, t in np.argwhere(suppressed) if t}
        table |= {(s, w - 1, None): int(n) for s, n in enumerate(arriving) if n}
        advance(placed, suppressed, arriving, l, cost[:w], beta)
        least = cheapest_step(table, w - 1, w - 1, l, cost, beta)
        assert loss(placed, suppressed, cost, beta) == pytest.approx(least, rel=1e-9, abs=1e-9)


def test_it_sees_what_snapshot_after_snapshot_cannot():
    """Two others wait a snapshot, so that the two of value 0 that follow are not alone."""
    counts = np.array([[1, 1, 1, 1, 1], [2, 0, 0, 0, 0]])
    beta = np.full(5, 10.0)
    assert loss(*step_by_step(counts, 2, LINEAR, beta), LINEAR, beta) == 20.0
    placed, suppressed, optimal = first_window(counts, 2, LINEAR, beta)
    assert optimal
    assert loss(placed, suppressed, LINEAR, beta) == 2.0
    assert not suppressed.any()


def test_a_stream_of_one_snapshot_is_a_window():
    placed, suppressed, optimal = first_window(np.array([[3, 1, 1]]), 2, LINEAR[:12], np.ones(3))
    assert optimal
    assert placed.tolist() == [[[2]], [[1]], [[1]]]
    published, lost = retire(placed, suppressed)
    assert published.tolist() == [[2], [1], [1]]
    assert lost.tolist() == [1, 0, 0]


def test_snapshots_without_events_and_values_without_events_are_fine():
    counts = np.array([[0, 0, 0], [2, 0, 0], [0, 0, 1]])
    placed, suppressed, optimal = first_window(counts, 2, LINEAR, np.full(3, 5.0))
    assert optimal
    assert placed[0, 2].tolist() == [0, 1, 0]
    assert suppressed[0].tolist() == [0, 1, 0]
    assert first_window(np.zeros((2, 3), dtype=np.int64), 2, LINEAR, np.ones(3)).optimal


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_unit_of_costs_does_not_matter(scale, rng):
    counts, beta = streaky(rng, 5, 6, 20), np.array([3.0, 1.0, 10.0, 4.0, 1.0, 30.0])
    usual = first_window(counts, 4, QUADRATIC, beta)
    other = first_window(counts, 4, QUADRATIC * scale, beta * scale)
    assert other.optimal
    assert loss(*other[:2], QUADRATIC, beta) == pytest.approx(loss(*usual[:2], QUADRATIC, beta), rel=1e-9)


def test_the_same_twice(rng):
    counts, beta = streaky(rng, 8, 20, 200), np.full(20, 30.0)
    one, other = (first_window(counts, 5, QUADRATIC, beta) for _ in range(2))
    assert_array_equal(one.placed, other.placed)
    assert_array_equal(one.suppressed, other.suppressed)


def test_out_of_nodes_the_best_so_far_is_never_worse_than_snapshot_after_snapshot(rng):
    for _ in range(3):
        counts, beta = streaky(rng, 8, 20, 200, spread=0.3), np.full(20, 12.0)
        proven, hasty = first_window(counts, 6, LINEAR, beta), first_window(counts, 6, LINEAR, beta, nodes=1)
        least = loss(*proven[:2], LINEAR, beta)
        assert proven.optimal
        assert least <= loss(*hasty[:2], LINEAR, beta) <= loss(*step_by_step(counts, 6, LINEAR, beta), LINEAR, beta)
        assert not hasty.optimal or loss(*hasty[:2], LINEAR, beta) == pytest.approx(least)


def test_too_large_a_program_is_not_tried_and_does_not_claim_the_optimum(monkeypatch, rng):
    counts, beta = streaky(rng, 6, 10, 50), np.full(10, 12.0)
    expected = step_by_step(counts, 4, LINEAR, beta)
    monkeypatch.setattr(module, "MOST_VARIABLES", 10)
    placed, suppressed, optimal = first_window(counts, 4, LINEAR, beta)
    assert not optimal
    assert_array_equal(placed, expected[0])
    assert_array_equal(suppressed, expected[1])


@pytest.mark.parametrize("wrong", [[[2, 0], [0, 2]], [[1, 1], [2, 2]], [[-1, -1], [1, 1]], [[1, 1], [1, 0]]])
def test_numbers_that_cannot_be_are_not_believed(monkeypatch, wrong):
    """Too many of a value, more than there are, less than none, not eligible: whatever a solver might say."""
    counts, beta = np.array([[2, 1], [0, 1]]), np.full(2, 5.0)
    expected = step_by_step(counts, 2, LINEAR, beta)
    monkeypatch.setattr(module, "_solve", lambda *_: (np.array(wrong), True))
    placed, suppressed, optimal = first_window(counts, 2, LINEAR, beta)
    assert not optimal
    assert_array_equal(placed, expected[0])
    assert_array_equal(suppressed, expected[1])


def test_a_solution_that_is_worse_is_not_taken(monkeypatch):
    counts, beta = np.array([[2, 1], [0, 1]]), np.full(2, 5.0)
    monkeypatch.setattr(module, "_solve", lambda *_: (np.zeros((2, 2), dtype=np.int64), False))
    placed, suppressed, _ = first_window(counts, 2, LINEAR, beta)
    assert loss(placed, suppressed, LINEAR, beta) == 1.0
    assert loss(*fill(counts, np.zeros((2, 2), dtype=np.int64)), LINEAR, beta) == 20.0
