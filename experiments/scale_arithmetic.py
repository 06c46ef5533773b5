"""What 35 million meters would take, reckoned from what a few thousand take here.

Every step of a release runs on the local engine, on one core, over simulated meters of the full length. Its processor
time, the rows it brings together and keeps, and the bytes of these are counted. Spark's own share, moving rows between
Java and Python and through a shuffle, is measured in a session of one core. Both are carried over in proportion to the
number of series, which is right for every step: shards have the same size however many there are. What is done once, on
a sample, is told apart by a second run with fewer series.

Writes arithmetic.md, by default to docs/results; every figure in it is computed.
"""

import argparse
import platform
from pathlib import Path

from scale_arithmetic_measures import (
    GB,
    PER_DAY,
    Cluster,
    Measured,
    SparkCosts,
    measure_spark,
    measure_steps,
    planned_size,
)

from shoal.model.panel_shards import RUN

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Measure, reckon and write."""
    given = arguments()
    cluster = Cluster(given.executors, given.cores, given.memory, given.network, given.busy)
    measured = measure_steps(given.series, given.days, given.k, given.targets)
    spark = None if given.without_spark else measure_spark(given.days * PER_DAY)
    given.out.mkdir(parents=True, exist_ok=True)
    written = given.out / "arithmetic.md"
    written.write_text(page(given, cluster, measured, spark), encoding="utf-8")
    print(f"wrote {written}")


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=2000, help="meters that are measured here")
    parser.add_argument("--days", type=int, default=365, help="length of each series, in half hours of so many days")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--targets", type=int, default=1000, help="subjects under attack")
    parser.add_argument("--meters", type=int, default=35_000_000, help="meters that are reckoned")
    parser.add_argument("--executors", type=int, default=20)
    parser.add_argument("--cores", type=int, default=8, help="of each executor")
    parser.add_argument("--memory", type=int, default=32, help="GiB of each executor")
    parser.add_argument("--network", type=float, default=10.0, help="Gbit/s of each executor")
    parser.add_argument("--busy", type=float, default=0.7, help="share of the time that cores have work")
    parser.add_argument("--without-spark", action="store_true", help="leave out what Spark adds")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    return parser.parse_args()


def page(given: argparse.Namespace, cluster: Cluster, measured: Measured, spark: SparkCosts | None) -> str:
    """The whole page."""
    length = given.days * PER_DAY
    factor = given.meters / given.series
    row_bytes = 8 * length
    command = "python experiments/scale_arithmetic.py" + (
        "" if given.series == 2000 else f" --series {given.series} --days {given.days}"
    )
    lines = [
        f"# The arithmetic for {given.meters:,} meters × {length:,} readings",
        "",
        "See how long a release of this many meters would take on a stated cluster, and how much memory and disk it "
        "would need, to plan your own.",
        "",
        f"Written by `{command}`; do not edit. [Scale](../scale.md) says how to run it.",
        "",
        f"Measured in processor time of one core ({platform.machine()}, Python {platform.python_version()}): "
        f"{given.series // 2:,} and {given.series:,} simulated meters × {length:,} half hours, k = {given.k}, shards "
        f"of the latter: {measured.shards}, through every step of a release; k-anonymity holds: "
        f"{'yes' if measured.holds else 'no'}. The extra cost of the second run is scaled up in "
        f"proportion to the meters, to a cluster of {cluster.words}; the rest, {measured.once:.1f} seconds, is done "
        "once however many meters there are.",
        "",
        "## What there is",
        "",
        "| what | each meter | all |",
        "|---|---|---|",
        f"| readings | {length:,} | {given.meters * length:,} |",
        _sizes("input, long Parquet, compressed", measured.input_bytes / given.series, factor * given.series),
        _sizes("rows of 64-bit numbers", row_bytes, factor * given.series),
        _sizes("release, Parquet in parts", measured.release_bytes / given.series, factor * given.series),
        "",
        "## Steps",
        "",
        "Seconds are of one core, for a thousand meters, without Spark. *Shuffled* is the size of the rows that are "
        "grouped by key; *kept* is written to the executors' disks to be read again; *read again* is read from there; "
        "*passed over* are kept rows among which Spark itself looks for a few.",
        "",
        "| step | core-seconds / 1000 | passes over input | shuffles | shuffled | kept | read again | passed over |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {step.name} | {1000 * (step.seconds - step.once) / given.series:.2f} | {step.passes:.0f} | "
        f"{len(step.shuffled)} | {_size(step.moved * factor)} | {_size(step.kept * factor)} | "
        f"{_size(step.read * factor)} | {_size(step.passed * factor)} |"
        for step in measured.steps
    ]
    total = sum(step.seconds - step.once for step in measured.steps) * factor
    moved, kept, read, passed = (
        factor * sum(getattr(step, name) for step in measured.steps) for name in ("moved", "kept", "read", "passed")
    )
    n_shuffles = sum(len(step.shuffled) for step in measured.steps)
    lines += [
        f"| all | {1000 * total / given.meters:.2f} | {sum(step.passes for step in measured.steps):.0f} | "
        f"{n_shuffles} | {_size(moved)} | {_size(kept)} | {_size(read)} | {_size(passed)} |",
        "",
        *_largest(measured, factor),
        "",
        "The table is stored by meter, so series are assembled where their rows are. If it were stored by day, all "
        f"readings would be shuffled by id as well, at 8 bytes each or more: {_size(row_bytes * given.meters)}.",
        "",
        *_memory(given, cluster, row_bytes, kept, moved, measured.told),
        "",
        *_hours(cluster, spark, total, moved, kept + read, passed, factor * measured.input_bytes, measured),
    ]
    return "\n".join(lines) + "\n"


def _largest(measured: Measured, factor: float) -> list[str]:
    shuffles = [(size, step.name, keys) for step in measured.steps for keys, size in step.shuffled]
    heavy = sorted((s for s in shuffles if s[0] * factor >= 1e11), reverse=True)
    rest = sum(size for size, _, _ in shuffles) - sum(size for size, _, _ in heavy)
    return [
        "Shuffles of 100 GB and more:",
        "",
        "| step | brought together by | bytes |",
        "|---|---|---|",
        *(f"| {name} | {keys} | {_size(size * factor)} |" for size, name, keys in heavy),
        f"| the other {len(shuffles) - len(heavy)} | | {_size(rest * factor)} |",
    ]


def _memory(
    given: argparse.Namespace, cluster: Cluster, row_bytes: int, kept: float, moved: float, told: int
) -> list[str]:
    n = given.meters
    planned = max(3 * given.k, planned_size(n, given.days * PER_DAY))
    disk = (kept + moved) / cluster.executors
    shards = n / (1.5 * planned)
    tally = 48 * given.days * PER_DAY
    return [
        "## Memory and disk",
        "",
        "| what | how much |",
        "|---|---|",
        f"| shard, planned to largest | {planned:,} to {2 * planned:,} meters, {_size(planned * row_bytes)} to "
        f"{_size(2 * planned * row_bytes)} of readings; what is published is as much again |",
        f"| shards | about {shards:,.0f} |",
        f"| tallies | of the information loss 48 bytes for each instant: {_size(tally)} from each shard, "
        f"{_size(tally * shards)} from all. They are merged on the executors, {RUN} at a time |",
        f"| driver | a sample or {RUN} tallies at a time, at most 256 MiB; and what each shard reports about itself, "
        f"{told} bytes each, {_size(told * shards)} in all |",
        f"| disk of each executor, if nothing is removed before the end | {_size(disk)} |",
    ]


def _hours(
    cluster: Cluster,
    spark: SparkCosts | None,
    seconds: float,
    moved: float,
    kept: float,
    passed: float,
    input_bytes: float,
    measured: Measured,
) -> list[str]:
    cores = cluster.all_cores * cluster.busy
    passes = sum(step.passes for step in measured.steps)
    wire = cluster.executors * cluster.network / 8 * GB
    rows = [("the work itself", f"{seconds / 3600:,.0f} core-hours", seconds / cores)]
    if spark is not None:
        rows += [
            ("shuffles on Spark", f"{spark.shuffled:.1f} core-seconds per GB", spark.shuffled * moved / GB / cores),
            (
                "kept rows on Spark",
                f"{spark.kept:.1f} core-seconds per GB written or read",
                spark.kept * kept / GB / cores,
            ),
            ("rows passed over", f"{spark.passed:.1f} core-seconds per GB", spark.passed * passed / GB / cores),
        ]
    rows += [
        ("input over the network", f"{passes:.0f} times {_size(input_bytes)}", passes * input_bytes / wire),
        ("shuffles over the network", _size(moved), moved / wire),
    ]
    total = sum(row[2] for row in rows)
    said = "" if spark is None else f" Spark's share was measured with one core, on Java {spark.java}."
    missing = "" if spark is not None else " Spark's own share was not measured and is missing."
    return [
        "## Hours",
        "",
        f"On {cluster.words}. One after another, as if nothing overlapped.{said}{missing}",
        "",
        "| what | how much | hours |",
        "|---|---|---|",
        *(f"| {name} | {amount} | {part / 3600:.1f} |" for name, amount, part in rows),
        f"| **all** | | **{total / 3600:.1f}** |",
        "",
        f"hours = (core-seconds + Spark's seconds per GB × GB) / ({cluster.all_cores} cores × {cluster.busy:g}) + "
        f"bytes / ({cluster.executors} × {cluster.network:g} Gbit/s). Twice the executors halve it: no step grows "
        "faster than the number of meters.",
    ]


def _sizes(name: str, each: float, n: float) -> str:
    return f"| {name} | {_size(each)} | {_size(each * n)} |"


def _size(size: float) -> str:
    for unit, power in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= power:
            return f"{size / power:.3g} {unit}"
    return f"{size:.0f} B"


if __name__ == "__main__":
    main()
