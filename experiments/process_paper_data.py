"""The panels of experiments/process_paper.py: households as the paper makes them, and as Shoal simulates them.

The paper (§4) trains additive models on GEFCom 2012, on different periods; `shoal.simulate.trained_households` does the
same. Second homes and small businesses are described as Shoal has them.
"""

from pathlib import Path

import numpy as np
import polars as pl

from shoal import Panel, simulate
from shoal.simulate.day_grid import DayGrid
from shoal.simulate.weather import simulate_weather

HOUSEHOLD = "household"

Region = tuple[Panel, Panel]
"""Hourly loads of zones, and temperatures of stations in °F."""


def load_region(folder: Path) -> Region | None:
    """What the folder has of GEFCom 2012."""
    path = folder / "gefcom2012_load"
    if not path.exists():
        return None
    loads, temperatures = (
        pl.read_parquet(path / f"gefcom2012_{name}_hourly.parquet")
        .pivot("series_id", index="timestamp", values="value")
        .sort("timestamp")
        for name in ("load", "temperature")
    )
    return _panel(loads), _panel(temperatures)


def _panel(table: pl.DataFrame) -> Panel:
    return Panel(table.drop("timestamp").to_numpy().T, times=table["timestamp"].to_numpy())


def simulated_region(days: int, seed: int) -> Region:
    """Where the folder has none: ten zones of simulated households, and their weather."""
    whole, start = 2 * days + 30, "2008-01-01"
    homes = simulate.meters(200, days=whole, start=start, families={HOUSEHOLD: 1}, seed=seed)
    weather = simulate_weather(DayGrid(np.datetime64(start, "D"), whole, 60), seed)
    fahrenheit = 32.0 + 1.8 * np.vstack([weather.outside, weather.inert])
    zones = homes.rows.reshape(10, 20, -1).sum(axis=1)
    return Panel(zones, times=homes.times), Panel(fahrenheit, times=homes.times)


def as_in_the_paper(region: Region, n: int, days: int, n_models: int, seed: int) -> Panel:
    """The paper's households among Shoal's second homes and small businesses, over the same days."""
    loads, temperatures = region
    families = simulate.meters(n, days=1, seed=seed).attributes["family"]
    of_households = families == HOUSEHOLD
    homes = simulate.trained_households(
        int(of_households.sum()), loads=loads, temperatures=temperatures, days=days, n_models=n_models, seed=seed
    )
    panel = simulate.meters(n, days=days, start=str(homes.times[0].astype("datetime64[D]")), seed=seed)
    rows = np.array(panel.rows)
    rows[of_households] = homes.rows
    return Panel(rows, times=panel.times, attributes={"family": families})
