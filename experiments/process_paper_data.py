"""The panels of experiments/process_paper.py: households as the paper makes them, and as Shoal simulates them.

The paper (§4) trains additive models on GEFCom 2012, on different periods; their features are calendar parameters and a
random number of raw and smoothed temperatures. A household is a forecast of two months with features moved a little;
some models are of a quantile, for extreme behaviour. Second homes and small businesses are described as Shoal has them.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.signal import lfilter
from sklearn.linear_model import QuantileRegressor, Ridge
from sklearn.preprocessing import SplineTransformer

from shoal import Panel, simulate
from shoal.simulate.day_grid import DayGrid
from shoal.simulate.weather import simulate_weather

Floats = NDArray[np.float64]
Hours = NDArray[np.int64]

HOUSEHOLD = "household"
# The paper gives none of these numbers but an example: "translated of one hour and its temperatures of two Fahrenheit".
WITH_QUANTILE = 0.2  # of the models
QUANTILES = (0.1, 0.9)
TEMPERATURES = (1, 3)  # how many raw and how many smoothed ones a model has, at least and at most
SMOOTHING = (0.95, 0.995)  # what stays of a smoothed temperature from hour to hour
TRAINED = 8760  # hours: a year, from a random hour on
FITTED = 2000  # of these hours, drawn at random: a quantile takes a linear program
HOURS_MOVED, DEGREES_MOVED = 2, 4.0  # at most, so that the paper's example is the typical draw
SIZE = (350.0, 0.65)  # W, median of a household's mean load, and its spread on the log scale, as in simulate.meters


@dataclass(frozen=True)
class Region:
    """Hourly loads of some zones, each divided by its mean, and temperatures in °F, from a midnight on."""

    loads: Floats
    temperatures: Floats
    weekdays: Hours
    hours: Hours
    days: Hours
    begins: date

    @property
    def n_hours(self) -> int:
        """Hours with a load and a temperature everywhere."""
        return self.loads.shape[1]


def load_region(folder: Path) -> Region | None:
    """What the folder has of GEFCom 2012, up to the first gap."""
    path = folder / "gefcom2012_load"
    if not path.exists():
        return None
    loads, temperatures = (
        pl.read_parquet(path / f"gefcom2012_{name}_hourly.parquet")
        .pivot("series_id", index="timestamp", values="value")
        .sort("timestamp")
        for name in ("load", "temperature")
    )
    both = loads.join(temperatures, on="timestamp", how="inner").sort("timestamp")
    values = both.drop("timestamp").to_numpy().T
    whole = int(np.argmax(np.append(np.isnan(values).any(axis=0), True)))
    n_zones = loads.width - 1
    return _region(values[:n_zones, :whole], values[n_zones:, :whole], both["timestamp"][:whole])


def simulated_region(days: int, seed: int) -> Region:
    """Where the folder has none: ten zones of simulated households, and their weather."""
    whole, start = 2 * days + 30, "2008-01-01"
    homes = simulate.meters(200, days=whole, start=start, families={HOUSEHOLD: 1}, seed=seed)
    weather = simulate_weather(DayGrid(np.datetime64(start, "D"), whole, 60), seed)
    fahrenheit = 32.0 + 1.8 * np.vstack([weather.outside, weather.inert])
    return _region(homes.rows.reshape(10, 20, -1).sum(axis=1), fahrenheit, pl.Series(homes.times))


def _region(zones: Floats, temperatures: Floats, times: pl.Series) -> Region:
    return Region(
        zones / zones.mean(axis=1, keepdims=True),
        temperatures,
        times.dt.weekday().to_numpy().astype(np.int64),
        times.dt.hour().to_numpy().astype(np.int64),
        times.dt.ordinal_day().to_numpy().astype(np.int64),
        times[0].date(),
    )


@dataclass(frozen=True)
class Model:
    """An additive model of one zone: what its load is at an hour, from the calendar and some temperatures."""

    region: Region
    raw: Hours
    smooth: Floats
    """Smoothed temperatures of some stations, one row each."""
    splines: SplineTransformer
    regression: Ridge | QuantileRegressor

    def forecast(self, at: Hours, hours: int, degrees: float) -> Floats:
        """The load at these hours, with the calendar moved by some hours and temperatures by some degrees."""
        found: Floats = self.regression.predict(_design(self, at, hours, degrees))
        return found


def _design(model: Model, at: Hours, hours: int = 0, degrees: float = 0.0) -> Floats:
    """One column per hour of a working day, Saturday and Sunday; splines of the season and of each temperature."""
    region, moved = model.region, at - hours
    kind = np.maximum(region.weekdays[moved] - 5, 0) * 24 + region.hours[moved]
    season = 2.0 * np.pi * region.days[moved] / 365.25
    felt = np.vstack([region.temperatures[model.raw][:, at], model.smooth[:, at]]).T + degrees
    curves = model.splines.transform(felt)
    waves = [wave(n * season) for n in (1, 2) for wave in (np.sin, np.cos)]
    return np.column_stack([np.eye(72)[kind], *waves, curves])


def train(region: Region, until: int, rng: np.random.Generator) -> Model:
    """A model of a random zone, with random temperatures, on random hours of a random year before an hour."""
    n_stations = len(region.temperatures)
    raw, smoothed = (
        rng.permutation(n_stations)[: rng.integers(TEMPERATURES[0], TEMPERATURES[1] + 1)] for _ in range(2)
    )
    smooth = np.array([_smoothed(region.temperatures[s], rng.uniform(*SMOOTHING)) for s in smoothed])
    length = min(TRAINED, until // 2)
    begin = rng.integers(HOURS_MOVED, until - length)
    at = begin + np.sort(rng.choice(length, min(FITTED, length), replace=False))
    splines = SplineTransformer(n_knots=5, degree=3, extrapolation="linear", include_bias=False)
    splines.fit(np.vstack([region.temperatures[raw][:, at], smooth[:, at]]).T)
    quantile = rng.random() < WITH_QUANTILE
    regression = QuantileRegressor(quantile=rng.choice(QUANTILES), alpha=1e-5) if quantile else Ridge(alpha=1.0)
    model = Model(region, raw, smooth, splines, regression)
    regression.fit(_design(model, at), region.loads[rng.integers(len(region.loads)), at])
    return model


def _smoothed(x: Floats, kept: float) -> Floats:
    found: Floats = lfilter([1.0 - kept], [1.0, -kept], x, zi=[kept * x[0]])[0]
    return found


def households(region: Region, n: int, days: int, n_models: int, seed: int) -> Floats:
    """Forecasts of the last whole days, in Wh; no two have the same seven daily totals of a week, in thousands."""
    rng = np.random.default_rng([seed, 2])
    begin = _first_hour(region, days)
    at = np.arange(begin, begin + 24 * days)
    models = [train(region, begin, rng) for _ in range(n_models)]
    found: dict[tuple[float, ...], Floats] = {}
    while len(found) < n:
        model = models[rng.integers(n_models)]
        hours, degrees = rng.integers(-HOURS_MOVED, HOURS_MOVED + 1), DEGREES_MOVED * rng.uniform(-1.0, 1.0)
        size = SIZE[0] * np.exp(SIZE[1] * rng.normal())
        series = np.rint(size * np.maximum(model.forecast(at, int(hours), degrees), 0.0))
        totals = np.rint(series[: 7 * 24].reshape(7, 24).sum(axis=1) / 1000.0)
        found.setdefault(tuple(totals.tolist()), series)
    return np.array(list(found.values()))


def _first_hour(region: Region, days: int) -> int:
    return ((region.n_hours - HOURS_MOVED) // 24 - days) * 24


def as_in_the_paper(region: Region, n: int, days: int, n_models: int, seed: int) -> Panel:
    """The paper's households among Shoal's second homes and small businesses, over the same days."""
    start = region.begins + timedelta(hours=_first_hour(region, days))
    panel = simulate.meters(n, days=days, start=start.isoformat(), seed=seed)
    families = panel.attributes["family"]
    rows = np.array(panel.rows)
    of_households = families == HOUSEHOLD
    rows[of_households] = households(region, int(of_households.sum()), days, n_models, seed)
    return Panel(rows, times=panel.times, attributes={"family": families})
