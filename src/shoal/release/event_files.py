"""Tables of published events as Parquet or CSV; types are those the certificate names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.model.event_kinds import as_text, dtype_of, from_text
from shoal.release.canonical import RowError, parquet_blocks, plain_text, refuse_nan, refuse_other_text
from shoal.release.files import FileFormat, NotAPanelError, unreadable


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
    n_rows = pq.read_metadata(path).num_rows
    if n_rows > most_rows:
        raise NotAPanelError(f"{path.name} has {n_rows} rows, release.json counts {most_rows}")
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
