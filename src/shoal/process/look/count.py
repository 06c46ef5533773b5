"""The one pass: every row of a table to the survey, every further column to its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.process.look.findings import TableFindings
from shoal.read.canonical import Canonical
from shoal.read.clock_changes import find_clock_changes
from shoal.read.column_survey import ColumnSurvey
from shoal.read.columns import Column, Placement
from shoal.read.numbers import NumberColumn
from shoal.read.profiles import USUAL_NULLS
from shoal.read.series import encode_ids, read_ids
from shoal.read.subjects import seen_unlike
from shoal.read.survey import SurveyCounter
from shoal.read.tables import SourceTable, empty
from shoal.read.time_reader import TimeReader, parse_times
from shoal.read.understanding import Understanding

Integers = NDArray[np.int64]


@dataclass
class MeterRows:
    """Some rows: meter and time of each, its readings by channel, and further columns."""

    meters: Integers
    times: Integers
    values: list[NDArray[np.float64]]
    further: Sequence[Any] = ()


class MeterSource:
    """A table as rows of meters, whatever its layout.

    Parameters
    ----------
    clock
        Reads the times, and knows what they are.
    further
        Names of columns that belong to meters.
    """

    by_name = True
    """Whether the names of its columns were enough to identify them."""

    n_channels = 0
    """Channels that rows of a meter may have; 0 if every meter has all of them."""

    def __init__(self, clock: TimeReader, further: Sequence[str] = ()) -> None:
        self.clock = clock
        self.further = list(further)

    @property
    def nameable(self) -> bool:
        """Whether naming id, time and value reads it the same way as naming nothing."""
        return True

    def rows(self) -> Iterator[MeterRows]:
        """All rows, some at a time."""
        raise NotImplementedError

    def meters(self, n_series: int, n_channels: int) -> Integers:
        """The meter of each series: `n_channels` for each meter, in order."""
        return np.arange(n_series) // n_channels

    def unlike(self, sizes: NDArray[np.float64]) -> str:
        """Reasons against taking series for subjects."""
        return ""

    def words(self) -> Counter[str]:
        """Words in place of readings, and how often; unusual ones together, as none."""
        return Counter()

    def troubles(self) -> list[str]:
        """What would stop a reading, in sentences."""
        return []

    @property
    def n_beyond(self) -> int:
        """Readings of intervals that a day of 24 hours does not have."""
        return 0


class LongSource(MeterSource):
    """A row per meter and time: columns for id, time, and each channel."""

    def __init__(
        self,
        table: SourceTable,
        plan: Placement,
        clock: TimeReader,
        further: Sequence[Column],
        *,
        nameable: bool = True,
    ) -> None:
        super().__init__(clock, [column.name for column in further])
        assert plan.id is not None
        assert plan.time is not None
        self._table, self._id = table, plan.id.name
        self.by_name = not isinstance(table, Canonical)
        self._nameable = nameable
        self._numbers = [NumberColumn(f"Column {column.name!r}") for column in plan.values]
        self._positions = [column.position for column in (plan.id, plan.time, *plan.values, *further)]
        self._ids = Numbers()
        self._words: Counter[str] = Counter()

    def rows(self) -> Iterator[MeterRows]:
        """The rows as they are; a row without an identifier belongs to no meter."""
        n = len(self._numbers)
        for ids, times, *rest in self._table.batches(self._positions):
            encoded = encode_ids(ids, self._id)
            meters = self._ids.of(encoded, read_ids(encoded.dictionary, self._id))
            values = [number.read(array) for number, array in zip(self._numbers, rest[:n], strict=True)]
            for array, numbers in zip(rest, values, strict=False):
                self._see_words(array, numbers)
            yield MeterRows(meters, self.clock.read(times), values, rest[n:])

    @property
    def nameable(self) -> bool:
        """Times with offsets are detected by reading them."""
        return self._nameable and not (isinstance(self._table, Canonical) and self._table.aware)

    def _see_words(self, array: Any, numbers: NDArray[np.float64]) -> None:
        gone = np.isnan(numbers)
        if not gone.any() or not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
            return
        texts = pc.utf8_trim_whitespace(array.filter(pa.array(gone))).drop_null()
        for entry in pc.value_counts(texts).to_pylist():
            word = entry["values"]
            self._words[word if word.lower() in USUAL_NULLS else "" if word else " "] += entry["counts"]
        del self._words[" "]  # an empty cell is not a word

    def unlike(self, sizes: NDArray[np.float64]) -> str:
        """Columns of a table with a row per instant are subjects by the rule that reading follows."""
        guess = self._table.guess if isinstance(self._table, Canonical) else None
        if guess is None or guess.asked or guess.id is not None or guess.channel or len(guess.values) < 2:
            return ""
        return seen_unlike(guess.series or guess.channels, sizes)

    def words(self) -> Counter[str]:
        """The words found."""
        return self._table.words if isinstance(self._table, Canonical) else self._words

    def troubles(self) -> list[str]:
        """What the canonical form found."""
        table = self._table
        if not isinstance(table, Canonical) or table.n_beyond:
            return []
        known = {"na", "nan", "null", *table.guess.numbers.nulls}
        n_words = sum(n for word, n in table.words.items() if word.lower() not in known)
        return [] if sum(table.n_wrong.values()) <= n_words else [str(trouble) for trouble in table.verify()]

    @property
    def n_beyond(self) -> int:
        """As the canonical form counted them."""
        return self._table.n_beyond if isinstance(self._table, Canonical) else 0

    def meters(self, n_series: int, n_channels: int) -> Integers:
        """Numbers stand for meters, or for pairs of meter and channel."""
        table = self._table
        if not isinstance(table, Canonical) or not table.coded:
            return super().meters(n_series, n_channels)
        self.n_channels = len({channel for _, channel in table.pairs}) * n_channels
        name_of = {code: name for (name, _), code in table.pairs.items()}
        names = pa.array([name_of[int(code)] for code in self._ids.entries()], pa.large_string()).dictionary_encode()
        return np.repeat(Numbers().of(names, names.dictionary), n_channels)


class ByTime(MeterSource):
    """A row per time, a column per meter."""

    def __init__(self, table: SourceTable, plan: Placement, clock: TimeReader) -> None:
        super().__init__(clock)
        assert plan.time is not None
        self._table, self._plan = table, plan
        self._numbers = NumberColumn("The table")

    def rows(self) -> Iterator[MeterRows]:
        """The rows of a batch, meter by meter."""
        plan = self._plan
        assert plan.time is not None
        n = len(plan.values)
        for times, *arrays in self._table.batches([c.position for c in (plan.time, *plan.values)]):
            values = _read_all(self._numbers, arrays)
            yield MeterRows(np.repeat(np.arange(n), len(times)), np.tile(self.clock.read(times), n), [values])

    def unlike(self, sizes: NDArray[np.float64]) -> str:
        """Columns that differ by more than a number, or in size, are more likely sensors."""
        return "" if self._plan.asked else seen_unlike([column.name for column in self._plan.values], sizes)


class BySeries(MeterSource):
    """A row per meter, a column per instant."""

    def __init__(self, table: SourceTable, plan: Placement, clock: TimeReader, further: Sequence[Column]) -> None:
        super().__init__(clock, [column.name for column in further])
        self._table, self._plan, self._more = table, plan, further
        self._numbers = NumberColumn("The table")

    def rows(self) -> Iterator[MeterRows]:
        """The rows of a batch, meter by meter."""
        names = pa.array([column.name for column in self._plan.values], pa.string())
        labels = parse_times(names)
        dated = not (labels.wrong | labels.integer | labels.missing).any()
        times = self.clock.read(names if dated else pa.array(np.arange(len(names))))
        first, n = 0, len(names)
        for batch in self._table.batches([column.position for column in (*self._plan.values, *self._more)]):
            n_rows = len(batch[0])
            values = np.ascontiguousarray(_read_all(self._numbers, batch[:n]).reshape(n, -1).T).ravel()
            meters = np.arange(first, first + n_rows)
            first += n_rows
            further = [array.take(pa.array(np.repeat(np.arange(n_rows), n))) for array in batch[n:]]
            yield MeterRows(np.repeat(meters, n), np.tile(times, n_rows), [values], further)


def _read_all(numbers: NumberColumn, arrays: Sequence[Any]) -> NDArray[np.float64]:
    """Columns one after another; those of one type at once, since each call has its cost."""
    if len({array.type for array in arrays}) == 1:
        return numbers.read(pa.concat_arrays(arrays))
    return np.concatenate([numbers.read(array) for array in arrays])


def count(source: MeterSource, understanding: Understanding) -> TableFindings:
    """Count all rows of a table, in one pass."""
    surveys = [ColumnSurvey(name) for name in source.further]
    n_channels = 1
    with SurveyCounter() as counter:
        for rows in source.rows():
            n_channels = len(rows.values)
            known = rows.meters >= 0
            if not known.all():
                rows = MeterRows(
                    rows.meters[known],
                    rows.times[known],
                    [values[known] for values in rows.values],
                    [array.filter(pa.array(known)) for array in rows.further],
                )
            for channel, values in enumerate(rows.values):
                counter.add(rows.meters * n_channels + channel, rows.times, values)
            for column, array in zip(surveys, rows.further, strict=True):
                column.add(rows.meters, array)
        survey = counter.finish()
    if not survey.n_rows:
        raise empty()
    clock = source.clock
    naive = clock.on_clock and clock.zone is None
    meters = source.meters(survey.n_series, n_channels)
    return TableFindings(
        understanding,
        survey,
        meters,
        tuple(each.finish(meters if source.n_channels else None) for each in surveys),
        find_clock_changes(survey.instants, survey.step) if naive else None,
        None if clock.zone is None else clock.zone.name,
        clock.on_clock,
        source.unlike(survey.series.sizes),
        source.words(),
        tuple(source.troubles()),
        source.by_name,
        source.nameable,
        max(0, source.n_channels * (int(meters.max()) + 1) - survey.n_series),
        source.n_beyond,
        n_channels,
    )


class Numbers:
    """Numbers things from 0 in the order of first appearance."""

    def __init__(self) -> None:
        self._known: Any = None

    def of(self, encoded: Any, entries: Any) -> Integers:
        """The number of each entry of an encoded column; `entries` are the values of its codes; -1 for missing."""
        if self._known is None:
            self._known = entries[:0]
        places = pc.index_in(entries, value_set=self._known)
        if places.null_count:
            new = pc.unique(entries.filter(pc.is_null(places))).drop_null()
            self._known = pa.concat_arrays([self._known, new])
            places = pc.index_in(entries, value_set=self._known)
        numbers = places.take(encoded.indices)
        if numbers.null_count:
            numbers = numbers.fill_null(-1)
        return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.int64)

    def entries(self) -> list[Any]:
        """The things in the order of their numbers."""
        return [] if self._known is None else list(self._known.to_pylist())
