"""Which columns hold the time of a row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.read.blocks import QuantityBlock, per_day
from shoal.read.durations import DAY, HOUR, MINUTE, SECOND
from shoal.read.headings import words_of
from shoal.read.profiles import Profile
from shoal.read.stamps import read_offsets
from shoal.read.time_numbers import read_slots
from shoal.read.time_parts import find_clock_column, find_parts, find_within_day
from shoal.read.understanding import Guess, Part, TimeGuess, Wishes
from shoal.read.zones import offset_name


def find_time(columns: Sequence[Profile], wishes: Wishes, blocks: Sequence[QuantityBlock]) -> TimeGuess | None:
    """Where the time of a row is."""
    taken = {p for block in blocks for p in block.positions} | wishes.other
    if wishes.id is not None:
        taken |= {wishes.id}
    if wishes.value is not None:
        taken |= set(wishes.value)
    rest = [column for column in columns if column.position not in taken]
    if wishes.time is not None:
        return _wished_time(columns[wishes.time], rest)
    if any(c.kind == "stamp" and not c.is_constant for c in rest):
        # What is the same in all rows, such as when the file was made, is not when they were measured.
        rest = [c for c in rest if c.kind not in ("stamp", "date", "time") or not c.is_constant]
    stamps = [c for c in rest if c.kind == "stamp"]
    dates = [c for c in rest if c.kind == "date"]
    clocks = [c for c in rest if c.kind == "time" and "later" not in c.groups]
    ranges = [c for c in stamps if c.form is not None and c.form.is_range]
    if ranges and not (ranges[0].is_constant and any(not c.is_constant for c in (*dates, *clocks))):
        return _range(ranges[0])
    if not blocks and (counted := _positions([*stamps, *dates], rest)) is not None:
        return counted
    midnights = [c for c in stamps if _all_midnight(c)]
    if blocks or (midnights and len(midnights) == len(stamps)):
        dates += midnights
        stamps = [c for c in stamps if c not in midnights]
    # Of several dates, when the row was written is not when it was measured.
    dates = _best(dates)
    stamps = _best(stamps)
    if dates and not clocks and not blocks and (clock := find_clock_column(rest)) is not None:
        clocks = [clock]
    if blocks and dates:
        return _start(dates, "a date for each row")
    if dates and clocks:
        return _date_and_clock(dates, clocks, columns)
    if dates and not blocks and (within := find_within_day(rest)) is not None:
        time = _start(dates[:1], "the date of the reading")
        return replace(within, stamp=time.stamp, form=time.form, doubts=time.doubts, used=time.used | within.used)
    if dates and (slot := _slot(rest, dates[0])) is not None and not _varies(stamps):
        time = _start(dates[:1], "the date of the reading")
        largest, smallest = int(slot.present.max()), int(slot.present.min())
        usual = per_day(largest if smallest else largest + 1)
        assert usual is not None
        time.slot, time.slot_base, time.slot_step = slot.position, min(1, smallest), DAY // usual
        time.interval, time.interval_evidence = "start", "intervals are numbered from the start of the day"
        time.used[slot.position] = (Part.SLOT, f"whole numbers {smallest} to {largest} next to a date")
        if slot.texts.str.contains(r"\d[A-Za-z*']$").any():
            time.slot_from = "clock"  # 02 and 02X: an hour that comes twice has two names
        return time
    if stamps and (len(stamps[0].texts) > 0):
        return _from_stamps(stamps, rest)
    parts = find_parts(rest, monthly=any(block.is_monthly for block in blocks))
    if parts is not None and not (dates and len(parts.parts) < 4):
        return parts
    if dates:
        return _start(dates, "dates")
    return _day_code(rest)


def _wished_time(column: Profile, rest: Sequence[Profile]) -> TimeGuess | None:
    if column.form is None:
        return None
    if column.form.is_range:
        return _range(column)
    if column.kind == "date":
        others = [c for c in rest if c.kind == "time"]
        if others:
            return _date_and_clock([column], others, rest)
        if _slot(rest, column) is not None:
            return find_time(rest, Wishes(), [])
    return _start([column], "named by the caller")


def _best(columns: list[Profile]) -> list[Profile]:
    """The candidates for the time of the reading, in the order of the table."""
    fit = [c for c in columns if "later" not in c.groups] or columns
    varied = [c for c in fit if not c.is_constant] or fit
    # A clock that shows no hour twice comes before one that may.
    return sorted(
        varied, key=lambda c: (not _says_utc(c), "time" not in c.groups and "start" not in c.groups, c.position)
    )


def _says_utc(column: Profile) -> bool:
    return bool({"utc", "gmt", "zulu"} & set(words_of(column.name)))


def _varies(stamps: Sequence[Profile]) -> bool:
    """Whether some column has many different times of day."""
    return any(len(np.unique(c.stamps.printed[c.stamps.valid] % DAY)) > 20 for c in stamps if c.stamps is not None)


def _all_midnight(column: Profile) -> bool:
    assert column.stamps is not None
    return bool(np.all(column.stamps.printed[column.stamps.valid] % DAY == 0))


def _start(columns: Sequence[Profile], why: str) -> TimeGuess:
    column = columns[0]
    time = TimeGuess(stamp=column.position, form=column.form)
    time.used[column.position] = (Part.TIME, why)
    if column.doubt:
        time.doubts.append(column.doubt)
    words = column.groups
    if "end" in words and "start" not in words:
        time.interval, time.interval_evidence = "end", f"the name of column {column.name!r} says so"
    elif "start" in words and "end" not in words:
        time.interval, time.interval_evidence = "start", f"the name of column {column.name!r} says so"
    return time


def _range(column: Profile) -> TimeGuess:
    time = _start([column], "start and end of the interval in one cell")
    time.interval, time.interval_evidence = "start", "each cell has the start and the end of its interval"
    return time


def _date_and_clock(dates: list[Profile], clocks: list[Profile], columns: Sequence[Profile]) -> TimeGuess:
    clocks = sorted(clocks, key=lambda c: ("end" in c.groups and "start" not in c.groups, c.position))
    clock = clocks[0]
    # The date that belongs to it stands right before it, where there are two of each.
    before = [c for c in dates if c.position == clock.position - 1]
    date = (before or dates)[0]
    time = _start([date], "the date of the reading")
    time.clock, time.clock_form = clock.position, clock.form
    time.used[clock.position] = (Part.TIME, f"the time of day next to the date in column {date.name!r}")
    if len(clocks) > 1:
        time.end = clocks[1].position
        time.used[clocks[1].position] = (Part.END, "a second time of day, one step later")
        time.interval, time.interval_evidence = "start", "the row has the start and the end of its interval"
    elif clock.form is not None and clock.form.is_range:
        time.interval, time.interval_evidence = "start", "each cell has the start and the end of its interval"
    elif "end" in clock.groups and "start" not in clock.groups:
        time.interval, time.interval_evidence = "end", f"the name of column {clock.name!r} says so"
    else:
        time.interval, time.interval_evidence = "auto", ""
    for other in dates:
        if other is not date and len(clocks) > 1 and other.position == clocks[1].position - 1:
            time.used[other.position] = (Part.END, "the date of the end")
    return time


def _from_stamps(stamps: list[Profile], rest: Sequence[Profile]) -> TimeGuess:
    for first in stamps:
        for second in stamps:
            if first is second or (first.form is None) or second.form is None or first.form.name != second.form.name:
                continue
            if "start" in second.groups and "end" not in second.groups:
                continue  # the same in another zone
            both = first.stamps.valid & second.stamps.valid  # type: ignore[union-attr]
            apart = (second.instants - first.instants)[both]
            if not len(apart) or np.median(apart) <= 0 or np.median(apart) > 400 * DAY:
                continue
            lengths, counts = np.unique(apart, return_counts=True)
            if counts.max() >= 0.5 * len(apart) or ("start" in first.groups and "end" in second.groups):
                named = "start" in first.groups or "end" in second.groups
                if not named and not _tiles(first.instants[both], int(lengths[counts.argmax()])):
                    continue
                if counts.max() < 0.5 * len(apart):
                    _refuse_sessions(first, second, both)
                time = _start([first], "the start of the interval")
                time.end = second.position
                time.used[second.position] = (Part.END, "one step after the start in the same row")
                time.interval, time.interval_evidence = "start", "the row has the start and the end of its interval"
                return time
    return _start(stamps, "date and time")


def _refuse_sessions(first: Profile, second: Profile, both: np.ndarray) -> None:
    """Intervals of varying length that do not follow each other are events, such as charging sessions of a vehicle."""
    starts, ends = first.instants[both], second.instants[both]
    follows = np.isin(starts, ends).mean()
    if len(starts) >= 10 and np.median(ends - starts) < 2 * DAY and follows < 0.5:
        raise InputError(
            f"The rows last from {first.name!r} to {second.name!r}, for various lengths, and do not follow each "
            "other: they are sessions, not readings at a step. Read them as events (read_events), write the use in "
            "each interval, or name time= and value= to take each row as a reading at that time."
        )


def _tiles(starts: np.ndarray, length: int) -> bool:
    """Whether intervals of this length follow each other: then a second stamp is their end, not a second clock."""
    gaps = np.diff(np.unique(starts))
    return bool(len(gaps) and length - 60 * SECOND <= np.min(gaps) <= length + 60 * SECOND)


def _slot(rest: Sequence[Profile], date: Profile) -> Profile | None:
    """A column of interval numbers next to a date."""
    found = []
    for column in rest:
        if column.kind == "word" and column.n_distinct >= 20 and _are_numbered(column):
            column = replace(column, numbers=read_slots(column.texts), kind="number")
        if column.kind != "number" or not column.is_whole or column.n_distinct < 2 or column.position == date.position:
            continue
        low, high = int(column.present.min()), int(column.present.max())
        if low not in (0, 1) or column.n_distinct < 0.8 * (high - low + 1):
            continue
        if per_day(high if low else high + 1) is not None:
            found.append(column)
    named = [column for column in found if "slot" in column.groups]
    return next(iter(named or found), None)


def _are_numbered(column: Profile) -> bool:
    """Whether entries are intervals with a word around their number, such as HH07, 7 of 48 or 6 - 7."""
    if column.groups & {"point", "meter", "owner"}:
        return False
    texts = column.texts.drop_nulls().unique()
    patterns = texts.str.replace_all(r"\d+", "#").unique()
    numbers = read_slots(texts)
    return len(patterns) == 1 and not np.isnan(numbers).any() and len(np.unique(numbers)) == len(texts)


def _positions(stamps: Sequence[Profile], rest: Sequence[Profile]) -> TimeGuess | None:
    """Start and end of a period in every row, and the position of an interval within it."""
    for first in stamps:
        for second in stamps:
            for column in rest:
                if first is second or column.kind != "number" or not column.is_whole or column.n_distinct < 3:
                    continue
                start, end, position = first.instants, second.instants, column.numbers
                if position is None or np.isnan(position).any() or position.min() not in (0, 1) or np.any(end <= start):
                    continue
                base = int(position.min())
                periods = pl.DataFrame({"start": start, "end": end, "n": position - base + 1}).group_by("start", "end")
                most = periods.agg(pl.col("n").max(), pl.len())
                steps = ((most["end"] - most["start"]) / most["n"]).to_numpy()
                step = int(np.median(steps))
                if (
                    not step
                    or DAY % step
                    or step < 60 * SECOND
                    or np.mean(steps == step) <= 0.5
                    or most.height > len(position) // 3
                ):
                    continue
                time = _start([first], "the start of a period")
                time.slot, time.slot_base, time.slot_step, time.slot_from = column.position, base, step, "stamp"
                time.interval, time.interval_evidence = "start", "intervals are numbered from the start of their period"
                time.used[second.position] = (Part.END, "the end of the period")
                time.used[column.position] = (Part.SLOT, "the position within the period")
                return time
    return None


def find_offset(time: TimeGuess, columns: Sequence[Profile]) -> None:
    """A column with the offset from UTC, such as +01:00 or CEST, next to a local time."""
    if time.stamp is None or columns[time.stamp].stamps is None or time.slot is not None:
        return
    stamps = columns[time.stamp].stamps
    if stamps is not None and stamps.has_offset.any():
        return
    for column in columns:
        if column.position in time.used or column.n_distinct > 4 or column.share_filled < 1:
            continue
        unit = _offset_unit(column)
        if unit or (column.kind == "word" and read_offsets(column.texts)[1].all()):
            time.offset, time.offset_unit = column.position, unit
            time.used[column.position] = (Part.TIME, "the offset from UTC next to the time")
            return


def _offset_unit(column: Profile) -> int:
    """Microseconds of one unit if a column called an offset has numbers: hours, minutes or seconds; otherwise 0."""
    if column.kind != "number" or not any("offset" in word for word in words_of(column.name)):
        return 0
    most = np.abs(column.present).max(initial=0)
    return HOUR if most <= 14 else MINUTE if most <= 14 * 60 else SECOND if most <= 14 * 3600 else 0


def _day_code(rest: Sequence[Profile]) -> TimeGuess | None:
    """A column such as 19501: day 195, interval 1."""
    for column in rest:
        if column.kind != "number" or not column.is_whole or column.n_distinct < 24:
            continue
        codes = np.unique(column.present.astype(np.int64))
        days, slots = np.divmod(codes, 100)
        if codes.min() < 101 or codes.max() > 99_999_99 or slots.min() != 1 or per_day(int(slots.max())) is None:
            continue
        if len(np.unique(days)) > 1 and np.median(np.diff(np.unique(days))) != 1:
            continue
        usual = per_day(int(slots.max()))
        assert usual is not None
        time = TimeGuess(day_code=column.position, slot_step=DAY // usual, interval="start")
        time.interval_evidence = "intervals are numbered from the start of the day"
        time.used[column.position] = (Part.TIME, f"a day number and two digits for the interval, 1 to {slots.max()}")
        time.doubts.append(
            "Times are day numbers with two digits for the interval. Day 1 is taken as 1 January 2009, as in the "
            "Irish smart meter trial; if it is another day, write dates instead."
        )
        return time
    return None


def is_daily(columns: Sequence[Profile], time: TimeGuess) -> bool:
    """Whether a row stands for a day or a month, and has no time of day."""
    if time.parts and "day" not in time.parts:
        return True
    if time.stamp is None or time.clock is not None or time.slot is not None:
        return False
    return columns[time.stamp].kind == "date" or _all_midnight(columns[time.stamp])


_ZONES = {
    "utc": "UTC",
    "gmt": "UTC",
    "zulu": "UTC",
    "cet/cest": "CET",
    "mez/mesz": "CET",
    "eet/eest": "EET",
    "wet/west": "WET",
}


def find_zone_name(found: Guess, columns: Sequence[Profile]) -> None:
    """A zone that the name of the time column states."""
    for position in found.time.keys:
        column = columns[position]
        if column.form is not None and column.form.is_counted:
            found.zone, found.zone_evidence = "UTC", "instants are counted in UTC"
            return
        name = re.sub(r"[_\s]+", " ", column.name.lower())
        if fixed := re.search(r"(?<![a-z])(?:utc|gmt) ?([+-]\d{1,2}(?::?\d{2})?)(?!\d)", name):
            minutes = int(read_offsets(pl.Series([fixed[1]]))[0][0])
            found.zone, found.zone_evidence = offset_name(minutes), f"the name of column {column.name!r} says so"
            return
        for words, zone in _ZONES.items():
            if re.search(rf"(?<![a-z]){re.escape(words)}(?![a-z+-])", name):
                found.zone, found.zone_evidence = zone, f"the name of column {column.name!r} says so"
                return
