import itertools

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from naive.refine import lowest_exact_loss, lowest_loss, sse
from shoal import Microaggregation, Panel
from shoal.cli.app import run
from shoal.engines import Memory, in_shards
from shoal.errors import ParameterError
from shoal.kernels.triples import violated_triples
from shoal.methods import loss_bound
from shoal.methods.algorithms import Grouping
from shoal.methods.loss_bound import least_loss, share_above


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


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("seed", range(8))
def test_far_rows_and_extreme_units_do_not_raise_the_bound_above_the_optimum(seed, k):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(k, 9))
    near = rng.normal(size=(n, 2))
    far = near.copy()
    far[: n // 2] = 1e13 * rng.normal(size=2)  # rows alike: what they lose is 0, however far they are
    ties = np.round(near)
    offset = 1e15 + np.round(4.0 * near)
    same = np.full((n, 2), rng.normal())
    for x in (far, ties, offset, same, far[:, :1], near * 1e-150, near * 1e-160, near * 1e120, far * 1e-140):
        with np.errstate(all="raise", under="ignore"):
            assert 0.0 <= least_loss(x, k) <= lowest_exact_loss(x, k)


def test_the_loss_of_groups_is_measured_where_they_are(rng):
    near = rng.normal(size=(12, 2))
    least = least_loss(near, 3)
    for far in (1e3, 1e8, 1e14):
        panel = Panel(np.concatenate([near, np.full((6, 2), far)]))
        assert least_loss(panel.values, 3) == pytest.approx(least, rel=1e-6)
        candidate = Microaggregation(k=3, bound=True).anonymize(panel)
        lost = sse(near, candidate.private.groups[:12])
        assert candidate.recipe.figures["loss_above_bound"] == pytest.approx(lost / least - 1.0, rel=0.01)


def test_pairs_bound_groups_of_two(rng):
    panel = Panel(rng.normal(size=(100, 5)))
    candidate = Microaggregation(k=2, algorithm="best", proposals=5000, bound=True).anonymize(panel)
    assert 0.0 < candidate.recipe.figures["loss_above_bound"] < 0.08


def test_the_share_is_rounded_up_and_0_where_nothing_is_lost():
    assert share_above(1.01231, 1.0) == 0.0124
    assert share_above(1.5, 1.0) == 0.5
    assert share_above(0.0, 0.0) == 0.0
    assert share_above(1.0, 0.0) is None
    alike = Panel(np.repeat([[1.0], [2.0]], 3, axis=0))
    assert Microaggregation(k=3, bound=True).anonymize(alike).recipe.figures["loss_above_bound"] == 0.0


def test_a_solver_that_gives_up_leaves_a_bound(rng, monkeypatch):
    x = rng.normal(size=(9, 2))
    gave_up = OptimizeResult(status=4, ineqlin=OptimizeResult(marginals=None))
    monkeypatch.setattr("scipy.optimize.linprog", lambda *args, **options: gave_up)
    for k in (2, 3):
        assert 0.0 < least_loss(x, k) <= lowest_loss(x, k)


def test_the_publisher_is_told_the_share_that_a_small_release_leaves_out(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", "meters", "-o", "homes.csv", "--n", "30", "--days", "1", "--step", "2h"]) == 0
    assert run(["anonymize", "homes.csv", "--k", "3", "--bound", "true", "-o", "out"]) == 0
    shown = capsys.readouterr().out
    assert "lower bound       The squared distances from the group means are at most " in shown
    assert "loss_above_bound" not in (tmp_path / "out" / "release.json").read_text()


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
    feasible = loss_bound._prices(distances, 3)
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
        assert 0.0 <= above - (sse(x, groups) / least - 1.0) <= 1e-3
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
    monkeypatch.setattr(Grouping, "form", lambda *given: pytest.fail("groups are formed before the refusal"))
    with pytest.raises(ParameterError, match="bound needs at most 50 series in a stratum, here are 60"):
        Microaggregation(k=3, bound=True).anonymize(panel)
