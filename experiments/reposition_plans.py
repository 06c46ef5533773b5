"""The paper's step, the rolling plan and the offline optimum on seven streams, and what remedies do for the missing.

    python experiments/reposition_plans.py --days 120 --seed 1

Loss is per event: linear delay, and what 30 snapshots late would cost for each suppressed event. Releases of both plans
are made by the method itself, and every published snapshot is judged by the naive check of l-diversity.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from offline_reposition import offline
from reposition_paper_data import CASES, Sets, Stream, load
from reposition_yardsticks import in_one_piece

from shoal import Events, Reposition
from shoal.methods.relay_window import RelayWindow
from shoal.methods.reposition_costs import delay_costs
from shoal.methods.rolling_window import RollingWindow

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from naive.diversity import naive_events_l_diverse

WINDOW, LOST_LIKE = 7, 30.0
OUTCOMES = "outcomes"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "reposition-plans.md"


class Planned(NamedTuple):
    """What one plan made of a stream."""

    loss: float
    suppressed: float
    milliseconds: float
    slowest: float
    how: dict[str, int]


def plan(window: RelayWindow, stream: Stream) -> Planned:
    """A stream through a window, by counts alone; processor time per snapshot."""
    counts, cost = stream.counts, window.cost
    beta = np.full(counts.shape[1], LOST_LIKE)
    departures, took = [], []
    for row in counts:
        start = time.process_time()
        departure = window.push(row, beta)
        took.append(time.process_time() - start)
        if departure is not None:
            departures.append(departure)
    start = time.process_time()
    departures += window.flush(beta)
    took.append(time.process_time() - start)
    n = int(counts.sum())
    late = sum(len(rows) * cost[d.number - home] for d in departures for home, rows in d.rows)
    lost = sum(len(rows) for d in departures for _, rows in d.suppressed)
    assert n == lost + sum(len(rows) for d in departures for _, rows in d.rows)
    usual = sorted(took)[: -1 if len(took) > 1 else None]
    how = window.figures.get("windows", {})
    return Planned((late + LOST_LIKE * lost) / n, lost / n, 1000 * sum(took) / len(counts), 1000 * usual[-1], how)


def outcomes(sets: Sets, seed: int) -> Sets:
    """With a seventh stream: the same cases by outcome, of which one has a share far above 1/l."""
    if CASES not in sets.streams:
        return sets
    import polars as pl

    events = sets.streams[CASES].events
    path = DATA / "hk_covid_cases" / "hk_covid_cases.parquet"
    table = pl.read_parquet(path)
    found = Events(table, time="timestamp", sensitive="outcome", quasi=events.quasi)
    return Sets(sets.streams | {OUTCOMES: Stream(OUTCOMES, found, 2)})


def judge(stream: Stream, seed: int) -> tuple[int, int]:
    """Published snapshots that are l-diverse by the naive check, and all of them."""
    candidate = in_one_piece(Reposition(l=stream.l, window=WINDOW, seed=seed).anonymize(stream.events))
    tables = candidate.published
    assert tables.counts is not None
    passed = 0
    snapshots = tables.records.partition_by("time", as_dict=True)
    counts = tables.counts.partition_by("time", as_dict=True)
    for when, records in snapshots.items():
        passed += naive_events_l_diverse(
            records.to_dicts(), counts[when].to_dicts(), tables.sensitive, tables.records.columns[:2], stream.l
        )
    return passed, len(snapshots)


def table_of_plans(sets: Sets, seed: int) -> list[str]:
    """One row per stream."""
    lines = [
        "| stream | l | paper's step | rolling | offline optimum | rolling above offline | suppressed: paper | rolling | "
        "windows: optimal, limited, step | ms a snapshot, mean | slowest | naive check |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---|",
    ]
    cost = delay_costs("linear", WINDOW)
    for stream in sets.streams.values():
        plan(RollingWindow(stream.l, cost), Stream(stream.name, stream.events, stream.l)) if not lines[2:] else None
        paper, rolling = plan(RelayWindow(stream.l, cost), stream), plan(RollingWindow(stream.l, cost), stream)
        beta = np.full(stream.counts.shape[1], LOST_LIKE)
        best = offline(stream.counts, WINDOW, stream.l, cost, beta, gap=0.001, nodes=200).loss / stream.counts.sum()
        passed, n = judge(stream, seed)
        how = ", ".join(str(rolling.how[name]) for name in ("optimal", "limited", "step"))
        lines.append(
            f"| {stream.name} | {stream.l} | {paper.loss:.4f} | {rolling.loss:.4f} | {best:.4f} | "
            f"{100 * (rolling.loss / best - 1):.1f}% | {paper.suppressed:.2%} | {rolling.suppressed:.2%} | {how} | "
            f"{rolling.milliseconds:.0f} | {rolling.slowest:.0f} | {passed} of {n} |"
        )
        print(lines[-1], flush=True)
    return lines
