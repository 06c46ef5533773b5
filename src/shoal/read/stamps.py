"""Times as files write them: one form is found for a column, and every cell is read by it.

    ymd       2024-05-31 14:30[:15[.5]]           dmy, mdy   31/05/2024 14:30, 5/31/24 2:30 PM
    named     31 May 2024 14:30, 31-Mai-24        words      May 31 2024 2:30PM
    compact   20240531, 202405311430[15]          epoch      seconds or milliseconds since 1970
    time      14:30, 2:30 PM, 24:00               hhmm       30, 100, ..., 2400

Numbers are read by `time_numbers`.
Every form but the last three may end in Z, UTC or an offset. Day and month are distinguished by a number above 12, else
by which order makes the days follow each other.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.read.durations import DAY, HOUR, MINUTE, SECOND
from shoal.read.time_numbers import (
    CLOCKS,
    COUNTS,
    DAY_COUNTS,
    Stamps,
    plain_stamps,
    read_clock,
    read_days,
    to_integers,
)

_CLOCK = (
    r"(?P<hour>\d{1,2})(?:[:.h](?P<minute>\d{2}))?(?:[:.](?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r" *(?P<half>[AaPp]\.?[Mm]\.?)?"
)
_NAMED_OFFSETS = {
    **{"WET": 0, "WEST": 60, "BST": 60, "CET": 60, "CEST": 120, "MEZ": 60, "MESZ": 120, "EET": 120, "EEST": 180},
    **{"EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420},
    **{"AEST": 600, "AEDT": 660, "ACST": 570, "ACDT": 630, "AWST": 480, "NZST": 720, "NZDT": 780},
}
"""Minutes ahead of UTC of what clocks are called."""
_OFFSET = rf" *(?P<offset>[Zz]|UTC|GMT|{'|'.join(_NAMED_OFFSETS)}|(?:UTC|GMT)?[+-]\d{{1,2}}(?::?\d{{2}})?)?"
_GLUE = r"(?:[Tt]| *[ ,;_] *| - |:)"
_WEEKDAY = r"(?:[^\W\d_]{2,10}[.,]* +)?"
_DATES = {
    "ymd": r"(?P<a>\d{4})[-/.] ?(?P<b>\d{1,2})[-/.] ?(?P<c>\d{1,2})\.?",
    "dmy": r"(?P<c>\d{1,2})[-/.](?P<b>\d{1,2})[-/.](?P<a>\d{4}|\d{2})",
    "mdy": r"(?P<b>\d{1,2})[-/.](?P<c>\d{1,2})[-/.](?P<a>\d{4}|\d{2})",
    "named": r"(?P<c>\d{1,2})(?:st|nd|rd|th|\.)?[-/ ]*(?P<b>[^\W\d_]{3,10})\.?[-/ ,]*(?P<a>\d{4}|\d{2})",
    "digits": r"(?P<a>(?:19|20)\d{2})(?P<b>\d{2})(?P<c>\d{2})",
    "words": r"(?P<b>[^\W\d_]{3,10})\.? +(?P<c>\d{1,2})(?:st|nd|rd|th)?,? +(?P<a>\d{4})",
}
_MONTH_NAME = r"(?P<b>[^\W\d_]{3,10})\.?[-/ ]+(?P<a>\d{4}|\d{2})"
_NAMED_MONTH = r"(?P<a>\d{4})[-/ ]*(?P<b>[^\W\d_]{3,10})\.?"
_FORMS = {
    name: rf"^{_WEEKDAY if name != 'words' else ''}{date}(?:{_GLUE}{_CLOCK}{_OFFSET})?$"
    for name, date in _DATES.items()
}
_FORMS["compact"] = (
    r"^(?P<a>(?:19|20)\d{2})(?P<b>\d{2})(?P<c>\d{2})"
    r"(?:[T ]?(?P<hour>\d{2}):?(?P<minute>\d{2})(?::?(?P<second>\d{2}))?(?P<half>)(?P<fraction>)"
    r"(?P<offset>Z|[+-]\d{2}(?::?\d{2})?)?)?$"
)
_NO_CLOCK = "".join(f"(?P<{part}>)" for part in ("hour", "minute", "second", "fraction", "half", "offset")) + "$"
_FORMS["ymd6"] = r"^(?P<a>\d{2})(?P<b>\d{2})(?P<c>\d{2})" + _NO_CLOCK
_FORMS["dmy6"] = r"^(?P<c>\d{2})(?P<b>\d{2})(?P<a>\d{2})" + _NO_CLOCK
_FORMS["month"] = r"^(?P<a>\d{4})[-/.]?(?P<b>\d{2})(?P<c>)" + _NO_CLOCK
_FORMS["month_name"] = _FORMS["month"].replace(r"(?P<a>\d{4})[-/.]?(?P<b>\d{2})", _MONTH_NAME)
_FORMS["named_month"] = _FORMS["month"].replace(r"(?P<a>\d{4})[-/.]?(?P<b>\d{2})", _NAMED_MONTH)
# No point here: 12.30 is rather a reading.
_FORMS["time"] = rf"^{_CLOCK.replace('[:.h]', '[:h]')}$"
_YEAR_LAST = r"^(?:[^\W\d_]{2,10},? +)?([^\W\d_]{3,10}) +(\d{1,2}) +(\d{1,2}:\d{2}(?::\d{2})?) *([A-Z]{3,4})? +(\d{4})$"
"""As programs print times: Fri May 31 14:30:00 CEST 2024."""
_SIGNS = r"(\d{4}) *[年년] *(\d{1,2}) *[月월] *(\d{1,2}) *[日일]"
_WEEK = r"^(?P<year>\d{4})[-/ ]?[Ww](?P<week>\d{1,2})(?:-?(?P<day>[1-7]))?$"
_RANGE = (
    r"^(?P<start>.*\d(?: *[AaPp]\.?[Mm]\.?| *[A-Z]{1,4})?)"
    r"(?: +(?:-|–|—|to|bis|until|till?|tot|à|au?|hasta) +| *[–—] *)"
    r"(?P<end>\d.*|[^\W\d_]{3,9} .*\d.*)$"
)
_ISO_RANGE = r"^(?P<start>\d{4}-[^/]*)/(?P<end>\d{4}-[^/]*|P[^/]*)$"
_CLOCK_RANGE = r"^(?P<start>\d{1,2}[:.h]\d{2}(?: *[AaPp]\.?[Mm]\.?)?) *(?:-|–|—|to) *(?P<end>\d{1,2}[:.h]\d{2}.*)$"

_MONTHS = {
    letters: month
    for month, words in enumerate(
        (
            "jan ene gen", "feb fev", "mar mrt maa mae", "apr avr abr", "may mai mei maj mag", "jun juin giu",
            "jul juil lug", "aug aou ago", "sep set", "oct okt ott out", "nov", "dec dez dic des",
        ),
        start=1,
    )
    for letters in words.split()
}  # fmt: skip

WORDS = {
    "ymd": "year-month-day",
    "dmy": "day-month-year",
    "mdy": "month-day-year",
    "named": "day, name of the month, year",
    "words": "name of the month, day, year",
    "compact": "digits without marks",
    "digits": "date without marks",
    **{name: count.words for name, count in COUNTS.items()},
    "time": "time of day",
    **dict.fromkeys(CLOCKS, "time of day as a number"),
    "serial": "days as spreadsheets count them",
    "datenum": "days since the year nought",
    "julian": "Julian days",
    "ymd6": "six digits: year, month, day",
    "dmy6": "six digits: day, month, year",
    "month": "year and month",
    "month_name": "name of the month, year",
    "named_month": "year, name of the month",
    "week": "year and week",
    "given": "as --time-format says",
}


def month_of(word: str) -> int:
    """The number of a month by its name or its first letters in several languages; 0 for none.

    Examples
    --------
    >>> [month_of(word) for word in ("May", "août", "Juli", "juin", "Oktober", "table")]
    [5, 8, 7, 6, 10, 0]
    """
    plain = "".join(c for c in unicodedata.normalize("NFD", word.lower()) if not unicodedata.combining(c))
    return _MONTHS.get(plain[:4], _MONTHS.get(plain[:3], 0))


def month_numbers(texts: pl.Series) -> pl.Series:
    """Names of months as numbers in text; other texts unchanged."""
    months = {word: str(month_of(word)) for word in texts.unique().drop_nulls().to_list() if month_of(word)}
    return texts.replace(months)


@dataclass(frozen=True)
class StampForm:
    """How a column writes times.

    Parameters
    ----------
    name
        A key of `WORDS`.
    is_range
        Whether a cell holds the start and the end of an interval.
    pattern
        With name "given": a `strptime` pattern.
    """

    name: str
    is_range: bool = False
    pattern: str = ""

    @property
    def is_counted(self) -> bool:
        """Whether it counts instants in UTC."""
        return self.name in COUNTS

    def read(self, texts: pl.Series) -> Stamps:
        """Read texts without blanks at their ends."""
        if self.is_range:
            texts = _parts(texts, "start")
        if self.is_counted:
            return COUNTS[self.name].read(texts)
        if self.name == "given":
            return _given(texts, self.pattern)
        if self.name in DAY_COUNTS:
            return read_days(texts, DAY_COUNTS[self.name])
        if self.name == "week":
            return _week(texts)
        if self.name in CLOCKS:
            return read_clock(texts, self.name)
        return _calendar(texts, self.name)


def _parts(texts: pl.Series, part: str) -> pl.Series:
    whole = texts.str.extract_groups(_RANGE).struct.field(part)
    whole = whole.fill_null(texts.str.extract_groups(_ISO_RANGE).struct.field(part))
    return texts.str.extract_groups(_CLOCK_RANGE).struct.field(part).fill_null(whole).str.strip_chars()


def _calendar(texts: pl.Series, name: str) -> Stamps:
    # 02a and 02b: the hour that comes twice, told apart by order.
    texts = texts.str.replace(r"(^|\d[Tt ])(\d{1,2})[aAbB](:\d{2})", "$1$2$3")
    if name == "compact":
        # As telegrams of meters write it, with S in summer and W in winter; order tells as much.
        texts = texts.str.replace(r"^(\d{12})[SW]$", "20$1")
    if texts.str.contains(r"\d *(?:Uhr|uur|[Hh]rs?)$").any():
        texts = texts.str.replace(r"(\d) *(?:Uhr|uur|[Hh]rs?)$", "$1")
    if texts.str.contains(r"[年년\]]").any():
        texts = texts.str.replace(_SIGNS, "$1-$2-$3").str.replace(r"(\d|Z) *\[[A-Za-z_+-]+(?:/[A-Za-z_+-]+)*\]$", "$1")
    if name == "words":
        texts = texts.str.replace(_YEAR_LAST, "$1 $2 $5 $3 $4")
    if not texts.str.contains(_FORMS[name]).any():
        # Most columns, in most of the forms that are tried: nothing more needs to be looked at.
        none = np.zeros(len(texts), dtype=bool)
        return plain_stamps(np.zeros(len(texts), dtype=np.int64), none, none)
    parts = texts.str.extract_groups(_FORMS[name]).struct.unnest()
    shaped = parts["hour"].is_not_null().to_numpy()
    hour, minute, second = (to_integers(parts[part], 0) for part in ("hour", "minute", "second"))
    fraction = to_integers(parts["fraction"].str.pad_end(6, "0").str.slice(0, 6), 0)
    half = parts["half"].str.slice(0, 1).str.to_lowercase()
    has_half = (parts["half"].str.len_chars().fill_null(0) > 0).to_numpy()
    afternoon = (half == "p").fill_null(False).to_numpy()
    sane = ~has_half | ((hour >= 1) & (hour <= 12))
    hour = np.where(has_half, hour % 12 + 12 * afternoon, hour)
    # 24:00 is how many meters write the midnight that ends a day.
    sane &= ((hour < 24) | ((hour == 24) & (minute + second + fraction == 0))) & (minute < 60) & (second < 60)
    bare = texts.str.contains(r"\d[Tt]\d{2}$").fill_null(False).to_numpy()  # the hour alone, as in 2024-05-31T14
    sane &= ~shaped | has_half | parts["minute"].is_not_null().to_numpy() | bare
    clock = hour * HOUR + minute * MINUTE + second * SECOND + fraction
    if name == "time":
        return plain_stamps(clock, shaped & sane, shaped)
    year, day = to_integers(parts["a"], -1), to_integers(parts["c"], 1 if "month" in name else 0)
    shaped &= (parts["hour"].str.len_chars().fill_null(0) > 0).to_numpy()
    if name in ("named", "words", "month_name", "named_month"):
        distinct = parts["b"].unique().drop_nulls().to_list()
        months = {word: month_of(word) for word in distinct}
        month = to_integers(parts["b"].replace_strict(months, default=0, return_dtype=pl.Int64), 0)
    else:
        month = to_integers(parts["b"], 0)
    short = (parts["a"].str.len_chars().fill_null(0) == 2).to_numpy()
    year = np.where(short, year + np.where(year < 70, 2000, 1900), year)
    valid = sane & (year >= 1800) & (year <= 2200) & (month >= 1) & (month <= 12)
    first = np.where(valid, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    length = ((first + 1).astype("datetime64[D]") - first.astype("datetime64[D]")).astype(np.int64)
    valid &= (day >= 1) & (day <= length)
    days = first.astype("datetime64[D]").astype(np.int64) + day - 1
    offset, has_offset = np.zeros(len(days), dtype=np.int64), np.zeros(len(days), dtype=bool)
    if parts["offset"].str.len_chars().fill_null(0).max():
        offset, has_offset = _offsets(parts["offset"])
        valid &= np.abs(offset) <= 18 * 60
    return Stamps(np.where(valid, days * DAY + clock, 0), offset, has_offset, valid, shaped)


def _offsets(texts: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Minutes ahead of UTC, and which texts state them: +01:00, -0330, +1, Z, UTC, CEST."""
    plain = texts.fill_null("").str.strip_chars().str.to_uppercase().str.replace("^(UTC|GMT)(.)", "$2")
    parts = plain.str.extract_groups(r"^(?P<sign>[+-])(?P<hour>\d{1,2}):?(?P<minute>\d{2})?$").struct.unnest()
    total = to_integers(parts["hour"], 0) * 60 + to_integers(parts["minute"], 0)
    total = np.where((parts["sign"] == "-").fill_null(False).to_numpy(), -total, total)
    named = to_integers(plain.replace_strict(_NAMED_OFFSETS, default=0, return_dtype=pl.Int64), 0)
    is_known = parts["sign"].is_not_null() | plain.is_in([*_NAMED_OFFSETS, "Z", "UTC", "GMT"])
    return total + named, np.asarray(is_known.to_numpy(), dtype=np.bool_)


def read_offsets(texts: pl.Series, unit: int = 0) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A column of offsets next to local times, in minutes: as texts, or as numbers of a unit in microseconds."""
    if not unit:
        return _offsets(texts)
    numbers = texts.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    known = np.isfinite(numbers)
    return np.round(np.where(known, numbers, 0) * unit / MINUTE).astype(np.int64), known


def _week(texts: pl.Series) -> Stamps:
    """The Mondays of weeks such as 2024-W05 and the days of 2024-W05-3, as ISO 8601 counts them."""
    parts = texts.str.extract_groups(_WEEK).struct.unnest()
    year, week = to_integers(parts["year"], -1), to_integers(parts["week"], 0)
    # The first week has 4 January.
    fourth = np.where(year > 0, year - 1970, 0).astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64) + 3
    days = fourth - (fourth + 3) % 7 + 7 * (week - 1) + to_integers(parts["day"], 1) - 1
    return plain_stamps(days * DAY, (year > 0) & (week >= 1) & (week <= 53), np.zeros(len(year), dtype=bool))


def _given(texts: pl.Series, pattern: str) -> Stamps:
    aware = "%z" in pattern or "%:z" in pattern
    try:
        found = texts.str.to_datetime(pattern, strict=False, time_unit="us", time_zone="UTC" if aware else None)
    except pl.exceptions.PolarsError:
        found = texts.str.to_date(pattern, strict=False).cast(pl.Datetime("us"))
    valid = found.is_not_null().to_numpy()
    instants = np.array(found.cast(pl.Int64).fill_null(0).to_numpy(), dtype=np.int64)
    has_time = np.full(len(instants), any(mark in pattern for mark in ("%H", "%I", "%T", "%R", "%k")))
    return Stamps(instants, np.zeros(len(instants), dtype=np.int64), np.full(len(instants), aware), valid, has_time)


ENOUGH = 0.9
"""The share of its cells that must be times for a column to be one; the others are counted and reported."""


def share_with(texts: pl.Series, pattern: str) -> float:
    """The share of texts in which a pattern is found."""
    return int(texts.str.contains(pattern).sum()) / max(1, len(texts))


def find_form(texts: pl.Series, *, is_named: bool = False) -> tuple[StampForm, str] | None:
    """The form of a column of different texts, stripped and not empty, and a doubt about it; None if it has none.

    Numbers may be more kinds of times if the column is called one.
    """
    if not len(texts):
        return None
    some = texts.head(400)
    if share_with(some, r"\d") < ENOUGH:
        return None
    if share_with(some, r"^\d+(?:\.0)?$") >= ENOUGH:
        return _digits(texts, is_named=is_named)
    if share_with(some, r"^[+-]?\d*[.,]\d+$") >= ENOUGH and share_with(some, r"^\d{4}\.\d{2}$") < ENOUGH:
        return None  # numbers with decimals, as most columns of a wide table
    two = r"\d{1,2}[:.h]\d{2}.*\d{1,2}[:.h]\d{2}|\d{4}-\d\d-\d\d.*/\d{4}-\d\d-\d\d"
    if share_with(some, two) >= ENOUGH:
        starts = _parts(some, "start")
        if starts.null_count() <= (1 - ENOUGH) * len(some) and (found := find_form(starts.drop_nulls().unique())):
            return StampForm(found[0].name, is_range=True), found[1]
    for name in ("time", "ymd", "compact", "digits", "named", "words"):
        if StampForm(name).read(some).valid.mean() >= ENOUGH:
            return StampForm(name), ""
    if share_with(some, r"^\d{4}[-/.]\d{2}$") >= ENOUGH and StampForm("month").read(some).valid.all():
        return StampForm("month"), ""
    if share_with(some, f"^{_NAMED_MONTH}$") >= ENOUGH and StampForm("named_month").read(some).valid.all():
        return StampForm("named_month"), ""
    if share_with(some, f"^{_MONTH_NAME}$") >= ENOUGH and StampForm("month_name").read(some).valid.all():
        return StampForm("month_name"), ""
    if share_with(some, _WEEK) >= ENOUGH and StampForm("week").read(some).valid.all():
        return StampForm("week"), ""
    return _day_or_month(texts)


def _digits(texts: pl.Series, *, is_named: bool) -> tuple[StampForm, str] | None:
    """Whole numbers: a date written without marks, or a count of instants."""
    lengths = texts.str.len_chars()
    if lengths.min() == lengths.max() and lengths[0] in (8, 12, 14):
        found = StampForm("compact").read(texts)
        if found.valid.all() and np.all(found.printed < 2**60):
            return StampForm("compact"), ""
    if is_named and lengths.min() == lengths.max() == 6:
        return _six_digits(texts)
    numbers = texts.str.strip_suffix(".0").cast(pl.Int64, strict=False)
    counted = (name for name, count in COUNTS.items() if count.may_be(numbers, is_named=is_named))
    return next(((StampForm(name), "") for name in counted), None)


def _six_digits(texts: pl.Series) -> tuple[StampForm, str] | None:
    """Dates such as 240531 or 310524: the order in which days follow each other, if one does."""
    forms = [StampForm(name) for name in ("ymd6", "dmy6")]
    found = [form.read(texts) for form in forms]
    steps = [_n_next_days(stamps.printed) if stamps.valid.all() else -1 for stamps in found]
    return None if steps[0] == steps[1] else (forms[int(steps[1] > steps[0])], "")


def _day_or_month(texts: pl.Series) -> tuple[StampForm, str] | None:
    day_first, month_first = StampForm("dmy").read(texts), StampForm("mdy").read(texts)
    shares = day_first.valid.mean(), month_first.valid.mean()
    if max(shares) < ENOUGH:
        return None
    if min(shares) < max(shares):
        return StampForm("dmy" if shares[0] > shares[1] else "mdy"), ""
    steps = [_n_next_days(stamps.printed) for stamps in (day_first, month_first)]
    if steps[0] != steps[1]:
        return StampForm("dmy" if steps[0] > steps[1] else "mdy"), ""
    if texts.str.contains(r"(?i)[ap]\.?m\.?$").any():
        return StampForm("mdy"), ""
    doubt = "Nothing in the dates distinguishes day from month; Shoal takes the day first. --time-format decides it."
    return StampForm("dmy"), doubt if not np.array_equal(day_first.printed, month_first.printed) else ""


def _n_next_days(printed: NDArray[np.int64]) -> int:
    """How many different days follow the one before."""
    days = np.unique(printed // DAY)
    return int((np.diff(days) == 1).sum())


_LABEL = re.compile(
    r"(?P<before>.*?)(?P<hour>\d{1,2})[:.h](?P<minute>\d{2})(?::\d{2})?(?: *(?P<half>[AaPp])\.?[Mm]\.?)?"
    r"(?P<after>\D.*)?$"
)


def time_of_label(label: str) -> tuple[str, int] | None:
    """The time of day in the name of a column and the text before it, such as ("", 30 minutes) for [00:30].

    Examples
    --------
    >>> [time_of_label(label)[1] // MINUTE for label in ("[00:30]", "12:00 AM", "kWh 24:00", "00:30-01:00")]
    [30, 0, 1440, 30]
    """
    found = _LABEL.match(label.strip())
    if found is None:
        return None
    hour, minute = int(found["hour"]), int(found["minute"])
    if found["half"]:
        hour = hour % 12 + 12 * (found["half"].lower() == "p")
    if (
        minute > 59
        or hour > 24
        or (hour == 24 and minute)
        or re.search(r"\d", found["before"].split()[-1] if found["before"].split() else "")
    ):
        return None
    return found["before"].strip(" [("), (hour * 60 + minute) * MINUTE
