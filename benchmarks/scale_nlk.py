"""(n, l, k)-anonymity on Spark: a million meters of 336 hours through method and check.

Run: python benchmarks/scale_nlk.py [SERIES] [--json]

Meters are simulated on the engine, block by block from the block's number, and kept there: nothing is read, and making
them is not timed. Time is of the method and of the check of its candidate, on `local[2]`, Spark's start and the
compiling of kernels left out; the time allowed for the two is 8 minutes for a million series. All rounds of "optimal"
would take about half an hour there, so it has one round of prices, without a bound, and the row says what that costs:
the loss against all rounds in memory, on 2 000 series of the same meters in the same run. "cluster" has no rounds.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from measuring import Row, print_rows

from shoal import NLK, Panel, simulate
from shoal.engines import Blocks, Engine, Local, Spark
from shoal.engines.blocks import BlockPanel, Clock
from shoal.engines.nlk import Limits, anonymize
from shoal.engines.nlk.check import check
from shoal.engines.rows import SERIES, pack
from shoal.model import Verdict

MANY, FEW = 1_000_000, 2_000
ALLOWED = 480.0  # seconds for a million series, method and check
N, L, K = 5, 15, 10
DAYS = 14
AT_ONCE = 5_000  # series made together
QUICK = Limits(without_holes=1, with_holes=0, moves=0)
CONF = {
    "spark.driver.memory": "3g",
    "spark.sql.shuffle.partitions": "64",
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",  # empty parts are joined: each costs a task
    "spark.executorEnv.PYTHONPATH": str(Path(__file__).resolve().parent),  # where workers find this file
}

_NUMBERS = pa.schema([("number", pa.int64()), ("n", pa.int64())])


@dataclass(frozen=True)
class Meters:
    """Meters of the blocks with these numbers."""

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            for number, n in zip(*(column.to_pylist() for column in block.columns), strict=True):
                values = simulate.meters(n, days=DAYS, seed=1000 + number).values
                ids = pa.array([f"m{number:05}-{i:05}" for i in range(n)])
                yield pa.RecordBatch.from_arrays([ids, ids, pack(values)], schema=SERIES)


def sizes(n: int) -> Iterator[int]:
    while n > 0:
        yield min(n, AT_ONCE)
        n -= AT_ONCE


def meters(engine: Engine, n: int) -> BlockPanel:
    """So many meters on an engine."""
    counts = list(sizes(n))
    numbers = pa.table({"number": range(len(counts)), "n": counts}, schema=_NUMBERS)
    table = engine.keep(engine.map(engine.scatter(numbers, len(counts)), Meters(), SERIES))
    return BlockPanel(engine, table, Clock(np.arange(24 * DAYS)), n_series=n, n_subjects=n)


def on_spark(method: NLK, n: int, limits: Limits, note: str) -> Row:
    """Method and check, from panel to verdict, in a session of its own: what it kept is gone afterwards."""
    with Spark(master="local[2]", conf=CONF) as engine:
        through(engine, method, meters(engine, 300), limits)  # compiles
        panel = meters(engine, n)
        n_rows = engine.collect(engine.map(panel.table, _Count(), _COUNTS))["n"].to_numpy().sum()
        if n_rows != n:
            sys.exit("The panel is not whole.")
        seconds, verdict = through(engine, method, panel, limits)
    driver = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    told = "holds" if verdict.holds else "DOES NOT HOLD"
    return Row(
        f"NLK {method.strategy} and check on Spark local[2]",
        f"{n:,} x {24 * DAYS}, ({N}, {L}, {K})",
        sum(seconds),
        "the time allowed",
        ALLOWED * n / MANY,
        f"{told}; method {seconds[0]:.0f} s, check {seconds[1]:.0f} s; {note}; peak memory of the driver's Python "
        f"{driver} MB, of the largest other process {worker} MB",
    )


def through(engine: Engine, method: NLK, panel: BlockPanel, limits: Limits) -> tuple[tuple[float, float], Verdict]:
    """Seconds of method and check, and the verdict."""
    start = time.perf_counter()
    candidate = anonymize(method, panel, limits=limits)
    middle = time.perf_counter()
    verdict = check(method.aims_at, candidate.published)
    return (middle - start, time.perf_counter() - middle), verdict


_COUNTS = pa.schema([("n", pa.int64())])


@dataclass(frozen=True)
class _Count:
    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield pa.RecordBatch.from_arrays([pa.array([block.num_rows])], schema=_COUNTS)


def losses(n: int = FEW) -> dict[str, float]:
    """Absolute loss of the quick ways, above that of all rounds in memory."""
    with Local() as engine:
        panel = meters(engine, n)
        original: Panel = panel.panel()
        full = NLK(n=N, l=L, k=K).anonymize(original)
        quick = anonymize(NLK(n=N, l=L, k=K), panel, limits=QUICK).values()
        clusters = anonymize(NLK(n=N, l=L, k=K, strategy="cluster"), panel).values()
    best, *lost = (float(np.abs(original.values - some).sum()) for some in (full.values, quick, clusters))
    return {name: some / best - 1.0 for name, some in zip(("optimal", "cluster"), lost, strict=True)}


def nlk_rows(n: int = MANY) -> list[Row]:
    """The rows of the page on scale."""
    above = losses()
    rows = []
    for strategy, rounds in (("optimal", "one round of prices, "), ("cluster", "")):
        method = NLK(n=N, l=L, k=K, strategy=strategy)
        note = f"{rounds}loses {100 * above[strategy]:.1f} % more than all rounds do ({FEW:,} series)"
        rows.append(on_spark(method, n, QUICK, note))
    return rows


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:] if word.isdigit()]
    print_rows(nlk_rows(*given))
