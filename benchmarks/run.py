"""Run the benchmarks one after another and write docs/results/benchmarks.md and the speed of microaggregation.md.

Run: make bench, or python benchmarks/run.py [--all] [NAME ...] [-- OPTION ...]

With names, such as `stream`, only these run, and only their sections are written; options after `--` go to them.
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
SECTIONS = {
    "mdav": "MDAV",
    "mdav_index": "MDAV by index",
    "auto": "The algorithm that is chosen by default",
    "k_ward": "k-Ward",
    "nlk": "(n, l, k)",
    "kp": "(k, P)",
    "stream": "Streams",
    "check": "Checks",
    "process": "The process",
}
HEAD = """# Benchmarks

See how fast Shoal is on each task, compared with a plain implementation of the same.

Written by `make bench`; do not edit. A ratio above 1 means Shoal is faster than the baseline. Compile time is left out;
times are the best of 3, or of 1 where the file says so. The baselines are described at the top of each file in
`benchmarks/`. A row is in an identical group when it has exactly the same companions in both results.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="also the one that takes minutes")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    own = sys.argv[1:]
    cut = own.index("--") if "--" in own else len(own)
    given, options = parser.parse_args(own[:cut]), own[cut + 1 :]
    names = given.names or BENCHMARKS
    if unknown := set(names) - set(BENCHMARKS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    load = os.getloadavg()[0]
    if load > BUSY:
        print("The machine is busy with other work: trust ratios of processor time alone.", file=sys.stderr)
    page = RESULTS / "benchmarks.md"
    if not page.exists():
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(HEAD, encoding="utf-8")
    command = " ".join(["python benchmarks/run.py", *given.names, *(["--", *options] if options else [])])
    made = f"Made by `{command if given.names else 'make bench'}`"
    # A process each, so that no benchmark inherits threads or memory of another.
    rows = {name: [Row(**row) for row in json.loads(run(name, *options, "--json"))] for name in names}
    for name, some in rows.items():
        put_section(page, "Benchmarks", SECTIONS[name], f"{machine(made, load)}\n\n{table(some)}")
    if given.all:
        put_section(page, "Benchmarks", "Reading a long table", f"```text\n{run(LONG).strip()}\n```")
    if set(MICROAGGREGATION) <= rows.keys():
        own_table = table([row for name in MICROAGGREGATION for row in rows[name]])
        put_section(
            RESULTS / "microaggregation.md",
            "Microaggregation",
            "Speed",
            f"{machine(made, load)} A ratio above 1 means that Shoal is faster than the baseline; compile time is left "
            f"out.\n\n{own_table}",
        )
    print(page.read_text(encoding="utf-8"))


def run(name: str, *options: str) -> str:
    print(f"running benchmarks/{name}.py", file=sys.stderr)
    command = [sys.executable, str(HERE / f"{name}.py"), *options]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def machine(made: str, load: float) -> str:
    return (
        f"{made} on {os.cpu_count()} cores with a load of {load:.0f} from other work, Python "
        f"{platform.python_version()}, numba {version('numba')}, numpy {version('numpy')}."
    )


def table(rows: list[Row]) -> str:
    lines = [
        "| what | size | seconds | baseline | its seconds | ratio | result |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ratio = f"{row.ratio:.0f}" if row.ratio >= 10 else f"{row.ratio:.1f}"
        figures = f"{row.seconds:.3g} | {row.baseline} | {row.baseline_seconds:.3g} | {ratio}"
        lines.append(f"| {row.what} | {row.size} | {figures} | {row.note} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
