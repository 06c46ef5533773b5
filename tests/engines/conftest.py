"""Engines for the tests: in memory, on this machine, Spark in this process, and Spark with workers of their own."""

from __future__ import annotations

import pytest

from engines.sessions import OPEN, skip_without_java
from shoal.engines import Local, Memory


@pytest.fixture(scope="session", autouse=True)
def _closed_in_the_end():
    yield
    OPEN.close()


@pytest.fixture(scope="module", params=["memory", "local", "spark"])
def engine(request, tmp_path_factory):
    """Every engine in turn: what a test says of it must hold on all of them."""
    if request.param == "memory":
        yield Memory()
        return
    if request.param == "local":
        scratch = tmp_path_factory.mktemp("scratch")
        # Two processes, so that work must survive pickling, and little memory, so that there are many blocks.
        with Local(memory="32MB", processes=2, scratch=scratch) as found:
            yield found
        assert not list(scratch.iterdir())
        return
    skip_without_java()
    yield OPEN.named("spark")


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The engine on this machine, in this process: for what does not depend on the engine."""
    with Local(memory="64MB", scratch=tmp_path_factory.mktemp("scratch")) as found:
        yield found


@pytest.fixture(scope="module")
def spark():
    """A session of Spark: starting one takes longer than most tests."""
    skip_without_java()
    return OPEN.named("spark").session


@pytest.fixture
def cluster():
    """Spark with two executors, each a process of its own."""
    skip_without_java()
    return OPEN.named("cluster")


@pytest.fixture
def no_session():
    """For tests that start sessions of their own."""
    skip_without_java()
    OPEN.close()
