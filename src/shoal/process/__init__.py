"""The order of the steps: read, method, check, measure, gate, report. The only room that knows it."""

from shoal.process.anonymizing import anonymize_source
from shoal.process.asking import Answer, ask
from shoal.process.catalogue import Entry, catalogue, find_guarantee, find_method
from shoal.process.demonstrating import run_demo
from shoal.process.growing import publish_growing
from shoal.process.policy import load_policy, parse_policy
from shoal.process.publishing import publish, render_report
from shoal.process.running import run_policy
from shoal.process.simulating import simulate_table
from shoal.process.streaming import StreamColumns, stream_events

__all__ = [
    "Answer",
    "Entry",
    "StreamColumns",
    "anonymize_source",
    "ask",
    "catalogue",
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
