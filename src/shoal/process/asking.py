"""Put a question to a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import ParameterError
from shoal.queries import Combined, Difference, PatternRange, PatternSimilarity, Query, RangeCount, count_in_table
from shoal.queries.instants import Instant, as_instant
from shoal.release import load_release

Range = tuple[str, float, float]


@dataclass(frozen=True)
class Answer:
    """How many series of a release meet some conditions, and of how many."""

    count: float
    of: int
    form: str
    by: str

    @property
    def share(self) -> float:
        """The count as a share of all."""
        return self.count / self.of


def ask(
    folder: str | Path,
    *,
    ranges: Sequence[Range] = (),
    differences: Sequence[tuple[str, str, float, float]] = (),
    like: Sequence[float] | None = None,
    within: float | None = None,
) -> Answer:
    """Count the series of a release whose values lie in `ranges` and whose shape is as asked.

    Ranges alone are counted by DuckDB in the table itself; with a condition on the shape the release is read.
    """
    release = load_release(folder)
    counts, form = release.certificate["counts"], str(release.certificate["form"])
    query = _query(ranges, differences, like, within)
    of = int(counts["subjects"] if form == "profiles" else counts["series"])
    table = Path(folder) / "data.parquet"
    if isinstance(query, RangeCount) and table.is_file() and counts["channels"] == 1:
        return Answer(count_in_table(table, query), of, form, "duckdb")
    return Answer(query.count(release.published), of, form, "memory")


def _query(
    ranges: Sequence[Range],
    differences: Sequence[tuple[str, str, float, float]],
    like: Sequence[float] | None,
    within: float | None,
) -> Query:
    if like is not None and (within is None or differences):
        raise ParameterError("A shape is asked for by --like together with --within, or by --difference; not both.")
    if like is None and within is not None:
        raise ParameterError("--within says how near a shape must be to --like, which is not given.")
    values = RangeCount([(_instant(time), low, high) for time, low, high in ranges]) if ranges else None
    shape: PatternRange | PatternSimilarity | None = None
    if differences:
        shape = PatternRange(Difference(_instant(a), _instant(b), low, high) for a, b, low, high in differences)
    elif like is not None and within is not None:
        shape = PatternSimilarity(like, within=within)
    if values is not None and shape is not None:
        return Combined(values, shape)
    query = values or shape
    if query is None:
        raise ParameterError("Nothing is asked. Give --range, --difference, or --like with --within.")
    return query


def _instant(text: str) -> Instant:
    """A whole number where it is one, else a moment."""
    return as_instant(int(text) if text.lstrip("-").isdigit() else text)
