"""From a table to its canonical form: examine a sample, and say what was understood."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.errors import InputError, ParameterError
from shoal.model.words import plural
from shoal.read.align import Resample, Rules, guess_quantity
from shoal.read.arrays_in_cells import spread
from shoal.read.canonical import Canonical
from shoal.read.columns import Column, Layout, Placement, Request, find_column
from shoal.read.definitions import DefinedTable
from shoal.read.draft import PanelDraft, gathered, noted
from shoal.read.headings import unit_of
from shoal.read.intervals import fold_channels, settle_interval, to_starts
from shoal.read.layouts import guess
from shoal.read.pivot import read_long
from shoal.read.profiles import USUAL_NULLS, NumberForm, Profile, number_form, profile, texts_of
from shoal.read.stamps import WORDS, StampForm, find_form
from shoal.read.subjects import mean_sizes, refuse_unlike
from shoal.read.tables import SourceTable, is_text
from shoal.read.understanding import (
    ClockGuess,
    ColumnGuess,
    Guess,
    Part,
    TableShape,
    TextGuess,
    TimeGuess,
    Understanding,
    Wishes,
)
from shoal.read.zones import offset_name

SAMPLE_ROWS = 4000
_SAMPLE_CELLS = 1_000_000
MOST_COLUMNS = 3000
"""Largest number of columns for which each is examined; a wider table is read by its names."""


@dataclass(frozen=True)
class Writing:
    """What the caller says about how a table is written; None leaves it to detection."""

    decimal: str | None = None
    time_format: str | None = None
    interval: str = "auto"
    null: tuple[str, ...] | None = None
    channel: str | None = None
    register: str = "auto"

    @property
    def is_given(self) -> bool:
        """Whether the caller said anything that requires examining the table."""
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
class FirstRows:
    """The first rows of a table, as stripped text."""

    columns: list[pl.Series]
    is_whole: bool


def take_sample(table: SourceTable) -> FirstRows:
    """The first rows of a table."""
    n_columns = len(table.names)
    n_wanted = max(50, min(SAMPLE_ROWS, _SAMPLE_CELLS // max(1, n_columns)))
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
    return FirstRows(columns, is_whole)


def _texts(arrays: list[Any]) -> list[pl.Series]:
    """Columns as stripped text; all columns of one type at once, since each call has its cost."""
    if len({array.type for array in arrays}) > 1 or not is_text(arrays[0]):
        return [texts_of(array) for array in arrays]
    together, n = texts_of(pa.concat_arrays(arrays)), len(arrays[0])
    return [together.slice(n * place, n) for place in range(len(arrays))]


def recognise(
    table: SourceTable,
    request: Request,
    writing: Writing,
    timezone: str | None,
    only_id: str,
    layout: Layout = Layout.AUTO,
) -> Recognised | None:
    """Recognise what a table is; None if it has no readable time, or nothing that looks like a reading."""
    if isinstance(table, DefinedTable):
        return _defined(table, request, timezone, only_id)
    if len(table.names) > MOST_COLUMNS:
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
    if static and found.shape is TableShape.COLUMN_PER_SERIES:
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


def _place(table: SourceTable, name: str | None) -> int | None:
    return None if name is None else find_column(table.names, name).position


def _id_in_path(columns: Sequence[Profile]) -> str | None:
    """The number in an address such as /9912345678901/electricity/1, if there is no other."""
    for column in columns:
        if column.kind == "word" and column.is_constant and column.share_filled == 1:
            found = re.findall(r"(?<![0-9A-Za-z])\d{8,}(?![0-9A-Za-z])", column.texts[0])
            if len(found) == 1 and "/" in column.texts[0]:
                return str(found[0])
    return None


def _ask_whole_column(table: SourceTable, found: Guess, columns: Sequence[Profile], sample: FirstRows) -> None:
    """Examine the whole column if the sample does not show which number is the day and which the month."""
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
        raise ParameterError(f"{table.definition} defines its fields: omit id, time, value and the roles.")
    several = pl.Series(pl.from_arrow(table.table.column(1))).n_unique() > 1 or table.table.column(1)[0].as_py() != ""
    time = TimeGuess(stamp=2, form=StampForm("ymd"), interval="start", interval_evidence=f"{table.definition} says so")
    found = Guess(
        TableShape.LONG, time, NumberForm(), id=0, channel=(1,) if several else (), values=(3,), unit=table.unit
    )
    found.roles = {
        p: (part, f"{table.definition} says so")
        for p, part in enumerate((Part.ID, Part.CHANNEL, Part.TIME, Part.VALUE))
    }
    canonical = Canonical(table, found, zone=timezone, only_id=only_id)
    columns = profile([texts_of(table.table.column(p)) for p in range(4)], table.names, found.numbers, "")
    return Recognised(canonical, table, columns, timezone, zone_given=timezone is not None)


@dataclass(eq=False)
class Recognised:
    """A table that was understood: its canonical form, and the notes about it."""

    table: Canonical
    source: SourceTable
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

    def understanding(self) -> Understanding:
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
                found.blocks[0].step if found.blocks else found.time.slot_step or None,
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
        if found.shape is not TableShape.LONG or len(found.channels) != len(found.values):
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

    def plan(self, request: Request) -> Placement:
        """Where everything is in the canonical table."""
        names, found = self.table.names, self.guess
        n_values = len(names) - 2 - len(request.static)
        static = {name: Column(name, 2 + n_values + n) for n, name in enumerate(request.static)}
        return Placement(
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

    def unread(self) -> tuple[str, ...]:
        """Columns with entries that are in no reading, time or role; by place where the table does not name them."""
        found = self.guess
        if found.shape is TableShape.COLUMN_PER_SERIES or isinstance(self.source, DefinedTable):
            return ()  # names may be people, or are not the table's
        told = (Part.END, Part.UNIT, Part.CHANNEL, Part.EMPTY)  # they say what the others mean, or nothing
        used = {*self.table.positions(), *(p for p, (role, _) in found.roles.items() if role in told)}
        names = enumerate(self.source.names)
        return tuple(dict.fromkeys(name or f"column {p + 1}" for p, name in names if p not in used))

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
            told["null"] = ",".join(words)  # other words may be data
        return told

    def notes(self) -> tuple[str, ...]:
        """Notes to the publisher about how the table was understood."""
        found, names = self.guess, self.source.names
        parts = [f"layout {found.shape}", f"times {self._form_in_words()}"]
        if found.id is not None and names[found.id]:
            parts.append(f"id {names[found.id]!r}")
        if found.channel:
            parts.append("channel " + " and ".join(repr(names[p]) for p in found.channel))
        if found.shape is TableShape.LONG and all(names[p] for p in found.values):
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
        if n := self.table.n_not_readings:
            said.append(f"{plural(n, 'entry', 'entries')} with neither a reading nor a valid time left out")
        account = self.source.account()
        if n := account.get("lines_skipped", 0):
            lines = plural(n, "line is", "lines are")
            said.append(f"{lines} not read as rows: headings, footers, incomplete rows")
        if n := account.get("filled_down", 0):
            cells = plural(n, "empty cell takes", "empty cells take")
            said.append(f"{cells} the entry above, which the table prints once per block")
        return (*said, *found.doubts)


def read_recognised(way: Recognised, request: Request, rules: Rules) -> tuple[Placement, PanelDraft]:
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
    draft.count(not_readings=table.n_not_readings)
    return plan, draft
