import numpy as np
import pytest

from shoal import Panel
from shoal.errors import ParameterError
from shoal.utility import NormalizedDivergence


def naive_divergence(x, y):
    pairs = [(a, b) for a, b in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True) if a == a and b == b]
    return sum(abs(a - b) for a, b in pairs) / sum(abs(a) for a, _ in pairs)


def divergence(x, y):
    score = NormalizedDivergence().measure(Panel(x), Panel(y))
    assert score.goal == "lower"
    assert score.range == (0.0, float("inf"))
    return score.value


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("shape", [(30, 6), (20, 4, 2)])
def test_divergence_equals_naive(rng, gaps, shape):
    x, y = rng.normal(size=shape), rng.normal(size=shape)
    x[rng.random(shape) < gaps] = np.nan
    y[rng.random(shape) < gaps] = np.nan
    assert divergence(x, y) == pytest.approx(naive_divergence(x, y))


def test_readings_that_are_never_negative_give_the_papers_figure(rng):
    x, y = rng.random((20, 5)), rng.random((20, 5))
    assert divergence(x, y) == pytest.approx(np.abs(x - y).sum() / x.sum())


def test_nothing_changed_is_zero_and_only_zeros_is_one(rng):
    x = rng.normal(size=(20, 5))
    assert divergence(x, x) == 0.0
    assert divergence(x, np.zeros_like(x)) == 1.0


def test_where_there_was_nothing_any_change_is_total():
    assert divergence(np.zeros((3, 2)), np.zeros((3, 2))) == 0.0
    assert divergence(np.zeros((3, 2)), np.full((3, 2), 0.5)) == 1.0
    assert divergence(np.full((3, 2), np.nan), np.ones((3, 2))) == 0.0


def test_blocks_change_nothing(rng, monkeypatch):
    x, y = rng.random((25, 4)), rng.random((25, 4))
    whole = divergence(x, y)
    monkeypatch.setattr("shoal.utility.cells.CELLS", 12)
    assert divergence(x, y) == pytest.approx(whole, rel=1e-14)


def test_other_shapes_are_refused():
    with pytest.raises(ParameterError, match="differ in shape; compare them before shuffling rows"):
        NormalizedDivergence().measure(Panel(np.ones((3, 2))), Panel(np.ones((2, 2))))
