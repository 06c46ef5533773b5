"""What the benchmarks share: the clock and the form of a result."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

ROUNDS = 3


@dataclass(frozen=True)
class Row:
    """One comparison; `ratio` says how many times faster than the baseline."""

    what: str
    size: str
    seconds: float
    baseline: str
    baseline_seconds: float
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.baseline_seconds / self.seconds


def best_of(work: Callable[[], Any], rounds: int = ROUNDS) -> tuple[Any, float]:
    """The result of some work, and the shortest time it took."""
    times = []
    result = None
    for _ in range(rounds):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return result, min(times)


def side_by_side(works: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, tuple[Any, float]]:
    """`best_of` for several works, one round of all after another, so that noise of the machine meets them all."""
    found: dict[str, tuple[Any, float]] = {}
    for _ in range(rounds):
        for name, work in works.items():
            result, seconds = best_of(work, rounds=1)
            found[name] = result, min(seconds, found[name][1] if name in found else seconds)
    return found


def print_rows(rows: list[Row]) -> None:
    """Lines for a person, or JSON where `--json` was given."""
    if "--json" in sys.argv[1:]:
        print(json.dumps([asdict(row) for row in rows]))
        return
    for row in rows:
        print(
            f"{row.what}, {row.size}: {row.seconds:.4g} s; {row.baseline}: {row.baseline_seconds:.4g} s; "
            f"ratio {row.ratio:.1f}{'; ' * bool(row.note)}{row.note}"
        )
