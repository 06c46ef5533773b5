"""(k, P)-anonymity on Spark: 10 million random walks of ten instants through method and check, and what shards cost.

Run: python benchmarks/scale_kp.py [SERIES ...] [--json]

Series are made on the engine, block by block from the block's number, and kept there: nothing is read, and making them
is not timed. Time is of `KP` and of the check of its candidate, on `local[2]` with Spark's start left out; the time
allowed is 384 s for 10 million. What shards do to value loss and pattern loss is measured on 300 000 series, where all
of them fit into memory: the same panel in shards on one machine and in one, in the same run. Load is that of the last
minute: above the number of cores, others had a share of the machine.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Row, print_rows
from scale_data import made_on

from shoal import Panel
from shoal.engines import Engine, Local, Spark
from shoal.methods.kp import KP
from shoal.utility import PatternLoss, ValueLoss

MANY, IN_MEMORY = 10_000_000, 300_000
ALLOWED = 384.0  # seconds for 10 million series
LENGTH = 10
AT_ONCE = 50_000  # series made together
SETTINGS = ((10, 10), (10, 3))
CONF = {
    "spark.driver.memory": "3g",
    "spark.executorEnv.PYTHONPATH": str(Path(__file__).resolve().parent),  # where workers find these files
}


def walks(number: int, n: int) -> np.ndarray:
    """Random walks of one block."""
    return np.random.default_rng(number).normal(size=(n, LENGTH)).cumsum(axis=1)


def panel_of(engine: Engine, n: int) -> Any:
    """So many walks on an engine."""
    return made_on(engine, walks, n, AT_ONCE, LENGTH)


def on_spark(n: int, k: int, p: int) -> Row:
    """Method and check, from panel to verdict."""
    with Spark(master="local[2]", conf=CONF) as engine:
        KP(k=k, p=p).anonymize(panel_of(engine, 5000)).check()  # compiles
        panel = panel_of(engine, n)
        start = time.perf_counter()
        candidate = KP(k=k, p=p).anonymize(panel)
        middle = time.perf_counter()
        verdict = candidate.check()
        end = time.perf_counter()
        loss = candidate.measure(ValueLoss()).value
    assert verdict.holds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Row(
        what="KAPRA and its check on Spark, local[2]",
        size=f"{n:,} x {LENGTH}, k = {k}, P = {p}",
        seconds=end - start,
        baseline="the time allowed",
        baseline_seconds=ALLOWED * n / MANY,
        note=f"holds; method {middle - start:.3g} s, check {end - middle:.3g} s; {candidate.n_shards} shards, "
        f"{candidate.recipe.figures['series_suppressed']} series suppressed; mean value loss {loss:.4g}; "
        f"peak memory of the driver's Python {peak:.0f} MB; load {os.getloadavg()[0]:.0f}",
    )


def extra(n: int, k: int, p: int) -> Row:
    """The losses of shards against those of the undivided panel."""
    method = KP(k=k, p=p)
    with Local() as engine:
        shards = panel_of(engine, n)
        method.anonymize(panel_of(engine, 5000))  # compiles
        start = time.perf_counter()
        candidate = method.anonymize(shards)
        seconds = time.perf_counter() - start
        losses = [candidate.measure(measure()).value for measure in (ValueLoss, PatternLoss)]
    panel = Panel(np.concatenate([walks(i, min(AT_ONCE, n - i * AT_ONCE)) for i in range(-(-n // AT_ONCE))]))
    start = time.perf_counter()
    undivided = method.anonymize(panel)
    undivided_seconds = time.perf_counter() - start
    value, pattern = (undivided.measure(measure()).value for measure in (ValueLoss, PatternLoss))
    return Row(
        what="KAPRA in shards on one machine",
        size=f"{n:,} x {LENGTH}, k = {k}, P = {p}, {candidate.n_shards} shards",
        seconds=seconds,
        baseline="in memory, undivided",
        baseline_seconds=undivided_seconds,
        note=f"value loss {losses[0] / value - 1:+.2%}, pattern loss {losses[1] / pattern - 1:+.2%} against undivided; "
        f"load {os.getloadavg()[0]:.0f}",
    )


def kp_rows(*sizes: int) -> list[Row]:
    """All rows: on Spark, and what shards cost."""
    sizes = sizes or (MANY,)
    return [*(on_spark(n, 10, 3) for n in sizes), *(extra(min(*sizes, IN_MEMORY), k, p) for k, p in SETTINGS)]


if __name__ == "__main__":
    print_rows(kp_rows(*(int(word) for word in sys.argv[1:] if word.isdigit())))
