"""From any source to a table in canonical form: open it, look at a sample, and say what was understood."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.errors import InputError, ParameterError
from shoal.read.align import Resample, Rules
from shoal.read.arrays_in_cells import spread
from shoal.read.canonical import Canonical
from shoal.read.columns import Column, Layout, Plan, Request, find_column, make_plan
from shoal.read.crosstabs import unfold
from shoal.read.definitions import DefinedTable, read_defined, read_green_button
from shoal.read.documents import read_json, read_page, read_xml
from shoal.read.draft import Draft, gathered, noted
from shoal.read.files import CsvTable, ParquetTable, digests, find_files, open_found
from shoal.read.guesses import Guess, TimeGuess, Wishes, guess
from shoal.read.headings import groups_of, unit_of
from shoal.read.intervals import fold_channels, settle_interval, to_starts
from shoal.read.lake import is_lake
from shoal.read.locations import SourceFile, shown
from shoal.read.nested import rows_of_json, rows_of_xml
from shoal.read.pivot import read_long
from shoal.read.profiles import USUAL_NULLS, NumberForm, Profile, number_form, profile, texts_of
from shoal.read.quantities import guess_quantity
from shoal.read.sheets import read_sheets
from shoal.read.sources import open_table
from shoal.read.stamps import WORDS, StampForm, find_form
from shoal.read.subjects import are_channels, mean_sizes, refuse_unlike
from shoal.read.tables import Table
from shoal.read.textfiles import SMALL, Rows, StreamedText, TextForm, as_table, find_table, is_plain_file, look_at
from shoal.read.timetext import parse_times
from shoal.read.understanding import ClockGuess, ColumnGuess, Part, Shape, TextGuess, Understanding
from shoal.read.zones import offset_name

_SAMPLE_ROWS = 4000
_SAMPLE_CELLS = 1_000_000
_FEW_COLUMNS = 40
_MOST_COLUMNS = 3000
"""Columns up to which each is looked at; a wider table is read as its names say."""


@dataclass(frozen=True)
class Writing:
    """What the caller says about how a table is written; None leaves it to what is found."""

    decimal: str | None = None
    time_format: str | None = None
    interval: str = "auto"
    null: tuple[str, ...] | None = None
    channel: str | None = None
    register: str = "auto"

    @property
    def is_given(self) -> bool:
        """Whether anything is said that only a table that was looked at can follow."""
        return self != Writing(register=self.register)


def parse_writing(*, decimal: Any, time_format: Any, interval: Any, null: Any, channel: Any, register: Any) -> Writing:
    """Check the settings of that name."""
    if decimal not in (None, ".", ","):
        raise ParameterError("decimal: give '.' or ','.")
    if time_format is not None and (not isinstance(time_format, str) or "%" not in time_format):
        raise ParameterError("time_format: give a pattern such as '%d/%m/%Y %H:%M'.")
    if interval not in ("auto", "start", "end"):
        raise ParameterError("interval: give 'auto', 'start' or 'end'.")
    if register not in ("auto", "keep", "difference"):
        raise ParameterError("register: give 'keep' or 'difference'.")
    if channel is not None and (not isinstance(channel, str) or not channel):
        raise ParameterError("channel: give the name of one column.")
    words = null.split(",") if isinstance(null, str) else null
    if words is not None and not all(isinstance(word, str) for word in words):
        raise ParameterError("null: give words that mean missing, such as 'NA,Null,-'.")
    return Writing(decimal, time_format, interval, None if words is None else tuple(words), channel, register)


@dataclass(frozen=True)
class Sample:
    """The first rows of a table, as stripped text."""

    columns: list[pl.Series]
    is_whole: bool


def take_sample(table: Table) -> Sample:
    """The first rows of a table."""
    n_columns = len(table.names)
    n_wanted = max(50, min(_SAMPLE_ROWS, _SAMPLE_CELLS // max(1, n_columns)))
    parts: list[list[Any]] = [[] for _ in range(n_columns)]
    n_rows, is_whole = 0, True
    for batch in table.batches(range(n_columns)):
        room = n_wanted - n_rows
        if room <= 0:
            is_whole = False
            break
        is_whole = is_whole and len(batch[0]) <= room
        for held, texts in zip(parts, _texts([array.slice(0, room) for array in batch]), strict=True):
            held.append(texts)
        n_rows += len(batch[0])
    columns = [pl.concat(held) if held else pl.Series([], dtype=pl.String) for held in parts]
    return Sample(columns, is_whole)


def _texts(arrays: list[Any]) -> list[pl.Series]:
    """Columns as stripped text; of one type all at once, since each call has its cost."""
    if len({array.type for array in arrays}) > 1 or not _is_text(arrays[0]):
        return [texts_of(array) for array in arrays]
    together, n = texts_of(pa.concat_arrays(arrays)), len(arrays[0])
    return [together.slice(n * place, n) for place in range(len(arrays))]


def recognise(
    table: Table,
    request: Request,
    writing: Writing,
    timezone: str | None,
    only_id: str,
    layout: Layout = Layout.AUTO,
) -> Recognised | None:
    """What a table is; None where it has no time that can be read, or nothing that looks like a reading."""
    if isinstance(table, DefinedTable):
        return _defined(table, request, timezone, only_id)
    if len(table.names) > _MOST_COLUMNS:
        return None
    if not table.untyped:
        table = spread(table)
    sample = take_sample(table)
    if not sample.columns or not len(sample.columns[0]):
        return None
    separator = getattr(getattr(table, "form", None), "separator", "" if not table.untyped else ",")
    numbers = number_form(sample.columns, separator, writing.decimal)
    names = ("",) * len(table.names) if _say_nothing(table.names) else table.names
    columns = profile(sample.columns, names, numbers, writing.time_format or "")
    wishes = Wishes(
        id=_place(table, request.id),
        time=_place(table, request.time),
        value=None if request.value is None else tuple(find_column(table.names, v).position for v in request.value),
        channel=_place(table, writing.channel),
        other=frozenset(find_column(table.names, name).position for name in request.static),
        columns={Layout.WIDE: "series", Layout.LONG: "channels"}.get(layout),
    )
    found = guess(columns, numbers, wishes)
    if found is None:
        return None
    if wishes.value is not None and any(columns[p].kind not in ("number", "empty") for p in wishes.value):
        return None
    _ask_whole_column(table, found, columns, sample)
    used = [p for block in found.blocks for p in block.positions] + list(found.values)
    words = {word for p in used for word in columns[p].nulls}
    if writing.null is not None:
        words = {word.strip().lower() for word in writing.null}
    found.numbers = replace(numbers, nulls=tuple(sorted(words)))
    if writing.interval != "auto" and not found.blocks:
        found.time.interval = writing.interval
        found.time.interval_evidence = "the caller says so"
    if found.id is None and found.only_id is None and (place := getattr(table, "file_column", None)) is not None:
        found.id = place
        found.roles[place] = (Part.ID, "each file is a series")
    if found.id is None and found.only_id is None:
        found.only_id = _id_in_path(columns)
    static = [find_column(table.names, name).position for name in request.static]
    if static and found.shape is Shape.COLUMN_PER_SERIES:
        raise ParameterError(
            "subject, quasi, sensitive and other need a row per series or a long table; "
            "this table has a row per instant."
        )
    zone = timezone or found.zone
    canonical = Canonical(table, found, zone=zone, only_id=only_id, static=static)
    return Recognised(canonical, table, columns, zone, zone_given=timezone is not None)


def _say_nothing(names: Sequence[str]) -> bool:
    """Whether columns are merely numbered: c1, c2, c3."""
    patterns = {re.sub(r"\d+", "#", name) for name in names}
    return len(names) > 1 and len(patterns) == 1 and "#" in patterns.pop()


def _place(table: Table, name: str | None) -> int | None:
    return None if name is None else find_column(table.names, name).position


def _id_in_path(columns: Sequence[Profile]) -> str | None:
    """The number in an address such as /9912345678901/electricity/1, where that is all there is."""
    for column in columns:
        if column.kind == "word" and column.is_constant and column.share_filled == 1:
            found = re.findall(r"(?<![0-9A-Za-z])\d{8,}(?![0-9A-Za-z])", column.texts[0])
            if len(found) == 1 and "/" in column.texts[0]:
                return str(found[0])
    return None


def _ask_whole_column(table: Table, found: Guess, columns: Sequence[Profile], sample: Sample) -> None:
    """Where the sample does not tell day from month, the whole column may."""
    place = found.time.stamp
    if sample.is_whole or place is None or not columns[place].doubt:
        return
    distinct = pl.concat([texts_of(batch).unique() for (batch,) in table.batches([place])]).unique()
    form = find_form(distinct.filter((distinct.str.len_chars() > 0).fill_null(False)))
    if form is not None:
        found.time.form = form[0]
        found.doubts = [doubt for doubt in found.doubts if doubt != columns[place].doubt]
        found.doubts += [form[1]] if form[1] else []


def _defined(table: DefinedTable, request: Request, timezone: str | None, only_id: str) -> Recognised:
    if request.names:
        raise ParameterError(f"{table.definition} says what its fields are: leave id, time, value and the roles out.")
    several = pl.Series(pl.from_arrow(table.table.column(1))).n_unique() > 1 or table.table.column(1)[0].as_py() != ""
    time = TimeGuess(stamp=2, form=StampForm("ymd"), interval="start", interval_evidence=f"{table.definition} says so")
    found = Guess(Shape.LONG, time, NumberForm(), id=0, channel=(1,) if several else (), values=(3,), unit=table.unit)
    found.roles = {
        p: (part, f"{table.definition} says so")
        for p, part in enumerate((Part.ID, Part.CHANNEL, Part.TIME, Part.VALUE))
    }
    canonical = Canonical(table, found, zone=timezone, only_id=only_id)
    columns = profile([texts_of(table.table.column(p)) for p in range(4)], table.names, found.numbers, "")
    return Recognised(canonical, table, columns, timezone, zone_given=timezone is not None)


@dataclass(eq=False)
class Recognised:
    """A table that was understood: its canonical form, and what is told about it."""

    table: Canonical
    source: Table
    columns: list[Profile]
    zone: str | None
    zone_given: bool

    @property
    def guess(self) -> Guess:
        """What its columns are."""
        return self.table.guess

    def name_of(self, position: int | None, otherwise: str) -> str:
        """The name of a column for messages."""
        return (self.source.names[position] if position is not None else "") or otherwise

    def understanding(self, step: int | None = None) -> Understanding:
        """The account of it."""
        found = self.guess
        form = getattr(self.source, "form", None)
        n_columns = len(found.values) or sum(len(block.positions) for block in found.blocks)
        text = None
        if self.source.untyped and form is not None:
            text = TextGuess(
                form.encoding,
                form.separator,
                found.numbers.decimal,
                found.numbers.thousands,
                form.names is not None,
                form.n_before,
                form.n_skipped,
            )
        guesses = tuple(
            ColumnGuess(found.shown(name, p) if role is Part.VALUE else name, p, role, why)
            for p, (role, why) in sorted(found.roles.items())
            for name in self.source.names[p : p + 1]
        )
        quantity = guess_quantity(found.unit or "") or next(
            (q for p in found.values[:1] if (q := guess_quantity(self.source.names[p]))), None
        )
        return Understanding(
            shape=found.shape,
            columns=guesses,
            n_value_columns=n_columns,
            clock=ClockGuess(
                self._form_in_words(),
                self.zone,
                "the caller says so" if self.zone_given else found.zone_evidence,
                step or (found.blocks[0].step if found.blocks else found.time.slot_step or None),
                {"auto": "printed"}.get(found.time.interval, found.time.interval),
                found.time.interval_evidence,
            ),
            text=text,
            null_words=found.numbers.nulls,
            unit=found.unit or next((u for p in found.values[:1] if (u := unit_of(self.source.names[p]))), None),
            quantity=None if quantity is None else str(quantity),
            channels=self._channels(),
            n_sections=getattr(form, "n_sections", 1),
            doubts=tuple(found.doubts),
        )

    def _channels(self) -> tuple[str, ...]:
        """Names of channels that may be shown."""
        found = self.guess
        if found.shape is not Shape.LONG or len(found.channels) != len(found.values):
            return found.channels
        return tuple(found.shown(name, p) for name, p in zip(found.channels, found.values, strict=True))

    def _form_in_words(self) -> str:
        time = self.guess.time
        if time.day_code is not None:
            return "day number and interval"
        words = WORDS.get(time.form.name, "") if time.form is not None else ""
        if time.slot is not None or any(block.elapsed for block in self.guess.blocks):
            return f"{words}, intervals counted from midnight"
        return f"{words}, time of day in another column" if time.clock is not None else words

    def plan(self, request: Request) -> Plan:
        """Where everything is in the canonical table."""
        names, found = self.table.names, self.guess
        n_values = len(names) - 2 - len(request.static)
        static = {name: Column(name, 2 + n_values + n) for n, name in enumerate(request.static)}
        return Plan(
            Layout.LONG,
            Column(self.name_of(found.id, "id"), 0),
            Column(self.name_of(next(iter(found.time.keys), None), "time"), 1),
            tuple(Column(names[2 + n], 2 + n) for n in range(n_values)),
            None if request.subject is None else static[request.subject],
            tuple(static[name] for name in request.quasi),
            tuple(static[name] for name in request.sensitive),
            tuple(static[name] for name in request.other),
            guessed=False,
        )

    def settings(self) -> dict[str, str]:
        """What was found, for the account of reading."""
        found = self.guess
        told = {
            "shape": str(found.shape),
            "decimal": found.numbers.decimal,
            "time_format": self._form_in_words(),
            "interval": {"auto": "printed"}.get(found.time.interval, found.time.interval),
        }
        if words := [word for word in found.numbers.nulls if word in USUAL_NULLS]:
            told["null"] = ",".join(words)  # others may be anything
        return told

    def told(self) -> tuple[str, ...]:
        """What the publisher is told about how the table was understood."""
        found, names = self.guess, self.source.names
        parts = [f"layout {found.shape}", f"times {self._form_in_words()}"]
        if found.id is not None and names[found.id]:
            parts.append(f"id {names[found.id]!r}")
        if found.channel:
            parts.append("channel " + " and ".join(repr(names[p]) for p in found.channel))
        if found.shape is Shape.LONG and all(names[p] for p in found.values):
            parts.append("value " + ", ".join(repr(found.shown(names[p], p)) for p in found.values[:4]))
        if found.numbers.decimal == ",":
            parts.append("decimal comma")
        if self.zone is not None and not self.zone_given:
            parts.append(f"time zone {self.zone} ({found.zone_evidence})")
        when = {"end": "times are ends of intervals", "start": "times are starts of intervals"}
        if found.blocks:
            parts.append(found.time.interval_evidence)
        else:
            parts.append(f"{when.get(found.time.interval, 'times as printed')} ({found.time.interval_evidence})")
        said = ["understood as: " + "; ".join(parts)]
        if self.table.n_not_readings:
            said.append(f"{self.table.n_not_readings} cells that are no readings were left out")
        if n_skipped := getattr(getattr(self.source, "form", None), "n_skipped", 0):
            said.append(f"{n_skipped} lines among or below the rows were skipped: titles, headers, footers")
        if n_filled := getattr(getattr(self.source, "form", None), "n_filled", 0):
            said.append(
                f"{n_filled} cells say what the one above them says, as the table prints it once for each block"
            )
        return (*said, *found.doubts)


def read_recognised(way: Recognised, request: Request, rules: Rules) -> tuple[Plan, Draft]:
    """Read a table that was understood."""
    table, plan = way.table, way.plan(request)
    settle_interval(table, way.zone)
    if table.ends and isinstance(rules.align, Resample):
        table.shift = 1  # an end belongs to the bucket before it
    try:
        draft = read_long(table, plan, rules, way.zone)
    except InputError as error:
        raise (gathered([error, *table.verify()]) if table.is_counted else error) from None
    draft.troubles = [*table.verify(), *draft.troubles]
    if table.ends and not isinstance(rules.align, Resample):
        draft = to_starts(draft)
    if table.aware and way.zone is None and len(table.offsets) == 1:
        draft.timezone = offset_name(next(iter(table.offsets)))
    if way.guess.series and not way.guess.asked:
        unlike: list[InputError] = []
        with noted(unlike):
            refuse_unlike(way.guess.series, mean_sizes(draft.values), way.name_of(way.guess.time.keys[0], "time"))
        draft.troubles = [*unlike, *draft.troubles]
    draft = fold_channels(draft, table)
    if table.n_not_readings:
        draft.count(not_readings=table.n_not_readings)
    return plan, draft


def choose(
    table: Table, request: Request, layout: Layout, writing: Writing, timezone: str | None, only_id: str
) -> Plan | Recognised:
    """The plain way to read a table where its names and entries allow it, otherwise what is recognised in it."""
    plan, error = None, None
    one_series = table
    if not isinstance(table, DefinedTable) and not writing.is_given:
        try:
            plan = make_plan(table.names, request, layout)
        except (InputError, ParameterError) as refused:
            error = refused
        if plan is not None and _is_plain(table, plan):
            if plan.time is None or plan.layout is Layout.LONG:
                return plan
            if plan.asked or not are_channels([column.name for column in plan.values]):
                # A long table whose identifier has another name than ours, or else a column per series.
                named = not plan.asked and len(plan.values) <= _FEW_COLUMNS
                named = named and any(groups_of(c.name) & {"point", "meter", "owner", "id"} for c in plan.values)
                twice = timezone is not None and _comes_twice(table, plan.time)
                found = recognise(table, request, writing, timezone, only_id, layout) if named or twice else None
                if found is not None and twice and found.guess.shape is Shape.COLUMN_PER_SERIES:
                    return found  # order tells the hour that comes twice
                return plan if found is None or found.guess.id is None or found.guess.shape is not Shape.LONG else found
            # One series, or one for each file.
            one_series = _apart(table)
    for name in request.names:
        find_column(table.names, name)
    found = recognise(one_series, request, writing, timezone, only_id, layout)
    if found is not None and found.guess.id is None and one_series is table and (apart := _apart(table)) is not table:
        found = recognise(apart, request, writing, timezone, only_id, layout)  # a series for each file
    if found is not None and not _overlooks_time(plan, found) and _has_layout(found, layout):
        return found
    if plan is not None:
        return plan
    raise error or InputError(
        "The table has no column with times and readings that can be told by what it holds. Name id=, time= and value=."
    )


def _has_layout(found: Recognised, layout: Layout) -> bool:
    """Whether a table has the layout that the caller insists on."""
    shapes = {Layout.LONG: (Shape.LONG,), Layout.WIDE: (Shape.COLUMN_PER_SERIES, Shape.ROW_PER_SERIES)}
    return found.guess.shape in shapes.get(layout, tuple(Shape))


def _overlooks_time(plan: Plan | None, found: Recognised) -> bool:
    """Whether a long table has a column called time, and another one was taken for it."""
    if plan is None or plan.time is None or plan.layout is not Layout.LONG:
        return False
    time = found.guess.time
    return plan.time.position not in (*time.keys, time.end)


def _apart(table: Table) -> Table:
    """The files of a table apart, each with its name as a column."""
    if not isinstance(table, CsvTable | ParquetTable) or len(table.files) < 2:
        return table
    tables = [type(table)(table.source, [file], ()) for file in table.files]
    apart = FilesTable(tables, [file.stem for file in table.files], None, table.sha256)
    apart.untyped = table.untyped
    return apart


def _is_plain(table: Table, plan: Plan) -> bool:
    """Whether a table can be read as its names say: ISO times or integers, numbers with a decimal point."""
    if plan.layout is Layout.WIDE and plan.id is not None:
        labels = parse_times(pa.array([column.name for column in plan.values], pa.string()))
        return (
            not plan.guessed
            or not labels.wrong.any()
            or (len(plan.values) < 20 and _all_numbers(table, plan))
            or bool(labels.wrong.all() and _no_stamps(table))
        )
    named = plan.layout is Layout.LONG and plan.guessed
    if named and plan.id is not None and plan.time is not None and _numbers_rows(table, plan.id, plan.time):
        return False
    some = plan.values[:50]
    columns = [plan.time, *some] if plan.time is not None else list(some)
    for batch in table.batches([column.position for column in columns if column is not None]):
        time, *values = (array.slice(0, _SAMPLE_ROWS) for array in batch)
        if _is_text(time):
            texts = parse_times(time)
            if 2 * int(texts.wrong.sum()) > len(texts.wrong):
                return False
        for array in values:
            if _is_text(array):
                cells = texts_of(array)
                filled = cells.filter((cells.str.len_chars() > 0).fill_null(False))
                n_numbers = len(filled) - filled.cast(pl.Float64, strict=False).null_count()
                words = filled.str.to_lowercase().is_in(["na", "nan", "null"]).sum()
                if len(filled) and 2 * (n_numbers + words) < len(filled):
                    return False
                if plan.layout is Layout.WIDE and n_numbers + words < len(filled):
                    return False
        return True
    return True


def _comes_twice(table: Table, time: Column) -> bool:
    """Whether some time of a table with a row per instant is printed twice."""
    texts = [pl.Series(pl.from_arrow(batch)) for (batch,) in table.batches([time.position])]
    return bool(texts) and pl.concat(texts).is_duplicated().any()


def _numbers_rows(table: Table, id_: Column, time: Column) -> bool:
    """Whether a column has another entry in each of many rows of many times: the key of the row, not of a series."""
    for batch in table.batches([id_.position, time.position]):
        ids, times = (array.slice(0, _SAMPLE_ROWS) for array in batch)
        return len(ids) > _FEW_COLUMNS and len(ids.unique()) == len(ids) and len(times.unique()) > 10
    return False


def _all_numbers(table: Table, plan: Plan) -> bool:
    """Whether some number stands in each column of readings."""
    for batch in table.batches([column.position for column in plan.values]):
        cells = (texts_of(array.slice(0, _SAMPLE_ROWS)) for array in batch)
        return all(len(texts.cast(pl.Float64, strict=False).drop_nulls()) for texts in cells if _is_filled(texts))
    return True


def _is_filled(texts: pl.Series) -> bool:
    return bool((texts.str.len_chars() > 0).any())


def _no_stamps(table: Table) -> bool:
    """Whether no column of a sample holds dates."""
    if len(table.names) > _MOST_COLUMNS:
        return True
    sample = take_sample(table)
    return all(find_form(c.drop_nulls().unique().head(50)) is None for c in sample.columns[:20] if len(c))


def _is_text(array: Any) -> bool:
    return bool(pa.types.is_string(array.type) or pa.types.is_large_string(array.type))


def stem_of(source: Any) -> str:
    """What a series is called that has no name but the file's."""
    if isinstance(source, str | os.PathLike):
        name = PurePath(os.fspath(source)).name.split("?")[0]
        return (
            re.sub(r"(?i)(\.(csv|tsv|txt|dat|json|ndjson|jsonl|xml|xlsx|xlsm|xls|parquet|pq|zip|gz))+$", "", name)
            or "series"
        )
    return "series"


class FilesTable(Table):
    """Tables of the same columns, one after another, and the stem of each file as a further column."""

    def __init__(self, tables: Sequence[Table], stems: Sequence[str], form: Any, sha256: tuple[str, ...]) -> None:
        names = tables[0].names
        for position, table in enumerate(tables):
            if table.names != names:
                raise InputError(
                    f"File {position + 1} of {len(tables)} has other columns than the first ({len(table.names)} "
                    f"against {len(names)}). Read files with the same columns together."
                )
        self._tables, self._stems, self.form = list(tables), list(stems), form
        self.file_column = len(names) if len(tables) > 1 else None
        super().__init__((*names, "file") if len(tables) > 1 else names, kind="file", sha256=sha256, untyped=True)

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Rows of every file in order."""
        for table, stem in zip(self._tables, self._stems, strict=True):
            own = [c for c in columns if c != self.file_column]
            for batch in table.batches(own or [0]):
                held = iter(batch)
                n_rows = len(batch[0])
                yield [
                    pa.array([stem] * n_rows, pa.large_string()) if c == self.file_column else next(held)
                    for c in columns
                ]

    def close(self) -> None:
        """Close every table."""
        for table in self._tables:
            table.close()


def open_any(source: Any, sql: str | None, sheet: str | None = None) -> Table:
    """Open a source whatever it is written in; a plain table as `open_table` does."""
    if sql is not None or not isinstance(source, str | os.PathLike):
        return open_table(source, sql, sheet)
    path = os.fspath(source)
    if not isinstance(path, str) or path.lower().startswith(("postgres", "sqlite")) or is_lake(path):
        return open_table(source, sql, sheet)
    kind, files = find_files(path) if _names_files(path) else ("", [])
    if not files:
        return open_table(source, sql, sheet)
    is_plain = kind == "parquet" or (kind == "text" and all(is_plain_file(file) for file in files))
    if is_plain or (kind != "xlsx" and sheet is not None):
        return open_found(kind, files, path, sheet)
    parts = [_open_file(file, kind, sheet, shown(path)) for file in files]
    tables = [table for table, _ in parts]
    if any(table is None for table in tables):
        return open_found(kind, files, path, sheet)
    sha256 = digests(files)
    if isinstance(tables[0], DefinedTable):
        return _joined([table for table in tables if isinstance(table, DefinedTable)], sha256)
    return FilesTable([t for t in tables if t is not None], [file.stem for file in files], parts[0][1], sha256)


def _names_files(path: str) -> bool:
    """Whether this is a path or an address that `locate` takes; what else it may be is told elsewhere."""
    from shoal.read.locations import is_address

    return is_address(path) or not ("://" in path or "password=" in path.lower() or ("@" in path and ":" in path))


def _open_file(file: SourceFile, kind: str, sheet: str | None, name: str) -> tuple[Table | None, TextForm | None]:
    if kind == "json":
        return as_table(rows_of_json(read_json(file))), None
    if kind == "xml":
        if (page := read_page(file)) is not None:
            return _table_of(find_table(page)), None
        root = read_xml(file)
        return read_green_button(root, file.stem) or as_table(rows_of_xml(root)), None
    if kind == "xlsx":
        return _open_workbook(file, sheet), None
    form, rows, lines = look_at(file, name)
    if rows is None:
        _refuse_large(find_table(lines), name)
        return (StreamedText(file, form, name) if form.width else None), form
    return read_defined(lines) or _table_of(rows), form


def _refuse_large(head: Rows, name: str) -> None:
    """Refuse a large file whose rows cannot be told one by one, as its head shows."""
    why = "its lines are in sections that say what they are about" if head.n_sections > 1 else ""
    why = why or ("entries are printed once for a block of rows" if head.n_filled else "")
    if head.cells and not why and unfold(head) is not head:
        why = "two lines name its columns"
    if why:
        raise InputError(
            f"{name} has more than {SMALL >> 20} MiB, and {why}: such a file must be looked at as a whole. Split it "
            "into smaller files, or write it with a row for each series and instant."
        )


def _open_workbook(file: SourceFile, sheet: str | None) -> Table | None:
    """The sheets whose tables have the same columns, as files in a folder are read; those with most cells."""
    alike: dict[tuple[str, ...], dict[str, Table]] = {}
    n_cells: Counter[tuple[str, ...]] = Counter()
    for name, frame in read_sheets(file, sheet):
        cells = [[cell or "" for cell in row] for row in frame.iter_rows()]
        if (defined := read_defined(cells)) is not None:
            return defined
        if (table := _table_of(find_table(cells))) is not None:
            alike.setdefault(table.names, {})[name] = table
            n_cells[table.names] += frame.height * frame.width
    if not alike:
        return None
    tables = alike[n_cells.most_common(1)[0][0]]
    if _repeat_each_other(list(tables.values())):
        tables = dict(list(tables.items())[:1])
    return FilesTable(list(tables.values()), list(tables), None, ())


def _repeat_each_other(tables: Sequence[Table]) -> bool:
    """Whether tables that name their series tell of the same series and times, as versions of one table do."""
    first = recognise(tables[0], Request(), Writing(), None, "") if len(tables) > 1 else None
    if first is None or first.guess.id is None:
        return False
    keys = [first.guess.id, *first.guess.time.keys]
    seen: set[tuple[str, ...]] = set()
    for table in tables:
        own = {row for batch in table.batches(keys) for row in zip(*(a.to_pylist() for a in batch), strict=True)}
        if own & seen:
            return True
        seen |= own
    return False


def _table_of(rows: Rows) -> Table | None:
    return as_table(unfold(rows)) if rows.cells else None


def _joined(tables: list[DefinedTable], sha256: tuple[str, ...]) -> DefinedTable:
    first = tables[0]
    first.table = pa.concat_tables([table.table for table in tables])
    first.sha256 = sha256
    return first
