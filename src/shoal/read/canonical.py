"""Any table in one form: a row per series, instant and channel, batch by batch.

id        text, or a number for each pair of identifier and channel
time      microseconds: instants in UTC where the table tells them, otherwise what the local clock showed
value     float64, NaN where missing; several where a row has several quantities
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.model.names import text_of
from shoal.read.durations import DAY, HOUR, MINUTE
from shoal.read.profiles import USUAL_NULLS, NumberForm, texts_of
from shoal.read.stamp_reader import StampReader, encoded, read_day_codes, read_parts
from shoal.read.stamps import StampForm, read_offsets
from shoal.read.tables import SourceTable, is_text, rows_per_batch
from shoal.read.time_numbers import Stamps, read_slots
from shoal.read.understanding import Guess, TableShape
from shoal.read.zones import Zone, find_zone


class Canonical(SourceTable):
    """A table in canonical form.

    Parameters
    ----------
    source
        The table as it is.
    guess
        What its columns are.
    zone
        Zone of times that have none.
    only_id
        Identifier of the single series, if the table has no column for it.
    static
        Positions of columns with one entry per series, read at the same time.
    """

    def __init__(
        self, source: SourceTable, guess: Guess, *, zone: str | None, only_id: str, static: Sequence[int] = ()
    ) -> None:
        self._source, self.guess = source, guess
        self._zone: Zone | None = None if zone is None else find_zone(zone)
        self._only_id = text_of(guess.only_id or only_id)
        self._static = list(static)
        self.coded = bool(guess.channel) or len(guess.blocks) > 1
        self.pairs: dict[tuple[str, str], int] = {}
        """Identifier and channel of each number, if identifiers are numbers."""
        self.ends = guess.time.interval == "end"
        self.shift = 0
        """Microseconds subtracted from every time."""
        self.n_not_readings = 0
        self.n_beyond = 0
        self.n_infinite = 0
        self.is_counted = False
        """Whether the counts cover the whole table."""
        self.n_wrong: dict[int, int] = {}
        self.n_read = 0
        self._stamp_readers: dict[int, StampReader] = {}
        self.words: Counter[str] = Counter()
        """Words in place of numbers that mean missing, and how often they occurred."""
        self.offsets: set[int] = set()
        """Minutes ahead of UTC that were printed next to times."""
        self._offset_at: dict[int, int] = {}
        self.aware = self._is_aware()
        names = ["id", "time", *self._value_names(), *(source.names[p] for p in self._static)]
        super().__init__(names, kind=source.kind, sha256=source.sha256, untyped=source.untyped)

    def _value_names(self) -> list[str]:
        guess = self.guess
        if guess.shape is TableShape.LONG and len(guess.values) > 1:
            return list(guess.channels) or [self._source.names[p] for p in guess.values]
        return [guess.only_channel or "value"]

    def _is_aware(self) -> bool:
        time = self.guess.time
        if time.form is not None and time.form.is_counted:
            return True
        by_slot = time.slot is not None and time.slot_from == "midnight"
        counted = by_slot or time.day_code is not None or any(b.elapsed for b in self.guess.blocks)
        return counted and self._zone is not None

    def close(self) -> None:
        """Give back what the source holds."""
        self._source.close()

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Canonical rows."""
        self.n_not_readings = self.n_beyond = self.n_read = self.n_infinite = 0
        self.is_counted = False
        self.n_wrong, self._stamp_readers, self.words = {}, {}, Counter()
        positions = self.positions()
        for batch in self._source.batches(positions):
            held = dict(zip(positions, batch, strict=True))
            rows = self._normalise(held)
            if rows is None:
                continue
            self.n_read += len(rows[0])
            step = rows_per_batch(len(rows))
            for start in range(0, len(rows[0]), step):
                yield [rows[c].slice(start, step) for c in columns]
        self.is_counted = True

    def positions(self) -> list[int]:
        """Columns of the source that it reads."""
        guess = self.guess
        wanted = [*guess.time.keys, *guess.channel, *guess.values, *self._static]
        wanted += [p for block in guess.blocks for p in block.positions]
        if guess.id is not None:
            wanted.append(guess.id)
        return list(dict.fromkeys(wanted))

    def _normalise(self, held: dict[int, Any]) -> list[Any] | None:
        guess = self.guess
        n_rows = len(next(iter(held.values())))
        ids = self._ids(held, n_rows)
        if guess.shape is TableShape.ROW_PER_SERIES:
            times = np.tile(np.array(guess.instants, dtype=np.int64), n_rows)
            values = [self._matrix(held, guess.values).ravel()]
            row = np.repeat(np.arange(n_rows), len(guess.instants))
            valid = np.ones(len(times), dtype=bool)
            channel = self._channels(held, n_rows)
            return self._finish(held, ids, channel, row, times, valid, values, False)
        stamps = self._stamps(held)
        if guess.blocks:
            parts = [self._block(held, stamps, n) for n in range(len(guess.blocks))]
            row, times, valid, cells = (np.concatenate([part[i] for part in parts]) for i in range(4))
            aware = guess.blocks[0].elapsed and self._zone is not None
            channel = self._channels(held, n_rows)
            if len(guess.blocks) == 1:
                return self._finish(held, ids, channel, row, times, valid, [cells], aware)
            own = [guess.channels[n] for n, part in enumerate(parts) for _ in range(len(part[0]))]
            channel = _join(channel, row, own)
            return self._finish(held, ids, channel, row, times, valid, [cells], aware, by_row=False)
        times, valid, aware = self._times(stamps, held)
        row = np.arange(n_rows)
        if guess.shape is TableShape.COLUMN_PER_SERIES:
            matrix = self._matrix(held, guess.values)
            n_series = len(guess.values)
            names = [text_of(name) for name in guess.series]
            ids = pl.Series(names).gather(np.tile(np.arange(n_series), n_rows))
            row, times, valid = np.repeat(row, n_series), np.repeat(times, n_series), np.repeat(valid, n_series)
            return self._finish(held, ids, None, row, times, valid, [matrix.ravel()], aware, ids_by_row=False)
        values = [self._numbers(held, p) for p in guess.values]
        return self._finish(held, ids, self._channels(held, n_rows), row, times, valid, values, aware)

    # parts of a row

    def _ids(self, held: dict[int, Any], n_rows: int) -> pl.Series:
        if self.guess.id is None:
            return pl.Series([self._only_id] * n_rows, dtype=pl.String)
        distinct, codes = encoded(held[self.guess.id])
        return texts_of(distinct).gather(codes)

    def _channels(self, held: dict[int, Any], n_rows: int) -> pl.Series | None:
        if not self.guess.channel:
            return None
        parts = [texts_of(held[p]).fill_null("") for p in self.guess.channel]
        joined = parts[0]
        for part in parts[1:]:
            joined = joined + " " + part
        return joined.str.strip_chars()

    def _numbers(self, held: dict[int, Any], position: int) -> NDArray[np.float64]:
        array = held[position]
        if pa.types.is_floating(array.type) or pa.types.is_integer(array.type) or pa.types.is_boolean(array.type):
            numbers = np.array(pl.Series(pl.from_arrow(array)).cast(pl.Float64).fill_null(np.nan).to_numpy())
        elif (plain := self._plain_numbers(array)) is not None:
            numbers = plain
        else:
            texts = texts_of(array)
            form: NumberForm = self.guess.numbers
            numbers = form.read(texts)
            self._see_words(texts, numbers)
            if np.isnan(numbers).any() and (n_wrong := int(form.wrong(texts, numbers).sum())):
                self.n_wrong[position] = self.n_wrong.get(position, 0) + n_wrong
        self.n_infinite += int(np.isinf(numbers).sum())
        return numbers

    def _see_words(self, texts: pl.Series, numbers: NDArray[np.float64]) -> None:
        """Count words in place of numbers; some mean missing wherever they occur."""
        gone = texts.filter(pl.Series(np.isnan(numbers))).drop_nulls()
        for word, n in gone.filter(gone.str.to_lowercase().is_in(list(USUAL_NULLS))).value_counts().iter_rows():
            self.words[word] += n

    def _plain_numbers(self, array: Any) -> NDArray[np.float64] | None:
        """The numbers of a batch if every text parses directly, as in most batches; else None."""
        form: NumberForm = self.guess.numbers
        if form.thousands:
            return None
        texts = pl.Series(pl.from_arrow(array))
        plain = texts if form.decimal == "." else texts.str.replace(form.decimal, ".", literal=True)
        numbers = plain.cast(pl.Float64, strict=False)
        if numbers.null_count() > texts.null_count():
            return None
        return np.array(numbers.fill_null(np.nan).to_numpy(), dtype=np.float64)

    def _matrix(self, held: dict[int, Any], positions: Sequence[int]) -> NDArray[np.float64]:
        """The readings of many columns, all at once if nothing is wrong with them: each call has its cost."""
        arrays = [held[p] for p in positions]
        if len({array.type for array in arrays}) == 1 and is_text(arrays[0]):
            together = pa.concat_arrays(arrays)
            numbers = self._plain_numbers(together)
            if numbers is None:
                texts, form = texts_of(together), self.guess.numbers
                numbers = form.read(texts)
                if form.wrong(texts, numbers).any():
                    numbers = None
                else:
                    self._see_words(texts, numbers)
            if numbers is not None and not np.isinf(numbers).any():
                return np.ascontiguousarray(numbers.reshape(len(arrays), -1).T)
        return np.column_stack([self._numbers(held, p) for p in positions])

    def _stamps(self, held: dict[int, Any]) -> Stamps:
        time = self.guess.time
        if time.day_code is not None:
            return read_day_codes(texts_of(held[time.day_code]))
        parts = {part: texts_of(held[p]) for part, p in time.parts.items()}
        if time.stamp is None:
            stamps = read_parts(parts)
        else:
            assert time.form is not None
            stamps = self._read_stamps(held, time.stamp, time.form)
        if parts and time.stamp is not None:
            past = NumberForm().read(parts["hour"]) * HOUR
            if "minute" in parts:
                past += NumberForm().read(parts["minute"]) * MINUTE
            valid = stamps.valid & ~np.isnan(past)
            stamps = replace(stamps, printed=stamps.printed + np.where(valid, past, 0).astype(np.int64), valid=valid)
        if time.clock is None:
            return stamps
        assert time.clock_form is not None
        clock = self._read_stamps(held, time.clock, time.clock_form)
        printed, valid = stamps.printed // DAY * DAY + clock.printed, stamps.valid & clock.valid
        return replace(stamps, printed=printed, valid=valid, has_time=clock.has_time)

    def _read_stamps(self, held: dict[int, Any], position: int, form: StampForm) -> Stamps:
        reader = self._stamp_readers.setdefault(position, StampReader(form))
        return reader.read(held[position])

    def _times(self, stamps: Stamps, held: dict[int, Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_], bool]:
        """Instants, which rows have one, and whether they are in UTC."""
        time = self.guess.time
        counted = time.slot if time.slot is not None else time.day_code
        if counted is not None:
            numbers = read_slots(texts_of(held[counted]))
            valid = stamps.valid & ~np.isnan(numbers)
            slots = np.where(valid, numbers, 0).astype(np.int64)
            past = (slots % 100 - 1 if time.slot is None else slots - time.slot_base) * time.slot_step
            if time.slot_from == "clock":
                return stamps.printed // DAY * DAY + past, valid, False
            if time.slot_from == "stamp":
                stamps = replace(stamps, printed=stamps.printed + past, valid=valid)
        if counted is not None and time.slot_from == "midnight":
            return self._counted(stamps.printed // DAY * DAY, past), valid, self._zone is not None
        if time.offset is not None:
            minutes, known = read_offsets(texts_of(held[time.offset]), time.offset_unit)
            stamps = replace(stamps, offset=minutes, has_offset=known, valid=stamps.valid & known)
        if stamps.has_offset.any():
            naive = stamps.valid & ~stamps.has_offset
            if naive.any():
                raise InputError(
                    f"{int(naive.sum())} of {len(naive)} times have no offset from UTC, the others have one. Export "
                    "them all in the same form."
                )
            self.aware = True
            found = stamps.offset[stamps.valid]
            self.offsets |= set(np.unique(found).tolist())
            for place in (stamps.printed - stamps.offset * MINUTE)[stamps.valid].argsort()[[0, -1]]:
                at = int((stamps.printed - stamps.offset * MINUTE)[stamps.valid][place])
                self._offset_at[at] = int(found[place])
            return stamps.printed - stamps.offset * MINUTE, stamps.valid, True
        return stamps.printed, stamps.valid, False

    def _counted(self, midnights: NDArray[np.int64], past: NDArray[np.int64]) -> NDArray[np.int64]:
        """Instants by the time passed since local midnight: a local day may have 23 or 25 hours."""
        if self._zone is None:
            return np.where(past < DAY, midnights + past, _BEYOND)
        days, back = np.unique(midnights, return_inverse=True)
        starts = self._zone.start_of_day(days)
        # What lies beyond the end of its day is no interval of it.
        lengths = self._zone.start_of_day(days + DAY) - starts
        return np.where(past < lengths[back], starts[back] + past, _BEYOND)

    def _block(self, held: dict[int, Any], stamps: Stamps, n: int) -> tuple[Any, ...]:
        block = self.guess.blocks[n]
        matrix = self._matrix(held, block.positions)
        n_rows = len(matrix)
        offsets = np.tile(np.array(block.offsets, dtype=np.int64), n_rows)
        row = np.repeat(np.arange(n_rows), len(block.offsets))
        midnights = (stamps.printed // DAY * DAY)[row]
        if block.is_monthly:
            months = midnights.astype("datetime64[us]").astype("datetime64[M]")
            ends = (months + 1).astype("datetime64[us]").astype(np.int64)
            times = np.where(midnights + offsets < ends, midnights + offsets, _BEYOND)
            return row, times, stamps.valid[row], matrix.ravel()
        if block.again:
            second = np.tile(np.isin(block.positions, list(block.again)), n_rows)
            midnights = np.where(second & np.isnan(matrix.ravel()), _BEYOND - offsets, midnights)
        times = self._counted(midnights, offsets) if block.elapsed else midnights + offsets
        return row, times, stamps.valid[row], matrix.ravel()

    def _finish(
        self,
        held: dict[int, Any],
        ids: pl.Series,
        channel: pl.Series | None,
        row: NDArray[np.int64],
        times: NDArray[np.int64],
        valid: NDArray[np.bool_],
        values: list[NDArray[np.float64]],
        aware: bool,
        *,
        by_row: bool = True,
        ids_by_row: bool = True,
    ) -> list[Any] | None:
        """Leave out what is not a reading, and put the parts together."""
        gone = np.all(np.isnan(values), axis=0)
        beyond = times == _BEYOND
        self.n_beyond += int((beyond & ~gone).sum())
        drop = (~valid & gone) | beyond
        if not aware and self._zone is not None and gone.any():
            # A clock skips an hour in spring; a row or a column for it without a reading is no gap.
            never = np.zeros(len(times), dtype=bool)
            places = np.flatnonzero(gone & valid & ~beyond)
            never[places] = self._zone.to_utc(times[places])[2]
            drop |= never
        self.n_not_readings += int(drop.sum())
        further = [held[p] for p in self._static]
        if drop.any() or self.guess.shape is not TableShape.LONG:
            keep = np.flatnonzero(~drop)
            if not len(keep):
                return None
            kept = row[keep]
            ids = ids.gather(kept if ids_by_row else keep)
            if channel is not None:
                channel = channel.gather(kept if by_row else keep)
            times, valid, values = times[keep], valid[keep], [numbers[keep] for numbers in values]
            further = [pl.Series(pl.from_arrow(array)).gather(kept).to_arrow() for array in further]
        array = pa.array(times - self.shift, pa.int64(), mask=None if valid.all() else ~valid)
        array = array.cast(pa.timestamp("us", "UTC" if aware else None))
        names: Any = self._codes(ids, channel) if self.coded else ids.to_arrow().cast(pa.large_string())
        return [names, array, *map(pa.array, values), *further]

    def _codes(self, ids: pl.Series, channel: pl.Series | None) -> Any:
        """A number for each pair of identifier and channel."""
        assert channel is not None
        frame = pl.DataFrame({"id": ids.fill_null(""), "channel": channel.fill_null("")})
        for name, entry in frame.unique(maintain_order=True).iter_rows():
            self.pairs.setdefault((text_of(name), entry), len(self.pairs))
        table = pl.DataFrame(
            [(name, entry, self.pairs[text_of(name), entry]) for name, entry in frame.unique().iter_rows()],
            schema={"id": pl.String, "channel": pl.String, "code": pl.Int64},
            orient="row",
        )
        return frame.join(table, on=["id", "channel"], how="left", maintain_order="left")["code"].to_arrow()

    def shown(self, instants: NDArray[np.int64], zone: Zone | None) -> NDArray[np.int64]:
        """What the table printed for its first and last instants."""
        if not self.aware:
            return instants
        if zone is not None:
            return zone.to_local(instants)
        return np.array([at + self._offset_at.get(int(at), 0) * MINUTE for at in instants.tolist()])

    def verify(self) -> list[InputError]:
        """What is wrong with the table after reading all of it, most important first."""
        troubles = []
        for position, n in self.n_wrong.items():
            name = self._source.names[position]
            named = self.guess.shape is TableShape.LONG and self.guess.shown(name, position) == name
            label = f"Column {name!r}" if named else f"Column number {position + 1}, counted from 1,"
            troubles.append(
                InputError(
                    f"{label} holds text in {n} of its cells. List the words that mean missing with null=, or correct "
                    "them."
                )
            )
        if self.n_infinite:
            troubles.append(InputError(f"{self.n_infinite} values are infinite. Mark them as missing or remove them."))
        if self.n_beyond and self._zone is None:
            troubles.append(
                InputError(
                    f"{self.n_beyond} readings lie beyond 24 hours, on days when the clock goes back. Give timezone=, "
                    "for example timezone='Europe/Bratislava'."
                )
            )
        elif self.n_beyond:
            troubles.append(
                InputError(
                    f"{self.n_beyond} readings lie beyond the end of their day in the time zone given. Check timezone=."
                )
            )
        return troubles


_BEYOND = np.iinfo(np.int64).max


def _join(channel: pl.Series | None, row: NDArray[np.int64], names: list[str]) -> pl.Series:
    own = pl.Series(names, dtype=pl.String)
    return own if channel is None else channel.gather(row) + " " + own
