"""Published events: groups of records inside each snapshot, with their sensitive values separate or next to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError

TIME, GROUP, COUNT = "time", "group", "count"
"""Columns that every release of events calls by these names."""


@dataclass(frozen=True, eq=False, repr=False)
class EventTables:
    """What is published about events, snapshot after snapshot. Immutable by convention of its frames.

    Bucketised events are two tables: `records` has `time`, `group` and the quasi-identifiers as they were, `counts` has
    `time`, `group`, the sensitive column and how often each value occurs in that group. Generalised events are one
    table, without groups: quasi-identifiers are coarse, so that records look alike, and the sensitive value stands
    next to them. A coarse number is two columns, `<name>_low` and `<name>_high`; a coarse word is a list in JSON. A
    missing value is below all others: a range without a low end holds missing ones and those up to its high end, if it
    has one.

    Parameters
    ----------
    records
        One row per published event, sorted by all its columns: the order of arrival is not published.
    counts
        How often each sensitive value occurs in each group; None if events are generalised.
    quasi
        Names of the quasi-identifiers.
    sensitive
        Name of the sensitive column.
    """

    records: pl.DataFrame
    counts: pl.DataFrame | None
    quasi: tuple[str, ...]
    sensitive: str

    def __post_init__(self) -> None:
        if {TIME, GROUP, COUNT} & {*self.quasi, self.sensitive}:
            raise InputError(
                f"Columns called {TIME!r}, {GROUP!r} or {COUNT!r} clash with those that every release of events has. "
                "Rename them."
            )
        if self.counts is not None:
            expected = [[TIME, GROUP, *self.quasi], [TIME, GROUP, self.sensitive, COUNT]]
            if [self.records.columns, self.counts.columns] != expected:
                raise InputError("Bucketised events need time, group and quasi-identifiers, and separate counts.")
        elif self.records.columns[:1] != [TIME] or self.records.columns[-1] != self.sensitive:
            raise InputError("Generalised events need time first and the sensitive value last.")

    @property
    def bucketised(self) -> bool:
        """Whether sensitive values are in a table of their own."""
        return self.counts is not None

    @property
    def n_events(self) -> int:
        """Number of published events."""
        return len(self.records)

    @property
    def n_snapshots(self) -> int:
        """Number of published snapshots."""
        return int(self.records[TIME].n_unique())

    @property
    def times(self) -> NDArray[Any]:
        """The instants of the snapshots, in order: whole numbers or datetime64, in UTC if they have a zone."""
        times = self.records[TIME].unique().sort()
        if times.dtype.is_integer():
            return times.cast(pl.Int64).to_numpy()
        if self.timezone is not None:
            times = times.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return times.cast(pl.Datetime("us")).to_numpy()

    @property
    def timezone(self) -> str | None:
        """The time zone of the snapshots, if they have one."""
        dtype = self.records.schema[TIME]
        return dtype.time_zone if isinstance(dtype, pl.Datetime) else None

    @property
    def alike(self) -> list[str]:
        """Columns whose values distinguish published groups."""
        return [TIME, GROUP] if self.bucketised else self.records.columns[:-1]

    def __len__(self) -> int:
        return self.n_events

    def __repr__(self) -> str:
        how = "bucketised" if self.bucketised else "generalised"
        return f"EventTables({self.n_events} events, {self.n_snapshots} snapshots, {how})"
