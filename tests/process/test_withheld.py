"""No figure of a release depends on what it does not show: withheld readings, suppressed series, suppressed events."""

import json

import numpy as np
import polars as pl
import pytest

from shoal import Events, Panel, publish
from shoal.attacks import KnownPoints, KnownTotals, NearestNeighbour
from shoal.methods import Reposition, ScopeAggregation
from shoal.process.policy import parse_policy
from shoal.process.policy_run import run_policy
from shoal.process.usefulness import scores_by_purpose
from shoal.release import gate

LEVELS = [10.0, 200.0, 4000.0, 80_000.0]
SIZE = 3
HOURS = np.datetime64("2024-01-01T00", "us") + np.arange(96) * np.timedelta64(3600, "s")
LONELY = [(0, 5), (4, 30), (9, 71), (10, 71)]
"""Series and instants at which so few of their group were observed that they must be withheld."""
ONE, OTHER = [11.0, 190.0, 81_000.0, 79_000.0], [17.0, 260.0, 70_000.0, 90_000.0]


@pytest.fixture
def _all_told(monkeypatch):
    """These panels are small: show every figure there is."""
    monkeypatch.setattr(gate, "affordable", lambda *given: float("inf"))


def meters(withheld):
    """Groups far apart, whose members differ, with gaps around readings that must be withheld."""
    rng = np.random.default_rng(0)
    values = np.round(np.repeat(LEVELS, SIZE)[:, None] * rng.uniform(0.9, 1.1, size=(SIZE * len(LEVELS), 96)), 1)
    for series, instant in LONELY:
        group = series // SIZE * SIZE
        values[group : group + SIZE, instant] = np.nan
    for (series, instant), value in zip(LONELY, withheld, strict=True):
        values[series, instant] = value
    return values


def run(folder, values, method, **further):
    """The certificate of a policy's release of these readings."""
    folder.mkdir()
    n, t = values.shape
    ids = np.repeat([f"m{i:02}" for i in range(n)], t)
    frame = pl.DataFrame({"id": ids, "time": np.tile(HOURS[:t], n), "value": values.ravel()})
    frame.filter(pl.col("value").is_not_nan()).write_parquet(folder / "x.parquet")
    policy = {
        "data": {"path": "x.parquet", "missing": "keep"},
        "adversary": {"knows": {"points": 3, "totals": "day"}},
        "require": {"risk": {"at_most": 1}, "utility": {"information-loss": {"at_most": 9}}},
        "method": method,
        "release": {"to": "out"},
    }
    run_policy(parse_policy(json.dumps(policy | further)), base=folder, insecure_seed=1)
    return (folder / "out" / "release.json").read_bytes()


def pair(tmp_path, one, other, method, **further):
    """Both certificates, and the first one's content."""
    found = [run(tmp_path / name, values, method, **further) for name, values in (("one", one), ("other", other))]
    return *found, json.loads(found[0])


@pytest.mark.parametrize("k", [3, {"search": [2, 3]}], ids=["given", "searched"])
@pytest.mark.usefixtures("_all_told")
def test_a_certificate_is_the_same_whatever_was_withheld(tmp_path, k):
    # Of k = 2 and 3 the first shows two of the readings that the second withholds: utility picks it, so forbid it.
    method = {"name": "microaggregation", "k": k}
    require = {"risk": {"at_most": 0.4}, "utility": {"information-loss": {"at_most": 9}}}
    one, other, certificate = pair(tmp_path, meters(ONE), meters(OTHER), method, require=require)
    assert certificate["method"]["figures"]["cells_withheld"] == len(LONELY)
    assert certificate["method"]["parameters"]["k"] == 3
    assert {"mean-day-error:of=all", "information-loss", "normalized-divergence"} <= set(certificate["utility"])
    assert set(certificate["risk"]) == {"known-points", "known-totals"}
    assert certificate["figures"]["process"]["points"] == []
    assert one == other


@pytest.mark.usefixtures("_all_told")
def test_the_points_that_were_tried_are_listed_where_nothing_is_withheld(tmp_path):
    method = {"name": "microaggregation", "k": {"search": [2, 3]}}
    values = np.random.default_rng(1).gamma(2.0, size=(12, 96))
    certificate = json.loads(run(tmp_path / "whole", values, method))
    assert len(certificate["figures"]["process"]["points"]) == 2


@pytest.mark.usefixtures("_all_told")
def test_nor_does_a_certificate_depend_on_a_series_that_is_not_in_the_release(tmp_path):
    def certificate(name, factor):
        values = np.random.default_rng(2).gamma(2.0, size=(21, 96)).round(2)
        values[7] *= factor  # nearly everything: fits in no group
        panel = Panel(values, times=HOURS, attributes={"area": [f"a{i % 3}" for i in range(21)]})
        candidate = ScopeAggregation(size=4, share=0.5, within="area").anonymize(panel)
        attacks = KnownPoints(3), KnownTotals(), NearestNeighbour()
        publish(
            candidate,
            tmp_path / name,
            scores={key: pair for pairs in scores_by_purpose(candidate).values() for key, pair in pairs.items()},
            risks={attack.name: (candidate.attack(attack), attack.meaning) for attack in attacks},
            insecure_seed=1,
        )
        return (tmp_path / name / "release.json").read_bytes()

    one, other = certificate("one", 1000.0), certificate("other", 1234.0)
    assert json.loads(one)["method"]["figures"]["series_withheld"] == 1
    assert len(json.loads(one)["utility"]) > 10
    assert len(json.loads(one)["risk"]) == 3
    assert one == other


@pytest.mark.usefixtures("_all_told")
def test_on_an_engine_it_is_the_same(tmp_path):
    method = {"name": "microaggregation", "k": 3}
    one, other, certificate = pair(tmp_path, meters(ONE), meters(OTHER), method, engine="local")
    assert certificate["method"]["figures"]["cells_withheld"] == len(LONELY)
    assert "information-loss" in certificate["utility"]
    assert certificate["risk"]
    assert one == other


def test_figures_of_events_do_not_depend_on_suppressed_ones(tmp_path):
    def certificate(name, value):
        # At the last instant one event is left, which cannot be diverse.
        table = pl.DataFrame(
            {
                "time": [0, 0, 0, 0, 1, 1, 1, 1, 2],
                "age": [30, 31, 52, 53, 30, 31, 52, 53, 80],
                "result": ["a", "b", "c", "d", "a", "b", "c", "d", value],
            }
        )
        candidate = Reposition(l=2, window=1).anonymize(Events(table, sensitive="result", quasi=["age"]))
        publish(candidate, tmp_path / name, insecure_seed=1)
        return json.loads((tmp_path / name / "release.json").read_bytes())

    one, other = certificate("one", "a"), certificate("other", "z")
    assert one["counts"]["suppressed"] == 1
    assert one["risk"] == {}
    # Groups are drawn anew, so that the tables are others; all figures are the same.
    for part in ("method", "counts", "utility", "risk", "figures"):
        assert one[part] == other[part]
