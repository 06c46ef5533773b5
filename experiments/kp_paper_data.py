"""The panels of experiments/kp_paper.py: the paper's walks, motions and uniform values; days and sales too."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from bfp2ka import string_panel
from numpy.typing import NDArray

from shoal import Panel, simulate

Floats = NDArray[np.float64]

WALK, MOTION, UNIFORM = "walk", "motion", "uniform"  # the paper's own
GAITS, DAYS, SALES, METERS = "gaits", "days", "sales", "simulated meters"
MEANINGS = {
    WALK: "random walks, cut into pieces of 11 steps, of which the first 10",
    MOTION: "cmu_mocap, the paper's four trials: all 96 channels, cut into pieces of 18 steps at 30 Hz, 10 of them",
    UNIFORM: "every value drawn from [0, 1]",
    GAITS: "cmu_mocap, four joints in 1 002 trials of 128 steps at 15 Hz, 10 of them",
    DAYS: "ucr_daily, MelbournePedestrian: people counted every hour of a day, days without a gap",
    SALES: "weekly_sales_kp: units sold of a product, 10 of 52 weeks",
    METERS: "`shoal.simulate.meters`, a day of 12 readings",
}
WHOLE, EACH = "the whole set", "each series"  # what "normalized to [0,1]" may mean
N_INSTANTS = 10
STEPS, PIECE = 1024, 18


@dataclass(frozen=True)
class Sets:
    """Panels by name, values between 0 and 1; and which of them stand for the paper's Walk, Motion and a daily set."""

    panels: dict[str, Panel]
    scaled: str = WHOLE
    """What lies between 0 and 1: the values of the whole set, or those of each series."""

    @property
    def motion(self) -> str:
        """The name of the paper's Motion, or of what is there in its place."""
        return MOTION if MOTION in self.panels else METERS

    @property
    def shown(self) -> list[str]:
        """The three sets that are drawn where there is no room for all."""
        return [WALK, self.motion, DAYS if DAYS in self.panels else UNIFORM]

    @property
    def papers(self) -> list[str]:
        """Those on which the paper's statements about losses are answered."""
        return [WALK, self.motion]

    @property
    def string(self) -> Panel:
        """The paper's String: Motion as letters of level 20, which do not depend on how it was scaled."""
        return string_panel(self.panels[self.motion])

    @property
    def by_series(self) -> "Sets":
        """The same sets, each series scaled by its own lowest and highest value."""
        panels = {name: Panel(each_between_0_and_1(panel.rows)) for name, panel in self.panels.items()}
        return replace(self, panels=panels, scaled=EACH)


def load(folder: Path, n_walks: int, n_uniform: int, seed: int) -> Sets:
    """What can be drawn, and whatever the folder has; simulated meters where it has nothing."""
    panels = {WALK: walks(n_walks, seed)}
    trials, joints = (folder / "cmu_mocap" / f"cmu_{name}.parquet" for name in TRIALS)
    if trials.exists():
        pieces = [x[: len(x) // PIECE * PIECE].reshape(-1, PIECE) for x in series_of(trials)]
        panels[MOTION] = some_instants(np.concatenate(pieces), [seed, 1])
    panels[UNIFORM] = uniform(n_uniform, seed)
    if joints.exists():
        panels[GAITS] = some_instants(np.array(series_of(joints)), [seed, 2])
    days = folder / "ucr_daily" / "MelbournePedestrian.parquet"
    if days.exists():
        counts = np.array(series_of(days))
        panels[DAYS] = Panel(between_0_and_1(counts[(counts >= 0.0).all(axis=1)]))  # -1 marks a gap
    sales = folder / "weekly_sales_kp" / "weekly_sales.parquet"
    if sales.exists():
        panels[SALES] = some_instants(np.array(series_of(sales)), [seed, 3])
    if len(panels) == 2:
        meters = simulate.meters(max(n_uniform // 2, 60), days=1, step="2h", seed=seed)
        panels[METERS] = Panel(between_0_and_1(meters.rows))
    return Sets(panels)


TRIALS = ("01_01to04_allchannels_30hz", "4channels_128steps_15hz")


def series_of(path: Path) -> list[Floats]:
    """The values of each series, in the order of time."""
    table = pl.read_parquet(path).sort("series_id", "timestamp")
    rows = table.group_by("series_id", maintain_order=True).agg("value")["value"]
    return [np.array(row, dtype=np.float64) for row in rows.to_list()]


def some_instants(x: Floats, seed: list[int]) -> Panel:
    """As in the paper: ten instants drawn at random, the same for all series."""
    chosen = np.random.default_rng(seed).choice(x.shape[1], N_INSTANTS, replace=False)
    return Panel(between_0_and_1(x[:, np.sort(chosen)]))


def between_0_and_1(x: Floats) -> Floats:
    """By the lowest and highest value of the set: one reading of the paper."""
    scaled: Floats = (x - x.min()) / (x.max() - x.min())
    return scaled


def each_between_0_and_1(x: Floats) -> Floats:
    """By the lowest and highest value of each series, a constant one to 0: the other reading."""
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    scaled: Floats = (x - low) / np.where(high > low, high - low, 1.0)
    return scaled


def walks(n: int, seed: int, n_instants: int = N_INSTANTS) -> Panel:
    """Walks of 1 024 steps, cut into pieces of one step more: in the paper the sensitive value."""
    piece = n_instants + 1
    rng = np.random.default_rng([seed, 0])
    steps = rng.normal(size=(-(-n // (STEPS // piece)), STEPS)).cumsum(axis=1)
    pieces = steps[:, : STEPS // piece * piece].reshape(-1, piece)[:n]
    return Panel(between_0_and_1(pieces[:, :n_instants]))


def uniform(n: int, seed: int) -> Panel:
    """The paper's Uniform; a larger one begins with the smaller ones."""
    return Panel(np.random.default_rng([seed, 4]).random((n, N_INSTANTS)))
