"""Read and pivot a long table of 50 million rows; baseline: polars read_parquet (or read_csv) and pivot.

Run: python benchmarks/read_long.py [--ids 100000] [--instants 500] [--order series|time] [--csv]
Each reader runs in a process of its own, which reports its peak resident memory. The target is 3 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROWS_PER_BLOCK = 1_000_000
TARGET_GB = 3.0


def main() -> None:
    options = parse_options()
    if options.child:
        print(json.dumps(CHILDREN[options.child](options.path)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("long.csv" if options.csv else "long.parquet")
        generate(path, options.ids, options.instants, options.order)
        n_rows = options.ids * options.instants
        print(f"{n_rows:,} rows, {path.stat().st_size / 1e9:.2f} GB as {path.suffix[1:]}, sorted by {options.order}")
        shoal = run("shoal", path)
        baseline = run("polars", path)
    if shoal is None:
        sys.exit("shoal died")
    print(
        f"shoal    {n_rows / shoal['seconds']:>12,.0f} rows/s   peak {shoal['peak_gb']:.2f} GB (target {TARGET_GB} GB)"
    )
    if baseline is None:
        print("polars   died (out of memory or an error), no ratio")
        return
    print(f"polars   {n_rows / baseline['seconds']:>12,.0f} rows/s   peak {baseline['peak_gb']:.2f} GB")
    print(
        f"ratio to polars read + pivot: {baseline['seconds'] / shoal['seconds']:.2f} x the speed, "
        f"{shoal['peak_gb'] / baseline['peak_gb']:.2f} x the memory"
    )


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ids", type=int, default=100_000)
    parser.add_argument("--instants", type=int, default=500)
    parser.add_argument("--order", choices=["series", "time"], default="series")
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--child", choices=["shoal", "polars"], help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    return parser.parse_args()


def generate(path: Path, n_ids: int, n_instants: int, order: str) -> None:
    """Write the table block by block."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    schema = pa.schema([("id", pa.string()), ("time", pa.timestamp("us")), ("value", pa.float64())])
    ids = pa.array([f"meter-{number:07d}" for number in range(n_ids)])
    times = pa.array(np.datetime64("2024-01-01", "us") + np.arange(n_instants) * np.timedelta64(900, "s"))
    random = np.random.default_rng(0)
    make = pyarrow.csv.CSVWriter if path.suffix == ".csv" else pyarrow.parquet.ParquetWriter
    with make(str(path), schema) as writer:
        for start in range(0, n_ids * n_instants, ROWS_PER_BLOCK):
            rows = np.arange(start, min(start + ROWS_PER_BLOCK, n_ids * n_instants))
            which_id, which_time = (
                (rows // n_instants, rows % n_instants) if order == "series" else (rows % n_ids, rows // n_ids)
            )
            columns = [
                ids.take(pa.array(which_id)),
                times.take(pa.array(which_time)),
                random.gamma(2.0, 0.2, len(rows)),
            ]
            writer.write_table(pa.table(columns, schema=schema))


def run(child: str, path: Path) -> dict[str, float] | None:
    """Run one reader in a fresh process."""
    command = [sys.executable, __file__, "--child", child, "--path", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{child}: exit {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
        return None
    result: dict[str, float] = json.loads(done.stdout)
    return result


def read_with_shoal(path: str) -> dict[str, float]:
    from shoal.read import read_panel

    start = time.perf_counter()
    panel = read_panel(path)
    return report(start, panel.values.shape)


def read_with_polars(path: str) -> dict[str, float]:
    import polars as pl

    start = time.perf_counter()
    frame = pl.read_csv(path, try_parse_dates=True) if path.endswith(".csv") else pl.read_parquet(path)
    matrix = frame.pivot(on="time", index="id", values="value").drop("id").to_numpy()
    return report(start, matrix.shape)


def report(start: float, shape: tuple[int, ...]) -> dict[str, float]:
    seconds = time.perf_counter() - start
    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    # Of all threads, the start of the process included.
    processor = time.process_time()
    return {
        "seconds": seconds,
        "processor": processor,
        "peak_gb": peak / 1e9,
        "n_series": shape[0],
        "n_instants": shape[1],
    }


CHILDREN = {"shoal": read_with_shoal, "polars": read_with_polars}

if __name__ == "__main__":
    main()
