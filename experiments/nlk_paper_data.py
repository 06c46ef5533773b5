"""The panels of experiments/nlk_paper.py: smart meters from the data folder, simulated meters, random and sinus."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import Panel, simulate

Floats = NDArray[np.float64]

METERS, NEXT, HOUSEHOLDS, SIMULATED = "meters", "next meters", "households", "simulated meters"
MEANINGS = {
    METERS: "energyhack_sk_meters, hourly, the first meters without a gap: mostly small businesses in Slovakia",
    NEXT: "the meters that follow in the same file",
    HOUSEHOLDS: "sgsc_households, the 8-week cut, sums of each hour, all households without a gap there",
    SIMULATED: "`shoal.simulate.meters`",
}
RANDOM, SINUS = "random", "sinus"


@dataclass(frozen=True)
class Sets:
    """Panels by name; the first one is what the paper's statements are answered on."""

    meters: dict[str, Panel]
    synthetic: dict[str, Panel]

    @property
    def main(self) -> str:
        """The name of the first panel."""
        return next(iter(self.meters))

    @property
    def measured(self) -> bool:
        """Whether there is anything but simulated data."""
        return self.main != SIMULATED


def load(folder: Path, n_series: int, n_instants: int, synthetic: tuple[int, int], seed: int) -> Sets:
    """Whatever the folder has, simulated meters, and the paper's two synthetic panels."""
    panels = {}
    meters = folder / "energyhack_sk_meters" / "energyhack_hourly_4weeks.parquet"
    if meters.exists():
        complete = complete_series(pl.read_parquet(meters), n_instants)
        panels[METERS] = Panel(complete[:n_series])
        panels[NEXT] = Panel(complete[n_series : 2 * n_series])
    households = folder / "sgsc_households" / "sgsc_halfhourly_8weeks_2013.parquet"
    if households.exists():
        panels[HOUSEHOLDS] = Panel(complete_series(hourly(pl.read_parquet(households)), n_instants)[:n_series])
    panels[SIMULATED] = simulated(n_series, n_instants, seed)
    return Sets(panels, {RANDOM: random_values(*synthetic, seed), SINUS: sinus_curves(*synthetic, seed)})


def complete_series(table: pl.DataFrame, n_instants: int) -> Floats:
    """The first instants of every series that has all of them, in the order of appearance."""
    instants = table["timestamp"].unique().sort()[:n_instants]
    rows = (
        table.filter(pl.col("timestamp") <= instants[-1], pl.col("value").is_not_null())
        .sort("timestamp", maintain_order=True)
        .group_by("series_id", maintain_order=True)
        .agg("value")
        .filter(pl.col("value").list.len() == len(instants))
    )
    return np.array(rows["value"].to_list(), dtype=np.float64)


def hourly(table: pl.DataFrame) -> pl.DataFrame:
    """Sums of the two half hours; an hour that lacks one is missing."""
    hour = pl.col("timestamp").dt.truncate("1h")
    return (
        table.group_by("series_id", hour, maintain_order=True)
        .agg(pl.col("value").sum(), pl.len())
        .filter(pl.col("len") == 2)
        .drop("len")
    )


def simulated(n_series: int, n_instants: int, seed: int) -> Panel:
    """Simulated meters of any length, hourly from a midnight on."""
    panel = simulate.meters(n_series, days=-(-n_instants // 24), seed=seed)
    return Panel(panel.rows[:, :n_instants])


def random_values(n_series: int, n_instants: int, seed: int) -> Panel:
    """The paper's first synthetic scenario: every value drawn from [10, 30]."""
    return Panel(np.random.default_rng([seed, 0]).uniform(10.0, 30.0, (n_series, n_instants)))


def sinus_curves(n_series: int, n_instants: int, seed: int) -> Panel:
    """The paper's second: a + b sin(x c) with a in [30, 50], b in [1, 5] and c in [0.2, 2], for x = 0, 1, …"""
    a, b, c = np.random.default_rng([seed, 1]).uniform([30.0, 1.0, 0.2], [50.0, 5.0, 2.0], (n_series, 3)).T[:, :, None]
    return Panel(a + b * np.sin(np.arange(n_instants) * c))
