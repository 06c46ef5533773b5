"""`make soak`: what takes too long for every change, in groups, with a table in the end. Exits 1 on any finding.

`SOAK=0.1` is a tenth of every size; names of groups run these alone: python tests/soak.py readers kills. Two processes
run at once: first what cannot be split, then the tries of a group in two parts. The rows of what ran are written to
docs/results/soak.md.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "results" / "soak.md"
SCALE = float(os.environ.get("SOAK", "1"))
CORES = 2
ONE_THREAD = dict.fromkeys(("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"), "1")
"""For tries of milliseconds, which waking threads would make slower."""

COUNTED = {
    "readers": ("fuzzed tables, policies, certificates, manifests and states", 100_000),
    "sessions": ("fuzzed requests to the studio and a closed service", 100_000),
    "enumeration": ("enumerated panels, of each guarantee", 1_000_000),
    "questions": ("random and differencing questions to closed services", 100_000),
    "together": ("rounds of concurrent processes", 20),
    "kills": ("kills of commands and the studio", 1000),
    "day": ("snapshots of a day of a stream, at full speed", 8640),
}
"""Groups in tests/abuse that count their tries, and how many they make."""

ELSEWHERE = (
    "test_experiments.py",
    "test_supply_chain.py",
    "cli/test_stream_killed.py",
    "cli/test_grow_killed.py",
    "edge/test_killed.py",
)
"""Files with marked tests that have a group of their own."""
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
        [".", "-m", "soak", *(f"--ignore={name}" for name in ELSEWHERE)],
    ),
}
"""Groups of tests."""


HEAD = """\
# Soak

See how often Shoal was killed, fed with damaged files and requests, and compared with its definitions, and what was
found.

Made by `make soak`, or one group at a time by `SOAK=0.1 python tests/soak.py readers`; do not edit. `SOAK` is a factor:
1 is what `make soak` runs, and a row with less was tried less. The top of each file in `tests/abuse` says what one try
is and how it is judged. Enumerated panels are counted once whatever the order of their rows. A day is 8,640 snapshots,
one every ten seconds, of 2,000 events each, as fast as the stream takes them. Rows before 2026-11-19 do not have the
processor time of processes that are forked from a server, which are most of those that are killed.

Findings become ordinary tests and are fixed; a row counts them until its group is run again. Groups that are not in
the table were not run. A run that is stopped leaves the row of what it tried until then; `make soak` enumerates
1,000,000 panels for each guarantee.

| group | what was tried | how often | findings | minutes | processor minutes | SOAK | date |
|---|---|---|---|---|---|---|---|
"""


@dataclass
class Row:
    """What a group comes to, part by part."""

    group: str
    parts_left: int
    tries: Counter = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    processor: float = 0.0
    begun: float = float("inf")
    ended: float = 0.0

    @property
    def meaning(self):
        return (COUNTED | TESTED)[self.group][0]

    @property
    def tried(self):
        return ", ".join(f"{count:,} {name}" for name, count in self.tries.items()) or "nothing"

    @property
    def minutes(self):
        return (self.ended - self.begun) / 60

    def add(self, begun, ended, tries, findings, processor):
        self.tries += tries
        self.findings += findings
        self.processor += processor
        self.begun, self.ended = min(self.begun, begun), max(self.ended, ended)
        self.parts_left -= 1


def timed(work, *given):
    begun = time.perf_counter()
    found = work(*given)
    return begun, time.perf_counter(), *found


def run_part(group, part, parts):
    """Some tries of a group that counts them."""
    size = max(1, round(COUNTED[group][1] * SCALE))
    threads = {} if group in ("kills", "together", "day") else ONE_THREAD
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    with tempfile.TemporaryFile("w+") as out:
        command = [sys.executable, "-m", "abuse", group, str(size), str(part), str(parts)]
        code, processor = measured(command, stdout=out, env={"PYTHONPATH": paths, **threads})
        out.seek(0)
        try:
            found = json.loads(out.read().splitlines()[-1])
        except (ValueError, IndexError):
            found = {"tries": {}, "findings": [f"a part of the group ends with {code}"]}
    return Counter(found["tries"]), found["findings"], processor


def run_tests(group):
    """A group of tests."""
    words = TESTED[group][1]
    words = words if "-m" in words else [*words, "-m", "soak or not soak"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "--timeout", "7200", "--junitxml", str(report), *words]
        _, processor = measured(command, env={"SOAK": str(SCALE)})
        if not report.exists():
            return Counter(), ["no test ran"], processor
        cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    wrong = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = sum(case.find("skipped") is not None for case in cases)
    if skipped == len(cases):
        wrong.append("no test ran: all were skipped")
    return +Counter({"tests": len(cases) - skipped, "skipped": skipped}), wrong, processor


def measured(command, env, **more):
    """The exit code of a command in the folder of the tests, and the seconds of the processor it took."""
    process = subprocess.Popen(command, cwd=HERE, env={**os.environ, "SHOAL_SOAK": "1", **env}, **more)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


def tasks_of(group):
    """What can be run at once of a group."""
    if group in TESTED:
        return [(run_tests, group)]
    parts = 1 if group == "day" else CORES
    return [(run_part, group, part, parts) for part in range(parts)]


def write_page(rows):
    """Put the rows of this run into the page; those of other groups stay as they are."""
    kept = {}
    if PAGE.exists():
        lines = [
            line for line in PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| group")
        ]
        kept = {line.split("|")[1].strip(): line for line in lines}
    today = datetime.now(UTC).date().isoformat()
    for row in rows:
        kept[row.group] = (
            f"| {row.group} | {row.meaning} | {row.tried} | {len(row.findings)} | {row.minutes:.1f} "
            f"| {row.processor / 60:.1f} | {SCALE:g} | {today} |"
        )
    lines = [kept[group] for group in (*COUNTED, *TESTED) if group in kept]
    total = sum(float(line.split("|")[6]) for line in lines)
    tail = f"These rows took {total:.0f} minutes of processor time together; two cores share it, and wait in between."
    PAGE.write_text(HEAD + "".join(f"{line}\n" for line in lines) + f"\n{tail}\n")


def main(groups):
    unknown = [group for group in groups if group not in COUNTED | TESTED]
    if unknown:
        print(f"No such group: {', '.join(unknown)}. There are {', '.join([*COUNTED, *TESTED])}.", file=sys.stderr)
        return 2
    tasks = {group: tasks_of(group) for group in groups or [*TESTED, *COUNTED]}
    rows = {group: Row(group, len(parts)) for group, parts in tasks.items()}
    whole_first = sorted(tasks, key=lambda group: len(tasks[group]))
    with ThreadPoolExecutor(CORES) as pool:
        running = {pool.submit(timed, *task): rows[group] for group in whole_first for task in tasks[group]}
        for done in as_completed(running):
            running[done].add(*done.result())
            if not running[done].parts_left:
                write_page([running[done]])
    print(f"\n{'':62}{'findings':>10}{'minutes':>9}")
    for row in rows.values():
        print(f"{row.meaning:62}{len(row.findings):>10}{row.minutes:>9.1f}\n  {row.tried}")
        for text in row.findings[:20]:
            print(f"  ! {text}")
    return int(any(row.findings for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
