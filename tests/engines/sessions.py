"""Spark for the tests: where it runs, how it is set, and the engine that is open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import shoal
from shoal.engines import Spark
from shoal.engines.java import find_java
from shoal.errors import ParameterError

# A compiler that does not try hard: the tests are short.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

MASTERS = {"spark": "local[2]", "cluster": "local-cluster[2,1,2048]"}

CONF = {
    # Few parts: the tests have little data, and every part costs a task.
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.extraJavaOptions": JAVA,
    # Where work lies that only tests use, and the very Shoal that is tested.
    "spark.executorEnv.PYTHONPATH": os.pathsep.join(
        str(path) for path in (Path(__file__).resolve().parents[1], Path(shoal.__file__).resolve().parents[1])
    ),
}


class _Open:
    """The Spark engine that is open: tests of several files share it, for Java needs long to start and to get warm.

    A process has one session of Spark at a time.
    """

    def __init__(self):
        self.name, self.engine = None, None

    def named(self, name):
        if name != self.name:
            self.close()
            self.engine, self.name = Spark(master=MASTERS[name], conf=CONF), name
        return self.engine

    def close(self):
        if self.engine is not None:
            self.engine.close()
        self.name, self.engine = None, None


OPEN = _Open()


def skip_without_java() -> None:
    """Spark runs on Java; tests/install_system_packages.sh installs one where that is possible."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    try:
        find_java()
    except ParameterError as error:
        pytest.skip(f"there is no Java for Spark: {error}")
