"""Look at a long CSV of 1 GB, and at a table of 623 columns and 26 000 rows; baseline: polars counting rows by meter.

Run: python benchmarks/look.py [--gigabytes 1.0] [--order series|time] [--keep FOLDER]
Each reader runs in a process of its own, which reports its peak resident memory. The targets are 30 s and 1 GB of
memory for the one, 5 s for the other, on 2 cores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from read_long import report

INSTANTS = 48 * 365
BYTES_PER_ROW = 36
METERS_AT_ONCE = 50


def main() -> None:
    options = parse_options()
    if options.child:
        print(json.dumps(CHILDREN[options.child](options.path)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        for make, target in ((long_csv, "30 s, 1 GB"), (wide_csv, "5 s")):
            path = make(folder, options)
            seconds = {}
            print(f"{path.name}: {path.stat().st_size / 1e9:.2f} GB")
            for child in CHILDREN:
                done = run(child, path)
                seconds[child] = done["seconds"]
                print(
                    f"  {child:<7} {done['seconds']:6.1f} s   processor {done['processor']:6.1f} s   "
                    f"peak {done['peak_gb']:.2f} GB"
                )
            print(
                f"  target {target}; {seconds['shoal'] / seconds['polars']:.1f} times as long as polars counting rows"
            )


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--order", choices=["series", "time"], default="series")
    parser.add_argument("--keep", type=Path, help="folder for the tables, which stay there")
    parser.add_argument("--child", choices=["shoal", "polars"], help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    return parser.parse_args()


def long_csv(folder: Path, options: argparse.Namespace) -> Path:
    """Half-hourly readings of a year, with the gaps and repeats of real tables."""
    path = folder / f"long-{options.order}.csv"
    if path.exists():
        return path
    random = np.random.default_rng(0)
    n_meters = max(METERS_AT_ONCE, round(options.gigabytes * 1e9 / BYTES_PER_ROW / INSTANTS))
    times = np.datetime64("2013-01-01", "us") + np.arange(INSTANTS) * np.timedelta64(1800, "s")
    names = np.array([f"MAC{number:06d}" for number in range(n_meters)])
    by_time = options.order == "time"
    at_once = INSTANTS // 100 if by_time else METERS_AT_ONCE
    with path.open("wb") as file:
        for start in range(0, INSTANTS if by_time else n_meters, at_once):
            own = names if by_time else names[start : start + at_once]
            when = times[start : start + at_once] if by_time else times
            n = len(own) * len(when)
            table = pl.DataFrame(
                {
                    "LCLid": np.tile(own, len(when)) if by_time else np.repeat(own, len(when)),
                    "tstp": np.repeat(when, len(own)) if by_time else np.tile(when, len(own)),
                    "energy(kWh/hh)": np.round(random.gamma(2.0, 0.1, n), 3),
                }
            ).filter(pl.Series(random.random(n) > 1e-4))
            table = pl.concat([table, table[:20]])
            table.write_csv(file, include_header=start == 0, datetime_format="%Y-%m-%d %H:%M:%S", float_precision=3)
    return path


def wide_csv(folder: Path, options: argparse.Namespace) -> Path:
    """A row per instant, a column per meter."""
    path = folder / "wide.csv"
    if path.exists():
        return path
    random = np.random.default_rng(0)
    times = np.datetime64("2013-01-01", "us") + np.arange(26_000) * np.timedelta64(1800, "s")
    columns = {f"meter_{number}": np.round(random.gamma(2.0, 0.1, len(times)), 3) for number in range(623)}
    pl.DataFrame({"time": times} | columns).write_csv(path, datetime_format="%Y-%m-%d %H:%M:%S", float_precision=3)
    return path


def run(child: str, path: Path) -> dict[str, float]:
    """Run one reader in a fresh process."""
    command = [sys.executable, __file__, "--child", child, "--path", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def look_with_shoal(path: str) -> dict[str, float]:
    from shoal import look

    start = time.perf_counter()
    found = look(path)
    found.to_json()
    return report(start, (found.found.n_meters, len(found.found.survey.instants.times)))


def count_with_polars(path: str) -> dict[str, float]:
    start = time.perf_counter()
    first = pl.scan_csv(path).collect_schema().names()[0]
    counted = pl.scan_csv(path).group_by(first).len().collect(engine="streaming")
    return report(start, counted.shape)


CHILDREN = {"shoal": look_with_shoal, "polars": count_with_polars}

if __name__ == "__main__":
    main()
