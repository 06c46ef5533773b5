"""What several rooms' tests share."""

import os
import re
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# Seeded, and without a deadline: the first call of a kernel compiles it.
settings.register_profile("shoal", deadline=None, derandomize=True, max_examples=20)
n_examples = round(400 * float(os.environ.get("SOAK", "1")))
settings.register_profile("soak", settings.get_profile("shoal"), max_examples=max(20, n_examples))
settings.load_profile("soak" if os.environ.get("SHOAL_SOAK") == "1" else "shoal")

# No test can see whether a file would outlive a power cut, and most of them write some.
os.fsync = lambda descriptor: None

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


LONG = ("engines/", "test_sentences.py", "cli/test_engine.py", "studio/test_browser.py", "test_docs.py", "killed.py")
"""What takes longest begins first, so that no process is still at it when the others have nothing left to do."""


def pytest_collection_modifyitems(items):
    def rank(item):
        long = next((i for i, name in enumerate(LONG) if name in item.nodeid), len(LONG))
        # A process has one session of Spark: those that need another, or none, come after the others.
        return long, long == 0 and re.search("cluster|test_java", item.nodeid) is not None

    items.sort(key=rank)


class ByEngine(LoadScopeScheduling):
    """Where tests run in several processes, those of a file stay together, and those that share a costly fixture.

    Pages of the documentation have nothing in common, and take long: each goes where there is room.
    """

    def _split_scope(self, nodeid):
        file, _, test = nodeid.partition("::")
        if file.endswith("test_docs.py"):
            return nodeid
        if file.endswith("test_sentences.py"):
            return "sentences"
        on = re.search(r"[\[_-](spark|cluster)", test) if "engines/" in file else None
        return "on Spark" if on or file.endswith("test_structured_streaming.py") else file


def collected(config):
    """The file that the first of several processes makes when it has collected the tests; None if there is one."""
    worker = getattr(config, "workerinput", None)
    return None if worker is None else Path(tempfile.gettempdir()) / f"collected-{worker['testrunuid']}"


def compile_kernels(number):
    """Run methods whose kernels take long to compile and are needed by tests of many files."""
    from shoal import KP, NLK, Microaggregation, Panel

    values = np.random.default_rng(0).normal(size=(1000, 12))
    if number % 2:
        Microaggregation(k=3).anonymize(Panel(values)).check()
    else:
        NLK(n=2, l=5, k=4).anonymize(Panel(values[:40])).check()
        KP(k=4, p=2).anonymize(Panel(values[:40])).check()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """Let one of several processes compile each thing: at once, all of them would compile the same.

    The first compiles the tests while it collects them, the others some kernels until it has.
    """
    mark = collected(session.config)
    number = 0 if mark is None else int(session.config.workerinput["workerid"].removeprefix("gw"))
    if number:
        compile_kernels(number)
        until = time.monotonic() + 120
        while not mark.exists() and time.monotonic() < until:
            time.sleep(0.1)


def pytest_collection_finish(session):
    mark = collected(session.config)
    if mark is not None and session.config.workerinput["workerid"] == "gw0":
        mark.touch()


def pytest_sessionfinish(session):
    if os.environ.get("SHOAL_SOAK") == "1":
        from stream_processes import stop_server

        stop_server()
    mark = collected(session.config)
    if mark is not None:
        mark.unlink(missing_ok=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByEngine(config, log)


@pytest.fixture
def shared_data():
    """The folder with real data beside the repository."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the folder shared/data with real data is not beside the repository")
    return SHARED_DATA


@pytest.fixture(scope="session")
def kinds(tmp_path_factory):
    """A release of every kind: their folder, and their certificates by name. Who changes one copies it first."""
    from release_samples import publish_kinds

    folder = tmp_path_factory.mktemp("kinds")
    return folder, publish_kinds(folder)


@pytest.fixture
def rng():
    return np.random.default_rng(20240611)
