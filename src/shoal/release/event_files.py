"""Tables of published events as Parquet or CSV; types are those the certificate names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from shoal.model.event_kinds import as_text, dtype_of, from_text
from shoal.release.files import FileFormat, NotAPanelError, unreadable


def write_table(frame: pl.DataFrame, path: Path, file_format: FileFormat) -> None:
    """Write a table; in a CSV, missing is empty, empty text is quoted, and instants with a zone are in UTC."""
    if file_format == "parquet":
        frame.write_parquet(path, compression="zstd")
    else:
        frame.with_columns(as_text(column) for column in frame).write_csv(path)


def read_table(path: Path, types: Mapping[str, str], complete: tuple[str, ...]) -> pl.DataFrame:
    """Read a table back with the given columns; those named in `complete` have no gaps.

    Raises ReleaseError where it cannot be read or has other columns, NotAPanelError where an entry is not what it was.
    """
    schema = {name: dtype_of(kind) for name, kind in types.items()}
    is_csv = path.suffix == ".csv"
    try:
        table = pl.read_csv(path, infer_schema=False, glob=False) if is_csv else pl.read_parquet(path, glob=False)
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
                raise _odd_entry(path, typed.is_null(), "nothing where something is needed")
            columns.append(typed)
        return pl.DataFrame(columns)
    except (OSError, pl.exceptions.PolarsError):
        raise unreadable(path) from None


def _odd_entry(path: Path, odd: pl.Series, what: str) -> NotAPanelError:
    return NotAPanelError(f"{path.name} row {odd.arg_max()} (counted from 0) holds {what}")
