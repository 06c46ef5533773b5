"""Times whose parts are in columns of their own: year, month, day or day of the year, hour, minute or quarter."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.read.durations import HOUR
from shoal.read.headings import words_of
from shoal.read.profiles import NumberForm, Profile
from shoal.read.stamps import StampForm, month_numbers
from shoal.read.time_numbers import find_clock
from shoal.read.understanding import Part, TimeGuess

_PARTS = {
    "year": {"year", "yr", "jahr", "annee", "ano", "anno", "jaar", "ar", "yyyy", "rok"},
    "month": {"month", "mon", "monat", "mois", "mes", "mese", "maand", "maned", "mm", "miesiac"},
    "day": {"day", "dom", "tag", "jour", "dia", "giorno", "dag", "dd", "dzien"},
    "day_of_year": {"doy", "yday", "jday", "julian", "dayofyear", "day"},
    "hour": {"hour", "stunde", "heure", "hora", "ora", "uur", "time", "hr", "hh", "godzina"},
    "minute": {"minute", "minutes", "min", "minuto", "minuut", "minuta"},
}
_RANGES = {
    "year": (1970, 2100),
    "month": (1, 12),
    "day": (1, 31),
    "day_of_year": (1, 366),
    "hour": (0, 24),
    "minute": (0, 59),
}
_SHARES = {"quarter", "viertelstunde", "viertel", "quart", "cuarto", "kwartier", "kwadrans", "half", "slot", "interval"}
"""What parts of an hour are called."""


def _named_parts(rest: Sequence[Profile]) -> dict[str, int]:
    """Columns called year, month, day, hour or minute that have such numbers."""
    parts: dict[str, int] = {}
    for part, words in _PARTS.items():
        low, high = _RANGES[part]
        for column in rest:
            if not words & set(words_of(column.name)) or column.position in parts.values():
                continue
            numbers = column.present
            if part == "month" and column.kind == "word" and column.n_distinct <= 12:
                numbers = NumberForm().read(month_numbers(column.texts.drop_nulls().unique()))
            fits = len(numbers) and not np.isnan(numbers).any() and np.all(numbers == np.floor(numbers))
            if fits and low <= numbers.min() and numbers.max() <= high:
                parts[part] = column.position
                break
    return parts


def find_clock_column(rest: Sequence[Profile]) -> Profile | None:
    """A column of times of day written as numbers: 15, 30, 45, 100, ..., 2400, 001500, or minutes since midnight."""
    for column in rest:
        if column.kind != "number" or column.n_distinct < 20 or not (column.is_whole or "time" in column.groups):
            continue
        texts = column.texts.filter((column.texts.str.len_chars() > 0).fill_null(False)).unique()
        if (name := find_clock(texts)) is not None:
            form = StampForm(name)
            clock = replace(column, kind="time", form=form, stamps=form.read(column.texts))
            clock.n_distinct, clock.groups = column.n_distinct, column.groups
            return clock
    return None


def find_within_day(rest: Sequence[Profile]) -> TimeGuess | None:
    """Hour and minute, or hour and quarter of the hour, in columns of their own next to a date."""
    columns = {column.position: column for column in rest}
    parts = {part: p for part, p in _named_parts(rest).items() if part in ("hour", "minute")}
    if "hour" not in parts or columns[parts["hour"]].is_constant:
        return None
    if "minute" in parts and not columns[parts["minute"]].is_constant:
        return _with_parts(parts)
    for column in rest:
        numbers = np.unique(column.present)
        shares = (
            len(numbers) in (2, 4, 6, 12) and column.is_whole and np.array_equal(np.diff(numbers), numbers[1:] * 0 + 1)
        )
        named = any(
            word in _SHARES or word.startswith(("quarter", "viertel", "half")) for word in words_of(column.name)
        )
        if not shares or not named or numbers[0] not in (0, 1) or column.position == parts["hour"]:
            continue
        time = _with_parts({"hour": parts["hour"]})
        time.slot, time.slot_base, time.slot_step = column.position, int(numbers[0]), HOUR // len(numbers)
        time.slot_from = "stamp"
        time.interval, time.interval_evidence = "start", "intervals are numbered from the start of the hour"
        time.used[column.position] = (Part.SLOT, f"{len(numbers)} parts of the hour")
        return time
    return None


def find_parts(rest: Sequence[Profile], *, monthly: bool = False) -> TimeGuess | None:
    """Year, month and day in columns of their own, with hour and minute if present; or year and month alone."""
    parts = _named_parts(rest)
    if monthly:
        return (
            _with_parts({part: parts[part] for part in ("year", "month")}) if {"year", "month"} <= set(parts) else None
        )
    if {"year", "month", "day"} <= set(parts):
        parts.pop("day_of_year", None)
        return None if "minute" in parts and "hour" not in parts else _with_parts(parts)
    if {"year", "month"} <= set(parts) and not {"hour", "minute"} & set(parts):
        return _with_parts({part: parts[part] for part in ("year", "month")})
    if "month" in parts:
        return None
    if "day" in parts and "year" in parts:
        parts["day_of_year"] = parts.pop("day")
    elif all(not column.name for column in rest):
        parts = _year_and_day(rest)
    if not {"year", "day_of_year"} <= set(parts):
        return None
    left = [column for column in rest if column.position not in (parts["year"], parts["day_of_year"])]
    if (clock := find_clock_column(left)) is None:
        return _with_parts(parts)
    time = _with_parts({part: parts[part] for part in ("year", "day_of_year")})
    time.clock, time.clock_form = clock.position, clock.form
    time.used[clock.position] = (Part.TIME, "the time of day as a number")
    return time


def _year_and_day(rest: Sequence[Profile]) -> dict[str, int]:
    """Without names: a year, then an increasing day of the year, next to a clock time as a number."""
    for year, day in itertools.pairwise(rest):
        if any(column.kind != "number" or not column.is_whole for column in (year, day)):
            continue
        is_year = year.n_distinct <= 30 and year.present.min() >= 1990 and year.present.max() <= 2040
        is_day = day.present.min() >= 1 and day.present.max() <= 366 and np.mean(np.diff(day.present) >= 0) > 0.9
        others = [column for column in rest if column not in (year, day)]
        if is_year and is_day and find_clock_column(others) is not None:
            return {"year": year.position, "day_of_year": day.position}
    return {}


def _with_parts(parts: dict[str, int]) -> TimeGuess:
    used = {p: (Part.TIME, f"the {part.replace('_', ' ')} of the time") for part, p in parts.items()}
    return TimeGuess(parts=parts, used=used)


def has_months(columns: Sequence[Profile]) -> bool:
    """Whether some column has only first days of months, or two have years and months."""
    if find_parts(columns, monthly=True) is not None:
        return True
    for column in columns:
        if column.kind == "date" and column.stamps is not None:
            days = column.stamps.printed[column.stamps.valid].astype("datetime64[us]").astype("datetime64[D]")
            if len(days) and np.all(days == days.astype("datetime64[M]")):
                return True
    return False
