"""The counts behind the lint, against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.lint import naive_chance, naive_decimals, naive_inversions, naive_rare
from shoal.release.lint.phase import grid_of
from shoal.release.lint.precision import precisions, rare
from shoal.release.lint.row_order import FALSE_ALARM, chance_of, inversions, is_in_order


@given(st.integers(1, 40).flatmap(lambda n: st.permutations(range(n))))
def test_inversions_are_pairs_in_the_wrong_order(order):
    assert inversions(np.array(order)) == naive_inversions(order)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 12))
def test_the_chance_of_inversions_is_that_over_all_orders(sizes, found):
    found = min(found, sum(n * (n - 1) // 2 for n in sizes))
    assert chance_of(found, sizes) == pytest.approx(float(naive_chance(found, sizes)), rel=1e-12)


@pytest.mark.parametrize("sizes", [[40], [63], [5] * 30, [2] * 400])
def test_the_bound_for_many_rows_is_never_below_the_exact_chance(sizes, monkeypatch):
    pairs = sum(n * (n - 1) // 2 for n in sizes)
    counts = np.unique(np.linspace(0, pairs, 50).astype(int))
    exact = [chance_of(int(count), sizes) for count in counts]
    monkeypatch.setattr("shoal.release.lint.row_order._EXACT", 0)
    assert all(chance_of(int(c), sizes) >= chance * (1 - 1e-9) for c, chance in zip(counts, exact, strict=True))


def test_rows_in_random_order_are_no_finding():
    rng = np.random.default_rng(0)
    for n in (2, 11, 20, 100, 3000):
        assert not any(is_in_order(rng.permutation(n)) for _ in range(100))


def test_rows_in_order_are_found_from_eleven_on():
    for n in range(2, 40):
        for order in (np.arange(n), np.arange(n)[::-1]):
            assert is_in_order(order) == (n >= 11)
    assert 2 / math.factorial(11) < FALSE_ALARM < 2 / math.factorial(10)


def test_a_slight_tendency_of_many_rows_is_found():
    rng = np.random.default_rng(0)
    n = 2000
    blurred = np.argsort(np.argsort(np.arange(n) + rng.normal(scale=2 * n, size=n)))
    assert is_in_order(blurred)


def test_pieces_in_random_order_are_found():
    rng = np.random.default_rng(0)
    pieces = rng.permutation(200).reshape(-1, 1) * 4 + np.arange(4)
    assert is_in_order(pieces.ravel())


def test_all_false_alarms_together_are_below_one_in_a_million():
    assert 2 * (FALSE_ALARM + 2**15 / math.factorial(15)) < 1e-6


@given(st.lists(st.tuples(st.integers(-(10**6), 10**6), st.integers(0, 9)), min_size=1, max_size=6))
def test_precision_is_the_largest_number_of_decimals(numbers):
    row = [float(f"{whole}e-{places}") for whole, places in numbers]
    assert precisions(np.array([row])).tolist() == [max(naive_decimals(value) for value in row)]


@given(st.floats(-1e5, 1e5))
def test_precision_of_any_number(value):
    assert precisions(np.array([[value]])).tolist() == [naive_decimals(value)]


ROWS = st.integers(1, 6).flatmap(
    lambda n: st.lists(
        st.tuples(
            st.lists(st.one_of(st.none(), st.just(0), *[st.integers(1, 3000)] * 4), min_size=n, max_size=n),
            st.sampled_from([0, 1, 4, 8]),
            st.integers(0, 4),
        ),
        min_size=1,
        max_size=7,
    )
)


@given(ROWS, st.integers(1, 4))
def test_decimals_lead_to_whom_the_definition_says(drawn, crowd):
    rows = [[None if whole is None else float(f"{whole}e-{places}") for whole in row] for row, places, _ in drawn]
    values = np.array(rows, dtype=np.float64)
    whose = [subject for *_, subject in drawn]
    assert rare(values, precisions(values), np.array(whose), crowd).tolist() == naive_rare(rows, whose, crowd)


def test_a_logger_stands_out_by_finer_and_by_coarser_decimals_and_by_those_between():
    def loggers(*decimals):
        values = np.random.default_rng(0).uniform(1, 99, size=(len(decimals), 12))
        return np.array([row.round(d) for row, d in zip(values, decimals, strict=True)])

    def found(values, crowd=3):
        return np.flatnonzero(rare(values, precisions(values), np.arange(len(values)), crowd)).tolist()

    assert found(loggers(*[3] * 9, 5)) == [9]
    assert found(loggers(*[3] * 9, 1)) == [9]
    assert found(loggers(*[0] * 9, *[3] * 9, 2)) == [18]
    assert found(loggers(*[0] * 9, *[3] * 9)) == []
    # One instant: who writes more than all others is found, who writes less may have done so by chance.
    assert found(loggers(*[3] * 9, 5)[:, :1]) == [9]
    assert found(loggers(*[3] * 9, 1)[:, :1]) == []
    quiet = loggers(*[3] * 9, 3)
    quiet[9] = 0.0
    assert found(quiet) == []
    quiet[9, :2] = 0.5, 1.0
    assert found(quiet) == []


@pytest.mark.parametrize(
    ("seconds", "grid"),
    [
        ([0, 900, 1800], 900),
        ([7, 907, 1807], 900),
        ([0, 86_400], 3600),
        ([0, 420, 840], 60),
        ([0, 2400, 4800], 1200),
        ([0, 700, 1500, 2900], 60),
        ([0, 11, 25, 50], 1),
        ([0, 1, 3, 6], 1e-6),
        ([5], 60),
    ],
)
def test_the_grid_of_a_clock(seconds, grid):
    assert grid_of(np.array(seconds, dtype=np.int64) * 1_000_000) == pytest.approx(grid * 1e6)
