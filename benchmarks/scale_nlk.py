"""(n, l, k)-anonymity on Spark: a million meters of 336 hours, released and verified.

Run: python benchmarks/scale_nlk.py [SERIES ...] [--json]

Meters are simulated on the engine, block by block from the block's number, and kept there: nothing is read, and making
them is not timed. Time is of `NLK` with all its rounds, of `publish`, which checks, measures, writes, reads back and
verifies, and of `verify` as a recipient would run it, in two processes; on `local[2]`, Spark's start and the compiling
of kernels left out. Load is that of the minute before and of the last quarter of an hour: above the number of cores,
others had a share of the machine, and times are too long. What shards add to the loss is measured on 10 000 of the same
meters, in shards of 2 500 to 5 000 and in one, in the same run. At the default size shards are ten times as large; what
they cost is not measured.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Row, print_rows
from scale_data import made_on
from scale_watch import Watch

import shoal
from shoal import NLK, Panel, simulate
from shoal.engines import Engine, Local, Spark

MANY, FEW, SMALL = 1_000_000, 10_000, 2_500
METHOD = NLK(n=5, l=15, k=10)
DAYS = 14
AT_ONCE = 5_000  # series made together
CONF = {
    "spark.driver.memory": "3g",
    "spark.executorEnv.PYTHONPATH": str(Path(__file__).resolve().parent),  # where workers find these files
}


def meters(number: int, n: int) -> np.ndarray:
    """Meters of one block."""
    return np.asarray(simulate.meters(n, days=DAYS, seed=1000 + number).values)


def panel_of(engine: Engine, n: int, size: int | None = None) -> Any:
    """So many meters on an engine."""
    return made_on(engine, meters, n, AT_ONCE, 24 * DAYS, size)


def through(panel: Any, folder: str) -> tuple[list[float], Any]:
    """Seconds of method, release and verification, and the candidate."""
    times = [time.perf_counter()]
    candidate = METHOD.anonymize(panel)
    times.append(time.perf_counter())
    shoal.publish(candidate, folder)
    times.append(time.perf_counter())
    if shoal.verify(folder, processes=2).outcome != "holds":
        sys.exit("The release does not verify.")
    times.append(time.perf_counter())
    return np.diff(times).tolist(), candidate


def on_spark(n: int) -> Row:
    """From panel to a release that verifies, in a session of its own: what it kept is gone afterwards."""
    with Spark(master="local[2]", conf=CONF) as engine, tempfile.TemporaryDirectory() as folder:
        through(panel_of(engine, 300), f"{folder}/small")  # compiles
        panel = panel_of(engine, n)
        with Watch() as watch:
            seconds, candidate = through(panel, f"{folder}/release")
        size = sum(file.stat().st_size for file in Path(folder, "release").iterdir())
        parts = len(list(Path(folder, "release").glob("data*.parquet")))
    driver = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    other = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    return Row(
        "NLK optimal on Spark local[2], released and verified",
        f"{n:,} x {24 * DAYS}, ({METHOD.n}, {METHOD.l}, {METHOD.k})",
        sum(seconds),
        "the method alone",
        seconds[0],
        f"holds and verifies; method {seconds[0]:.0f} s, publish {seconds[1]:.0f} s, verify {seconds[2]:.0f} s; "
        f"{candidate.n_shards} shards, {parts} parts, {size / 1e9:.2f} GB; peak memory of the driver's Python "
        f"{driver} MB, of the largest other process {other} MB; load {watch.load:.0f} at the start, "
        f"{os.getloadavg()[2]:.0f} over the last quarter of an hour",
    )


def extra(n: int = FEW) -> Row:
    """The absolute loss of shards against that of one."""
    panel = Panel(np.concatenate([meters(i, min(AT_ONCE, n - i * AT_ONCE)) for i in range(-(-n // AT_ONCE))]))
    METHOD.anonymize(panel.take(np.arange(300)))  # compiles
    with Local() as engine:
        shards = panel_of(engine, n, SMALL)
        start = time.perf_counter()
        candidate = METHOD.anonymize(shards)
        seconds = time.perf_counter() - start
        lost = sum(candidate.map(absolute))
    start = time.perf_counter()
    undivided = METHOD.anonymize(panel)
    undivided_seconds = time.perf_counter() - start
    return Row(
        "NLK optimal in shards on one machine",
        f"{n:,} x {24 * DAYS}, {candidate.n_shards} shards",
        seconds,
        "in memory, undivided",
        undivided_seconds,
        f"loses {lost / absolute(0, undivided) - 1:+.2%} against undivided",
    )


def absolute(number: int, candidate: Any) -> float:
    return float(np.abs(candidate.private.original.values - candidate.values).sum())


def nlk_rows(*sizes: int) -> list[Row]:
    """The rows of the page on scale."""
    sizes = sizes or (MANY,)
    return [*(on_spark(n) for n in sizes), extra(min(*sizes, FEW))]


if __name__ == "__main__":
    print_rows(nlk_rows(*(int(word) for word in sys.argv[1:] if word.isdigit())))
