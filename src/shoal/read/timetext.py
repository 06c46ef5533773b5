"""Times written as text by programs: 2024-05-31, 2024-05-31 14:30[:15[.5]], with or without an offset; or integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.read.durations import MINUTE
from shoal.read.stamps import StampForm

MISSING_WORDS = ("", "na", "nan", "nat", "null")


@dataclass(frozen=True)
class TimeText:
    """What each text says. For each, exactly one of `missing`, `integer`, `wrong` or none of them holds."""

    instants: NDArray[np.int64]
    """Microseconds as written, the offset already subtracted; or the integer."""
    offsets: NDArray[np.int64]
    """Minutes ahead of UTC; meaningful if `has_offset`."""
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
    days, months = StampForm("ymd").read(series), StampForm("month").read(series)
    valid = (days.valid | months.valid) & ~whole
    numbers = series.set(pl.Series(~whole), None).cast(pl.Int64, strict=False).fill_null(0).to_numpy()
    written = np.where(days.valid, days.printed - days.offset * MINUTE, np.where(months.valid, months.printed, 0))
    return TimeText(
        instants=np.where(whole, numbers, written).astype(np.int64),
        offsets=days.offset,
        has_offset=days.has_offset,
        missing=missing,
        integer=whole,
        wrong=~(valid | whole | missing),
        date_only=valid & ~days.has_time,
    )
