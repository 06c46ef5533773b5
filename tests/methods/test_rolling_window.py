"""The window that is planned anew at every arrival."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.offline_reposition import offline_by_enumeration
from naive.reposition import is_eligible
from naive.rolling import cheapest_window_by_enumeration
from shoal import Reposition, simulate
from shoal.errors import ParameterError
from shoal.kernels.reposition import loss
from shoal.methods import rolling_plan
from shoal.methods.relay_window import RelayWindow
from shoal.methods.rolling_plan import place, roll
from shoal.methods.rolling_window import RollingWindow

LINEAR = np.arange(20.0)


def run(window, counts, beta):
    departures = [window.push(row, beta) for row in counts]
    return [*(d for d in departures if d is not None), *window.flush(beta)]


def loss_of(departures, counts, cost, beta):
    """The realised loss; every event must be published once or suppressed once, in eligible snapshots."""
    ends = np.cumsum(counts, axis=1)
    seen, total = [np.zeros(int(row.sum()), dtype=int) for row in counts], 0.0
    for departure in departures:
        in_it = np.zeros(counts.shape[1], dtype=int)
        for home, rows in departure.rows:
            assert 0 <= departure.number - home < len(cost)
            seen[home][rows] += 1
            in_it += np.bincount(np.searchsorted(ends[home], rows, side="right"), minlength=counts.shape[1])
            total += len(rows) * cost[departure.number - home]
        assert is_eligible(in_it.tolist(), 2)
        for home, rows in departure.suppressed:
            seen[home][rows] += 1
            total += beta[np.searchsorted(ends[home], rows, side="right")].sum()
    assert all((row == 1).all() for row in seen)
    return total


@st.composite
def tiny_windows(draw):
    """(supply, n_left, n_places, l, cost, beta, share) with a handful of events."""
    w = draw(st.integers(1, 3))
    n_places, n_values = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    supply = np.zeros((w - 1 + n_places, n_values), dtype=np.int64)
    for _ in range(draw(st.integers(1, 6))):
        supply[draw(st.integers(0, len(supply) - 1)), draw(st.integers(0, n_values - 1))] += 1
    cost = draw(st.sampled_from([LINEAR, LINEAR**2]))[:w]
    beta = np.array(draw(st.lists(st.sampled_from([0.5, 2.0, 10.0]), min_size=n_values, max_size=n_values)))
    return supply, w - 1, n_places, draw(st.integers(2, 3)), cost, beta, draw(st.sampled_from([0.0, 0.3, 1.0]))


@given(window=tiny_windows())
def test_a_window_costs_the_least_of_all_ways(window):
    supply, n_left, n_places, l, cost, beta, share = window
    found = place(*window)
    least = cheapest_window_by_enumeration(*window)
    if found is None:
        assert not any(supply[h].any() and h - n_left + len(cost) > 0 for h in range(len(supply)))
        return
    placed, unplaced, proven = found
    assert proven
    homes = unplaced.T.copy()
    total = 0.0
    for s, j, d in np.argwhere(placed):
        homes[n_left + j - d, s] += placed[s, j, d]
        total += placed[s, j, d] * cost[d]
    assert_array_equal(homes, supply)
    for h, s in np.argwhere(unplaced.T):
        until = n_places - (h - n_left)
        price = min(beta[s], cost[until] + share * beta[s]) if until < len(cost) else beta[s]
        total += unplaced[s, h] * price
    for j in range(n_places):
        assert is_eligible(placed[:, j].sum(axis=1).tolist(), l)
    assert total == pytest.approx(least, rel=1e-9, abs=1e-9)


@settings(max_examples=40)
@given(data=st.data(), w=st.integers(1, 4))
def test_every_event_leaves_once_in_eligible_snapshots_within_the_window(data, w):
    row = st.lists(st.integers(0, 4), min_size=3, max_size=3)
    counts = np.array(data.draw(st.lists(row, min_size=1, max_size=9)), dtype=np.int64)
    beta = np.array([5.0, 1.0, 30.0])
    found = run(RollingWindow(2, LINEAR[:w]), counts, beta)
    assert [departure.number for departure in found] == list(range(len(counts)))
    total = loss_of(found, counts, LINEAR[:w], beta)
    if counts.sum() <= 7:
        assert total >= offline_by_enumeration(counts, w, 2, LINEAR, beta) - 1e-9


def test_planning_anew_loses_less_than_the_step(rng):
    counts = rng.multinomial(12, [0.46, 0.24, 0.1, 0.1, 0.1], size=60)
    beta, cost = np.full(5, 30.0), LINEAR[:5]
    rolling, paper = (
        loss_of(run(kind(2, cost), counts, beta), counts, cost, beta) for kind in (RollingWindow, RelayWindow)
    )
    assert rolling < 0.8 * paper


@pytest.mark.parametrize("stop", [2, 4, 9])
def test_a_window_goes_on_from_its_state(stop, rng):
    counts, beta = rng.multinomial(6, [0.5, 0.3, 0.2], size=15), np.full(3, 30.0)
    one, whole = RollingWindow(2, LINEAR[:4]), RollingWindow(2, LINEAR[:4])
    first = [departure for row in counts[:stop] if (departure := one.push(row, beta)) is not None]
    other = RollingWindow(2, LINEAR[:4])
    other.restore(json.loads(json.dumps(one.state())))
    again, expected = [*first, *run(other, counts[stop:], beta)], run(whole, counts, beta)
    assert other.figures == whole.figures
    for here, there in zip(again, expected, strict=True):
        for mine, theirs in ((here.rows, there.rows), (here.suppressed, there.suppressed)):
            assert [home for home, _ in mine] == [home for home, _ in theirs]
            for (_, rows), (_, others) in zip(mine, theirs, strict=True):
                assert_array_equal(rows, others)


def test_a_window_that_is_too_large_takes_the_step_of_the_paper_and_says_so(monkeypatch, rng):
    counts, beta, cost = rng.multinomial(9, [0.5, 0.3, 0.2], size=20), np.full(3, 30.0), LINEAR[:4]
    monkeypatch.setattr(rolling_plan, "MOST_VARIABLES", 1)
    window = RollingWindow(2, cost)
    total = loss_of(run(window, counts, beta), counts, cost, beta)
    assert window.figures["windows"]["step"] > 10
    assert window.figures["windows"]["limited"] == 0
    assert total == loss_of(run(RelayWindow(2, cost), counts, beta), counts, cost, beta)


def test_out_of_nodes_a_window_is_not_worse_than_the_step(monkeypatch, rng):
    shares = np.arange(1, 9) ** -1.0
    counts, beta, cost = rng.multinomial(20, shares / shares.sum(), size=14), np.full(8, 30.0), LINEAR[:5]
    monkeypatch.setattr(rolling_plan, "_MOST_NODES", 1)
    placed, unplaced = np.zeros((8, 5, 5), dtype=np.int64), np.zeros((8, 9), dtype=np.int64)
    for row in counts:
        step = rolling_plan._step(placed, unplaced, row, 3, cost, beta)
        plan = roll(placed.copy(), unplaced.copy(), row, 3, cost, beta, 1.0)
        assert rolling_plan._loss(plan, cost, beta) <= rolling_plan._loss(step, cost, beta) + 1e-9
        placed, unplaced = plan.placed, plan.unplaced


@pytest.mark.parametrize("wrong", [3, -1])
def test_numbers_that_cannot_be_are_not_believed(monkeypatch, wrong):
    supply = np.array([[2, 1], [0, 1]])
    monkeypatch.setattr(rolling_plan, "_solve", lambda *a: (np.full(len(a[2]), wrong), True))
    assert place(supply, 0, 2, 2, LINEAR[:2], np.full(2, 5.0), 1.0) is None


def test_an_event_is_left_to_the_future_only_where_that_is_cheap():
    """One value alone in the last snapshot: it waits for another if waiting is worth it."""
    empty = np.zeros((2, 2, 2), dtype=np.int64), np.zeros((2, 3), dtype=np.int64)
    plan = roll(*(part.copy() for part in empty), np.array([1, 0]), 2, LINEAR[:2], np.full(2, 5.0), 0.1)
    assert not plan.placed.any()
    assert plan.unplaced[0].tolist() == [0, 0, 1]
    assert loss(plan.placed, plan.unplaced, LINEAR[:2], np.full(2, 5.0)) == 5.0


def test_the_plan_is_a_parameter_and_the_certificate_says_how_windows_were_planned():
    events = simulate.events(days=12, per_day=10, seed=3)
    rolling, paper = (Reposition(l=2, window=4, plan=plan, seed=1).anonymize(events) for plan in ("rolling", "paper"))
    assert rolling.check().holds
    assert rolling.recipe.parameters["plan"] == "rolling"
    assert sum(rolling.recipe.figures["windows"].values()) == 12 - 4 + 1
    assert "windows" not in paper.recipe.figures
    assert rolling.recipe.figures["suppressed"] <= paper.recipe.figures["suppressed"]


def test_an_unknown_plan_is_refused():
    with pytest.raises(ParameterError, match="plan must be one of: rolling, paper"):
        Reposition(l=2, window=3, plan="hope")
