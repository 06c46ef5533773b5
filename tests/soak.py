"""`make soak`: what takes too long for every change, in groups, with a table in the end. Exits 1 on any finding."""

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
GROUPS = {
    "a thousand kills of a stream": ["cli/test_stream_killed.py", "-m", "soak or not soak"],
    "two hundred kills of a stream from a broker, each": ["cli/test_stream_topics.py", "-m", "soak or not soak"],
    "a thousand kills of a release": ["cli/test_killed.py", "-m", "soak or not soak"],
    "two hundred kills of a meter": ["edge/test_killed.py", "-m", "soak or not soak"],
    "a kill at every step": ["release/test_kills.py", "cli/test_grow_killed.py", "-m", "soak or not soak"],
    "experiments at small size": ["test_experiments.py", "-m", "soak"],
    "properties on many more examples": [".", "-m", "hypothesis and not soak"],
    "everything else that is marked": [".", "-m", "soak", "--ignore=test_experiments.py"],
}


def run(words: list[str]) -> tuple[int, int, float]:
    """How many tests ran, how many of them found something, and for how long."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--timeout", "7200", "--junitxml", str(report), *words],
            cwd=HERE,
            env={**os.environ, "SHOAL_SOAK": "1"},
            check=False,
        )
        seconds = time.perf_counter() - start
        if not report.exists():
            return 0, 1, seconds
        suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
        count = {name: sum(int(suite.get(name, 0)) for suite in suites) for name in ("tests", "failures", "errors")}
        return count["tests"], count["failures"] + count["errors"], seconds


def main() -> int:
    found = {name: run(words) for name, words in GROUPS.items()}
    print(f"\n{'':40}{'tests':>8}{'findings':>10}{'minutes':>9}")
    for name, (tests, findings, seconds) in found.items():
        print(f"{name:40}{tests:>8}{findings:>10}{seconds / 60:>9.1f}")
    return int(any(findings for _, findings, _ in found.values()))


if __name__ == "__main__":
    sys.exit(main())
