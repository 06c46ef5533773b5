"""The engine that was asked for by name, open for as long as it is used."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shoal.engines.contract import Engine
from shoal.engines.local import DEFAULT_MEMORY, Local
from shoal.engines.session import opened
from shoal.engines.spark import Spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def open_local(*, memory: int | str | None = None, processes: int | None = None) -> Iterator[Engine]:
    """This machine, in blocks; 2 GiB and one process where nobody says otherwise."""
    with Local(memory=DEFAULT_MEMORY if memory is None else memory, processes=processes or 1) as engine:
        yield engine


@contextmanager
def open_spark(*, master: str | None = None, conf: Mapping[str, str] | None = None) -> Iterator[Engine]:
    """Spark: the session that spark-submit prepared or that runs in this process, else a new one."""
    if master is None and not conf and _is_submitted():
        with Spark(_submitted_session()) as engine:
            yield engine
        return
    with opened(master, conf) as session, Spark(session) as engine:
        yield engine


def _is_submitted() -> bool:
    """Whether spark-submit started this process: it tells a program where its Java is."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _submitted_session() -> SparkSession:
    """The session with the master and the settings that were given to spark-submit."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()
