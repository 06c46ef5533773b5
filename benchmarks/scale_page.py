"""The page of the benchmark of scale, from its figures."""

from __future__ import annotations

import itertools
import math
import os
import platform
from importlib.metadata import version
from typing import Any

from scale_data import LONG

K = 10
SIZES = {"1m": 1_000_000, "3m": 3_000_000, "10m": 10_000_000}


def write_page(results: dict[str, Any]) -> str:
    sections = [
        "# Scale",
        "See how long a release of a million series and more takes, and how much memory and disk it needs, to "
        "plan your own.",
        "Made by `make scale`; do not edit. The top of `benchmarks/scale.py` says what is measured and how.",
        f"Machine: {os.cpu_count()} cores, Python {platform.python_version()}, numba {version('numba')}, "
        f"PySpark {version('pyspark')}, PyArrow {version('pyarrow')}.",
        growth_section(results),
    ]
    if "memory" in results and "1m" in results:
        sections.append(loss_section(results["1m"], results["memory"]))
    if "local" in results:
        sections.append(local_section(results["local"]))
    sections += [other_section(results[name], title) for name, title in OTHERS.items() if name in results]
    if missing := [name for name in ("memory", *SIZES, "local", *OTHERS) if name not in results]:
        sections.append(f"Not measured with this version: the parts {', '.join(missing)} of `benchmarks/scale.py`.")
    return "\n\n".join(sections) + "\n"


OTHERS = {"nlk": "(n, l, k)-anonymity", "kp": "(k, P)-anonymity"}


def growth_section(results: dict[str, Any]) -> str:
    found = [results[name] for name in SIZES if name in results]
    lines = [
        "## Microaggregation on Spark, local[2]",
        "",
        f"Half-hourly days (48 values), k = {K}, algorithm MDAV, shards of 50 000 to 100 000 subjects, read from "
        "Parquet, then checked.",
        "",
        "| series | shards | method, s | check, s | both, s | processor, s | load | smallest group | driver, MB | "
        "Java, MB | live heap, MB | largest worker, MB | scratch, GB |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in found:
        both = row["method_seconds"] + row["check_seconds"]
        figures = [f"{row['series']:,}", row["shards"], round(row["method_seconds"]), round(row["check_seconds"])]
        figures += [round(both), round(row["processor_seconds"]), round(row["load"])]
        figures += [f"{row['smallest']} ({'holds' if row['holds'] else 'DOES NOT HOLD'})"]
        figures += [round(row[f"{name}_bytes"] / 1e6) for name in ("driver", "java", "heap", "worker")]
        figures.append(round(row["scratch_bytes"] / 1e9, 1))
        lines.append(f"| {' | '.join(map(str, figures))} |")
    if len(found) > 1:
        names = {"both_seconds": "Time of both", "processor_seconds": "Processor time"}
        for name, words in names.items():
            steps = [f"{exponent(a, b, name):.2f} from {a['series']:,} to {b['series']:,}" for a, b in pairs(found)]
            lines += ["", f"{words} grows with the number of series to the power {'; '.join(steps)}."]
        lines += ["", "Target: at most 1.1."]
    lines += [
        "",
        "Driver: the largest memory of the Python process that directs the work. Java: of Spark itself, which here is "
        "driver and executor at once and may take 2 GiB; its live heap is what is left after a collection at the end. "
        "Scratch: the most that was in Spark's folder of shuffled and kept rows. Processor: processor time of all of "
        "them. Load: processes ready to run when the clock started; above the number of cores, other work took a "
        "share of the machine, and times are too long.",
    ]
    return "\n".join(lines)


def pairs(found: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    steps = list(itertools.pairwise(found))
    return [*steps, (found[0], found[-1])] if len(steps) > 1 else steps


def exponent(a: dict[str, Any], b: dict[str, Any], name: str) -> float:
    seconds = [{**row, "both_seconds": row["method_seconds"] + row["check_seconds"]}[name] for row in (a, b)]
    return math.log(seconds[1] / seconds[0]) / math.log(b["series"] / a["series"])


def loss_section(engine: dict[str, Any], memory: dict[str, Any]) -> str:
    ratio = engine["loss"] / memory["loss"]
    return "\n".join(
        [
            "## Loss against one machine",
            "",
            f"The same {memory['series']:,} series, SSE / SST. Groups do not cross shards.",
            "",
            "| where | loss | ratio |",
            "|---|---|---|",
            f"| in memory, one shard | {memory['loss']:.5f} | 1 |",
            f"| Spark, {engine['shards']} shards | {engine['loss']:.5f} | {ratio:.4f} |",
            "",
            f"Target: at most 3 % above one machine; it is {100 * (ratio - 1):.1f} %.",
        ]
    )


def local_section(row: dict[str, Any]) -> str:
    return "\n".join(
        [
            "## Larger than memory on one machine",
            "",
            f"`Local(memory={row['limit_bytes'] / 1e9:g} GB)` in a control group that the kernel allows "
            f"{row['limit_bytes'] / 1e9:g} GB in all, pages of files included: {row['series']:,} x {LONG[1]} values, "
            f"{row['panel_bytes'] / 1e9:.1f} GB.",
            "",
            "| method, s | check, s | smallest group | shards | most memory, GB | scratch files, GB | killed |",
            "|---|---|---|---|---|---|---|",
            f"| {row['method_seconds']:.0f} | {row['check_seconds']:.0f} | {row['smallest']} "
            f"({'holds' if row['holds'] else 'DOES NOT HOLD'}) | {row['shards']} | {row['peak_bytes'] / 1e9:.2f} | "
            f"{row['scratch_bytes'] / 1e9:.1f} | {row['failures']} |",
        ]
    )


def other_section(rows: list[dict[str, Any]], title: str) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[cell(row.get(name, "")) for name in names] for row in rows]
    return "\n".join(
        [
            f"## {title}",
            "",
            f"| {' | '.join(name.replace('_', ' ') for name in names)} |",
            "|" + "---|" * len(names),
            *(f"| {' | '.join(line)} |" for line in cells),
        ]
    )


def cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
