"""Anything a panel or events can be read from, as a table."""

from __future__ import annotations

import os
from typing import Any

from shoal.errors import InputError, ParameterError
from shoal.read.files import open_files
from shoal.read.frames import XarrayTable, is_pandas, is_xarray, open_frame
from shoal.read.lake import is_lake, open_lake
from shoal.read.queries import DatabaseTable, QueryTable
from shoal.read.remote_files import is_address
from shoal.read.tables import SourceTable


def _like_an_address(path: str) -> bool:
    """Whether this may be a mistyped database address rather than a file."""
    return path.lower().startswith("postgres") or "password=" in path.lower() or ("@" in path and ":" in path)


def open_table(source: Any, sql: str | None, sheet: str | None = None) -> SourceTable:
    """Open a path, folder, pattern, frame, query or database. Close the table after use."""
    if sql is not None and (not isinstance(sql, str) or not sql.strip()):
        raise ParameterError("sql: give a query, such as select id, time, value from 'file.parquet'.")
    if source is None:
        if sql is None:
            raise ParameterError("Nothing to read: give a source, or sql=.")
        return QueryTable(sql)
    if isinstance(source, str) and source.lower().startswith(("postgresql://", "postgres://")):
        if sql is None:
            raise ParameterError("A database needs sql=, such as select id, time, value from readings.")
        return DatabaseTable(source, sql)
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if not isinstance(path, str) or (not is_address(path) and ("://" in path or _like_an_address(path))):
            # Not echoed: an address may hold a password.
            raise InputError(
                "This kind of address cannot be read. Give a path, a folder, a pattern, s3://, gs://, az://, https:// "
                "or postgresql://."
            )
        table = open_lake(path) if is_lake(path) else open_files(path, sheet)
    elif is_xarray(source):
        table = XarrayTable(source)
    elif is_pandas(source) or hasattr(source, "__arrow_c_stream__") or hasattr(source, "collect_schema"):
        table = open_frame(source)
    else:
        raise InputError(
            f"Cannot read an object of the type {type(source).__name__}. Give a path, a numpy array, a frame "
            "(pandas, polars, pyarrow) or postgresql:// with sql=."
        )
    return table if sql is None else QueryTable(sql, table)
