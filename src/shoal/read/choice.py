"""Decide whether a table is read by the names of its columns, or by what is recognised in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from shoal.errors import InputError, ParameterError
from shoal.read.columns import Column, Layout, Placement, Request, find_column, place_columns
from shoal.read.containers import FilesTable
from shoal.read.definitions import DefinedTable
from shoal.read.files import CsvTable, ParquetTable
from shoal.read.headings import groups_of
from shoal.read.profiles import texts_of
from shoal.read.recognition import MOST_COLUMNS, SAMPLE_ROWS, Recognised, Writing, recognise, take_sample
from shoal.read.series_columns import NAMING
from shoal.read.stamps import find_form
from shoal.read.subjects import are_channels, seen_unlike
from shoal.read.tables import SourceTable, as_series, is_text
from shoal.read.time_reader import parse_times
from shoal.read.understanding import TableShape

_FEW_COLUMNS = 40


def choose(
    table: SourceTable, request: Request, layout: Layout, writing: Writing, timezone: str | None, only_id: str
) -> Placement | Recognised:
    """The plain way to read a table if its names and entries allow it, otherwise what is recognised in it."""
    plan, error = None, None
    one_series = table
    if not isinstance(table, DefinedTable) and not writing.is_given:
        try:
            plan = place_columns(table.names, request, layout)
        except (InputError, ParameterError) as refused:
            error = refused
        if plan is not None and _is_plain(table, plan):
            if plan.time is None or plan.layout is Layout.LONG:
                return plan
            names = [column.name for column in plan.values]
            if plan.asked or not are_channels(names):
                # A long table whose identifier has another name than ours, or else a column per series.
                named = len(names) <= _FEW_COLUMNS and any(groups_of(name) & NAMING for name in names)
                unlike = bool(seen_unlike(names, np.empty(0)))  # a total or a second clock may be among them
                twice = timezone is not None and _comes_twice(table, plan.time)
                total = any("total" in groups_of(name) for name in names)
                looked = (not plan.asked and (named or unlike)) or twice or total
                found = recognise(table, request, writing, timezone, only_id, layout) if looked else None
                if found is not None and found.guess.shape is TableShape.COLUMN_PER_SERIES and (twice or unlike):
                    return found  # order tells the hour that comes twice
                return (
                    plan
                    if found is None or found.guess.id is None or found.guess.shape is not TableShape.LONG
                    else found
                )
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
    raise error or InputError("Shoal cannot tell which columns hold times and readings. Name id=, time= and value=.")


def named_columns(table: SourceTable, found: Recognised, request: Request) -> Request | None:
    """The columns recognised in a long frame, by name, if their types leave nothing to interpret.

    Read by name, its instants keep their zone, and the frame goes back in its own shape.
    """
    guess, time = found.guess, found.guess.time
    if table.kind != "frame" or guess.shape is not TableShape.LONG or guess.channel or not guess.values:
        return None
    beside_stamp = any(one is not None for one in (time.clock, time.slot, time.day_code, time.end, time.offset))
    if guess.id is None or time.stamp is None or beside_stamp or time.parts or time.interval == "end":
        return None
    names = [table.names[position] for position in (guess.id, time.stamp, *guess.values)]
    if any(not name or table.names.count(name) > 1 for name in names):
        return None
    stamps, *values = next(iter(table.batches([time.stamp, *guess.values])))
    typed = pa.types.is_timestamp(stamps.type) and not any(is_text(array) for array in values)
    return replace(request, id=names[0], time=names[1], value=tuple(names[2:])) if typed else None


def _has_layout(found: Recognised, layout: Layout) -> bool:
    """Whether a table has the layout that the caller insists on."""
    shapes = {Layout.LONG: (TableShape.LONG,), Layout.WIDE: (TableShape.COLUMN_PER_SERIES, TableShape.ROW_PER_SERIES)}
    return found.guess.shape in shapes.get(layout, tuple(TableShape))


def _overlooks_time(plan: Placement | None, found: Recognised) -> bool:
    """Whether a long table has a column called time, but another one was taken for it."""
    if plan is None or plan.time is None or plan.layout is not Layout.LONG:
        return False
    time = found.guess.time
    return plan.time.position not in (*time.keys, time.end)


def _apart(table: SourceTable) -> SourceTable:
    """The files of a table separately, each with its name as a column."""
    if not isinstance(table, CsvTable | ParquetTable) or len(table.files) < 2:
        return table
    tables = [type(table)(table.source, [file], ()) for file in table.files]
    apart = FilesTable(tables, [file.stem for file in table.files], None, table.sha256)
    apart.untyped = table.untyped
    return apart


def _is_plain(table: SourceTable, plan: Placement) -> bool:
    """Whether a table can be read by its names: ISO times or integers, numbers with a decimal point."""
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
        time, *values = (array.slice(0, SAMPLE_ROWS) for array in batch)
        if plan.time is not None and _counts_time(time):
            return False
        if plan.time is not None and is_text(time):
            texts = parse_times(time)
            if 2 * int(texts.wrong.sum()) > len(texts.wrong):
                return False
        for array in values:
            if is_text(array):
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


def _counts_time(array: Any) -> bool:
    """Whether whole numbers are dates without marks or instants since an origin, not mere positions."""
    if not (is_text(array) or pa.types.is_integer(array.type)):
        return False
    texts = texts_of(array.unique()).drop_nulls()
    form = find_form(texts) if len(texts) > 1 and texts.str.contains(r"^\d{8,}$").all() else None
    return form is not None


def _comes_twice(table: SourceTable, time: Column) -> bool:
    """Whether some time of a table with a row per instant is printed twice."""
    texts = [as_series(batch) for (batch,) in table.batches([time.position])]
    return bool(texts) and pl.concat(texts).is_duplicated().any()


def _numbers_rows(table: SourceTable, id_: Column, time: Column) -> bool:
    """Whether a column has another entry in each of many rows of many times: the key of the row, not of a series."""
    for batch in table.batches([id_.position, time.position]):
        ids, times = (array.slice(0, SAMPLE_ROWS) for array in batch)
        return len(ids) > _FEW_COLUMNS and len(ids.unique()) == len(ids) and len(times.unique()) > 10
    return False


def _all_numbers(table: SourceTable, plan: Placement) -> bool:
    """Whether each column of readings holds some number."""
    for batch in table.batches([column.position for column in plan.values]):
        cells = (texts_of(array.slice(0, SAMPLE_ROWS)) for array in batch)
        return all(len(texts.cast(pl.Float64, strict=False).drop_nulls()) for texts in cells if _is_filled(texts))
    return True


def _is_filled(texts: pl.Series) -> bool:
    return bool((texts.str.len_chars() > 0).any())


def _no_stamps(table: SourceTable) -> bool:
    """Whether no column of a sample holds dates."""
    if len(table.names) > MOST_COLUMNS:
        return True
    sample = take_sample(table)
    return all(find_form(c.drop_nulls().unique().head(50)) is None for c in sample.columns[:20] if len(c))
