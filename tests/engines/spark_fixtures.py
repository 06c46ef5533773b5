"""Java and Spark for tests of streams."""

import pytest

from shoal.engines.java import find_java
from shoal.errors import ParameterError

CONF = {
    "spark.default.parallelism": "1",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
"""Few parts and a compiler that does not try hard: the tests have little data and are short."""


@pytest.fixture(scope="module")
def java():
    """The Java that Spark runs on; tests/install_system_packages.sh installs one where that is possible."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    try:
        return find_java()
    except ParameterError as error:
        pytest.skip(f"there is no Java for Spark: {error}")


@pytest.fixture(scope="module")
def spark(java):
    """One session for the tests of a file: starting one takes longer than most of them."""
    from shoal.engines.session import close, session

    found = session("local[2]", CONF)
    yield found
    close(found)
