"""Bringing rows of a key together on one machine, larger than the memory allowed: the engine `local` against DuckDB.

Run: python benchmarks/duckdb_sort.py [--millions 20] [--memory 512MB]

`local` scatters rows to files by a hash of the key and sorts each file; DuckDB sorts them whole with its own spilling
(`ORDER BY key, time`), and partitions them by a hash of the key (`PARTITION_BY`) and sorts each part. Both read the
same Parquet, may use the same memory and two threads or processes, and hand the sorted rows on as Arrow blocks, which
are counted and not kept. Long: readings of text ids in random order. Packed: series of 750 readings, one row each, as
they lie between reading and method. Each runs in a process of its own. Seconds, processor seconds and the largest
memory of all its processes; the ratio is to `local`. Prints the table and writes it to docs/results/duckdb.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scale_watch import Watch

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "duckdb.md"
PER_KEY = 48
FILE = 2_000_000  # readings in a file
PACKED = 750
WAYS = ("local", "local, 2 processes", "DuckDB, one sort", "DuckDB, partitions")
PARTITIONS = 64


def make(folder: Path, millions: int) -> None:
    """Long readings in random order, and as many bytes of packed series."""
    rng = np.random.default_rng(0)
    n = millions * 1_000_000
    (folder / "long").mkdir()
    (folder / "packed").mkdir()
    order = rng.permutation(n)
    for number, start in enumerate(range(0, n, FILE)):
        places = order[start : start + FILE]
        ids = pa.array(np.char.add("meter-", (places // PER_KEY).astype(str)))
        table = pa.table({"id": ids, "time": places % PER_KEY, "value": rng.gamma(1.0, size=len(places))})
        pq.write_table(table, folder / "long" / f"{number:04}.parquet")
    n_series = 3 * n // PACKED
    for number, start in enumerate(range(0, n_series, 4000)):
        keys = rng.integers(0, n_series // 3, size=min(4000, n_series - start))
        rows = [row.tobytes() for row in rng.gamma(1.0, size=(len(keys), PACKED))]
        table = pa.table({"id": keys, "time": np.zeros(len(keys), dtype=np.int64), "value": pa.array(rows)})
        pq.write_table(table, folder / "packed" / f"{number:04}.parquet")


def by_local(folder: Path, memory: str, processes: int) -> int:
    """Rows handed on, sorted."""
    from shoal.engines import Local
    from shoal.engines.work import Same

    with Local(memory=memory, processes=processes, scratch=folder.parent) as engine:
        table = engine.read(str(folder))
        together = engine.together(table, ["id"], Same(), table.schema, order=["time"])
        schema = pa.schema([("n", pa.int64())])
        return int(sum(engine.collect(engine.map(together, Count(), schema))["n"].to_pylist()))


class Count:
    """How many rows a part has."""

    def __call__(self, blocks: Any) -> Any:
        yield pa.record_batch({"n": pa.array([sum(block.num_rows for block in blocks)], pa.int64())})


def by_duckdb(folder: Path, memory: str, *, partitioned: bool) -> int:
    """The same by DuckDB."""
    import duckdb

    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        db = duckdb.connect(
            config={"memory_limit": memory, "threads": 2, "temp_directory": scratch, "preserve_insertion_order": False}
        )
        source = f"read_parquet('{folder}/*.parquet')"
        if not partitioned:
            return _drained(db, f"SELECT * FROM {source} ORDER BY id, time")
        parts = Path(scratch) / "parts"
        db.execute(
            f"COPY (SELECT *, hash(id) % {PARTITIONS} AS part FROM {source}) TO '{parts}' "
            "(FORMAT parquet, PARTITION_BY part, COMPRESSION uncompressed)"
        )
        return sum(
            _drained(db, f"SELECT id, time, value FROM read_parquet('{part}/*.parquet') ORDER BY id, time")
            for part in sorted(parts.iterdir())
        )


def _drained(db: Any, query: str) -> int:
    return sum(batch.num_rows for batch in db.sql(query).to_arrow_reader(100_000))


def alone(way: str, folder: Path, memory: str) -> dict[str, Any]:
    """One way in this process."""
    start = time.perf_counter()
    with Watch() as watch:
        if way.startswith("local"):
            n = by_local(folder, memory, 2 if "2" in way else 1)
        else:
            n = by_duckdb(folder, memory, partitioned="partitions" in way)
    seconds = time.perf_counter() - start
    return {"rows": n, "seconds": seconds, "processor": watch.processor, "bytes": watch.driver + watch.worker}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=int, default=20)
    parser.add_argument("--memory", default="512MB")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        make(given.make, given.millions)
        return
    if given.alone:
        print(json.dumps(alone(given.alone[0], Path(given.alone[1]), given.memory)))
        return
    lines = [
        "# Sorting on one machine: `local` and DuckDB\n",
        "See whether DuckDB sorts faster than the `local` engine, and in how much memory.\n",
        f"Made by `python benchmarks/duckdb_sort.py --millions {given.millions} --memory {given.memory}`; do not edit.",
        "The top of that file says what is measured.\n",
        "| rows | way | seconds | processor, s | memory, MB | ratio of processor | ratio of memory |",
        "|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        # Not here: what a process starts begins with the largest memory its parent ever had.
        subprocess.run([sys.executable, __file__, "--millions", str(given.millions), "--make", folder], check=True)
        for kind in ("long", "packed"):
            base: dict[str, Any] = {}
            for way in WAYS:
                command = [sys.executable, __file__, "--memory", given.memory, "--alone", way, f"{folder}/{kind}"]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    why = "out of memory" if "Out of Memory" in done.stderr else "failed"
                    lines.append(f"| {kind} | {way} | {why} | | | | |")
                    print(lines[-1], flush=True)
                    continue
                found = json.loads(done.stdout.strip().splitlines()[-1])
                base = base or found
                lines.append(
                    f"| {kind}, {found['rows']:,} | {way} | {found['seconds']:.0f} | {found['processor']:.0f} | "
                    f"{found['bytes'] / 1e6:.0f} | {found['processor'] / base['processor']:.2f} | "
                    f"{found['bytes'] / base['bytes']:.2f} |"
                )
                print(lines[-1], flush=True)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
