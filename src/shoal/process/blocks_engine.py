"""The engine of a policy or a command, opened."""

from __future__ import annotations

from contextlib import AbstractContextManager

from shoal.engines.contract import Engine
from shoal.engines.opening import open_local, open_spark
from shoal.process.policy.schema import EnginePart


def open_engine(part: EnginePart) -> AbstractContextManager[Engine]:
    """The engine for as long as a block runs."""
    if part.name == "local":
        return open_local(memory=part.memory, processes=part.processes)
    return open_spark(master=part.master, conf=part.settings or None)
