import itertools

import numpy as np
import pytest

from naive.refine import lowest_loss, sse
from shoal import Microaggregation, Panel
from shoal.engines import Memory, in_shards
from shoal.errors import ParameterError
from shoal.kernels.triples import violated_triples
from shoal.methods import loss_bound
from shoal.methods.loss_bound import least_loss


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("seed", range(12))
def test_no_groups_lose_less(seed, k):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(int(rng.integers(k, 10)), int(rng.integers(1, 4))))
    if seed % 3 == 0:
        x = np.round(x)  # ties, and rows alike
    if seed % 4 == 0:
        x = 1e6 + x
    assert 0.0 <= least_loss(x, k) <= lowest_loss(x, k) * (1 + 1e-9) + 1e-9


def test_the_bound_is_the_optimum_where_triples_lie_apart(rng):
    x = np.repeat(100.0 * rng.normal(size=(12, 4)), 3, axis=0) + rng.normal(size=(36, 4))
    apart = np.repeat(np.arange(12), 3)
    assert least_loss(x, 3) == pytest.approx(sse(x, apart), rel=1e-6)


def test_rows_alike_cost_nothing():
    assert least_loss(np.ones((9, 2)), 3) == 0.0
    assert least_loss(np.repeat(np.eye(4), 3, axis=0), 3) == pytest.approx(0.0, abs=1e-9)


def test_prices_are_those_of_trying_all_triples(rng):
    x = rng.normal(size=(14, 3))
    distances = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    prices = rng.uniform(0.0, 1.5, size=14)
    excess = {
        t: prices[list(t)].sum() - sum(distances[a, b] for a, b in itertools.combinations(t, 2)) / 3.0
        for t in itertools.combinations(range(14), 3)
    }
    found, worst = violated_triples(distances, prices, 0.0)
    assert worst == pytest.approx(max(excess.values()))
    for triple in np.sort(found, axis=1).tolist():
        assert excess[tuple(triple)] > 0.0
    assert not len(violated_triples(distances, prices * 0.0, 0.0)[0])
    feasible = loss_bound._prices(distances)
    for triple, over in excess.items():
        assert feasible[list(triple)].sum() <= prices[list(triple)].sum() - over + 1e-9


def test_the_certificate_says_how_far_the_loss_is_from_the_bound(rng):
    panel = Panel(rng.normal(size=(60, 3)), attributes={"tariff": np.arange(60) % 2})
    without = Microaggregation(k=3).anonymize(panel)
    assert "loss_above_bound" not in without.recipe.figures
    for options in ({}, {"within": "tariff"}, {"algorithm": "best", "proposals": 2000}):
        candidate = Microaggregation(k=3, bound=True, **options).anonymize(panel)
        x, groups = panel.values, candidate.private.groups
        least = least_loss(x, 3)
        if "within" in options:
            least = sum(least_loss(x[tariff::2], 3) for tariff in (0, 1))
        above = candidate.recipe.figures["loss_above_bound"]
        assert above == pytest.approx(sse(x, groups) / least - 1.0, abs=1e-3)
        assert 0.0 <= above < 0.3


def test_what_has_no_bound_is_refused(rng, monkeypatch):
    panel = Panel(rng.normal(size=(60, 3)))
    with pytest.raises(ParameterError, match="bound applies to squared distances from means; aggregate='median'"):
        Microaggregation(k=3, bound=True, aggregate="median")
    gappy = panel.values.copy()
    gappy[3, 1] = np.nan
    for other in (Panel(gappy), Panel(panel.values, subjects=np.repeat(range(30), 2))):
        with pytest.raises(ParameterError, match="bound needs a panel without gaps and one series per subject"):
            Microaggregation(k=3, bound=True).anonymize(other)
    with pytest.raises(ParameterError, match="bound is computed for a panel in memory"):
        Microaggregation(k=3, bound=True).anonymize(in_shards(panel, Memory(), size=20))
    monkeypatch.setattr(loss_bound, "MOST_ROWS", 50)
    with pytest.raises(ParameterError, match="bound needs at most 50 series in a stratum, here are 60"):
        Microaggregation(k=3, bound=True).anonymize(panel)
