"""A worker that dies in the middle of a job: its part is computed again, and nothing is different."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from shoal.engines.blocks import BlockPanel
from shoal.release.parts import release_blocks

from engine_work import MarkedLeaves, MarkedParts
from engines.sessions import CONF, MASTERS
from shoal import Microaggregation, simulate
from shoal.engines import Local, Spark, microaggregation
from shoal.release import verify

METHOD = Microaggregation(k=5, algorithm="mdav")
LEAF = 120


@pytest.fixture(scope="module")
def cluster(no_session):
    """Two executors, each a process of its own with a Python worker below."""
    with Spark(master=MASTERS["cluster"], conf=CONF) as engine:
        yield engine


@pytest.fixture(scope="module")
def panel():
    return simulate.meters(3000, days=1, step="1h", seed=6)


def released(engine, panel, folder):
    """What is in the folder of a release, but for its certificate, which tells the time."""
    found = microaggregation.anonymize(METHOD, BlockPanel.of(panel, engine, parts=6), leaf=LEAF)
    release_blocks(found, folder, summary="a test", insecure_seed=4, part_bytes=20_000)
    assert verify(folder).holds
    parts = {path.name: path.read_bytes() for path in (folder / "data.parquet").iterdir()}
    assert len(parts) > 16
    return {"groups": found.groups().tobytes(), **parts}


@pytest.fixture(scope="module")
def undisturbed(panel, tmp_path_factory):
    with Local() as engine:
        return released(engine, panel, tmp_path_factory.mktemp("undisturbed") / "out")


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


@pytest.mark.parametrize(
    ("whom", "place", "name", "slow"),
    [
        ("Python worker", "engines.microaggregation.method", "AnonymizeLeaves", MarkedLeaves),
        ("executor", "release.parts_writing", "WriteParts", MarkedParts),
    ],
)
def test_a_killed_worker_changes_nothing(cluster, panel, undisturbed, tmp_path, monkeypatch, whom, place, name, slow):
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setenv("SHOAL_TEST_MARKS", str(marks))
    monkeypatch.setattr(f"shoal.{place}.{name}", slow)
    killer = Killer(marks, executor_of if whom == "executor" else int)
    found = released(cluster, panel, tmp_path / "out")
    killer.join()
    assert killer.killed is not None
    # What was done before the end of the worker was done again, by another.
    n_done = len(found) - 1 if slow is MarkedParts else len(np.unique(np.frombuffer(found["groups"], np.int64) >> 32))
    assert len(list(marks.iterdir())) > n_done
    assert len({mark.name.split("-")[0] for mark in marks.iterdir()}) >= 2
    assert found == undisturbed
