import numpy as np
import pytest

from shoal import Panel
from shoal.errors import ParameterError
from shoal.utility import InformationLoss


def naive_loss(x, y, standardized):
    lost = total = 0.0
    for c in range(x.shape[1]):
        pairs = [(a, b) for a, b in zip(x[:, c], y[:, c], strict=True) if a == a and b == b]
        if not pairs:
            continue
        mean = sum(a for a, _ in pairs) / len(pairs)
        column_total = sum((a - mean) ** 2 for a, _ in pairs)
        column_lost = sum((a - b) ** 2 for a, b in pairs)
        if standardized:
            if column_total == 0.0:
                continue
            column_lost, column_total = column_lost / column_total, 1.0
        lost, total = lost + column_lost, total + column_total
    return lost / total


@pytest.mark.parametrize("standardized", [False, True])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_loss_equals_naive(rng, standardized, gaps):
    x = rng.normal(size=(30, 6)) * [1, 10, 100, 1, 1, 1]
    x[rng.random(x.shape) < gaps] = np.nan
    y = x + rng.normal(size=x.shape)
    found = InformationLoss(standardized=standardized).measure(Panel(x), Panel(y)).value
    assert found == pytest.approx(naive_loss(x, y, standardized))


def test_a_large_common_offset_changes_nothing(rng):
    x = rng.integers(0, 100, size=(50, 4)).astype(float)
    y = np.tile(x.mean(axis=0).round(), (50, 1))
    near = InformationLoss().measure(Panel(x), Panel(y)).value
    assert InformationLoss().measure(Panel(x + 1e8), Panel(y + 1e8)).value == pytest.approx(near, rel=1e-12)


def test_nothing_lost_is_zero_and_one_common_curve_is_one(rng):
    x = rng.normal(size=(20, 5))
    assert InformationLoss().measure(Panel(x), Panel(x)).value == 0.0
    assert InformationLoss().measure(Panel(x), Panel(np.tile(x.mean(axis=0), (20, 1)))).value == pytest.approx(1.0)


def test_constant_panels_have_nothing_to_lose():
    assert InformationLoss().measure(Panel(np.ones((3, 2))), Panel(np.ones((3, 2)))).value == 0.0
    assert InformationLoss().measure(Panel(np.ones((3, 2))), Panel(np.zeros((3, 2)))).value == 1.0


def test_other_shapes_are_refused():
    with pytest.raises(ParameterError, match="differ in shape"):
        InformationLoss().measure(Panel(np.ones((3, 2))), Panel(np.ones((2, 2))))
