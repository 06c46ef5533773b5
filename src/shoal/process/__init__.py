"""The order of the steps: read, method, check, measure, gate, report. The only room that knows it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.process.anonymizing import anonymize_source
    from shoal.process.asking import Answer, ask
    from shoal.process.catalogue import Entry, find_guarantee, find_method
    from shoal.process.demonstrating import run_demo
    from shoal.process.growing import publish_growing
    from shoal.process.policy import load_policy, parse_policy
    from shoal.process.publishing import publish, render_report
    from shoal.process.result import Result, anonymize
    from shoal.process.running import run_policy
    from shoal.process.search import Frontier
    from shoal.process.simulating import simulate_table
    from shoal.process.streaming import StreamColumns, stream_events

# Each name is loaded when it is first used: a look at a table needs no kernels.
_HOMES = {
    "Answer": "shoal.process.asking",
    "Entry": "shoal.process.catalogue",
    "Frontier": "shoal.process.search",
    "Result": "shoal.process.result",
    "StreamColumns": "shoal.process.streaming",
    "anonymize": "shoal.process.result",
    "anonymize_source": "shoal.process.anonymizing",
    "ask": "shoal.process.asking",
    "find_guarantee": "shoal.process.catalogue",
    "find_method": "shoal.process.catalogue",
    "load_policy": "shoal.process.policy",
    "parse_policy": "shoal.process.policy",
    "publish": "shoal.process.publishing",
    "publish_growing": "shoal.process.growing",
    "render_report": "shoal.process.publishing",
    "run_demo": "shoal.process.demonstrating",
    "run_policy": "shoal.process.running",
    "simulate_table": "shoal.process.simulating",
    "stream_events": "shoal.process.streaming",
}

__all__ = [
    "Answer",
    "Entry",
    "Frontier",
    "Result",
    "StreamColumns",
    "anonymize",
    "anonymize_source",
    "ask",
    "find_guarantee",
    "find_method",
    "load_policy",
    "parse_policy",
    "publish",
    "publish_growing",
    "render_report",
    "run_demo",
    "run_policy",
    "simulate_table",
    "stream_events",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'shoal.process' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
