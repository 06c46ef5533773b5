"""Electricity meters of second homes, small businesses and households."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from shoal.kernels.arrays import Floats, Ints
from shoal.model import Panel
from shoal.simulate.arguments import Start, as_count, as_missing, as_shares, as_start, as_step, by_largest_remainder
from shoal.simulate.businesses import simulate_small_businesses
from shoal.simulate.day_grid import DayGrid
from shoal.simulate.dice import Dice, Stream, generator
from shoal.simulate.gaps import missing_readings
from shoal.simulate.households import simulate_households
from shoal.simulate.second_homes import simulate_second_homes
from shoal.simulate.uniqueness import WEEK, TakenSignatures
from shoal.simulate.weather import Weather, simulate_weather

Family = Callable[[Dice, DayGrid, Weather], Floats]

# The position of a family is part of its subjects' keys: append, never reorder.
FAMILIES: dict[str, Family] = {
    "second-home": simulate_second_homes,
    "small-business": simulate_small_businesses,
    "household": simulate_households,
}
SHARES = {"household": 0.7, "small-business": 0.2, "second-home": 0.1}
# Cells per block: a dozen temporaries of 8 bytes each stay below 200 MB.
CELLS_PER_BLOCK = 2_000_000


def meters(
    n_series: int = 500,
    *,
    days: int = 14,
    step: str | int = "1h",
    start: Start = "2024-01-01",
    families: Mapping[str, float] | None = None,
    missing: float = 0.0,
    seed: int = 0,
) -> Panel:
    """Simulate electricity meters, one series per subject, in Wh per step.

    Three families: a *second-home* is almost constant; a *small-business* is nearly zero at night and at weekends and
    almost constant while open; a *household* follows the type of day, the hour, the season and a temperature shared by
    all, with its own shift of clock and temperature, and switches appliances on. No two households have the same seven
    daily totals of the first week, rounded to the thousand Wh; duplicates are drawn again. Panels shorter than a week
    are left as drawn.

    Parameters
    ----------
    n_series
        How many meters.
    days, start
        Whole days from a midnight on, by the local clock. The season decides how much is heated or cooled.
    step
        Time between readings: "15min", "30min", "1h", or whole minutes; must divide a day. A finer step shows more of
        the appliances; the energy of an hour stays about the same.
    families
        Shares by name, scaled to sum to 1 and rounded to whole meters by largest remainder. Default: 0.7 household,
        0.2 small-business, 0.1 second-home.
    missing
        Share of readings left out (NaN), half of them one by one, half in outages. At least 0, below 1. Daily totals
        are made distinct before readings are left out.
    seed
        Same arguments, same bytes. Each subject draws from its own child of the seed, so it has the same series
        however many others there are.

    Returns
    -------
    Panel
        Ids "meter-00000", … in an order that reveals nothing about the family, which is the attribute "family".

    Examples
    --------
    >>> from shoal.simulate import meters
    >>> panel = meters(200, days=7, seed=1)
    >>> panel
    Panel(200 series, 168 instants, 200 subjects)
    >>> int((panel.attributes["family"] == "household").sum())
    140

    References
    ----------
    Data-driven anonymization process applied to time series, §4. There additive models trained on GEFCom 2012 give the
    households; here the model is written down, with appliances on top.
    """
    n_series = as_count("n_series", n_series)
    clock = DayGrid(as_start(start), as_count("days", days), as_step(step))
    counts = by_largest_remainder(as_shares(families, tuple(FAMILIES), SHARES), n_series)
    missing = as_missing(missing)
    seed = as_count("seed", seed, at_least=0)

    weather = simulate_weather(clock, seed)
    rows = generator(seed, Stream.ORDER).permutation(n_series)
    values = np.empty((n_series, clock.n_instants))
    names = np.empty(n_series, dtype=object)
    first = 0
    for code, (family, count) in enumerate(counts.items()):
        own_rows = rows[first : first + count]
        first += count
        names[own_rows] = family
        _fill(values, own_rows, code, family, clock, weather, missing, seed)
    return Panel(
        values,
        ids=[f"meter-{row:05d}" for row in range(n_series)],
        times=clock.times,
        attributes={"family": names.astype(str)},
    )


def _fill(
    values: Floats, rows: Ints, code: int, family: str, clock: DayGrid, weather: Weather, missing: float, seed: int
) -> None:
    """Simulate one family block by block into its rows."""
    signatures = TakenSignatures(clock.steps_per_day)

    def draw(numbers: range, attempt: int = 0) -> Floats:
        dice = Dice(seed, [(Stream.METER, code, number, attempt) for number in numbers])
        return _read_register(FAMILIES[family](dice, clock, weather), clock)

    def redraw(number: int, attempt: int) -> Floats:
        return draw(range(number, number + 1), attempt)

    size = max(1, CELLS_PER_BLOCK // clock.n_cells)
    for begin in range(0, len(rows), size):
        numbers = range(begin, min(begin + size, len(rows)))
        energy = draw(numbers)
        if family == "household" and clock.days >= WEEK:
            signatures.settle(energy, begin, redraw)
        if missing > 0.0:
            for row, number in enumerate(numbers):
                source = generator(seed, Stream.GAPS, code, number)
                energy[row, missing_readings(source, 1, clock.n_instants, clock.step, missing)[0]] = np.nan
        values[rows[begin : begin + len(numbers)]] = energy


def _read_register(power: Floats, clock: DayGrid) -> Floats:
    """Wh per step from mean W per cell, as a meter with a register of whole Wh shows it.

    Rounding the register and not the reading makes the total of a day independent of the step.
    """
    register = np.cumsum(power, axis=1)
    cells_per_step = clock.step // clock.cell_minutes
    register = np.rint(register[:, cells_per_step - 1 :: cells_per_step] * clock.cell_hours)
    return np.diff(register, axis=1, prepend=0.0)
