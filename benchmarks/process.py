"""The whole process, from a policy file to a release, and the learning of metrics, against the times allowed.

Run: python benchmarks/process.py [--json]

`shoal run` as a process of its own, on 1 400 simulated series over two hourly months with the search of "Data-driven
anonymization process applied to time series", k = 4 to 28: reading, seven candidates checked, attacked by five known
readings and by daily totals and measured, the chosen one confirmed, written and verified. Once, with the start of the
process. Metrics are learned from 2 775 pairs of 96 values, those of the authors' example.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from measuring import Row, best_of, print_rows

from shoal import simulate
from shoal.features import DeepMetric, LinearMetric
from shoal.process.simulation import long_table

ALLOWED, ALLOWED_LINEAR, ALLOWED_DEEP = 180.0, 5.0, 30.0
N_SERIES, DAYS = 1_400, 60
POLICY = """\
data: {path: meters.parquet}
require: {risk: {at_most: 0.09}, utility: {information-loss: {at_most: 0.8}}}
method: {name: microaggregation, k: {search: [4, 8, 12, 16, 20, 24, 28]}, features: haar}
release: {to: out}
"""
SHOAL = [sys.executable, "-c", "from shoal.cli.app import main; main()"]


def run_policy() -> Row:
    with tempfile.TemporaryDirectory() as folder:
        long_table(simulate.meters(N_SERIES, days=DAYS, step="1h", seed=0)).write_parquet(f"{folder}/meters.parquet")
        (Path(folder) / "policy.yaml").write_text(POLICY, encoding="utf-8")

        def work() -> dict[str, object]:
            command = [*SHOAL, "run", "policy.yaml", "--overwrite", "--json"]
            done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
            found: dict[str, object] = json.loads(done.stdout)["process"]
            return found

        work()  # compiles
        process, seconds = best_of(work, rounds=1)
    return Row(
        what="shoal run, search of k = 4 to 28",
        size=f"{N_SERIES:,} x {DAYS * 24:,}",
        seconds=seconds,
        baseline="the time allowed",
        baseline_seconds=ALLOWED,
        note=f"7 points, chosen {process['chosen']}",
    )


def learn() -> list[Row]:
    rng = np.random.default_rng(0)
    days = simulate.occupancy(75, days=1, step="15min", seed=0).values
    left, right = np.triu_indices(75, 1)
    order = rng.permutation(len(left))
    lunch = days[:, 44:56]
    apart = np.linalg.norm(lunch[left] - lunch[right], axis=1)
    similar = apart <= np.median(apart)
    pairs = days[left][order], days[right][order], similar[order]
    works = (("linear", LinearMetric(), ALLOWED_LINEAR), ("deep", DeepMetric(), ALLOWED_DEEP))
    rows = []
    for name, metric, allowed in works:
        learned, seconds = best_of(lambda metric=metric: metric.learn(*pairs), rounds=1)
        rows.append(
            Row(
                what=f"learning a {name} metric",
                size=f"{len(left):,} pairs of {days.shape[1]}",
                seconds=seconds,
                baseline="the time allowed",
                baseline_seconds=allowed,
                note="used" if learned.used else "not used",
            )
        )
    return rows


if __name__ == "__main__":
    print_rows([run_policy(), *learn()])
