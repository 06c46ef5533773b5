"""The measures of the paper on (n, l, k)-anonymity: distances, spread, shares of points by divergence."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from shoal import Panel
from shoal.errors import ParameterError
from shoal.utility import DeviationShift, DivergenceClasses, EuclideanLoss
from shoal.utility.divergence_classes import BOUNDS


def pairs(x, y):
    return [(a, b) for a, b in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True) if a == a and b == b]


def panels(rng, shape, gaps):
    x, y = rng.gamma(2.0, size=shape), rng.gamma(2.0, size=shape)
    x[rng.random(shape) < gaps] = np.nan
    y[rng.random(shape) < gaps] = np.nan
    return x, y


@pytest.mark.parametrize("gaps", [0.0, 0.2])
class TestEqualsNaive:
    def test_euclidean_loss(self, rng, gaps):
        x, y = panels(rng, (12, 5), gaps)
        score = EuclideanLoss().measure(Panel(x), Panel(y))
        assert score.value == pytest.approx(sum(abs(a - b) for a, b in pairs(x, y)))
        per_instant = [sum(abs(a - b) for a, b in pairs(x[:, t], y[:, t])) for t in range(5)]
        assert_allclose(EuclideanLoss().per_instant(Panel(x), Panel(y)), per_instant)

    def test_euclidean_loss_of_channels(self, rng, gaps):
        x, y = panels(rng, (6, 4, 3), gaps)
        expected = sum(
            math.sqrt(sum((a - b) ** 2 for a, b in pairs(x[i, t], y[i, t]))) for i in range(6) for t in range(4)
        )
        assert EuclideanLoss().measure(Panel(x), Panel(y)).value == pytest.approx(expected)

    def test_deviation_shift(self, rng, gaps):
        x, y = panels(rng, (12, 5), gaps)
        before, after = (np.std([pair[side] for pair in pairs(x, y)]) for side in (0, 1))
        assert DeviationShift().measure(Panel(x), Panel(y)).value == pytest.approx(abs(before - after) / before)

    def test_classes(self, rng, gaps):
        x, y = panels(rng, (40, 5), gaps)
        shares = DivergenceClasses().shares(Panel(x), Panel(y))
        divergences = [abs(a - b) / a for a, b in pairs(x, y)]
        lower = [-1.0, *BOUNDS]
        for share, low, high in zip(shares.values(), lower, [*BOUNDS, math.inf], strict=True):
            assert share == pytest.approx(sum(low < d <= high for d in divergences) / len(divergences))
        near = DivergenceClasses(limit=0.3).measure(Panel(x), Panel(y)).value
        assert near == pytest.approx(sum(d <= 0.3 for d in divergences) / len(divergences))


def test_the_classes_are_the_papers():
    shares = DivergenceClasses().shares(Panel([[1.0]]), Panel([[1.0]]))
    assert list(shares) == ["0-2 %", "2-5 %", "5-10 %", "10-20 %", "20-30 %", "30-50 %", "above 50 %"]
    assert shares["0-2 %"] == 1.0


def test_losses_of_clusters_add_up_to_that_of_their_instant(rng):
    x = rng.gamma(2.0, size=(20, 3))
    y = np.round(x)
    loss = EuclideanLoss()
    for t in range(3):
        per_cluster = loss.per_cluster(Panel(x), Panel(y), t)
        assert len(per_cluster) == len(set(y[:, t]))
        assert per_cluster.sum() == pytest.approx(loss.per_instant(Panel(x), Panel(y))[t])
    first = y[:, 0] == y[0, 0]
    assert loss.per_cluster(Panel(x), Panel(y), 0)[0] == pytest.approx(np.abs(x - y)[first, 0].sum())


def test_a_large_common_offset_does_not_hide_the_shift(rng):
    x = rng.gamma(2.0, size=(50, 6))
    near, far = (DeviationShift().measure(Panel(x + o), Panel(x / 2 + o)).value for o in (0.0, 1e8))
    assert near == pytest.approx(0.5)
    assert far == pytest.approx(0.5, rel=1e-6)


def test_where_nothing_varied_or_nothing_was_any_change_is_total():
    flat = np.full((3, 2), 2.0)
    assert DeviationShift().measure(Panel(flat), Panel(flat)).value == 0.0
    assert DeviationShift().measure(Panel(flat), Panel(flat + np.array([0.0, 1.0]))).value == 1.0
    zero = np.zeros((2, 2))
    assert DivergenceClasses().shares(Panel(zero), Panel(zero))["0-2 %"] == 1.0
    assert DivergenceClasses().shares(Panel(zero), Panel(zero + 1e-9))["above 50 %"] == 1.0
    gone = np.full((2, 2), np.nan)
    assert DivergenceClasses().measure(Panel(zero), Panel(gone)).value == 1.0


def test_blocks_change_nothing(rng, monkeypatch):
    x, y = panels(rng, (25, 4, 2), 0.1)
    measures = (EuclideanLoss(), DeviationShift(), DivergenceClasses())
    whole = [m.measure(Panel(x), Panel(y)).value for m in measures]
    monkeypatch.setattr("shoal.utility.cells.CELLS", 24)
    assert_allclose([m.measure(Panel(x), Panel(y)).value for m in measures], whole, rtol=1e-12)


@pytest.mark.parametrize("limit", [-0.1, float("inf"), float("nan")])
def test_an_impossible_limit_is_refused(limit):
    with pytest.raises(ParameterError, match="limit must be a share of at least 0"):
        DivergenceClasses(limit=limit)
