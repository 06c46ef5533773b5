"""The recipes for pipelines do what the page says, in the tool itself where it is installed."""

import re
from pathlib import Path

import pytest

import shoal

PAGE = Path(__file__).resolve().parents[1] / "docs" / "pipelines.md"


def test_a_dagster_check_stops_what_does_not_verify(tmp_path, monkeypatch):
    dg = pytest.importorskip("dagster")
    monkeypatch.chdir(tmp_path)
    shoal.simulate.meters(60, days=1, seed=1).to_polars().write_csv("meters.csv")
    recipe = re.search(r"## Dagster.*?```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[1]
    found = {"__name__": "recipe"}
    exec(recipe, found)
    good = dg.materialize([found["release"], found["release_verifies"]])
    assert [check.passed for check in good.get_asset_check_evaluations()] == [True]
    Path("release/report.html").write_text("another report")
    bad = found["release_verifies"]()
    assert not bad.passed
    assert bad.metadata["findings"]
