"""What each column of a table is, from what it holds, from what it is called and from what the caller says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.read.blocks import Block, find_block_by_number, find_blocks, per_day
from shoal.read.durations import DAY, SECOND
from shoal.read.headings import groups_of, unit_of, words_of
from shoal.read.profiles import NumberForm, Profile
from shoal.read.stamps import StampForm, find_form, read_offsets, share_with
from shoal.read.subjects import are_channels, tells_quantity
from shoal.read.understanding import Part, Shape

_FEW = 30
"""Different entries up to which a column may name channels."""
_UNIQUE = 0.03
"""Share of rows that may share series and instant with another: repeats, and the hour that clocks show twice."""


@dataclass(frozen=True)
class Wishes:
    """Columns that the caller named, by position."""

    id: int | None = None
    time: int | None = None
    value: tuple[int, ...] | None = None
    channel: int | None = None
    other: frozenset[int] = frozenset()
    """Columns with a part of their own: subject, quasi-identifiers and the like."""
    columns: str | None = None
    """What columns beside a time are: "series", "channels", or None for what they look like."""


@dataclass
class TimeGuess:
    """Where the time of a row is."""

    stamp: int | None = None
    """A column with date and time, or the date of a row."""
    form: StampForm | None = None
    clock: int | None = None
    """A column with the time of day beside a date."""
    clock_form: StampForm | None = None
    slot: int | None = None
    """A column with the number of the interval."""
    slot_base: int = 1
    slot_step: int = 0
    slot_from: str = "midnight"
    """What intervals are counted from: "midnight" as time passes, "clock" by what it shows, "stamp" from the stamp."""
    day_code: int | None = None
    """A column of day numbers followed by two digits for the interval."""
    end: int | None = None
    """A column with the end of the interval."""
    offset: int | None = None
    """A column with the offset from UTC beside a local time."""
    parts: dict[str, int] = field(default_factory=dict)
    """Columns with year, month, day, hour and minute apart."""
    used: dict[int, tuple[Part, str]] = field(default_factory=dict)
    interval: str = "auto"
    interval_evidence: str = ""
    doubts: list[str] = field(default_factory=list)

    @property
    def keys(self) -> list[int]:
        """Columns that tell instants apart."""
        single = (self.stamp, self.clock, self.slot, self.day_code, self.offset)
        return [*(c for c in single if c is not None), *self.parts.values()]


@dataclass
class Guess:
    """Everything needed to bring a table into its canonical form."""

    shape: Shape
    time: TimeGuess
    numbers: NumberForm
    id: int | None = None
    channel: tuple[int, ...] = ()
    values: tuple[int, ...] = ()
    blocks: tuple[Block, ...] = ()
    instants: tuple[int, ...] = ()
    """With a row per series: the instant of each value column, microseconds as printed."""
    series: tuple[str, ...] = ()
    """With a column per series: their identifiers."""
    asked: bool = False
    """Whether the caller says what columns beside a time are."""
    channels: tuple[str, ...] = ()
    """Names of the channels that columns or blocks are."""
    only_channel: str | None = None
    only_id: str | None = None
    unit: str | None = None
    zone: str | None = None
    zone_evidence: str = ""
    roles: dict[int, tuple[Part, str]] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    def shown(self, name: str, position: int) -> str:
        """A column of readings in messages. Beside a time alone, a name that tells no quantity may be a person's."""
        known = self.shape is Shape.LONG and (self.id is not None or len(self.values) == 1)
        return name if known or tells_quantity(name) else f"number {position + 1}"


def guess(columns: Sequence[Profile], numbers: NumberForm, wishes: Wishes) -> Guess | None:
    """What the columns are; None where no time or no reading is found."""
    blocks = find_blocks(columns) if wishes.value is None else []
    blocks = [block for block in blocks if not block.is_monthly or _has_months(columns)]
    time = find_time(columns, wishes, blocks)
    if time is None:
        return _row_per_series(columns, numbers, wishes)
    _find_offset(time, columns)
    found = Guess(Shape.LONG, time, numbers, doubts=list(time.doubts))
    found.roles |= time.used
    _find_zone(found, columns)
    if not blocks and wishes.value is None and _is_daily(columns, time):
        blocks = find_block_by_number(columns)
    if blocks and _is_daily(columns, time):
        return _day_rows(found, columns, blocks, wishes)
    return _long(found, columns, wishes)


# time


def find_time(columns: Sequence[Profile], wishes: Wishes, blocks: Sequence[Block]) -> TimeGuess | None:
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
    if dates and not clocks and not blocks and (clock := _clock_number(rest)) is not None:
        clocks = [clock]
    if blocks and dates:
        return _start(dates, "a date for each row")
    if dates and clocks:
        return _date_and_clock(dates, clocks, columns)
    if dates and (hour := _hour_and_minute(rest)) is not None and not blocks:
        time = _start(dates[:1], "the date of the reading")
        time.parts = hour
        time.used |= {p: (Part.TIME, f"the {part} of the time") for part, p in hour.items()}
        return time
    if dates and (slot := _slot(rest, dates[0])) is not None and not _varies(stamps):
        time = _start(dates[:1], "the date of the reading")
        largest, smallest = int(slot.present.max()), int(slot.present.min())
        usual = per_day(largest if smallest else largest + 1)
        assert usual is not None
        time.slot, time.slot_base, time.slot_step = slot.position, min(1, smallest), DAY // usual
        time.interval, time.interval_evidence = "start", "intervals are numbered from the start of the day"
        time.used[slot.position] = (Part.SLOT, f"whole numbers {smallest} to {largest} beside a date")
        if slot.texts.str.contains(r"\d[A-Za-z*']$").any():
            time.slot_from = "clock"  # 02 and 02X: an hour that comes twice has two names
        return time
    if stamps and (len(stamps[0].texts) > 0):
        return _from_stamps(stamps, rest)
    parts = _time_in_parts(rest, monthly=any(block.is_monthly for block in blocks))
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
    """Those that may be the time of the reading, in the order of the table."""
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
    time.used[clock.position] = (Part.TIME, f"the time of day beside the date in column {date.name!r}")
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
    """Intervals of all lengths that do not follow each other are events, such as charges of a vehicle."""
    starts, ends = first.instants[both], second.instants[both]
    follows = np.isin(starts, ends).mean()
    if len(starts) >= 10 and np.median(ends - starts) < 2 * DAY and follows < 0.5:
        raise InputError(
            f"The rows last from {first.name!r} to {second.name!r}, each as long as it likes, and do not follow each "
            "other: they are sessions, not readings at a step. Read them as events (read_events), write what was used "
            "in each interval, or name time= and value= to take each row as a reading at that time."
        )


def _tiles(starts: np.ndarray, length: int) -> bool:
    """Whether intervals of this length follow each other: then a second stamp is their end, not a second clock."""
    gaps = np.diff(np.unique(starts))
    return bool(len(gaps) and length - 60 * SECOND <= np.min(gaps) <= length + 60 * SECOND)


def _slot(rest: Sequence[Profile], date: Profile) -> Profile | None:
    """A column of interval numbers beside a date."""
    found = []
    for column in rest:
        if column.kind != "number" or not column.is_whole or column.n_distinct < 2 or column.position == date.position:
            continue
        low, high = int(column.present.min()), int(column.present.max())
        if low not in (0, 1) or column.n_distinct < 0.8 * (high - low + 1):
            continue
        if per_day(high if low else high + 1) is not None:
            found.append(column)
    named = [column for column in found if "slot" in column.groups]
    return next(iter(named or found), None)


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


def _clock_number(rest: Sequence[Profile]) -> Profile | None:
    """A column of times of day written as numbers: 15, 30, 45, 100, ..., 2400, or 001500."""
    for column in rest:
        if column.kind != "number" or not column.is_whole or column.n_distinct < 20:
            continue
        texts = column.texts.filter((column.texts.str.len_chars() > 0).fill_null(False)).unique()
        for name, pattern in (("hhmmss", r"^\d{6}$"), ("hhmm", r"^\d{1,4}$")):
            form = StampForm(name)
            found = form.read(texts)
            if share_with(texts, pattern) < 1 or not found.valid.all():
                continue
            gaps = np.diff(np.unique(found.printed))
            if gaps.min() >= 300 * SECOND and gaps.min() * (len(gaps) + 1) == DAY and np.all(gaps == gaps.min()):
                clock = replace(column, kind="time", form=form, stamps=form.read(column.texts))
                clock.n_distinct, clock.groups = column.n_distinct, column.groups
                return clock
    return None


_PARTS = {
    "year": {"year", "yr", "jahr", "annee", "ano", "anno", "jaar", "ar", "yyyy", "rok"},
    "month": {"month", "mon", "monat", "mois", "mes", "mese", "maand", "maned", "mm", "miesiac"},
    "day": {"day", "dom", "tag", "jour", "dia", "giorno", "dag", "dd", "dzien"},
    "hour": {"hour", "stunde", "heure", "hora", "ora", "uur", "time", "hr", "hh", "godzina"},
    "minute": {"minute", "minutes", "min", "minuto", "minuut", "minuta"},
}
_RANGES = {"year": (1970, 2100), "month": (1, 12), "day": (1, 31), "hour": (0, 24), "minute": (0, 59)}


def _parts(rest: Sequence[Profile]) -> dict[str, int]:
    """Columns called year, month, day, hour or minute that have such numbers."""
    parts: dict[str, int] = {}
    for part, words in _PARTS.items():
        low, high = _RANGES[part]
        for column in rest:
            numbers = column.present
            fits = column.kind == "number" and column.is_whole and words & set(words_of(column.name))
            if fits and low <= numbers.min() and numbers.max() <= high and column.position not in parts.values():
                parts[part] = column.position
                break
    return parts


def _hour_and_minute(rest: Sequence[Profile]) -> dict[str, int] | None:
    """Hour and minute in columns of their own, beside a date."""
    parts = {part: p for part, p in _parts(rest).items() if part in ("hour", "minute")}
    return parts if len(parts) == 2 and not any(c.is_constant for c in rest if c.position in parts.values()) else None


def _time_in_parts(rest: Sequence[Profile], *, monthly: bool = False) -> TimeGuess | None:
    """Year, month and day in columns of their own, and hour and minute if they are there; or year and month alone."""
    parts = _parts(rest)
    needed = {"year", "month"} if monthly else {"year", "month", "day"}
    if not needed <= set(parts) or ("minute" in parts and "hour" not in parts):
        return None
    if monthly:
        parts = {part: parts[part] for part in ("year", "month")}
    time = TimeGuess(parts=parts)
    time.used = {p: (Part.TIME, f"the {part} of the time") for part, p in parts.items()}
    return time


def _find_offset(time: TimeGuess, columns: Sequence[Profile]) -> None:
    """A column with the offset from UTC, such as +01:00 or CEST, beside a local time."""
    if time.stamp is None or columns[time.stamp].stamps is None or time.slot is not None:
        return
    stamps = columns[time.stamp].stamps
    if stamps is not None and stamps.has_offset.any():
        return
    for column in columns:
        if column.kind != "word" or column.position in time.used or column.n_distinct > 4 or column.share_filled < 1:
            continue
        if read_offsets(column.texts)[1].all():
            time.offset = column.position
            time.used[column.position] = (Part.TIME, "the offset from UTC beside the time")
            return


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
            "Times are day numbers with two digits for the interval. Day 1 is taken as 1 January 2009, as in the Irish "
            "trial of smart meters; if it is another day, write dates instead."
        )
        return time
    return None


def _has_months(columns: Sequence[Profile]) -> bool:
    """Whether some column has nothing but first days of months, or two have years and months."""
    if _time_in_parts(columns, monthly=True) is not None:
        return True
    for column in columns:
        if column.kind == "date" and column.stamps is not None:
            days = column.stamps.printed[column.stamps.valid].astype("datetime64[us]").astype("datetime64[D]")
            if len(days) and np.all(days == days.astype("datetime64[M]")):
                return True
    return False


def _is_daily(columns: Sequence[Profile], time: TimeGuess) -> bool:
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


def _find_zone(found: Guess, columns: Sequence[Profile]) -> None:
    """A zone that the name of the time column tells."""
    for position in found.time.keys:
        column = columns[position]
        if column.form is not None and column.form.name in ("epoch", "epoch_ms"):
            found.zone, found.zone_evidence = "UTC", "seconds since 1970 are counted in UTC"
            return
        name = re.sub(r"[_\s]+", " ", column.name.lower())
        for words, zone in _ZONES.items():
            if re.search(rf"(?<![a-z]){re.escape(words)}(?![a-z+-])", name):
                found.zone, found.zone_evidence = zone, f"the name of column {column.name!r} says so"
                return


# identifiers and channels


def _n_rows(columns: Sequence[Profile], keys: Sequence[int]) -> tuple[int, int]:
    """How many rows there are, and how many different ones in these columns."""
    n = len(columns[0].texts)
    if not keys:
        return n, min(n, 1)
    frame = pl.DataFrame([columns[key].texts.alias(str(key)) for key in dict.fromkeys(keys)])
    return n, frame.n_unique()


def _shared(columns: Sequence[Profile], keys: Sequence[int]) -> float:
    """The share of rows that have the same entries in these columns as an earlier one."""
    n, n_different = _n_rows(columns, keys)
    return 1 - n_different / max(1, n)


def _id_score(column: Profile) -> float:
    """How much a column looks like an identifier, by its name and by what it holds."""
    words = column.groups
    score = 6.0 if "point" in words else 4.0 if "meter" in words else 3.5 if "owner" in words else 0.0
    if "id" in words:
        score = score + 0.5 if score else 3.0
    if "serial" in words_of(column.name):
        score -= 1.5  # of the device, which is exchanged; the point of supply stays
    if words & {"status", "unit", "cost", "total", "time"} and "point" not in words and not words & {"meter", "owner"}:
        score -= 3
    texts = column.texts.drop_nulls()
    texts = texts.filter(texts.str.len_chars() > 0).unique().head(200)
    lengths = texts.str.len_chars().to_numpy()
    n_digits = int(texts.str.count_matches(r"\d").to_numpy().min(initial=99))
    same, shortest = len(set(lengths.tolist())) == 1, int(lengths.min(initial=99))
    if share_with(texts, r"(?i)^[0-9a-f]{32}$|^[0-9a-f]{8}-[0-9a-f]{4}-") > 0.9:
        score += 0.5  # a hash is rather the key of a row
    elif same and n_digits >= 6 and shortest >= 13:
        score += 3
    elif n_digits >= 8 or (same and n_digits >= 6):
        score += 2 + (share_with(texts, r"^\d+$") == 1)
    elif n_digits:
        score += 0.5
    if column.is_whole and 1 < column.n_distinct == column.present.max() - column.present.min() + 1 < 100:
        score -= 0.5  # counted from 1, as parts of a file are
    return score - 0.01 * column.position


_NAMING = frozenset({"point", "meter", "owner", "id"})
"""Groups of words in the names of columns that name series."""


def _names_quantities(column: Profile) -> bool:
    """Whether a column has nothing but a few words for quantities, such as import and export."""
    entries = column.texts.drop_nulls().unique().to_list() if column.n_distinct <= _FEW else [" "]
    return all("value" in groups_of(entry) or unit_of(entry) for entry in entries if entry)


def _find_id(found: Guess, columns: Sequence[Profile], wishes: Wishes, taken: set[int]) -> None:
    if wishes.id is not None:
        found.id = wishes.id
        found.roles[wishes.id] = (Part.ID, "named by the caller")
        return
    keys = found.time.keys
    one_series = _shared(columns, keys) <= _UNIQUE
    fit = []
    for column in columns:
        if column.position in taken or column.kind not in ("word", "number", "stamp", "date"):
            continue
        if column.position in keys or column.share_filled < 0.9:
            continue
        if (
            column.kind in ("stamp", "date")
            and column.form is not None
            and column.form.name not in ("compact", "epoch")
        ):
            continue
        if column.kind == "number" and not column.is_whole:
            continue
        if "channel" in column.groups and not column.groups & _NAMING and _names_quantities(column):
            continue
        score = _id_score(column)
        least = 3.0 if column.is_constant or one_series else 0.0
        naming = column.groups & {"point", "meter", "owner"} or (column.groups & {"id", "account"} == {"id"})
        if one_series and not naming and column.name:
            continue
        if "channel" in column.groups and not column.groups & _NAMING:
            score -= 2
        if score >= least or not one_series:
            fit.append((score, column))
    fit = [(score, c) for score, c in fit if not (c.n_distinct > 0.6 * len(c.texts) > 30 and found.shape is Shape.LONG)]
    if not fit:
        return
    fit.sort(key=lambda pair: -pair[0])
    fit = fit[:8]
    shares = {}
    for _, column in fit:
        own = [*keys, column.position]
        shares[column.position] = _shared(columns, [*own, *_fitting_channel(columns, own, taken, pairs=False)])
    least_shared = min(shares.values())
    good = [(score, c) for score, c in fit if shares[c.position] <= max(_UNIQUE, least_shared + 0.01)]
    if one_series:
        good = [(score, c) for score, c in good if score >= 3]
    if not good:
        return
    score, best = good[0]
    if score < 0 and one_series:
        return
    if best.is_constant and not best.groups & _NAMING:
        # A number above the table, where some column tells the rows of one time apart by itself.
        alone = [c for _, c in good if not c.is_constant and _shared(columns, [*keys, c.position]) <= _UNIQUE]
        best = next((c for c in alone if "channel" not in c.groups and not _names_quantities(c)), best)
    if best.is_constant:
        # One name for all, and numbers that tell rows of one time apart: these are the series.
        named = _fitting_channel(columns, [*keys, best.position], taken, pairs=False)
        rivals = [c for _, c in good[1:] if c.position in named and c.groups & {"point", "meter", "id"}]
        best = next((c for c in rivals if "channel" not in c.groups), best)
    found.id = best.position
    found.roles[best.position] = (Part.ID, _id_evidence(best))


def _id_evidence(column: Profile) -> str:
    words = "its name" if column.groups & _NAMING else ""
    held = f"{column.n_distinct} different entries that tell rows of one time apart" if not column.is_constant else ""
    return " and ".join(part for part in (words, held) if part) or "the only column that may name a series"


def _fitting_channel(columns: Sequence[Profile], keys: list[int], taken: set[int], *, pairs: bool = True) -> list[int]:
    """Columns with few entries that make rows of one series and instant different; none where they already are."""
    before = _shared(columns, keys)
    if before <= _UNIQUE:
        return []
    few = [
        c
        for c in columns
        if c.position not in taken
        and c.position not in keys
        and 2 <= c.n_distinct <= _FEW
        and (c.kind == "word" or (c.kind == "number" and c.is_whole))
        and not c.groups & {"cost", "total", "later"}
    ]
    shares = sorted(
        (
            _shared(columns, [*keys, c.position]),
            "channel" not in c.groups,
            "status" in c.groups,
            c.n_distinct,
            c.position,
        )
        for c in few
    )
    if shares and shares[0][0] <= max(_UNIQUE, before / 4):
        level = max(_UNIQUE, shares[0][0] + 0.005)
        good = [s for s in shares if s[0] <= level]
        return [min(good, key=lambda s: s[1:])[-1]]
    for first in few if pairs else ():
        for second in few:
            if first.position < second.position:
                pair = [first.position, second.position]
                if _shared(columns, [*keys, *pair]) <= max(_UNIQUE, before / 8):
                    return pair
    return []


_CODES = re.compile(
    r"(?i)[AR][IE]|[A-Z][0-9]{1,2}|[0-9]-[0-9]:[0-9.]+.*|import|export|consumption|generation|production"
)


def _find_channel(found: Guess, columns: Sequence[Profile], wishes: Wishes, taken: set[int]) -> None:
    if wishes.channel is not None:
        found.channel = (wishes.channel,)
        found.roles[wishes.channel] = (Part.CHANNEL, "named by the caller")
        return
    keys = found.time.keys + ([found.id] if found.id is not None else [])
    found.channel = tuple(_fitting_channel(columns, keys, taken | {found.id or -1}))
    for position in found.channel:
        column = columns[position]
        found.roles[position] = (
            Part.CHANNEL,
            f"{column.n_distinct} different entries that tell rows of one series and time apart",
        )
    if found.channel:
        return
    for column in columns:
        if column.position in taken or not column.is_constant or column.kind != "word":
            continue
        entry = column.texts.drop_nulls().filter(column.texts.drop_nulls().str.len_chars() > 0)[0]
        says_unit = unit_of(entry) is not None and len(entry) <= 6
        if "unit" in column.groups:
            found.roles[column.position] = (Part.UNIT, "its name")
            found.unit = found.unit or entry
        elif "channel" in column.groups and (says_unit or _CODES.fullmatch(entry)):
            found.only_channel = entry
            found.roles[column.position] = (Part.CHANNEL, "its name, and one entry that names a quantity")


# long tables


def _long(found: Guess, columns: Sequence[Profile], wishes: Wishes) -> Guess | None:
    taken = set(found.roles) | set(wishes.other)
    found.values = wishes.value or ()
    candidates = [
        c
        for c in columns
        if c.position not in taken and c.kind == "number" and c.position not in (wishes.id, wishes.channel)
    ]
    if wishes.value is None:
        plausible = _plausible_values(candidates)
        _find_id(found, columns, wishes, taken | {c.position for c in plausible})
        if found.id is None and not plausible:
            return None
        candidates = [c for c in candidates if c.position != found.id]
        _find_channel(found, columns, wishes, taken | {c.position for c in _plausible_values(candidates)})
        found.values = tuple(_choose_values(found, columns, candidates))
    else:
        _find_id(found, columns, wishes, taken | set(wishes.value))
        _find_channel(found, columns, wishes, taken | set(wishes.value))
    if not found.values:
        return None
    for position in found.values:
        found.roles[position] = (Part.VALUE, "numbers that change from row to row")
    found.unit = found.unit or next((u for p in found.values if (u := unit_of(columns[p].name))), None)
    names = [columns[p].name for p in found.values]
    if found.id is None and not found.channel and (len(names) > 1 or wishes.columns == "series"):
        _columns_as_series_or_channels(found, names, wishes.columns)
    elif len(names) > 1:
        found.channels = tuple(names)
    _tell_rest(found, columns)
    return found


def _plausible_values(candidates: Sequence[Profile]) -> list[Profile]:
    """Numbers that may be readings: not money, flags, totals or numbers that name something."""
    paid = [c for c in candidates if "cost" not in c.groups]
    fit = [c for c in paid if not _is_total(c, paid)] or paid
    fit = [c for c in fit if not (c.groups & {"status"} and set(np.unique(c.present)) <= {0.0, 1.0, 2.0})]
    sure = [c for c in fit if c.has_decimals or "value" in c.groups or unit_of(c.name)]
    if any(c.has_decimals for c in sure):
        patterns = {_pattern(c) for c in sure} - {""}
        return [c for c in fit if c in sure or _pattern(c) in patterns]
    return [c for c in fit if not c.groups & {"point", "meter", "owner", "id", "status", "channel"}]


def _is_total(column: Profile, others: Sequence[Profile]) -> bool:
    """Whether a column called a total has no other name, or is the sum of the others."""
    if "total" not in column.groups or all(groups_of(word) or unit_of(word) for word in words_of(column.name)):
        return "total" in column.groups
    rest = [c.numbers for c in others if "total" not in c.groups and c.numbers is not None and c.has_decimals]
    if not rest or column.numbers is None:
        return False
    return bool(np.allclose(np.sum(rest, axis=0), column.numbers, rtol=1e-3, atol=0.01, equal_nan=True))


def _pattern(column: Profile) -> str:
    """The name with its numbers left open: columns of one pattern are of one kind."""
    return re.sub(r"\d+", "#", column.name)


def _choose_values(found: Guess, columns: Sequence[Profile], candidates: Sequence[Profile]) -> list[int]:
    fit = [c for c in _plausible_values(candidates) if c.position not in found.channel]
    if found.id is not None and len(fit) > 1:
        moving = [c for c in fit if not _is_static(columns, found.id, c)]
        for column in fit:
            if column not in moving:
                found.roles[column.position] = (Part.STATIC, "one entry per series")
        fit = moving or fit
    if len(fit) > 1:
        units = [c for c in fit if unit_of(c.name)]
        named = [c for c in fit if "value" in c.groups and not c.groups & {"status", "point", "meter", "id"}]
        sure = units or (named if len(named) == 1 else fit)
        # What varies beside them was measured too, in a unit that is not told.
        written = any(c.has_decimals for c in sure)
        kinds = {pattern for c in sure if "#" in (pattern := _pattern(c))}  # m3 is a unit, or the third of many
        fit = [c for c in fit if c in sure or _pattern(c) in kinds or _is_measured(c, written, alone=found.id is None)]
        patterns = {_pattern(c) for c in fit if not c.is_constant}
        fit = [c for c in fit if _pattern(c) in patterns] or fit
    return [c.position for c in fit]


def _is_measured(column: Profile, has_decimals: bool, *, alone: bool) -> bool:
    """Whether numbers beside a reading are readings too: written alike, with a name that says nothing else."""
    if column.is_constant or column.has_decimals != has_decimals or (not has_decimals and column.n_distinct <= _FEW):
        return False
    return "id" not in column.groups if alone and has_decimals else not column.groups


def _is_static(columns: Sequence[Profile], id_: int, column: Profile) -> bool:
    """Whether a column has one entry for each series, of which some have several rows."""
    frame = pl.DataFrame({"id": columns[id_].texts, "entry": column.texts})
    n_ids = frame["id"].n_unique()
    return frame.n_unique() == n_ids and 2 * n_ids <= len(frame)


def _columns_as_series_or_channels(found: Guess, names: list[str], asked: str | None) -> None:
    """Columns of one quantity are series, others are channels of one series; see `shoal.read.subjects`."""
    found.asked = asked is not None
    if asked == "series" or (asked is None and not are_channels(names)):
        found.shape = Shape.COLUMN_PER_SERIES
        found.series = tuple(names)
        for position in found.values:
            found.roles.pop(position, None)
        return
    parts = [name.rpartition(" - ") for name in names]
    if len({part[2] for part in parts}) == 1 and all(part[1] for part in parts):
        # Quantity - place, with one place.
        found.only_id = parts[0][2]
        names = [part[0] for part in parts]
    found.channels = tuple(_different(names))


def _different(names: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    told = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        told.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return told


# tables with a row per day, and with a row per series


def _day_rows(found: Guess, columns: Sequence[Profile], blocks: Sequence[Block], wishes: Wishes) -> Guess | None:
    found.shape = Shape.DAY_ROWS
    found.blocks = tuple(blocks)
    inside = {p for block in blocks for p in block.positions}
    taken = set(found.roles) | set(wishes.other) | inside
    # Flags between the readings, and totals, are no part of what tells rows apart.
    taken |= {c.position for c in columns if c.position > min(inside) and c.position < max(inside)}
    taken |= {c.position for c in columns if c.kind == "number" and not c.is_whole}
    taken |= {c.position for c in columns if c.groups & {"total", "cost"}}
    _find_id(found, columns, wishes, taken)
    _find_channel(found, columns, wishes, taken)
    if len(blocks) > 1:
        found.channels = tuple(_different([block.name or f"block {n}" for n, block in enumerate(blocks, 1)]))
    units = [u for block in blocks if (u := unit_of(block.name))]
    found.unit = found.unit or (units[0] if units else None)
    labelled = blocks[0].labelled
    found.time.interval = "start"
    found.time.interval_evidence = {
        "start": "the columns begin at 00:00",
        "end": "the columns go from the first step to midnight at the end of the day",
        "number": "the columns are numbered from the start of the day",
    }[labelled]
    _tell_rest(found, columns, inside)
    return found


def _row_per_series(columns: Sequence[Profile], numbers: NumberForm, wishes: Wishes) -> Guess | None:
    """Columns called by dates, or by dates and times."""
    if wishes.value is not None or wishes.time is not None:
        return None
    fit = [c for c in columns if c.kind in ("number", "empty") and c.name and c.position not in wishes.other]
    if len(fit) < 2:
        return None
    labels = pl.Series([c.name for c in fit])
    marked = share_with(labels, r"^\d+$") < 0.5  # 202401 may be a number of anything
    for form in (
        "ymd",
        "dmy",
        "named",
        "words",
        "compact",
        "month_name",
        "named_month",
        *(["month"] if marked else []),
    ):
        named = [c for c, ok in zip(fit, StampForm(form).read(labels).valid, strict=True) if ok]
        if len(named) >= max(2, 0.5 * len(fit)):
            break
    else:
        return None
    names = pl.Series([c.name for c in named])
    stamp = find_form(names)
    if stamp is None:
        return None
    instants = stamp[0].read(names)
    found = Guess(Shape.ROW_PER_SERIES, TimeGuess(form=stamp[0]), numbers)
    found.time.interval_evidence = ""
    found.values = tuple(c.position for c in named)
    found.instants = tuple((instants.printed - instants.offset * 60_000_000).tolist())
    inside = set(found.values)
    taken = inside | set(wishes.other) | {c.position for c in columns if c.kind == "number" and not c.is_whole}
    _find_id(found, columns, wishes, taken)
    if found.id is None:
        rest = [c for c in columns if c.position not in taken and c.kind in ("word", "number") and c.share_filled == 1]
        if not rest:
            return None
        found.id = rest[0].position
        found.roles[found.id] = (Part.ID, "the first column that is no reading")
    _find_channel(found, columns, wishes, taken)
    _tell_rest(found, columns, inside)
    return found


def _tell_rest(found: Guess, columns: Sequence[Profile], inside: set[int] | None = None) -> None:
    """Roles of the columns that reading does not use."""
    skipped = (inside or set()) | (set(found.values) if found.series else set())
    for column in columns:
        if column.position in found.roles or column.position in skipped:
            continue
        words = column.groups
        if column.kind == "empty":
            role = (Part.EMPTY, "no entries")
        elif "cost" in words:
            role = (Part.COST, "its name")
        elif "total" in words and column.kind == "number":
            role = (Part.TOTAL, "its name")
        elif "unit" in words:
            role = (Part.UNIT, "its name")
        elif "status" in words:
            role = (Part.STATUS, "its name")
        elif column.is_constant:
            role = (Part.CONSTANT, "one entry in all rows looked at")
        elif found.id is not None and _is_static(columns, found.id, column):
            role = (Part.STATIC, "one entry per series")
        elif column.kind == "word" and column.n_distinct <= _FEW:
            role = (Part.STATUS, f"{column.n_distinct} different words")
        else:
            role = (Part.OTHER, "")
        found.roles[column.position] = role
