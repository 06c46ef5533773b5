"""The published tables of events: `time,group,…` with `time,group,<sensitive>,count`, or `time,…,<sensitive>` alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError, ReleaseError
from shoal.guarantees.event_groups import event_groups
from shoal.model import EventTables, PrivateEvents
from shoal.model.event_kinds import as_text, dtype_of, from_text, kind_of
from shoal.model.event_tables import COUNT, GROUP, TIME
from shoal.release.canonical import (
    RowError,
    parquet_blocks,
    plain_text,
    refuse_more_rows,
    refuse_nan,
    refuse_other_text,
)
from shoal.release.certificate import FILE_NAME, Certificate, ColumnsPart, CountsPart, EventColumnsPart, FormName
from shoal.release.event_originals import refuse_events
from shoal.release.files import FileFormat, NotAPanelError, find_data, unreadable
from shoal.release.values import count_groups, tally


def write_table(frame: pl.DataFrame, path: Path, file_format: FileFormat) -> None:
    """Write a table; in a CSV, missing is empty, empty text is quoted, and instants with a zone are in UTC."""
    if file_format == "parquet":
        frame.write_parquet(path, compression="zstd")
    else:
        frame.with_columns(as_text(column) for column in frame).write_csv(path)


def read_table(path: Path, types: Mapping[str, str], complete: tuple[str, ...], *, most_rows: int) -> pl.DataFrame:
    """Read a table back with the given columns; those named in `complete` have no gaps.

    Raises ReleaseError if it cannot be read or has other columns, and NotAPanelError if it has more rows than
    `most_rows`, or an entry has changed or is not written as Shoal writes it.
    """
    schema = {name: dtype_of(kind) for name, kind in types.items()}
    if None in schema.values():
        raise unreadable(path)
    is_csv = path.suffix == ".csv"
    try:
        table = pl.read_csv(path, infer_schema=False, glob=False) if is_csv else _parquet(path, schema, most_rows)
        if table.columns != list(schema):
            raise unreadable(path)
        columns = []
        for name, dtype in schema.items():
            column = table[name]
            typed = from_text(column, dtype) if is_csv and dtype is not None else column
            if typed.dtype != dtype:
                raise unreadable(path)
            odd = typed.is_null() & column.is_not_null()
            if odd.any():
                raise _odd_entry(path, odd, "something of another type than its column")
            if name in complete and typed.null_count():
                raise _odd_entry(path, typed.is_null(), "nothing where a value is required")
            columns.append(typed)
        frame = pl.DataFrame(columns)
        if is_csv:
            refuse_nan(frame.to_arrow())
            refuse_other_text(path, frame.with_columns(as_text(column) for column in frame))
        return frame
    except RowError as error:
        raise NotAPanelError(f"{path.name} {error}") from None
    except (OSError, pl.exceptions.PolarsError, pa.ArrowException, KeyError, ValueError):
        raise unreadable(path) from None


def _parquet(path: Path, schema: Mapping[str, Any], most_rows: int) -> pl.DataFrame:
    """A table of these columns, each of its own type."""
    refuse_more_rows(path, pq.read_metadata(path).num_rows, most_rows)
    written = pl.DataFrame(schema=schema).to_arrow(compat_level=pl.CompatLevel.oldest()).schema
    plain = pa.schema([field.with_type(plain_text(field.type)) for field in written])
    try:
        return pl.DataFrame(pa.concat_tables([plain.empty_table(), *parquet_blocks(path, plain)]), schema=schema)
    except RowError:
        raise
    except NotAPanelError as error:
        raise NotAPanelError(f"{path.name} {error}") from None


def _odd_entry(path: Path, odd: pl.Series, what: str) -> NotAPanelError:
    return NotAPanelError(f"{path.name} row {odd.arg_max()} (counted from 0) holds {what}")


class EventsForm:
    """One row per event, and one per group and sensitive value if these are published separately."""

    name: ClassVar[FormName] = "events"

    def refuse(self, published: EventTables, private: PrivateEvents) -> str | None:
        """Published events must be the originals that went there."""
        return refuse_events(published, private)

    def names_needed(self, published: EventTables, private: PrivateEvents) -> list[Any]:
        """Events have no names."""
        return []

    def name_of_each_series(self, private: PrivateEvents, names: list[str]) -> list[str]:
        """Events have no names."""
        return [""] * private.original.n_events

    def counts(self, published: EventTables, private: PrivateEvents) -> CountsPart:
        """Groups are formed in each snapshot."""
        return count_groups(
            tally(event_groups(published).sizes),
            "instants",
            events=published.n_events,
            snapshots=published.n_snapshots,
            suppressed=int((private.snapshots < 0).sum()),
        )

    def columns(self, published: EventTables, withheld: int) -> ColumnsPart:
        """The columns of both tables, each once. The quantity measured over time is the sensitive value."""
        schema = dict(published.records.schema)
        if published.counts is not None:
            schema |= {name: published.counts.schema[name] for name in (published.sensitive, COUNT)}
        types = {name: kind_of(dtype) for name, dtype in schema.items()}
        return ColumnsPart(
            published=tuple(types),
            channels=(published.sensitive,),
            withheld=withheld,
            events=EventColumnsPart(
                publish="bucketised" if published.bucketised else "generalised",
                quasi=published.quasi,
                sensitive=published.sensitive,
                types={name: kind for name, kind in types.items() if kind is not None},
            ),
        )

    def write(self, published: EventTables, names: list[str], folder: Path, file_format: FileFormat) -> list[Path]:
        """Rows sorted by all columns, whatever their original order: that could be the order of arrival."""
        tables = self.renamed(published, names)
        data = folder / f"data.{file_format}"
        write_table(tables.records, data, file_format)
        if tables.counts is None:
            return [data]
        sensitive = folder / f"sensitive.{file_format}"
        write_table(tables.counts, sensitive, file_format)
        return [data, sensitive]

    def renamed(self, published: EventTables, names: list[str]) -> EventTables:
        """The same order as in the files."""
        counts = published.counts
        return replace(
            published,
            records=published.records.sort(published.records.columns),
            counts=None if counts is None else counts.sort(counts.columns),
        )

    def read(self, folder: Path, certificate: Certificate) -> EventTables:
        """The published tables, with the types the certificate names."""
        said = certificate.columns.events
        if said is None:
            raise ReleaseError(f"{FILE_NAME} does not say how events were published.")
        data = find_data(folder, certificate.files)
        types = dict(said.types)
        # A row of the second table counts at least one event.
        most_rows = certificate.counts.events or 0
        try:
            if said.publish == "generalised":
                records = read_table(data, types, (TIME, said.sensitive), most_rows=most_rows)
                return EventTables(records, None, said.quasi, said.sensitive)
            names = [TIME, GROUP, *said.quasi], [TIME, GROUP, said.sensitive, COUNT]
            paths = data, find_data(folder, certificate.files, "sensitive")
            records, counts = (
                read_table(
                    path,
                    {name: types[name] for name in columns},
                    (TIME, GROUP, said.sensitive, COUNT),
                    most_rows=most_rows,
                )
                for path, columns in zip(paths, names, strict=True)
            )
            return EventTables(records, counts, said.quasi, said.sensitive)
        except (InputError, KeyError):
            raise unreadable(data) from None

    def findings(self, published: EventTables, certificate: Certificate) -> list[str]:
        """Counts of events and snapshots, and the order of rows."""
        counts = certificate.counts
        if (published.n_events, published.n_snapshots) != (counts.events, counts.snapshots):
            return [
                f"the data has {published.n_events} events in {published.n_snapshots} snapshots, "
                f"{FILE_NAME} says {counts.events} in {counts.snapshots}"
            ]
        tables = self.renamed(published, [])
        if not published.records.equals(tables.records) or (
            published.counts is not None and tables.counts is not None and not published.counts.equals(tables.counts)
        ):
            return ["rows are not sorted by all their columns: their order might reveal when events arrived"]
        return []

    def sizes(self, published: EventTables, certificate: Certificate) -> dict[str, int] | None:
        """As the tables say."""
        return tally(event_groups(published).sizes)

    def describe(self, published: EventTables, row: int, data_file: str) -> str:
        """The group of a row in the file."""
        return f"the group of the event in {data_file} row {row} (counted from 0)"
