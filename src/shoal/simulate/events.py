"""A register of diagnoses that grows by a snapshot a day."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.kernels.arrays import Bools, Floats, Ints
from shoal.model import Events
from shoal.simulate.arguments import Start, as_count, as_missing, as_start
from shoal.simulate.day_grid import DayGrid
from shoal.simulate.dice import Stream, generator

# Names, the age at which each is most common and the width of that peak in years; common ones first.
CONDITIONS = (
    ("common cold", 20.0, 30.0),
    ("back pain", 50.0, 25.0),
    ("hypertension", 68.0, 18.0),
    ("allergy", 22.0, 18.0),
    ("stomach flu", 12.0, 25.0),
    ("type 2 diabetes", 65.0, 14.0),
    ("migraine", 36.0, 13.0),
    ("asthma", 15.0, 18.0),
    ("fracture", 75.0, 25.0),
    ("gout", 62.0, 12.0),
)
# Zipf: the r-th condition has weight 1/r^exponent. Its factor for age has a floor: no condition is ruled out.
ZIPF_EXPONENT = 0.9
AGE_FLOOR = 0.15
REGIONS = ("north", "east", "south", "west", "harbour", "hills", "valley", "old town")
REGION_SHARES = np.array([0.2, 0.17, 0.15, 0.13, 0.12, 0.1, 0.08, 0.05])
SEXES = ("female", "male")
FEMALE = 0.53
# Children, adults, old people: share, mean and deviation of the age. Old people come more often than others.
AGES = ((0.2, 8.0, 5.0), (0.45, 40.0, 13.0), (0.35, 70.0, 10.0))
OLDEST = 99
# From Monday to Sunday, mean 1: Mondays are full, Sundays are for emergencies.
WEEK = np.array([1.4, 1.2, 1.1, 1.1, 1.15, 0.6, 0.45])
# Numbers per day are gamma-mixed Poisson: variance = mean + (0.18 · mean)².
OVERDISPERSION = 0.18


def events(
    days: int = 60, *, per_day: int = 200, start: Start = "2024-01-01", seed: int = 0, missing: float = 0.0
) -> Events:
    """Simulate a stream of daily snapshots with quasi-identifiers and a skewed sensitive value.

    Each event has a date, an id, the quasi-identifiers age, sex and region, and the sensitive value "diagnosis": ten
    conditions whose frequencies fall like a power of their rank (Zipf), each adjusted for age. The number of events
    per day follows a weekly cycle and varies more than a Poisson count; every day has at least one event.

    Parameters
    ----------
    days, start
        Consecutive days from a date on, one snapshot each.
    per_day
        Mean number of events per day. Small snapshots with a skewed value are hard to make diverse.
    seed
        Same arguments, same bytes. Each day draws from its own child of the seed, so longer streams begin the same way.
    missing
        Share of the quasi-identifiers' entries left out (null), each on its own. At least 0, below 1. Dates, ids and
        diagnoses are never missing.

    Returns
    -------
    Events
        With time column "time" (dates), sensitive column "diagnosis" and id column "id".

    Examples
    --------
    >>> from shoal.simulate import events
    >>> stream = events(days=7, per_day=50)
    >>> stream.quasi
    ('age', 'sex', 'region')
    >>> sum(1 for _ in stream.snapshots())
    7

    References
    ----------
    Data-driven anonymization process applied to time series, §4, for simulating what cannot be shown; the shape of the
    data is that of Anonymizing Temporal Data (Wang, Xu, Wong, Fu).
    """
    clock = DayGrid(as_start(start), as_count("days", days), 1440)
    per_day = as_count("per_day", per_day)
    missing = as_missing(missing)
    seed = as_count("seed", seed, at_least=0)

    snapshots = [_snapshot(seed, day, per_day * WEEK[clock.weekdays[day]], missing) for day in range(clock.days)]
    sizes = [len(snapshot) for snapshot in snapshots]
    dates = np.repeat(clock.start + np.arange(clock.days), sizes)
    frame = pl.concat(snapshots).with_columns(
        pl.Series("id", [f"event-{number:07d}" for number in range(sum(sizes))]), pl.Series("time", dates)
    )
    return Events(frame, sensitive="diagnosis", quasi=("age", "sex", "region"), id="id")


def _snapshot(seed: int, day: int, mean: float, missing: float) -> pl.DataFrame:
    source = generator(seed, Stream.EVENTS, day)
    shape = 1 / OVERDISPERSION**2
    count = max(1, int(source.poisson(mean * source.standard_gamma(shape) / shape)))
    shares, means, deviations = np.array(AGES).T
    group = source.choice(len(AGES), size=count, p=shares)
    age = np.clip(np.rint(means[group] + deviations[group] * source.standard_normal(count)), 0, OLDEST).astype(np.int64)
    sex = (source.random(count) >= FEMALE).astype(np.int64)
    region = source.choice(len(REGIONS), size=count, p=REGION_SHARES)
    condition = _conditions(age, source.random(count))
    gone = source.random((3, count)) < missing
    return pl.DataFrame(
        {
            "age": _with_gaps(pl.Series(age), gone[0]),
            "sex": _with_gaps(pl.Series(np.array(SEXES)[sex]), gone[1]),
            "region": _with_gaps(pl.Series(np.array(REGIONS)[region]), gone[2]),
            "diagnosis": pl.Series(np.array([name for name, _, _ in CONDITIONS])[condition]),
        }
    )


def _conditions(age: Ints, luck: Floats) -> Ints:
    """The condition of each event, by inverting its distribution given the age."""
    peaks = np.array([peak for _, peak, _ in CONDITIONS])
    widths = np.array([width for _, _, width in CONDITIONS])
    weights = np.arange(1, len(CONDITIONS) + 1) ** -ZIPF_EXPONENT
    likely = weights * (AGE_FLOOR + np.exp(-0.5 * ((age[:, None] - peaks) / widths) ** 2))
    below = np.cumsum(likely, axis=1)
    return np.asarray((luck[:, None] * below[:, -1:] >= below[:, :-1]).sum(axis=1))


def _with_gaps(column: pl.Series, gone: Bools) -> pl.Series:
    return pl.select(pl.when(pl.Series(~gone)).then(column)).to_series()
