"""Put a question to a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import ParameterError
from shoal.model import Envelopes, EventTables
from shoal.model.event_kinds import from_text
from shoal.model.event_tables import TIME
from shoal.queries import (
    Between,
    Combined,
    Difference,
    PatternRange,
    PatternSimilarity,
    Query,
    RangeCount,
    WindowCount,
    count_in_table,
)
from shoal.queries.instants import Instant, as_instant, as_stored
from shoal.release import load_release
from shoal.release.certificate import GROUP_FORMS

_LONGEST_TIME = 100

Range = tuple[str, float, float, str | None]
"""An instant, both ends, and a channel where there are several."""
Change = tuple[str, str, float, float, str | None]
"""The same with two instants."""


@dataclass(frozen=True)
class QueryAnswer:
    """How many series or events of a release meet some conditions, and of how many."""

    count: float
    of: int
    form: str
    by: str
    estimated: bool = False
    """Whether some requested instants have no published ranges or letters."""

    @property
    def share(self) -> float:
        """The count as a share of all."""
        return self.count / self.of


def ask(
    folder: str | Path,
    *,
    ranges: Sequence[Range] = (),
    differences: Sequence[Change] = (),
    like: Sequence[float] | None = None,
    like_channel: str | None = None,
    within: float | None = None,
    start: str | None = None,
    end: str | None = None,
    where: Sequence[str] = (),
) -> QueryAnswer:
    """Count the series of a release whose values lie in `ranges` and whose shape is as asked.

    In a release of events, count those from `start` to `end` that meet the conditions `where`.

    Ranges alone are counted by DuckDB in the table itself. For a condition on the shape, and for instants whose ranges
    are estimated, the release is read.
    """
    release = load_release(folder)
    counts, form = release.certificate["counts"], str(release.certificate["form"])
    if isinstance(release.published, EventTables):
        if ranges or differences or like is not None or within is not None:
            raise ParameterError(
                "This release holds events, which have no ranges or shapes: use --from, --to and --where."
            )
        found = window_query(release.published, start, end, where).count(release.published)
        return QueryAnswer(found, int(counts["events"]), form, "memory")
    if where or start is not None or end is not None:
        raise ParameterError("--from, --to and --where are for releases of events; this one holds series.")
    query = _query(ranges, differences, like, like_channel, within)
    of = int(counts["subjects"] if form in GROUP_FORMS else counts["series"])
    table = Path(folder) / "data.parquet"
    estimated = isinstance(release.published, Envelopes) and _estimated(query, release.published)
    in_table = table.is_file() and counts["channels"] == 1 and not estimated
    if isinstance(query, RangeCount) and in_table and not any(one.channel for one in query.ranges):
        return QueryAnswer(count_in_table(table, query), of, form, "duckdb")
    return QueryAnswer(query.count(release.published), of, form, "memory", estimated)


def _estimated(query: Query, published: Envelopes) -> bool:
    """Whether the query needs ranges or letters of instants that have none."""

    def plain(time: Instant) -> Any:
        stored = as_stored(time, published.timezone)
        return stored if isinstance(stored, int) else stored.item()

    ranged, lettered = (set(np.asarray(times).tolist()) for times in (published.times, published.pattern_times))
    if isinstance(query, Combined):
        return any(_estimated(part, published) for part in (query.values, query.pattern))
    if isinstance(query, RangeCount):
        return any(plain(one.instant) not in ranged for one in query.ranges)
    if isinstance(query, PatternRange):
        return any(plain(time) not in lettered for part in query.conditions for time in (part.first, part.second))
    return not ranged <= lettered


def _query(
    ranges: Sequence[Range],
    differences: Sequence[Change],
    like: Sequence[float] | None,
    like_channel: str | None,
    within: float | None,
) -> Query:
    if like is not None and (within is None or differences):
        raise ParameterError("Ask for a shape with --like and --within, or with --difference; not both.")
    if like is None and within is not None:
        raise ParameterError("--within says how close a shape must be to --like, which is not given.")
    values = RangeCount([(_instant(time), *rest) for time, *rest in ranges]) if ranges else None
    shape: PatternRange | PatternSimilarity | None = None
    if differences:
        shape = PatternRange(
            Difference(_instant(a), _instant(b), low, high, channel) for a, b, low, high, channel in differences
        )
    elif like is not None and within is not None:
        shape = PatternSimilarity(like, within, like_channel)
    if values is not None and shape is not None:
        return Combined(values, shape)
    query = values or shape
    if query is None:
        raise ParameterError("The query is empty. Give --range, --difference, or --like with --within.")
    return query


def _instant(text: str) -> Instant:
    """A whole number if it is one, else a moment."""
    if len(text) > _LONGEST_TIME:
        raise ParameterError(f"A query asks for an instant of {len(text)} characters; give a time or a whole number.")
    return as_instant(int(text) if text.lstrip("-").isdigit() else text)


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
