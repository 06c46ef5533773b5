"""(k, P)-anonymity on Spark: 10 million random walks of ten instants through method and check, and what blocks cost.

Run: python benchmarks/scale_kp.py [SERIES] [--json]

Series are made on the engine, block by block from the block's number: nothing is read. Time is of `KAPRA` and of the
check of its candidate, on `local[2]` with Spark's start left out; the time allowed is 8 minutes for 10 million. What
the blocks add to the value loss is measured on 300 000 series, where all of them fit into memory: the same panel,
divided on the engine in this process and undivided, in the same run.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from measuring import Row, print_rows

from shoal import Panel
from shoal.engines import Blocks, Engine, Local, Spark
from shoal.engines.blocks import BlockPanel, Clock
from shoal.engines.checks import check
from shoal.engines.methods import anonymize
from shoal.engines.rows import SERIES, pack
from shoal.methods.kp import KP
from shoal.utility import ValueLoss

MANY, IN_MEMORY = 10_000_000, 300_000
ALLOWED = 480.0  # seconds for 10 million series
LENGTH = 10
AT_ONCE = 50_000  # series made together
PARTS = 32  # every task costs some 80 ms on Spark
SETTINGS = ((10, 10), (10, 3))

_NUMBERS = pa.schema([("number", pa.int64()), ("n", pa.int64())])


@dataclass(frozen=True)
class Walks:
    """Random walks of the blocks with these numbers."""

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            for number, n in zip(*(column.to_pylist() for column in block.columns), strict=True):
                yield self.made(number, n)

    @staticmethod
    def made(number: int, n: int) -> pa.RecordBatch:
        x = np.random.default_rng(number).normal(size=(n, LENGTH)).cumsum(axis=1)
        ids = pa.array(np.char.add("m", np.char.zfill((number * AT_ONCE + np.arange(n)).astype(str), 9)))
        return pa.RecordBatch.from_arrays([ids, ids, pack(x)], schema=SERIES)


def sizes(n: int) -> Iterator[int]:
    while n > 0:
        yield min(n, AT_ONCE)
        n -= AT_ONCE


def walks(engine: Engine, n: int) -> BlockPanel:
    """So many walks on an engine."""
    counts = list(sizes(n))
    numbers = pa.table({"number": range(len(counts)), "n": counts}, schema=_NUMBERS)
    table = engine.keep(engine.map(engine.scatter(numbers, min(len(counts), PARTS)), Walks(), SERIES))
    return BlockPanel(engine, table, Clock(np.arange(LENGTH)), n_series=n, n_subjects=n)


def on_spark(n: int, k: int, p: int) -> Row:
    """Method and check, from panel to verdict."""
    conf = {"spark.driver.memory": "3g", "spark.sql.shuffle.partitions": "64"}
    with Spark(master="local[2]", conf=conf) as engine:
        panel = walks(engine, n)
        start = time.perf_counter()
        candidate = anonymize(KP(k=k, p=p), panel)
        middle = time.perf_counter()
        verdict = check(candidate.guarantee, candidate)
        end = time.perf_counter()
    assert verdict.holds
    figures = candidate.recipe.figures
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Row(
        what="KAPRA and its check on Spark, local[2]",
        size=f"{n:,} x {LENGTH}, k = {k}, P = {p}",
        seconds=end - start,
        baseline="the time allowed",
        baseline_seconds=ALLOWED * n / MANY,
        note=f"method {middle - start:.3g} s, check {end - middle:.3g} s; {figures['blocks']} blocks, "
        f"{figures['series_suppressed']} series suppressed; mean value loss {figures['value_loss']:.4g}, "
        f"undivided at least {figures['value_loss'] - figures['value_loss_extra_at_most']:.4g}; "
        f"peak memory of the driver's Python {peak:.2f} GiB",
    )


def extra(n: int, k: int, p: int) -> Row:
    """The value loss of blocks against that of the undivided panel."""
    with Local() as engine:
        divided = walks(engine, n)
        start = time.perf_counter()
        figures = anonymize(KP(k=k, p=p), divided).recipe.figures
        seconds = time.perf_counter() - start
        blocks = [Walks.made(number, count) for number, count in enumerate(sizes(n))]
        panel = Panel(np.concatenate([np.frombuffer(b.column(2).buffers()[2]).reshape(-1, LENGTH) for b in blocks]))
    start = time.perf_counter()
    undivided = KP(k=k, p=p).anonymize(panel)
    undivided_seconds = time.perf_counter() - start
    loss = ValueLoss().measure(panel, undivided.published).value
    stated = figures["value_loss_extra_at_most"]
    return Row(
        what="KAPRA in blocks on one machine",
        size=f"{n:,} x {LENGTH}, k = {k}, P = {p}, {figures['blocks']} blocks",
        seconds=seconds,
        baseline="in memory, undivided",
        baseline_seconds=undivided_seconds,
        note=f"value loss {figures['value_loss'] / loss - 1:+.2%} against undivided; the bound it states: "
        f"at most {stated / (figures['value_loss'] - stated) if stated else 0:+.0%}",
    )


def kp_rows(n: int = MANY) -> list[Row]:
    """All rows: on Spark, and what blocks cost."""
    return [on_spark(n, 10, 3), *(extra(min(n, IN_MEMORY), k, p) for k, p in SETTINGS)]


if __name__ == "__main__":
    asked = [int(word) for word in sys.argv[1:] if word.isdigit()]
    print_rows(kp_rows(*asked[:1]))
