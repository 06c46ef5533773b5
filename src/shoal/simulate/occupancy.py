"""When people are in their office, day by day."""

from __future__ import annotations

import numpy as np

from shoal.kernels.arrays import Bools, Floats
from shoal.model import Panel
from shoal.simulate.arguments import Start, as_count, as_missing, as_start, as_step
from shoal.simulate.day_grid import WEEKDAYS, DayGrid
from shoal.simulate.dice import Dice, Stream, between, generator
from shoal.simulate.gaps import missing_readings

# Hours: when people come and how much that varies between them; how long they stay, lunch included.
ARRIVAL, ARRIVAL_SPREAD = 8.6, 0.8
STAY, STAY_SPREAD = 8.9, 0.6
LUNCH, LUNCH_SPREAD = 12.2, 0.35
LUNCH_HOURS = (0.4, 1.1)
# Standard deviation in hours of a person's arrival from day to day: some are punctual, some are not.
PUNCTUALITY = (0.1, 0.6)
# Chances of a day off, of a fixed free weekday, of eating at the desk, of an hour or two at the weekend.
DAY_OFF = (0.02, 0.12)
PART_TIME = 0.15
AT_THE_DESK = 0.1
AT_THE_WEEKEND = 0.03
# Short absences: the largest number per day, the median minutes of one and its log-scale spread. The published building
# data of the field has a median of 18 minutes and four stretches of presence a day.
ABSENCES = 6
ABSENCE_MINUTES, ABSENCE_SPREAD = 14.0, 0.9
PERSON_DAYS_PER_BLOCK = 1000


def occupancy(
    n_subjects: int = 100,
    *,
    days: int = 10,
    step: str | int = "1min",
    start: Start = "2024-01-01",
    missing: float = 0.0,
    seed: int = 0,
) -> Panel:
    """Simulate when people are in their office: 1 = there, 0 = not, one series per person and day.

    A person has habits (mean arrival and its spread, length of stay, lunch time, how often away from the desk, perhaps
    a free weekday) and days that vary around them: arrival, absences, lunch break, absences, departure; days off and
    weekends are empty, apart from a rare visit. A value says whether the person is there at that minute.

    Parameters
    ----------
    n_subjects
        How many people. The panel has `n_subjects` times `days` series, so a person must be hidden among people and not
        among days.
    days, start
        Consecutive days from a date on, weekends included.
    step
        Time between instants: "1min", "15min", or whole minutes; must divide a day. A coarser step misses short
        absences.
    missing
        Share of instants left out (NaN), half of them one by one, half in outages. At least 0, below 1.
    seed
        Same arguments, same bytes. Each person has their own child of the seed.

    Returns
    -------
    Panel
        Ids "person-0000/2024-01-01", … sorted by person and day; `subjects` names the person; the instants are those of
        one day, on the date of `start`; the attribute "weekday" names the day of the week.

    Examples
    --------
    >>> from shoal.simulate import occupancy
    >>> panel = occupancy(20, days=5, step="15min")
    >>> panel
    Panel(100 series, 96 instants, 20 subjects)

    References
    ----------
    Data-driven anonymization process applied to time series, §4, for simulating habits with random shifts; the shape of
    the data, a person's days as rows of zeros and ones, is that of the PAD paper on learned metrics, §7.1.
    """
    n_subjects = as_count("n_subjects", n_subjects)
    clock = DayGrid(as_start(start), as_count("days", days), as_step(step))
    missing = as_missing(missing)
    seed = as_count("seed", seed, at_least=0)

    # Values are momentary, so they are for instants, not cells: the grid of cells is not used.
    instants = np.arange(clock.steps_per_day) * clock.step / 60
    values = np.empty((n_subjects, clock.days, clock.steps_per_day))
    size = max(1, PERSON_DAYS_PER_BLOCK // clock.days)
    for begin in range(0, n_subjects, size):
        persons = range(begin, min(begin + size, n_subjects))
        dice = Dice(seed, [(Stream.PERSON, person) for person in persons])
        values[begin : begin + len(persons)] = _presence(dice, clock, instants)
    if missing > 0.0:
        for person in range(n_subjects):
            source = generator(seed, Stream.GAPS, person)
            values[person, missing_readings(source, clock.days, clock.steps_per_day, clock.step, missing)] = np.nan

    names = [f"person-{person:04d}" for person in range(n_subjects)]
    dates = (clock.start + np.arange(clock.days)).astype(str)
    return Panel(
        values.reshape(n_subjects * clock.days, -1),
        ids=[f"{name}/{date}" for name in names for date in dates],
        times=clock.times[: clock.steps_per_day],
        subjects=[name for name in names for _ in dates],
        attributes={"weekday": np.tile(np.array(WEEKDAYS)[clock.weekdays], n_subjects)},
    )


def _presence(dice: Dice, clock: DayGrid, instants: Floats) -> Bools:
    """Whether each person is there (persons, days, instants)."""
    traits = dice.uniform(8, 1)
    habit = dice.normal(3, 1)
    luck = dice.uniform(3, clock.days)
    vary = dice.normal(4, clock.days)
    absent_at, absent = dice.uniform(2, clock.days, ABSENCES).transpose(1, 0, 2, 3)
    absent_for = ABSENCE_MINUTES / 60 * np.exp(ABSENCE_SPREAD * dice.normal(clock.days, ABSENCES))

    spread = between(PUNCTUALITY, traits[:, 0])
    arrival = np.clip(ARRIVAL + ARRIVAL_SPREAD * habit[:, 0] + spread * vary[:, 0], 6.0, 11.0)
    stay = STAY + STAY_SPREAD * habit[:, 1] + 0.5 * spread * vary[:, 1]
    departure = arrival + np.clip(stay, 5.0, 12.0)

    free_weekday = np.where(traits[:, 1] < PART_TIME, np.floor(5 * traits[:, 1] / PART_TIME), -1)
    off = (luck[:, 0] < between(DAY_OFF, traits[:, 2])) | (clock.weekdays == free_weekday)
    weekend = clock.weekdays >= 5
    visit = weekend & (luck[:, 1] < AT_THE_WEEKEND)
    # A visit at the weekend takes an hour or two and no lunch.
    departure = np.where(visit, arrival + 0.5 + 1.5 * luck[:, 2], departure)

    # At least an hour at the desk before lunch and after it.
    pause = np.clip(between(LUNCH_HOURS, traits[:, 3]) + 0.15 * vary[:, 2], 0.25, 1.5)
    noon = np.clip(LUNCH + LUNCH_SPREAD * habit[:, 2] + 0.25 * vary[:, 3], arrival + 1.0, departure - 1.0 - pause)
    goes_out = ~weekend & (luck[:, 2] >= AT_THE_DESK)

    there = _during(arrival, departure, instants) & (np.where(weekend, visit, ~off))[:, :, None]
    there &= ~(_during(noon, noon + pause, instants) & goes_out[:, :, None])
    # Some people sit still, some have a meeting every hour.
    restless = 0.1 + 0.7 * traits[:, 4]
    for slot in range(ABSENCES):
        leaves = arrival + absent_at[:, :, slot] * (departure - arrival)
        back = leaves + np.minimum(absent_for[:, :, slot], 2.0)
        there &= ~(_during(leaves, back, instants) & (absent[:, :, slot] < restless)[:, :, None])
    return there


def _during(begin: Floats, end: Floats, instants: Floats) -> Bools:
    """Whether begin <= instant < end (persons, days, instants)."""
    return (begin[:, :, None] <= instants) & (instants < end[:, :, None])
