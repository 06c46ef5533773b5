"""Times of a table, batch by batch: stamps, day numbers, or parts in columns of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.read.durations import DAY, HOUR, MINUTE
from shoal.read.profiles import NumberForm, texts_of
from shoal.read.stamps import StampForm, month_numbers
from shoal.read.time_numbers import Stamps, plain_stamps

_MANY_TEXTS = 2_000_000
"""Number of different time texts that are remembered."""
_DAY_ONE = int(np.datetime64("2009-01-01", "us").astype(np.int64))


class StampReader:
    """Reads a column of times batch by batch; each different text once, since all series have the same times."""

    def __init__(self, form: StampForm) -> None:
        self._form = form
        self._known: Any = None
        self._stamps: Stamps | None = None

    def read(self, array: Any) -> Stamps:
        """The times of a batch."""
        distinct, codes = encoded(array)
        if self._stamps is None or len(self._known) > _MANY_TEXTS or distinct.type != self._known.type:
            self._known, self._stamps = distinct, self._form.read(texts_of(distinct))
        else:
            new = distinct.filter(pc.invert(pc.is_in(distinct, value_set=self._known)))
            if len(new):
                self._known = pa.concat_arrays([self._known, new])
                self._stamps += self._form.read(texts_of(new))
            codes = pc.index_in(distinct, value_set=self._known).to_numpy(zero_copy_only=False)[codes]
        return self._stamps.take(codes)


def encoded(array: Any) -> tuple[Any, NDArray[np.int64]]:
    """The different entries of a column, including a missing one, and which of them each row has."""
    encoded = array.dictionary_encode("encode")
    return encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)


def read_day_codes(texts: pl.Series) -> Stamps:
    """The days of codes such as 19501."""
    numbers = NumberForm().read(texts)
    valid = ~np.isnan(numbers)
    days = np.where(valid, numbers, 100).astype(np.int64) // 100
    return plain_stamps(_DAY_ONE + (days - 1) * DAY, valid, valid)


def read_parts(texts: dict[str, pl.Series]) -> Stamps:
    """Times whose year, month, day or day of the year, hour and minute are in columns of their own."""
    texts = texts | {"month": month_numbers(texts["month"])} if "month" in texts else texts
    numbers = {part: NumberForm().read(column) for part, column in texts.items()}
    valid: NDArray[np.bool_] = ~np.any(np.isnan(np.array(list(numbers.values()))), axis=0)
    whole = {part: np.where(valid, column, 1).astype(np.int64) for part, column in numbers.items()}
    none = np.zeros(len(valid), dtype=np.int64)
    month = ((whole["year"] - 1970) * 12 + whole.get("month", none + 1) - 1).astype("datetime64[M]")
    day = whole.get("day_of_year", whole.get("day", none + 1))
    days = month.astype("datetime64[D]").astype(np.int64) + day - 1
    clock = whole.get("hour", none) * HOUR + whole.get("minute", none) * MINUTE
    return plain_stamps(days * DAY + clock, valid, np.full(len(days), "hour" in whole))
