"""Put a question to a release of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from shoal.errors import ParameterError
from shoal.model import EventTables
from shoal.model.event_kinds import from_text
from shoal.model.event_tables import TIME
from shoal.queries import Between, WindowCount


def window_query(published: EventTables, start: str | None, end: str | None, where: Sequence[str]) -> WindowCount:
    """Build the query from texts such as "age=40..60" or "diagnosis=flu,gout"; the whole period if no end is given."""
    times = published.records[TIME]
    conditions: dict[str, Any] = {}
    for text in where:
        column, equals, wanted = text.partition("=")
        if not equals or not wanted:
            raise ParameterError("A condition must have the form COLUMN=VALUE,VALUE or COLUMN=LOW..HIGH.")
        if column in conditions:
            raise ParameterError(
                f"There are two conditions on column {column!r}. Put its values into one condition, separated by "
                "commas."
            )
        conditions[column] = _condition(wanted, _kind(published, column))
    return WindowCount(times.min() if start is None else start, times.max() if end is None else end, conditions)


def _kind(published: EventTables, column: str) -> pl.DataType:
    """The type of the values of a column; text if it is published as a list."""
    tables = (published.records,) if published.counts is None else (published.records, published.counts)
    for table in tables:
        for name in (column, f"{column}_low"):
            if name in table.columns and column in (*published.quasi, published.sensitive):
                return table.schema[name]
    names = ", ".join((*published.quasi, published.sensitive))
    raise ParameterError(f"The release has no column {column!r}. Conditions can use: {names}.")


def _condition(text: str, kind: pl.DataType) -> Any:
    low, dots, high = text.partition("..")
    if not dots:
        return _typed(text.split(","), kind)
    if not (kind.is_numeric() or kind.is_temporal()):
        raise ParameterError("A range LOW..HIGH works for numbers and dates only; list words separated by commas.")
    ends = [end or None for end in (low, high)]
    if None in ends and not kind.is_numeric():
        raise ParameterError("A range of dates needs both ends.")
    open_ends = (float("-inf"), float("inf"))
    numbers = [_typed([end], kind)[0] if end else open_end for end, open_end in zip(ends, open_ends, strict=True)]
    return Between(*numbers)


def _typed(texts: list[str], kind: pl.DataType) -> list[Any]:
    values = from_text(pl.Series([text.strip() for text in texts], dtype=pl.String), kind)
    if values.null_count():
        raise ParameterError("A condition has a value that its column cannot have.")
    return values.to_list()
