"""Coverage and CRPS of published distributions, against plain loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from naive.scenarios import naive_crps, naive_quantile
from shoal import Microaggregation, Panel, simulate
from shoal.errors import ParameterError
from shoal.utility import CRPS, CoverageError

SHARES = [(place + 0.5) / 20 for place in range(20)]


@pytest.fixture(scope="module")
def candidate():
    return Microaggregation(k=6, form="scenarios", levels=3).anonymize(simulate.meters(40, days=1, step="6h", seed=2))


def naive_quantiles(candidate, row, instant, shares):
    group = candidate.private.groups[row]
    mean, spread, *levels, _ = candidate.published.values[group, instant, 0].tolist()
    return [mean + spread * naive_quantile(levels, share) for share in shares]


def test_both_equal_naive(candidate):
    x = candidate.private.original.values
    cells = [(row, instant) for row in range(x.shape[0]) for instant in range(x.shape[1])]
    quantiles = [naive_quantiles(candidate, *cell, SHARES) for cell in cells]
    assert_allclose(candidate.measure(CRPS()).value, naive_crps([x[cell] for cell in cells], quantiles, SHARES))
    ends = [naive_quantiles(candidate, *cell, [0.2, 0.8]) for cell in cells]
    inside = sum(low <= x[cell] <= high for cell, (low, high) in zip(cells, ends, strict=True))
    assert_allclose(candidate.measure(CoverageError(share=0.6)).value, abs(inside / len(cells) - 0.6))


def test_readings_alike_are_in_the_interval_that_is_their_mean():
    alike = Microaggregation(k=7, form="scenarios", levels=3).anonymize(Panel(np.full((30, 4), 0.1)))
    assert alike.published.means[0, 0] != 0.1  # a mean is rounded
    assert alike.measure(CoverageError(share=0.8)).value == pytest.approx(0.2)


def test_of_a_curve_the_crps_is_the_mean_absolute_error():
    original, published = Panel([[[1.0, 5.0]], [[3.0, 5.0]]]), Panel([[[2.0, 5.0]], [[2.0, 8.0]]])
    assert CRPS().measure(original, published).value == 1.25


def test_what_cannot_be_compared_is_refused(candidate):
    original = candidate.private.original
    with pytest.raises(ParameterError, match="judges distributions, and this release has none"):
        CoverageError().measure(original, original)
    with pytest.raises(ParameterError, match="same series and instants, in the same order"):
        CRPS().measure(original, candidate.published)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        CoverageError(share=1.0)
