"""Spark for tests of streams."""

import pytest

from engines.sessions import JAVA

CONF = {
    "spark.default.parallelism": "1",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": JAVA,
}
"""Few parts: the tests have little data and are short."""


@pytest.fixture(scope="module")
def spark(no_session):
    """One session for the tests of a file: starting one takes longer than most of them."""
    from shoal.engines.session import close, session

    found = session("local[2]", CONF)
    yield found
    close(found)
