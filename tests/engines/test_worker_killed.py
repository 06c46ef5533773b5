"""A worker that dies while parts are written: its part is written again, or nothing is, and no byte is different."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from engine_work import MarkedPart
from shard_examples import many_parts
from shoal import Microaggregation, simulate
from shoal.engines import Local, Memory, in_shards
from shoal.engines.work_errors import WorkFailedError
from shoal.release import release_candidate, verify

METHOD = Microaggregation(k=5, algorithm="mdav")


@pytest.fixture(scope="module")
def panel():
    return simulate.meters(600, days=1, step="1h", seed=6)


@pytest.fixture(autouse=True)
def _many_parts(monkeypatch):
    many_parts(monkeypatch, 8192)


def released(engine, panel, folder):
    """Everything in the folder of a release."""
    candidate = METHOD.anonymize(in_shards(panel, engine, size=50))
    release_candidate(candidate, folder, summary="a test", insecure_seed=4, private=folder.parent / "private")
    assert verify(folder).holds
    parts = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(parts) > 8
    return parts


@pytest.fixture
def undisturbed(panel, tmp_path):
    (tmp_path / "undisturbed").mkdir()
    return released(Memory(), panel, tmp_path / "undisturbed" / "out")


@pytest.fixture
def marks(tmp_path, monkeypatch):
    (tmp_path / "marks").mkdir()
    monkeypatch.setenv("SHOAL_TEST_MARKS", str(tmp_path / "marks"))
    monkeypatch.setattr("shoal.release.gate.WritePart", MarkedPart)
    return tmp_path / "marks"


def parent_of(number):
    text = Path(f"/proc/{number}/stat").read_text()
    return int(text[text.rindex(")") + 2 :].split()[1])


def executor_of(worker):
    """The executor's own process: the first Java above a Python worker."""
    number = worker
    while Path(f"/proc/{number}/comm").read_text().strip() != "java":
        number = parent_of(number)
    assert "CoarseGrainedExecutorBackend" in Path(f"/proc/{number}/cmdline").read_text()
    return number


def other_process(worker):
    assert worker != os.getpid()
    return worker


class Killer:
    """Kill a process as soon as something is done, while other things are not."""

    def __init__(self, marks, whom):
        self.killed = None
        self._marks, self._whom = marks, whom
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self._thread.start()

    def _wait(self):
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            for mark in self._marks.iterdir():
                whom = self._whom(int(mark.name.split("-")[0]))
                os.kill(whom, signal.SIGKILL)
                self.killed = whom
                return
            time.sleep(0.02)

    def join(self):
        self._thread.join()


def test_a_killed_executor_of_a_cluster_changes_nothing(cluster, panel, undisturbed, marks, tmp_path):
    """Two executors, each a process of its own with Python workers below."""
    killer = Killer(marks, executor_of)
    found = released(cluster, panel, tmp_path / "out")
    killer.join()
    assert killer.killed is not None
    # What was written before the end of the executor was written again, by another.
    assert len(list(marks.iterdir())) > sum(name.startswith("data-") for name in found)
    assert len({mark.name.split("-")[0] for mark in marks.iterdir()}) >= 2
    assert found == undisturbed


def test_a_killed_process_changes_nothing(panel, undisturbed, marks, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.engines.local._SMALL", 1024)  # or so little is written by this process itself
    killer = Killer(marks, other_process)
    with Local(memory="64MB", processes=2) as engine:
        found = released(engine, panel, tmp_path / "out")
    killer.join()
    assert killer.killed is not None
    assert found == undisturbed


def test_a_process_that_is_killed_again_and_again_writes_nothing(panel, undisturbed, marks, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.engines.local._SMALL", 1024)
    monkeypatch.setattr("shoal.engines.local.Local._run.__kwdefaults__", {"again": 0})
    killer = Killer(marks, other_process)
    with Local(memory="64MB", processes=2) as engine, pytest.raises(WorkFailedError, match="A process of the engine"):
        released(engine, panel, tmp_path / "out")
    killer.join()
    assert killer.killed is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["marks", "private", "undisturbed"]
    assert list((tmp_path / "private").iterdir()) == []
