"""Reposition on a stream: events per second of the operator and of the whole `shoal stream`, and memory over time.

Run: python benchmarks/stream.py [--short] [--json]

Snapshots of 1 000 events, 50 sensitive values whose frequencies fall like a power of their rank, three
quasi-identifiers, window 12, l = 4. The time allowed is that of 150 000 events per second. The operator runs in a
process of its own, over 2 million and over 20 million events, so that peak memory can be compared; events are made as
they are needed and the making is not counted; polars has one thread there. `shoal stream` reads NDJSON from a pipe and
writes Parquet, with a checkpoint after every snapshot and without; its time includes the start of the process. Compile
time is left out; everything runs once.

`--short` takes a hundredth of the events.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from measuring import Row, print_rows

from shoal import Reposition
from shoal.streams import RepositionStream

PER_SNAPSHOT, N_VALUES, WINDOW, L = 1000, 50, 12, 4
ALLOWED = 150_000  # events per second
QUASI = ("age", "sex", "region")
SIZES = (2_000_000, 20_000_000)
N_WHOLE = 1_000_000
SHORT = 100
N_COMPILES = 20
"""Snapshots before the clock starts."""


def snapshots(n: int) -> Iterator[pl.DataFrame]:
    """Snapshots made one by one; the same 100 again and again, at ever later times."""
    rng = np.random.default_rng(0)
    shares = np.arange(1, N_VALUES + 1) ** -0.7
    made = [
        pl.DataFrame(
            {
                "age": rng.integers(0, 100, PER_SNAPSHOT),
                "sex": rng.choice(["f", "m"], PER_SNAPSHOT),
                "region": rng.choice([f"region {i}" for i in range(8)], PER_SNAPSHOT),
                "diagnosis": rng.choice([f"code {i}" for i in range(N_VALUES)], PER_SNAPSHOT, p=shares / shares.sum()),
            }
        )
        for _ in range(100)
    ]
    for number in range(n):
        yield made[number % 100].select(pl.lit(number, dtype=pl.Int64).alias("time"), pl.all())


def operator(n_events: int) -> None:
    """Print seconds, peak memory in KiB, and microseconds per event over the first and the last tenth."""
    stream = RepositionStream(Reposition(l=L, window=WINDOW, seed=0), time="time", sensitive="diagnosis", quasi=QUASI)
    n = n_events // PER_SNAPSHOT
    times = []
    for snapshot in snapshots(n + N_COMPILES):
        begin = time.perf_counter()
        stream.push(snapshot)
        times.append(time.perf_counter() - begin)
    taken = np.array(times[N_COMPILES:])
    tenth = max(1, n // 10)
    first, last = (1e6 * float(part.mean()) / PER_SNAPSHOT for part in (taken[:tenth], taken[-tenth:]))
    print(json.dumps([float(taken.sum()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, first, last]))


def alone(n_events: int) -> tuple[float, float, float, float]:
    command = [sys.executable, __file__, "--operator", str(n_events)]
    # On tables this small threads of polars wait for each other longer than they work.
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    seconds, peak, first, last = json.loads(done.stdout)
    return seconds, peak, first, last


def operator_rows(sizes: tuple[int, ...]) -> list[Row]:
    rows = []
    peaks: list[float] = []
    for n in sizes:
        seconds, peak, first, last = alone(n)
        peaks.append(peak)
        grown = "" if len(peaks) == 1 else f", {peaks[-1] / peaks[0]:.2f} times that of {sizes[0]:,} events"
        rows.append(
            Row(
                what="reposition stream, operator alone",
                size=f"{n:,} events in snapshots of {PER_SNAPSHOT:,}",
                seconds=seconds,
                baseline="the time allowed",
                baseline_seconds=n / ALLOWED,
                note=f"{n / seconds:,.0f} events per second; {first:.2f} µs per event at the beginning, {last:.2f} at "
                f"the end; peak memory {peak / 1024:.0f} MiB{grown}",
            )
        )
    return rows


def whole_rows(n_events: int) -> list[Row]:
    """The command, from a pipe to files."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "events.ndjson"
        with lines.open("wb") as file:
            for snapshot in snapshots(n_events // PER_SNAPSHOT):
                snapshot.write_ndjson(file)
        for what, options in (("checkpoints", ["--private", f"{folder}/private"]), ("no checkpoints", [])):
            command = [sys.executable, "-c", "from shoal.cli.app import main; main()", "stream", *options]
            command += ["--l", str(L), "--window", str(WINDOW), "--seed", "0", "--sensitive", "diagnosis"]
            command += [word for name in QUASI for word in ("--quasi", name)]
            out = f"{folder}/out with {what}"
            begin = time.perf_counter()
            with subprocess.Popen(["cat", str(lines)], stdout=subprocess.PIPE) as source:
                subprocess.run([*command, "-o", out], stdin=source.stdout, check=True, capture_output=True)
            seconds = time.perf_counter() - begin
            n_files = sum(1 for _ in Path(out).glob("data-*"))
            assert n_files == n_events // PER_SNAPSHOT
            rows.append(
                Row(
                    what=f"shoal stream, NDJSON to Parquet, {what}",
                    size=f"{n_events:,} events in snapshots of {PER_SNAPSHOT:,}",
                    seconds=seconds,
                    baseline="the time allowed for the operator",
                    baseline_seconds=n_events / ALLOWED,
                    note=f"{n_events / seconds:,.0f} events per second with the start of the process",
                )
            )
    return rows


def measure(divisor: int) -> list[Row]:
    return [*operator_rows(tuple(n // divisor for n in SIZES)), *whole_rows(N_WHOLE // divisor)]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--operator"]:
        operator(int(sys.argv[2]))
    else:
        print_rows(measure(SHORT if "--short" in sys.argv[1:] else 1))
