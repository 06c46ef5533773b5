"""Times written as text: 2024-05-31, 2024-05-31 14:30[:15[.5]], with or without Z or +02:00; or plain integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.read.durations import DAY, HOUR, SECOND

MISSING_WORDS = ("", "na", "nan", "nat", "null")

_FORM = (
    r"^(?P<year>\d{4})[-/](?P<month>\d{1,2})(?:[-/](?P<day>\d{1,2})"
    r"(?:[Tt ] *(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r" *(?P<offset>[Zz]|UTC|[+-]\d{2}(?::?\d{2})?)?)?)?$"
)


@dataclass(frozen=True)
class TimeText:
    """What each text says. Exactly one of `missing`, `integer`, `wrong` or none of them holds of each."""

    instants: NDArray[np.int64]
    """Microseconds as written, the offset already taken off; or the integer."""
    offsets: NDArray[np.int64]
    """Minutes ahead of UTC; meaningful where `has_offset`."""
    has_offset: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    integer: NDArray[np.bool_]
    wrong: NDArray[np.bool_]
    date_only: NDArray[np.bool_]


def parse_times(texts: Any) -> TimeText:
    """Parse an Arrow array of texts."""
    series = pl.Series(pl.from_arrow(texts)).str.strip_chars()
    missing = (series.is_null() | series.str.to_lowercase().is_in(MISSING_WORDS).fill_null(False)).to_numpy()
    whole = series.str.contains(r"^[+-]?\d{1,18}$").fill_null(False).to_numpy()
    parts = series.str.extract_groups(_FORM).struct.unnest()
    year, month, day = (_numbers(parts[name], default) for name, default in (("year", -1), ("month", 1), ("day", 1)))
    hour, minute, second = (_numbers(parts[name], 0) for name in ("hour", "minute", "second"))
    fraction = _numbers(parts["fraction"].str.pad_end(6, "0").str.slice(0, 6), 0)
    has_offset = parts["offset"].is_not_null().to_numpy()
    offsets = _offset_minutes(parts["offset"])

    shaped = (year >= 0) & (month >= 1) & (month <= 12)
    months = (np.where(shaped, (year - 1970) * 12 + month - 1, 0)).astype("datetime64[M]")
    first = months.astype("datetime64[D]")
    month_length = ((months + 1).astype("datetime64[D]") - first).astype(np.int64)
    # 24:00 is how many meters write the midnight that ends a day.
    on_clock = (hour < 24) | ((hour == 24) & (minute == 0) & (second == 0) & (fraction == 0))
    valid = shaped & (day >= 1) & (day <= month_length) & on_clock & (minute < 60) & (second < 60)
    valid &= np.abs(offsets) <= 18 * 60
    instants = (
        (first.astype(np.int64) + day - 1) * DAY + hour * HOUR + minute * 60 * SECOND + second * SECOND + fraction
    )
    instants -= offsets * 60 * SECOND
    instants = np.where(whole, _numbers(series.set(pl.Series(~whole), None), 0), np.where(valid, instants, 0))
    return TimeText(
        instants=instants,
        offsets=offsets,
        has_offset=has_offset,
        missing=missing,
        integer=whole,
        wrong=~(valid | whole | missing),
        date_only=valid & parts["hour"].is_null().to_numpy(),
    )


def _numbers(texts: pl.Series, default: int) -> NDArray[np.int64]:
    return np.array(texts.cast(pl.Int64, strict=False).fill_null(default).to_numpy(), dtype=np.int64)


def _offset_minutes(texts: pl.Series) -> NDArray[np.int64]:
    digits = texts.str.replace(":", "", literal=True)
    hours = _numbers(digits.str.slice(1, 2), 0)
    minutes = _numbers(digits.str.slice(3, 2), 0)
    negative = texts.str.starts_with("-").fill_null(False).to_numpy()
    total = hours * 60 + minutes
    return np.where(negative, -total, total)
