"""The engine of a policy or a command, opened, and the panel read on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from shoal.engines.by_name import open_local, open_spark
from shoal.engines.contract import Engine
from shoal.engines.memory import Memory
from shoal.model import Panel, PanelShards
from shoal.process.policy.schema import EnginePart
from shoal.read import read_panel


def open_engine(part: EnginePart) -> AbstractContextManager[Engine]:
    """The engine for as long as a block runs."""
    if part.name == "memory":
        return nullcontext(Memory())
    if part.name == "local":
        return open_local(memory=part.memory, processes=part.processes)
    return open_spark(master=part.master, conf=part.settings or None)


@contextmanager
def panel_on(part: EnginePart | None, source: Any, settings: Mapping[str, Any]) -> Iterator[Panel | PanelShards]:
    """The panel of a source: in memory, or in shards for as long as the block runs."""
    if part is None:
        yield read_panel(source, **settings)
        return
    with open_engine(part) as engine:
        yield read_panel(source, engine=engine, shard_size=part.shard_size, **settings)
