"""A studio killed in the middle of a search goes on with it when it is started again: no point lost, none double."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import httpx2
import pytest

from shoal import simulate
from shoal.process.exploration import Exploration
from shoal.process.policy import parse_policy
from shoal.process.simulation import long_table

POLICY = """
data: {path: data/days.csv}
adversary: {knows: {points: 2}}
require: {risk: {at_most: 1}}
method: {name: microaggregation, k: {search: [3, 4, 5, 6, 7, 8, 9, 10]}, algorithm: best, proposals: 9000}
"""
N = 8


def start(project):
    """A studio in a process of its own, and whoever is logged in to it."""
    command = [sys.executable, "-c", "from shoal.cli.app import main; main()", "studio", str(project), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ)
    for line in process.stdout:
        if found := re.search(r"^studio\s+(\S+)$", line, re.M):
            break
    base, _, key = found[1].partition("/enter/")
    client = httpx2.Client(base_url=base, timeout=60)
    client.get(f"/enter/{key}")
    return process, client


def points(client):
    return client.get("/drafts/days/explore/points").json()


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "data").mkdir(parents=True)
    long_table(simulate.occupancy(120, days=1, step="1h", seed=3)).write_csv(folder / "data/days.csv")
    return folder


def test_a_killed_studio_resumes_its_search(project, tmp_path):
    process, client = start(project)
    try:
        csrf = re.search(r'name="csrf" value="([0-9a-f]{64})"', client.get("/").text)[1]
        client.post("/drafts/open", data={"csrf": csrf}, files={"policy": ("p.yaml", POLICY.encode())})
        begun = client.post("/drafts/days/explore/search", data={"csrf": csrf})
        assert begun.status_code == 303
        while (found := points(client)) and len(found["points"]) < 3:
            assert found["state"] == "running", found
            time.sleep(0.02)
        before = found["points"]
        assert len(before) < N, "too quick to be killed in the middle"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        client.close()
    process, client = start(project)
    try:
        while (found := points(client))["state"] == "running":
            time.sleep(0.05)
        assert found["state"] == "complete"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stdout.close()
        client.close()
    (journal,) = project.glob("drafts/days/exploration-*/points.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    numbers = [line["point"]["number"] for line in lines if "point" in line]
    assert numbers == list(range(N))
    whole = Exploration(tmp_path / "whole", parse_policy(POLICY), base=project)
    whole.run()
    shown = [{name: value for name, value in point.items() if name != "seconds"} for point in whole.points()]
    kept = Exploration.open(journal.parent, base=project).points()
    assert [{name: value for name, value in point.items() if name != "seconds"} for point in kept] == shown
    assert [point["number"] for point in found["points"]][: len(before)] == [point["number"] for point in before]
