"""The time column: from Arrow to instants, and whether they share one clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.read.durations import MINUTE
from shoal.read.stamps import StampForm
from shoal.read.zones import Zone, find_zone, offset_name, shown_twice

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


_COUNTED = ("n_rows", "n_missing", "n_integer", "n_twice", "n_never", "n_date_only", "_n_wrong")
_LABEL = "zone "
_FAR = 10**18
"""Whole numbers from here on are no times: differences of two must fit."""


class TimeReader:
    """Reads a time column batch by batch and keeps count of what it saw.

    A naive time is local clock time, kept as it is; with `timezone` it is placed in that zone. A time with a zone or an
    offset becomes an instant in UTC. Integers stay integers.

    Parameters
    ----------
    column
        Name of the column, for messages.
    timezone
        Zone of naive times, and the zone in which instants are to be shown.
    """

    def __init__(self, column: str, timezone: str | None) -> None:
        self.column = column
        self.given = None if timezone is None else find_zone(timezone)
        self.n_rows = 0
        self.n_missing = 0
        self.n_integer = 0
        self.n_twice = 0
        self.n_never = 0
        self.n_date_only = 0
        self._labels: Counter[str | None] = Counter()
        self._n_wrong = 0
        self._first_wrong: int | None = None
        self._first_integer: int | None = None
        self.twice: NDArray[np.bool_] | None = None
        """Which rows of the last batch lie in an hour that the clock of the zone shows twice; the first is taken."""

    @property
    def on_clock(self) -> bool:
        """Whether the times are timestamps; otherwise integers."""
        return self.n_integer == 0

    @property
    def n_unreadable(self) -> int:
        """Number of rows with something that is not a time."""
        return self._n_wrong

    @property
    def zone(self) -> Zone | None:
        """The zone in which instants are shown; None if times are local clock times or integers."""
        if self.given is not None or not self.on_clock:
            return self.given
        label = next(iter(self._labels), None)
        return None if label is None else find_zone(label)

    def doubtful(self, instants: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which instants may be two: times without a zone in an hour that some clock shows twice."""
        if not self.on_clock or self.zone is not None:
            return np.zeros(len(instants), dtype=np.bool_)
        return shown_twice(instants)

    def again(self) -> TimeReader:
        """A new reader for the second pass."""
        fresh = TimeReader(self.column, None)
        fresh.given = self.given
        return fresh

    def refuse(self, n_open: int) -> None:
        """Set how many rows remain in doubt about which of two hours they mean."""
        self.n_twice = n_open

    def counts(self) -> Counter[str]:
        """All counts, to be added to the counts of other parts of the same column."""
        plain = {name: getattr(self, name) for name in _COUNTED}
        return Counter(plain | {f"{_LABEL}{label or ''}": n for label, n in self._labels.items()})

    def take_counts(self, counts: Mapping[str, int]) -> None:
        """Take over counts from other parts of the column, except the positions of rows."""
        for name in _COUNTED:
            setattr(self, name, counts.get(name, 0))
        labels = {name.removeprefix(_LABEL): n for name, n in counts.items() if name.startswith(_LABEL)}
        self._labels = Counter({label or None: n for label, n in sorted(labels.items())})

    def read(self, array: Any) -> NDArray[np.int64]:
        """Instants of a batch: microseconds, or integers. Rows that have none are counted and get 0."""
        kind, self.twice = array.type, None
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            instants = self._read_text(array)
        else:
            if missing := array.null_count:
                self.n_missing += missing
            instants = self._read_typed(array)
        self.n_rows += len(array)
        return instants

    def _read_typed(self, array: Any) -> NDArray[np.int64]:
        kind, n_present = array.type, len(array) - array.null_count
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            array = self._whole(array)
            kind = array.type
        if pa.types.is_integer(kind):
            if n_present:
                self.n_integer += n_present
                self._first_integer = self.n_rows if self._first_integer is None else self._first_integer
            numbers = _fill(pc.cast(array, pa.int64(), safe=False))
            far = (numbers >= _FAR) | (numbers <= -_FAR)
            if pa.types.is_uint64(kind):  # the upper half turned negative
                far |= numbers < 0
            self._wrong(far)
            return np.where(far, 0, numbers)
        if pa.types.is_date(kind):
            self.n_date_only += n_present
            return self._place(_fill(pc.cast(array, pa.timestamp("us"))), n_present)
        if pa.types.is_timestamp(kind):
            if kind.unit in ("s", "ms"):  # values beyond the range of microseconds would wrap around
                most = (2**63 - 1) // {"s": 10**6, "ms": 10**3}[kind.unit]
                counts = array.view(pa.int64())
                beyond = pc.or_(pc.greater(counts, most), pc.less(counts, -most))
                self._wrong(beyond.fill_null(False).to_numpy(zero_copy_only=False))
            instants = _fill(pc.cast(array, pa.timestamp("us", kind.tz), safe=False))
            if kind.tz is None:
                return self._place(instants, n_present)
            if n_present:
                self._labels[find_zone(kind.tz).name] += n_present
            return instants
        raise InputError(
            f"Column {self.column!r} must hold dates, timestamps, text such as 2024-05-31 14:30, or integers."
        )

    def _whole(self, array: Any) -> Any:
        # pandas turns integers into floats as soon as one is missing, and marks that one as NaN.
        numbers = pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        gone = np.isnan(numbers)
        self.n_missing += int(gone.sum()) - array.null_count
        fractional = ~gone & (np.isinf(numbers) | (numbers != np.floor(numbers)) | (np.abs(numbers) > 2**53))
        self._wrong(fractional)
        return pa.array(np.where(gone | fractional, 0, numbers).astype(np.int64))

    def _read_text(self, array: Any) -> NDArray[np.int64]:
        encoded = array.dictionary_encode("encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        found = parse_times(encoded.dictionary)
        n_uses = np.bincount(codes, minlength=len(found.instants))
        self.n_missing += int(n_uses[found.missing].sum())
        self.n_date_only += int(n_uses[found.date_only].sum())
        if found.wrong.any():
            self._wrong(found.wrong[codes])
        if found.integer.any():
            self.n_integer += int(n_uses[found.integer].sum())
            if self._first_integer is None:
                self._first_integer = self.n_rows + int(found.integer[codes].argmax())
        instants = found.instants.copy()
        for minutes in np.unique(found.offsets[found.has_offset & ~found.wrong]):
            with_offset = found.has_offset & ~found.wrong & (found.offsets == minutes)
            self._labels[offset_name(int(minutes))] += int(n_uses[with_offset].sum())
        naive = ~(found.has_offset | found.missing | found.integer | found.wrong)
        if naive.any():
            instants[naive] = self._place(instants[naive], int(n_uses[naive].sum()), n_uses[naive])
            if self.twice is not None:
                marked = np.zeros(len(naive), dtype=np.bool_)
                marked[naive] = self.twice
                self.twice = marked[codes]
        rows: NDArray[np.int64] = instants[codes]
        return rows

    def _place(
        self, local: NDArray[np.int64], n_rows: int, n_uses: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Place naive times in the zone given, if one is; `n_uses` is the number of rows that have each."""
        if n_rows:
            self._labels[None] += n_rows
        if self.given is None:
            return local
        if n_uses is None:
            distinct, back, n_uses = np.unique(local, return_inverse=True, return_counts=True)
            instants, twice, never = self.given.to_utc(distinct)
            instants, marked = instants[back], twice[back]
        else:
            instants, twice, never = self.given.to_utc(local)
            marked = twice
        self.twice = marked if twice.any() else None
        self.n_twice += int(n_uses[twice].sum())
        self.n_never += int(n_uses[never].sum())
        return instants

    def _wrong(self, which: NDArray[np.bool_]) -> None:
        if n_wrong := int(which.sum()):
            self._n_wrong += n_wrong
            if self._first_wrong is None:
                self._first_wrong = self.n_rows + int(which.argmax())

    def verify(self) -> None:
        """Refuse missing, unreadable and mixed times, with counts and the way out."""
        if self.n_missing:
            raise InputError(
                f"{self.n_missing} of {self.n_rows} rows have no time in column {self.column!r}. "
                "Complete or remove these rows."
            )
        n_wrong, first = self._n_wrong, self._first_wrong
        if 0 < self.n_integer < self.n_rows and self._labels:
            n_wrong += self.n_integer
            first = min((place for place in (first, self._first_integer) if place is not None), default=None)
        if n_wrong:
            # If parts were read separately, the first row is unknown.
            where = "" if first is None else f", the first in data row {first + 1}, counted from 1"
            raise InputError(
                f"Column {self.column!r} holds no readable time in {n_wrong} of {self.n_rows} rows{where}. "
                "Write times as 2024-05-31 14:30:00, or as whole numbers."
            )
        if self.n_integer and self.given is not None:
            raise ParameterError(
                f"timezone: column {self.column!r} holds integers, which have no time zone. Leave it out."
            )
        if self.given is None and len(self._labels) > 1:
            raise self._mixed()
        if self.n_twice or self.n_never:
            raise self.misplaced()

    def misplaced(self) -> InputError:
        """The message about times that the clock of the zone shows twice or never."""
        return InputError(
            f"Column {self.column!r} cannot be placed in the time zone given: {self.n_twice} rows fall into the hour "
            f"that its clock shows twice, {self.n_never} into the hour that it skips, and their order does not decide "
            "which is meant. Decide with dst='first' or 'second', or export the times in UTC."
        )

    def _mixed(self) -> InputError:
        n_naive = self._labels[None]
        n_zones = len(self._labels) - (n_naive > 0)
        return InputError(
            f"Column {self.column!r} has mixed time zones: {self.n_rows - n_naive} rows with {n_zones} different "
            f"offsets or zones and {n_naive} rows with none. Give timezone=, for example timezone='Europe/Bratislava'."
        )


def _fill(array: Any) -> NDArray[np.int64]:
    numbers = array if pa.types.is_int64(array.type) else array.view(pa.int64())
    if numbers.null_count:
        numbers = numbers.fill_null(0)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.int64)
