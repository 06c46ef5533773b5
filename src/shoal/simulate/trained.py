"""Households as the forecasts of additive models that were trained on loads and temperatures.

    load(t) ~ type of day and hour + two waves of the season + splines of raw and of smoothed temperatures

Waves need a whole year to train on: those of a few weeks would grow without limit in the others. A model has a zone, a
year and some weather stations drawn at random; some models are of a quantile, for extreme behaviour. A household is the
forecast of one of them, its clock and temperatures moved a little, its level drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.kernels.arrays import Floats, Ints
from shoal.model import Panel
from shoal.model.parameters import is_number
from shoal.simulate.arguments import as_count

HOUR = np.timedelta64(1, "h")
LEAST_DAYS = 28
"""Days before the forecast that models can be trained on."""

# The paper gives none of these numbers but an example: "translated of one hour and its temperatures of two Fahrenheit".
WITH_QUANTILE = 0.2  # of the models
QUANTILES = (0.1, 0.9)
TEMPERATURES = (1, 3)  # how many raw and how many smoothed ones a model has, at least and at most
SMOOTHING = (0.95, 0.995)  # how much of a smoothed temperature carries over from hour to hour
TRAINED = 8760  # hours: a year, from a random hour on
FITTED = 2000  # of these hours, drawn at random: a quantile takes a linear program
HOURS_MOVED = 2  # at most, so that the paper's example is the typical draw
SIZE = (350.0, 0.65)  # W, median of a household's mean load, and its spread on the log scale, as in `meters`
MEANS = (0.25, 4.0)  # of a forecast, in means of the loads; beyond, the model extrapolates, and another is drawn
MOST_DRAWN = 50  # forecasts for each household that is wanted, until they are all different


def trained_households(
    n_series: int = 500,
    *,
    loads: Panel,
    temperatures: Panel,
    days: int = 61,
    n_models: int = 60,
    degrees: float = 4.0,
    seed: int = 0,
) -> Panel:
    """Simulate households from additive models of temperature and calendar, trained on measured loads; in Wh per hour.

    The curves are smooth: unlike in `meters`, no appliance is switched on. They follow the loads they were trained
    on: nothing here anonymizes these, and no guarantee covers what is drawn. So give sums over many people, such as
    the zones of a grid, not single meters. No two households have the same seven daily totals of the first week,
    rounded to the thousand Wh. Waves of the season are part of the models if two years or more lie before the forecast.

    Parameters
    ----------
    n_series
        How many households.
    loads, temperatures
        Hourly loads of some zones and temperatures of some stations; from the first instant that both have up to the
        first gap. Loads may have any unit.
    days
        The number of whole days to forecast, at the end of the data; models are trained on what lies before.
    n_models
        How many models; each household is a forecast of one. More models make households less alike, and take longer.
    degrees
        The largest shift of a household's temperatures: 4 for °F, about 2 for °C.
    seed
        Same arguments, same bytes on the same machine.

    Examples
    --------
    >>> from shoal import Panel, simulate
    >>> zones = simulate.meters(40, days=60, families={"household": 1}, seed=1)
    >>> grid = Panel(zones.values.reshape(4, 10, -1).sum(axis=1), times=zones.times)
    >>> warm = 15.0 + 8.0 * np.sin(np.arange(60 * 24) * 2 * np.pi / 24)
    >>> weather = Panel(warm[None], times=zones.times)
    >>> simulate.trained_households(20, loads=grid, temperatures=weather, days=7, n_models=3, degrees=2.0)
    Panel(20 series, 168 instants, 20 subjects)

    References
    ----------
    "Data-driven anonymization process applied to time series", section 4, which trains on GEFCom 2012.
    """
    for name, panel in (("loads", loads), ("temperatures", temperatures)):
        if not isinstance(panel, Panel):
            raise ParameterError(f"{name} must be a Panel, such as shoal.read_panel returns.")
    if not (is_number(degrees) and 0.0 <= degrees < float("inf")):
        raise ParameterError(f"degrees must be a finite number of at least 0, got {degrees!r}.")
    n_series, days, n_models = (
        as_count(name, value) for name, value in (("n_series", n_series), ("days", days), ("n_models", n_models))
    )
    region = Region.of(loads, temperatures)
    begin = region.first_hour(days)
    if begin < 24 * LEAST_DAYS:
        raise ParameterError(
            f"A forecast of {days} days needs {LEAST_DAYS} days before it to train on, and {HOURS_MOVED} hours after "
            f"it; loads and temperatures have {region.n_hours // 24} whole days in common, hour by hour and without a "
            "gap. Lower days, or give longer tables with a reading every hour."
        )
    rng = np.random.default_rng([as_count("seed", seed, 0), 2])
    at = np.arange(begin, begin + 24 * days)
    models = [_train(region, begin, rng) for _ in range(n_models)]
    found: dict[tuple[float, ...], Floats] = {}
    for _ in range(MOST_DRAWN * n_series):
        model = models[rng.integers(n_models)]
        hours, moved = rng.integers(-HOURS_MOVED, HOURS_MOVED + 1), degrees * rng.uniform(-1.0, 1.0)
        size = SIZE[0] * np.exp(SIZE[1] * rng.normal())
        forecast = np.maximum(model.forecast(at, int(hours), moved), 0.0)
        if not MEANS[0] <= forecast.mean() <= MEANS[1]:
            continue
        series = np.rint(size * forecast)
        week = series[: 7 * 24] if days >= 7 else series
        totals = np.rint(week.reshape(-1, 24).sum(axis=1) / 1000.0) if days >= 7 else week
        found.setdefault(tuple(totals.tolist()), series)
        if len(found) == n_series:
            return Panel(np.array(list(found.values())), times=region.times[at])
    raise ParameterError(
        f"{n_series} different households do not come out of {n_models} models; {len(found)} did. Raise n_models, "
        "lower degrees, or give a longer table."
    )


@dataclass(frozen=True, eq=False, repr=False)
class Region:
    """Hourly loads of some zones, each divided by its mean, and temperatures, from a midnight on."""

    loads: Floats
    temperatures: Floats
    times: NDArray[Any]
    weekdays: Ints
    """1 is Monday."""
    hours: Ints
    days: Ints
    """Of the year, from 1."""

    @staticmethod
    def of(loads: Panel, temperatures: Panel) -> Region:
        """What both tables have, up to the first gap."""
        for name, panel in (("loads", loads), ("temperatures", temperatures)):
            if panel.n_channels > 1 or not np.issubdtype(panel.times.dtype, np.datetime64):
                raise ParameterError(f"{name} must have one channel, and instants with dates.")
        times, own, other = np.intersect1d(loads.times, temperatures.times, return_indices=True)
        values = np.concatenate([loads.rows[:, own], temperatures.rows[:, other]])
        midnights = np.flatnonzero(times == times.astype("datetime64[D]"))
        first = int(midnights[0]) if len(midnights) else len(times)
        times, values = times[first:], values[:, first:]
        broken = np.isnan(values).any(axis=0) | np.append(False, np.diff(times) != HOUR)[: len(times)]
        whole = int(np.argmax(np.append(broken, True)))
        zones, times = values[: loads.n_series, :whole], times[:whole]
        dates = times.astype("datetime64[D]")
        means = zones.mean(axis=1, keepdims=True) if whole else np.ones((len(zones), 1))
        if (means <= 0.0).any():
            raise ParameterError("loads must have a mean above 0 in every zone.")
        return Region(
            zones / means,
            values[loads.n_series :, :whole],
            times,
            (dates.astype(np.int64) + 3) % 7 + 1,
            ((times - dates) // HOUR).astype(np.int64),
            (dates - dates.astype("datetime64[Y]").astype("datetime64[D]")).astype(np.int64) + 1,
        )

    @property
    def n_hours(self) -> int:
        """Hours for which all zones have a load and all stations a temperature."""
        return int(self.loads.shape[1])

    def first_hour(self, days: int) -> int:
        """Where the last `days` whole days begin, with a margin after them for shifted clocks."""
        return ((self.n_hours - HOURS_MOVED) // 24 - days) * 24


@dataclass(frozen=True, eq=False, repr=False)
class _Model:
    """An additive model of one zone: what its load is at an hour, from the calendar and some temperatures."""

    region: Region
    seasonal: bool
    raw: Ints
    smooth: Floats
    """Smoothed temperatures of some stations, one row each."""
    splines: Any
    regression: Any

    def forecast(self, at: Ints, hours: int, degrees: float) -> Floats:
        """The load at these hours, with the calendar shifted by some hours and temperatures by some degrees."""
        found: Floats = self.regression.predict(self.design(at, hours, degrees))
        return found

    def design(self, at: Ints, hours: int = 0, degrees: float = 0.0) -> Floats:
        """One column per hour of a working day, Saturday and Sunday; waves of the season, splines of temperatures."""
        region, moved = self.region, at - hours
        kind = np.maximum(region.weekdays[moved] - 5, 0) * 24 + region.hours[moved]
        season = 2.0 * np.pi * region.days[moved] / 365.25
        felt = np.vstack([region.temperatures[self.raw][:, at], self.smooth[:, at]]).T + degrees
        curves = self.splines.transform(felt)
        waves = [wave(n * season) for n in (1, 2) for wave in (np.sin, np.cos)] if self.seasonal else []
        return np.column_stack([np.eye(72)[kind], *waves, curves])


def _train(region: Region, until: int, rng: np.random.Generator) -> _Model:
    """A model of a random zone, with random temperatures, on random hours of a random year before an hour."""
    from sklearn.linear_model import QuantileRegressor, Ridge  # imported here: other simulators do not need it
    from sklearn.preprocessing import SplineTransformer

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
    model = _Model(region, length == TRAINED, raw, smooth, splines, regression)
    regression.fit(model.design(at), region.loads[rng.integers(len(region.loads)), at])
    return model


def _smoothed(x: Floats, kept: float) -> Floats:
    from scipy.signal import lfilter  # late: it loads most of SciPy

    found: Floats = lfilter([1.0 - kept], [1.0, -kept], x, zi=[kept * x[0]])[0]
    return found
