"""The recipes for pipelines do what the page says: in Dagster itself, and the command that Airflow runs in a shell."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shoal

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "pipelines.md").read_text(encoding="utf-8")


@pytest.fixture
def meters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    panel = shoal.simulate.meters(60, days=1, seed=1)
    panel.to_polars().write_csv("meters.csv")
    return panel


def test_dagster_makes_nothing_of_a_release_that_does_not_verify(meters, monkeypatch):
    dg = pytest.importorskip("dagster", reason="dagster is in the extra dev")
    monkeypatch.setenv("DAGSTER_DISABLE_TELEMETRY", "yes")
    found = {"__name__": "recipe"}
    exec(re.search(r"## Dagster.*?```py\n(.*?)```", PAGE, re.S)[1], found)
    uploaded = []

    @dg.asset(deps=[found["release"]])
    def upload() -> None:
        uploaded.append(1)

    steps = [found["release"], found["release_verifies"], upload]
    good = dg.materialize(steps)
    assert [check.passed for check in good.get_asset_check_evaluations()] == [True]
    assert uploaded == [1]

    publish = shoal.Result.publish

    def publish_and_spoil(result, to, **given):
        publish(result, to, **given)
        Path(to, "report.html").write_text("another report")

    monkeypatch.setattr(shoal.Result, "publish", publish_and_spoil)
    bad = dg.materialize(steps, raise_on_error=False)
    assert not bad.success
    (check,) = bad.get_asset_check_evaluations()
    assert not check.passed
    assert check.metadata["findings"].value != "none"
    assert uploaded == [1]


def test_the_command_of_the_airflow_task_fails_where_a_release_does_not_verify(meters, tmp_path):
    template = re.search(r'bash_command="([^"]+)"', PAGE)[1]
    command = template.replace("/releases/{{ ds }}", "releases/2024-05-01")
    assert "{{" not in command
    shoal.anonymize(meters, k=5).publish(tmp_path / "releases" / "2024-05-01")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def run():
        return subprocess.run(["bash", "-c", command], env=os.environ | {"PATH": path}, capture_output=True).returncode

    assert run() == 0
    (tmp_path / "releases" / "2024-05-01" / "report.html").write_text("another report")
    assert run() == 1
