"""The days of experiments/pad_paper.py: presence in rooms and offices, loads of desks; simulated and real."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import simulate
from shoal.features.interests import Arrival, Departure, Interest, Segment, WindowTotal

Floats = NDArray[np.float64]
Kind = Literal["presence", "load"]

OFFICE, BUILDING, ROOMS = "simulated office", "PAD building", "SDU rooms"
DESKS, PLUGS, DEVICES = "simulated desks", "PAD plugs", "tracebase"
MEANINGS = {
    OFFICE: "`shoal.simulate.occupancy`: a Tuesday of as many persons, there or not",
    BUILDING: "pad_building, the authors' occupancy days, there or not at every 15th minute as in their program",
    ROOMS: "sdu_room_occupancy: 15 days of four rooms, anybody there or not at every 15th minute",
    DESKS: "made from the same office's minutes: power of a desk while its person is there, standby, noise",
    PLUGS: "pad_building, the authors' plug loads of five desks, mean of 15 minutes",
    DEVICES: "tracebase_plugloads: computers and monitors, device-days without a gap, W, mean of 15 minutes",
}
PRESENCE, LOADS = (OFFICE, BUILDING, ROOMS), (DESKS, PLUGS, DEVICES)
KINDS: dict[str, Kind] = dict.fromkeys(PRESENCE, "presence") | dict.fromkeys(LOADS, "load")
FILES = {
    BUILDING: ("pad_building", "pad_occupancy_binary_1min.parquet"),
    ROOMS: ("sdu_room_occupancy", "sdu_occupants_1min.parquet"),
    PLUGS: ("pad_building", "pad_energy_15min.parquet"),
    DEVICES: ("tracebase_plugloads", "tracebase_15min.parquet"),
}
MINUTES, QUARTERS, STEP = 1440, 96, 15
TUESDAY = "2024-01-09"

LUNCH, PEAK, ARRIVAL, DEPARTURE = "lunchtime", "peak hours", "arrival", "departure"
INTERESTS: dict[str, Interest] = {
    LUNCH: Segment("11:00", "14:00"),
    PEAK: WindowTotal("17:00", "20:00"),
    ARRIVAL: Arrival(),
    DEPARTURE: Departure(),
}
LINEAR_INTERESTS = (LUNCH, PEAK)
ASKED: dict[Kind, tuple[str, ...]] = {"presence": (LUNCH, ARRIVAL, DEPARTURE), "load": (PEAK,)}


@dataclass(frozen=True)
class Sets:
    """Days by name, and the sets that are absent."""

    days: dict[str, Floats]
    absent: tuple[str, ...]

    def of(self, kind: Kind) -> list[str]:
        """The names of the sets of a kind."""
        return [name for name in self.days if KINDS[name] == kind]

    def main(self, kind: Kind) -> str:
        """The authors' own set of a kind, or the simulated one in its place."""
        first, authors = (OFFICE, BUILDING) if kind == "presence" else (DESKS, PLUGS)
        return authors if authors in self.days else first


def load(folder: Path, n_simulated: int, most: int, seed: int) -> Sets:
    """What can be simulated, and whatever the folder has; at most so many days of a set, drawn at random."""
    minutes = simulate.occupancy(n_simulated, days=1, step="1min", start=TUESDAY, seed=seed).values
    days = {OFFICE: minutes[:, ::STEP], DESKS: desks(minutes, seed)}
    absent = []
    for name, (place, file) in FILES.items():
        path = folder / place / file
        if path.is_file():
            days[name] = _fewer(_read(name, path), most, seed)
        else:
            absent.append(name)
    return Sets({name: np.array(days[name]) for name in KINDS if name in days}, tuple(absent))


def desks(minutes: Floats, seed: int) -> Floats:
    """Mean power of desks in quarter hours, W.

    Standby of 2 to 6 W, 40 to 140 W more while somebody is there, both the desk's own; one in eight is left on until
    midnight. Noise of 3 % of what runs.
    """
    rng = np.random.default_rng([seed, 0])
    n = len(minutes)
    on = minutes.copy()
    left_on = rng.random(n) < 0.125
    on[left_on] = np.maximum.accumulate(on[left_on], axis=1)
    standby, power = rng.uniform(2.0, 6.0, (n, 1)), rng.uniform(40.0, 140.0, (n, 1))
    watts = standby + power * on.reshape(n, QUARTERS, STEP).mean(axis=2)
    return watts * (1.0 + 0.03 * rng.normal(size=watts.shape))


def _read(name: str, path: Path) -> Floats:
    table = pl.read_parquet(path)
    if name == DEVICES:
        kinds = table["series_id"].cast(pl.String)
        table = table.filter(kinds.str.starts_with("PC-") | kinds.str.starts_with("Monitor"))
    width = MINUTES if name in (BUILDING, ROOMS) else QUARTERS
    values = table["value"].to_numpy().reshape(-1, width).astype(np.float64)
    if KINDS[name] == "presence":
        return (values[:, ::STEP] > 0.0).astype(np.float64)
    return values[~np.isnan(values).any(axis=1)]


def _fewer(values: Floats, most: int, seed: int) -> Floats:
    if len(values) <= most:
        return values
    return values[np.sort(np.random.default_rng([seed, 1]).choice(len(values), size=most, replace=False))]
