"""The panels of experiments/attacks_on_releases.py: simulated households, and real meters where they are at hand."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shoal import Panel, read_panel, simulate

HOUSEHOLDS, SLOVAK, AUSTRALIAN = "simulated households", "Slovak meters", "Australian households"
MEANINGS = {
    HOUSEHOLDS: "`shoal.simulate.meters`, households only, hourly",
    SLOVAK: "energyhack_sk_meters: four weeks, hourly, mostly small businesses",
    AUSTRALIAN: "sgsc_households: eight weeks, half hours; gaps up to 2 h interpolated, with longer ones left out",
}
FILES = {
    SLOVAK: ("energyhack_sk_meters", "energyhack_hourly_4weeks.parquet"),
    AUSTRALIAN: ("sgsc_households", "sgsc_halfhourly_8weeks_2013.parquet"),
}


@dataclass(frozen=True)
class Sets:
    """Panels by name, and the sets that are absent."""

    panels: dict[str, Panel]
    absent: tuple[str, ...]


def load(folder: Path, n_series: int, days: int, seed: int) -> Sets:
    """What can be simulated, and whatever the folder has: of each set so many series at most."""
    panels = {HOUSEHOLDS: households(n_series, days, seed)}
    absent = []
    for name, (place, file) in FILES.items():
        path = folder / place / file
        if path.is_file():
            panels[name] = some(read_panel(path, missing="interpolate:2h,drop-series"), n_series, seed)
        else:
            absent.append(name)
    return Sets(panels, tuple(absent))


def households(n_series: int, days: int, seed: int) -> Panel:
    """Simulated households over hourly days."""
    return simulate.meters(n_series, days=days, families={"household": 1.0}, seed=seed)


def some(panel: Panel, n: int, seed: int) -> Panel:
    """So many of the series, drawn at random; all where there are no more."""
    drawn = np.sort(np.random.default_rng([seed, 3]).permutation(panel.n_series)[:n])
    return rows_of(panel, drawn)


def rows_of(panel: Panel, rows: np.ndarray) -> Panel:
    """Series by position, without names."""
    return Panel(panel.values[rows], times=panel.times)
