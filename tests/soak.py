"""`make soak`: what takes too long for every change, in groups, with a table in the end. Exits 1 on any finding.

`SOAK=0.1` is a tenth of every size; names of groups run these alone: python tests/soak.py readers kills. The rows of
what ran are written to docs/results/soak.md.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "results" / "soak.md"
SCALE = float(os.environ.get("SOAK", "1"))

COUNTED = {
    "readers": ("fuzzed tables, policies, certificates, manifests and states", 100_000),
    "sessions": ("fuzzed requests to the studio and a closed service", 100_000),
    "enumeration": ("enumerated panels, of each guarantee", 1_000_000),
    "questions": ("random and differencing questions to closed services", 100_000),
    "together": ("rounds of concurrent processes", 20),
    "kills": ("kills of commands and the studio", 1000),
    "day": ("events of a stream at full speed", 20_000_000),
}
"""Groups in tests/abuse that count their tries, and how many they make."""

TESTED = {
    "streams-killed": (
        "kills of a stream, its bytes compared",
        ["cli/test_stream_killed.py", "cli/test_stream_topics.py"],
    ),
    "releases-killed": ("kills of a first release", ["cli/test_killed.py"]),
    "meters-killed": ("kills of a meter", ["edge/test_killed.py"]),
    "every-step": ("a kill at every step", ["release/test_kills.py", "cli/test_grow_killed.py"]),
    "experiments": ("experiments at small size", ["test_experiments.py", "-m", "soak"]),
    "properties": ("properties on many more examples", [".", "-m", "hypothesis and not soak"]),
    "supply-chain": ("wheel, licences and known vulnerabilities", ["test_supply_chain.py", "-m", "soak"]),
    "others": (
        "everything else that is marked",
        [
            ".",
            "-m",
            "soak",
            *(
                f"--ignore={name}"
                for name in ("test_experiments.py", "test_supply_chain.py", "cli/test_stream_killed.py")
            ),
        ],
    ),
}
"""Groups of tests."""


@dataclass(frozen=True)
class Row:
    """What a group came to."""

    group: str
    meaning: str
    tried: str
    findings: list[str]
    seconds: float
    processor: float


def run_counted(group):
    meaning, full = COUNTED[group]
    size = max(1, round(full * SCALE))
    start, spent = time.perf_counter(), children()
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        [sys.executable, "-m", "abuse", group, str(size)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": paths, "SHOAL_SOAK": "1"},
        check=False,
    )
    seconds, processor = time.perf_counter() - start, children() - spent
    try:
        found = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return Row(group, meaning, "nothing", [f"the group ends with {done.returncode}"], seconds, processor)
    tried = ", ".join(f"{count:,} {name}" for name, count in found["tries"].items())
    return Row(group, meaning, tried, found["findings"], seconds, processor)


def run_tested(group):
    meaning, words = TESTED[group]
    words = words if "-m" in words else [*words, "-m", "soak or not soak"]
    start, spent = time.perf_counter(), children()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--timeout", "7200", "--junitxml", str(report), *words],
            cwd=HERE,
            env={**os.environ, "SHOAL_SOAK": "1", "SOAK": str(SCALE)},
            check=False,
        )
        seconds, processor = time.perf_counter() - start, children() - spent
        if not report.exists():
            return Row(group, meaning, "nothing", ["no test ran"], seconds, processor)
        cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    wrong = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = sum(case.find("skipped") is not None for case in cases)
    tried = f"{len(cases) - skipped:,} tests" + (f", {skipped} skipped" if skipped else "")
    return Row(group, meaning, tried, wrong, seconds, processor)


def children():
    """Seconds of the processor that processes of ours have taken."""
    taken = os.times()
    return taken.children_user + taken.children_system


def write_page(rows):
    """Put the rows of this run into the page; those of other groups stay as they are."""
    head = (
        "# Soak\n\n"
        "How often each thing was tried that takes too long for every change, and what was found. Made by\n"
        "`make soak`, or one group at a time by `SOAK=0.1 python tests/soak.py readers`; `SOAK` is a factor of sizes.\n"
        "What a try is, and how it is judged, is said at the top of each file in `tests/abuse`. Enumerated panels are\n"
        "counted once whatever the order of their rows. Processor time of `kills` and `together` is not in the table:\n"
        "their processes are forked from a server.\n\n"
        "Findings became ordinary tests and were mended; a row counts the run after that. One is open: the state of a\n"
        "stream that was edited so that its sum fits again can be taken up and fail with an internal error when it\n"
        "goes on. `readers` tries such states only up to where they are taken up.\n\n"
        "| group | what was tried | how often | findings | minutes | of the processor | SOAK | date |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    kept = {}
    if PAGE.exists():
        lines = [
            line for line in PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| group")
        ]
        kept = {line.split("|")[1].strip(): line for line in lines}
    today = datetime.now(UTC).date().isoformat()
    for row in rows:
        kept[row.group] = (
            f"| {row.group} | {row.meaning} | {row.tried} | {len(row.findings)} | {row.seconds / 60:.1f} "
            f"| {row.processor / 60:.1f} | {SCALE:g} | {today} |"
        )
    order = [*COUNTED, *TESTED]
    PAGE.write_text(head + "".join(f"{kept[group]}\n" for group in order if group in kept))


def main(groups):
    unknown = [group for group in groups if group not in COUNTED | TESTED]
    if unknown:
        print(f"No such group: {', '.join(unknown)}. There are {', '.join([*COUNTED, *TESTED])}.", file=sys.stderr)
        return 2
    rows = []
    for group in groups or [*COUNTED, *TESTED]:
        rows.append(run_counted(group) if group in COUNTED else run_tested(group))
        write_page(rows)
    print(f"\n{'':62}{'findings':>10}{'minutes':>9}")
    for row in rows:
        print(f"{row.meaning:62}{len(row.findings):>10}{row.seconds / 60:>9.1f}\n  {row.tried}")
        for text in row.findings[:20]:
            print(f"  ! {text}")
    return int(any(row.findings for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
