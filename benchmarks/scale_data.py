"""Data of the benchmark of scale: simulated once, in Parquet files with a row of bytes for each series."""

from __future__ import annotations

import math
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILE = 50_000  # series in a file of days
LONG = 1_000_000, 750  # 6 GB
PARTS = 32  # of series made on an engine: every task costs some 80 ms on Spark
COUNTED = pa.schema([("n", pa.int64())])
SCHEMA = pa.schema([("id", pa.string()), ("subject", pa.string()), ("row", pa.binary())])


def write_days(job: tuple[Path, int, int]) -> None:
    """Half-hourly days of some meters."""
    from shoal import simulate

    folder, number, n = job
    panel = simulate.meters(n, days=1, step="30min", start="2024-01-10", seed=number)
    write_rows(folder / f"days-{number:04}.parquet", number, np.asarray(panel.values))


def write_profiles(job: tuple[Path, int, int]) -> None:
    """Fifteen half-hourly days: one of 200 profiles, at a level of its own, with noise."""
    folder, number, n = job
    rng = np.random.default_rng([7, number])
    profiles = np.random.default_rng(7).gamma(2.0, 100.0, (200, LONG[1]))
    values = profiles[rng.integers(200, size=n)] * rng.lognormal(0.0, 0.5, (n, 1))
    values += rng.normal(0.0, 30.0, values.shape)
    write_rows(folder / f"profiles-{number:04}.parquet", number, values)


def rows_of(number: int, values: np.ndarray) -> pa.Table:
    """Series of one block or file, with names."""
    from shoal.engines.rows import pack

    ids = pa.array([f"{number:04}-{i:05}" for i in range(len(values))])
    return pa.table([ids, ids, pack(values)], schema=SCHEMA)


def write_rows(path: Path, number: int, values: np.ndarray) -> None:
    table = rows_of(number, values)
    aside = path.with_name(f".{path.name}")
    pq.write_table(table, aside, row_group_size=max(1, 2**24 // (8 * values.shape[1])), use_dictionary=False)
    aside.rename(path)


def make_data(folder: Path, n_days: int, n_profiles: int) -> None:
    """Write what is not there yet, on all cores."""
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for work, name, n, size in (
            (write_days, "days", n_days, min(FILE, n_days)),
            (write_profiles, "profiles", n_profiles, min(20_000, n_profiles)),
        ):
            own = folder / name
            own.mkdir(parents=True, exist_ok=True)
            jobs = [(own, i, min(size, n - i * size)) for i in range(math.ceil(n / size))]
            there = {file.name for file in own.glob("*.parquet")}
            pool.map(work, [job for job in jobs if f"{name}-{job[1]:04}.parquet" not in there], chunksize=1)


def first_files(folder: Path, n: int) -> list[str]:
    """As many files as hold n series."""
    files = sorted((folder / "days").glob("*.parquet"))
    found, rows = [], 0
    while rows < n:
        if len(found) == len(files):
            sys.exit("There are not enough data. Run: python benchmarks/scale.py data")
        rows += pq.read_metadata(files[len(found)]).num_rows
        found.append(str(files[len(found)]))
    return found


@contextmanager
def linked(files: list[str]) -> Iterator[str]:
    """A folder with these files only."""
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            (Path(folder) / Path(file).name).symlink_to(file)
        yield folder


def panel_on(engine: Any, table: Any, n: int, n_instants: int, size: int | None = None) -> Any:
    """A table of rows of bytes as a panel in shards."""
    from shoal.engines.series import SeriesTable
    from shoal.model import PanelShards, Whole

    whole = Whole(n_series=n, n_subjects=n, n_missing=0, times=np.arange(n_instants))
    return PanelShards.of(SeriesTable(engine, table, whole), size)


@dataclass(frozen=True)
class Made:
    """Series of the blocks with these numbers: `values(number, n)` gives those of one."""

    values: Any

    def __call__(self, blocks: Any) -> Any:
        for block in blocks:
            for number, n in zip(*(column.to_pylist() for column in block.columns), strict=True):
                yield rows_of(number, self.values(number, n)).to_batches()[0]


def made_on(engine: Any, values: Any, n: int, at_once: int, n_instants: int, size: int | None = None) -> Any:
    """So many series made on an engine and kept there, block by block from the block's number."""
    counts = [min(at_once, n - first) for first in range(0, n, at_once)]
    numbers = pa.table({"number": pa.array(range(len(counts)), pa.int64()), "n": pa.array(counts, pa.int64())})
    table = engine.keep(engine.map(engine.scatter(numbers, min(len(counts), PARTS)), Made(values), SCHEMA))
    rows = engine.collect(engine.map(table, CountRows(), COUNTED))
    if sum(rows["n"].to_pylist()) != n:  # which also makes them: that is not timed
        sys.exit("The panel is not whole.")
    return panel_on(engine, table, n, n_instants, size)


@dataclass(frozen=True)
class CountRows:
    def __call__(self, blocks: Any) -> Any:
        yield pa.record_batch([pa.array([sum(block.num_rows for block in blocks)])], schema=COUNTED)
