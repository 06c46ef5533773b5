"""Engines for the tests: one on this machine, Spark in this process, and Spark with workers of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.engines import Local, Spark
from shoal.engines.java import find_java
from shoal.errors import ParameterError

# A compiler that does not try hard: the tests are short.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

MASTERS = {"spark": "local[2]", "cluster": "local-cluster[2,1,2048]"}

CONF = {
    # Few parts: the tests have little data, and every part costs a task.
    "spark.sql.shuffle.partitions": "3",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.extraJavaOptions": JAVA,
    # Where work lies that only tests use.
    "spark.executorEnv.PYTHONPATH": str(Path(__file__).resolve().parents[1]),
}


@pytest.fixture(scope="module", params=["local", "spark", "cluster"])
def engine(request, tmp_path_factory):
    """Every engine in turn: what a test says of it must hold on all of them."""
    if request.param == "local":
        scratch = tmp_path_factory.mktemp("scratch")
        # Two processes, so that work must survive pickling, and little memory, so that there are many blocks.
        with Local(memory="32MB", processes=2, scratch=scratch) as found:
            yield found
        assert not list(scratch.iterdir())
        return
    skip_without_java()
    with Spark(master=MASTERS[request.param], conf=CONF) as found:
        yield found


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The engine on this machine, in this process: for what does not depend on the engine."""
    with Local(memory="64MB", scratch=tmp_path_factory.mktemp("scratch")) as found:
        yield found


def skip_without_java() -> None:
    """Spark runs on Java; tests/install_system_packages.sh installs one where that is possible."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    try:
        find_java()
    except ParameterError as error:
        pytest.skip(f"there is no Java for Spark: {error}")
