"""SQL: DuckDB over files and frames, and PostgreSQL through Arrow.

A database's error message may quote data or the password, so none of it is passed on.
"""

from __future__ import annotations

import contextlib
import glob
import re
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from shoal.errors import InputError
from shoal.read.files import CsvTable, ParquetTable, read_header
from shoal.read.tables import ArrowTable, SourceTable, empty, plain, rows_per_batch

_MEMORY = "1GB"
_BATCH_ROWS = rows_per_batch(1)

_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (duckdb.ParserException, "it has a syntax error"),
    (duckdb.BinderException, "it names an unknown column or function, or mixes types"),
    (duckdb.CatalogException, "it names an unknown table or function"),
    (duckdb.ConversionException, "a conversion inside it fails on the data"),
    (duckdb.IOException, "a file it names is missing or cannot be read"),
    (duckdb.OutOfMemoryException, "it needs too much memory"),
)


class QueryTable(SourceTable):
    """The result of DuckDB SQL, run again for every pass and streamed.

    Parameters
    ----------
    sql
        One query.
    source
        What the query calls `input`, if anything. Columns of a CSV are text there: cast where you compute.
    """

    def __init__(self, sql: str, source: SourceTable | None = None) -> None:
        self._source = source  # keeps its temporary files alive
        # The directory is private (mode 0700): what spills out of memory is raw data.
        self._spill = tempfile.TemporaryDirectory(prefix="shoal-")
        self._connection = duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": self._spill.name})
        try:
            self._relation = self._prepare(sql, source)
        except BaseException:
            self.close()
            raise
        super().__init__(self._relation.columns, kind="sql", sha256=source.sha256 if source is not None else ())

    def _prepare(self, sql: str, source: SourceTable | None) -> duckdb.DuckDBPyRelation:
        try:
            self._settle()
            if source is not None:
                self._offer(source)
            self._refuse_all_but_a_select(sql)
            relation = self._connection.sql(sql)
        except duckdb.Error as error:
            raise _refused(error) from None
        if relation is None:
            raise InputError(
                "The SQL returns no table. Give a query such as select id, time, value from 'file.parquet'."
            )
        return relation

    def _refuse_all_but_a_select(self, sql: str) -> None:
        """One query that only reads: COPY and ATTACH would write files, others change settings."""
        statements = self._connection.extract_statements(sql)
        if not statements:
            return  # a statement without a result is reported when it is run
        if len(statements) > 1:
            raise InputError(f"sql: give one SELECT; this has {len(statements)} statements.")
        if statements[0].type != duckdb.StatementType.SELECT:
            raise InputError(
                f"sql: give one SELECT that only reads; this is a statement of the kind {statements[0].type.name}."
            )
        # A SELECT may hold a COPY or an INSERT in a WITH clause; a view may not.
        try:
            self._connection.execute(f"CREATE TEMP VIEW shoal_query AS {statements[0].query}")
            self._connection.execute("DROP VIEW shoal_query")
        except duckdb.BinderException as error:
            if "CTE bodies inside a VIEW" in str(error) or "must be at the top level" in str(error):
                raise InputError("sql: give one SELECT that only reads; a WITH clause of this one writes.") from None
            raise

    def _settle(self) -> None:
        self._connection.execute("SET enable_progress_bar = false")
        # A table name in the query must not resolve to one of our variables, nor a panel get the zone of this machine.
        # DuckDB may lack either setting: the first came with version 1.1, the second with an extension.
        settings = ("python_enable_replacements = false", "TimeZone = 'UTC'", "autoinstall_known_extensions = false")
        for setting in (*settings, "lock_configuration = true"):
            with contextlib.suppress(duckdb.CatalogException):
                self._connection.execute(f"SET {setting}")

    def _offer(self, source: SourceTable) -> None:
        if isinstance(source, ParquetTable):
            # Names are literal: DuckDB would read m1.parquet for m[1].parquet, and take columns from a folder a=1.
            paths = [glob.escape(str(path)) for path in (file.local() for file in source.files)]
            self._connection.from_parquet(paths, union_by_name=True, hive_partitioning=False).create_view("input")
        elif isinstance(source, CsvTable):
            paths = [glob.escape(str(path)) for path in (file.local() for file in source.files)]
            listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
            separator = read_header(source.files[0])[1]
            self._connection.execute(
                f"CREATE VIEW input AS SELECT * FROM read_csv([{listed}], header = true, all_varchar = true, "
                f"delim = '{separator}', quote = '\"', escape = '\"', hive_partitioning = false)"
            )
        else:
            self._connection.register("input", _in_memory(source))

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Batches of the running query."""
        try:
            # The older name serves DuckDB 1.
            stream = getattr(self._relation, "to_arrow_reader", None) or self._relation.fetch_arrow_reader
            for batch in stream(_BATCH_ROWS):
                yield plain([batch.column(c) for c in columns])
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise _refused(error) from None

    def close(self) -> None:
        """Close the connection and remove what spilled to disk."""
        self._connection.close()
        self._spill.cleanup()


def _in_memory(source: SourceTable) -> Any:
    if isinstance(source, ArrowTable):
        return source.table
    columns: list[list[Any]] = [[] for _ in source.names]
    for batch in source.batches(range(len(source.names))):
        for column, part in zip(columns, batch, strict=True):
            column.append(part)
    if not columns or not columns[0]:
        raise empty()
    return pa.table([pa.chunked_array(parts) for parts in columns], names=list(source.names))


def _refused(error: Exception) -> InputError:
    reason = next((text for kind, text in _REASONS if isinstance(error, kind)), "it fails while running")
    return InputError(f"DuckDB cannot run the SQL: {reason}. Details are withheld because they may quote data.")


class DatabaseTable(SourceTable):
    """The result of a query on PostgreSQL, streamed as Arrow. Both passes see one snapshot of the database."""

    def __init__(self, uri: str, sql: str) -> None:
        try:
            import adbc_driver_postgresql.dbapi as driver
        except ImportError:
            raise InputError("Reading PostgreSQL needs a driver: pip install 'shoal[postgres]'.") from None
        self._sql = _one_query(sql)
        self._failures = (driver.Error, pa.ArrowException, OSError)
        try:
            self._connection = driver.connect(uri)
        except self._failures:
            raise InputError(
                "Cannot connect to the database. Check host, port, user, password and database name of the URI; "
                "details are withheld because they may hold the password."
            ) from None
        try:
            with self._connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            with self._connection.cursor() as cursor:
                cursor.execute(f"SELECT * FROM ({self._sql}) AS shoal_query LIMIT 0")
                names = cursor.fetch_record_batch().schema.names
        except self._failures as error:
            self._connection.close()
            raise self._refused(error) from None
        super().__init__(names, kind="database")

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Batches of the running query."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(self._sql)
                for batch in cursor.fetch_record_batch():
                    yield plain([batch.column(c) for c in columns])
        except self._failures as error:
            raise self._refused(error) from None

    def close(self) -> None:
        """End the transaction and the connection."""
        self._connection.close()

    def _refused(self, error: Exception) -> InputError:
        state = getattr(error, "sqlstate", None)
        code = f" (SQLSTATE {state})" if state else ""
        return InputError(f"The database cannot run the SQL{code}. Details are withheld because they may quote data.")


_QUOTED = re.compile(
    r"""\$(\w*)\$.*?\$\1\$ | '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/""", re.DOTALL | re.VERBOSE
)


def _one_query(sql: str) -> str:
    """The query without its semicolon, if it only reads; the transaction would refuse writes anyway."""
    plain = sql.strip().rstrip(";").rstrip()
    bare = _QUOTED.sub(" ", plain)
    depth = 0
    for letter in bare:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            break
    # Before a quote, E gives a backslash a meaning that would need a parser of its own.
    is_open = ";" in bare or depth != 0 or "'" in bare or re.search(r"\b[eE]'[^']*\\", plain) is not None
    if is_open or re.match(r"\s*\(*\s*(select|with|values|table)\b", bare, re.IGNORECASE) is None:
        raise InputError("sql: give one SELECT that only reads, with its brackets and quotes closed.")
    # The driver puts the query into brackets; the line break keeps a comment at its end from swallowing the last one.
    return plain + "\n"
