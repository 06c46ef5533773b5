"""A worker that dies in the middle of a job: its part is computed again, and nothing is different."""

import hashlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from engine_work import MarkedLeaves
from engines.conftest import CONF, MASTERS
from shoal import Microaggregation, simulate
from shoal.engines import Local, Spark, microaggregation
from shoal.engines.blocks import BlockPanel
from shoal.engines.checks import check

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


@pytest.fixture(scope="module")
def undisturbed(panel):
    with Local() as engine:
        return digest(microaggregation.anonymize(METHOD, BlockPanel.of(panel, engine), leaf=LEAF))


def digest(candidate):
    return hashlib.sha256(candidate.values().tobytes() + candidate.groups().tobytes()).hexdigest()


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
    """Kill a process as soon as one leaf is done, while others are not."""

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


@pytest.mark.parametrize("whom", ["executor", "Python worker"])
def test_a_killed_worker_changes_nothing(cluster, panel, undisturbed, tmp_path, monkeypatch, whom):
    monkeypatch.setenv("SHOAL_TEST_MARKS", str(tmp_path))
    monkeypatch.setattr(microaggregation, "AnonymizeLeaves", MarkedLeaves)
    killer = Killer(tmp_path, executor_of if whom == "executor" else int)
    found = microaggregation.anonymize(METHOD, BlockPanel.of(panel, cluster, parts=6), leaf=LEAF)
    killer.join()
    assert killer.killed is not None
    assert not Path(f"/proc/{killer.killed}").exists() or parent_of(killer.killed) != os.getpid()
    # What was done before the end of the worker was done again, by another.
    assert len(list(tmp_path.iterdir())) > found.recipe.figures["leaves"]
    assert len({mark.name.split("-")[0] for mark in tmp_path.iterdir()}) >= 2
    verdict = check(METHOD.aims_at, found)
    assert verdict.holds
    assert verdict.measured == 5
    assert digest(found) == undisturbed
