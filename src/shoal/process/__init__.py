"""The order of the steps: read, method, check, measure, gate, report. No other package knows it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.process.anonymization import anonymize, anonymize_source
    from shoal.process.catalogue import Entry, find_guarantee, find_method
    from shoal.process.demo import run_demo
    from shoal.process.event_stream import StreamColumns, stream_events
    from shoal.process.growth import publish_growing
    from shoal.process.policy import load_policy, parse_policy
    from shoal.process.policy_run import run_policy
    from shoal.process.publication import publish, render_report
    from shoal.process.question import QueryAnswer, ask
    from shoal.process.result import Result
    from shoal.process.search import Frontier
    from shoal.process.simulation import simulate_table

# Each name is loaded when it is first used: a look at a table needs no kernels.
_HOMES = {
    "QueryAnswer": "shoal.process.question",
    "Entry": "shoal.process.catalogue",
    "Frontier": "shoal.process.search",
    "Result": "shoal.process.result",
    "StreamColumns": "shoal.process.event_stream",
    "anonymize": "shoal.process.anonymization",
    "anonymize_source": "shoal.process.anonymization",
    "ask": "shoal.process.question",
    "find_guarantee": "shoal.process.catalogue",
    "find_method": "shoal.process.catalogue",
    "load_policy": "shoal.process.policy",
    "parse_policy": "shoal.process.policy",
    "publish": "shoal.process.publication",
    "publish_growing": "shoal.process.growth",
    "render_report": "shoal.process.publication",
    "run_demo": "shoal.process.demo",
    "run_policy": "shoal.process.policy_run",
    "simulate_table": "shoal.process.simulation",
    "stream_events": "shoal.process.event_stream",
}

__all__ = [
    "Entry",
    "Frontier",
    "QueryAnswer",
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
