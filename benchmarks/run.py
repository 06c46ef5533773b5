"""Run the benchmarks one after another and write docs/results/benchmarks.md and the speed of microaggregation.md.

Run: make bench, or python benchmarks/run.py [--all]

`--all` adds benchmarks/read_long.py, which takes minutes, 3 GB of memory and a few GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from measuring import Row
from sections import put_section

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results"
BENCHMARKS = ("mdav", "mdav_index", "auto", "k_ward", "nlk", "kp", "stream", "check", "process")
MICROAGGREGATION = ("mdav", "mdav_index", "auto", "k_ward")
LONG = "read_long"
BUSY = 0.5  # programs running beside this one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="also the one that takes minutes")
    everything = parser.parse_args().all
    if os.getloadavg()[0] > BUSY:
        print("The machine is busy with other work: do not keep these figures.", file=sys.stderr)
    # A process each, so that no benchmark inherits threads or memory of another.
    rows = {name: [Row(**row) for row in json.loads(run(name, "--json"))] for name in BENCHMARKS}
    long_text = run(LONG) if everything else None
    page = RESULTS / "benchmarks.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("# Benchmarks\n\n" + table([row for some in rows.values() for row in some], long_text))
    own = table([row for name in MICROAGGREGATION for row in rows[name]], None)
    put_section(RESULTS / "microaggregation.md", "Microaggregation", "Speed", own)
    print(page.read_text(encoding="utf-8"))


def run(name: str, *options: str) -> str:
    print(f"running benchmarks/{name}.py", file=sys.stderr)
    command = [sys.executable, str(HERE / f"{name}.py"), *options]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def table(rows: list[Row], long_text: str | None) -> str:
    lines = [
        f"Made by `{'python benchmarks/run.py --all' if long_text else 'make bench'}`; do not edit. "
        "A ratio above 1 means Shoal is faster than the baseline.",
        "",
        f"Machine: {os.cpu_count()} cores, Python {platform.python_version()}, numba {version('numba')}, "
        f"numpy {version('numpy')}.",
        "",
        "| what | size | seconds | baseline | its seconds | ratio | result |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ratio = f"{row.ratio:.0f}" if row.ratio >= 10 else f"{row.ratio:.1f}"
        figures = f"{row.seconds:.3g} | {row.baseline} | {row.baseline_seconds:.3g} | {ratio}"
        lines.append(f"| {row.what} | {row.size} | {figures} | {row.note} |")
    lines += [
        "",
        "Compile time is left out; times are the best of 3, or of 1 where the file says so. "
        "The baselines are described at the top of each file in",
        "`benchmarks/`. A row is in an identical group when it has exactly the same companions in both results.",
    ]
    if long_text:
        lines += ["", "## Reading a long table", "", "```text", long_text.strip(), "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
