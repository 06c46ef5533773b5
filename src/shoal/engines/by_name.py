"""The engine requested by name, open for as long as it is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from shoal.engines.contract import Engine
from shoal.engines.local import DEFAULT_MEMORY, Local
from shoal.engines.session import opened
from shoal.engines.spark import Spark


@contextmanager
def open_local(*, memory: int | str | None = None, processes: int | None = None) -> Iterator[Engine]:
    """This machine, with 2 GiB for blocks of rows and one process by default."""
    with Local(memory=DEFAULT_MEMORY if memory is None else memory, processes=processes or 1) as engine:
        yield engine


@contextmanager
def open_spark(*, master: str | None = None, conf: Mapping[str, str] | None = None) -> Iterator[Engine]:
    """Spark: the session that runs in this process, else that of spark-submit, else a new one."""
    with opened(master, conf) as session, Spark(session) as engine:
        yield engine
