"""Events from a growing folder: files in the order of their names, each read as soon as it has its name."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.read.columns import find_column
from shoal.read.files import kind_of, read_header
from shoal.read.tables import as_series, beyond_calendar, is_temporal, is_text, plain
from shoal.streams.blocks import Block, Position, Source, with_malformed
from shoal.streams.stop_request import Stop

POLL_SECONDS = 1.0
_ROWS = 1 << 14
_CSV_BLOCK = 1 << 20
_DAMAGED = (pa.ArrowException, OSError, EOFError, csv.Error, UnicodeDecodeError)


class Folder(Source):
    """CSV or Parquet files of a folder.

    A file must be complete when it gets its name and must not change afterwards. Hidden names (`.x`, `_x`) and other
    suffixes are ignored, so a writer can write `x.csv.partial` and rename it. A file whose name sorts before one
    already read is too late and is not read. Rows of a CSV with too few or too many entries are malformed.

    Parameters
    ----------
    folder
        The folder.
    columns
        The columns to read.
    position
        What is already consumed.
    follow
        Whether to wait for further files.
    tell
        Receives a note about files that come too late.
    """

    def __init__(
        self,
        folder: Path,
        columns: Sequence[str],
        position: Position,
        *,
        follow: bool = False,
        tell: Callable[[str], None] = lambda note: None,
    ) -> None:
        self._folder = folder
        self._columns = list(columns)
        self._position = position
        self._follow = follow
        self._tell = tell
        self._n_overlooked = 0

    def blocks(self, stop: Stop) -> Iterator[Block]:
        """Files that are present or appear, until there are no more or a stop is requested."""
        # The file in which an earlier run ended may have more rows; in this run, each file is read once.
        begun = self._position.file
        while not stop.asked:
            for path in self._files(begun):
                for block in self._rest(path):
                    if stop.asked:
                        return
                    self._position = block.after
                    yield block
                begun = None
            if not self._follow:
                return
            stop.wait(POLL_SECONDS)

    def _files(self, begun: str | None) -> list[Path]:
        """The files to read now, in order."""
        try:
            names = [p for p in self._folder.iterdir() if not p.name.startswith((".", "_")) and p.is_file()]
        except OSError as error:
            raise InputError(f"The folder {str(self._folder)!r} cannot be read: {error.strerror}.") from None
        kinds = {p: kind for p in names if (kind := kind_of(p)) is not None}
        if len(set(kinds.values())) > 1:
            raise InputError(f"{str(self._folder)!r} holds CSV and Parquet files. Keep one kind.")
        last = self._position.file
        if last is None:
            return sorted(kinds)
        n_overlooked = sum(p.name <= last for p in kinds) - self._position.n_files
        if n_overlooked > self._n_overlooked:
            self._n_overlooked = n_overlooked
            self._tell(f"{n_overlooked} files have names that sort before one already read; they are not read.")
        return sorted(p for p in kinds if p.name > last or p.name == begun)

    def _rest(self, path: Path) -> Iterator[Block]:
        """The rows of a file that are not consumed yet."""
        again = path.name == self._position.file
        n_done = self._position.number if again else 0
        n_files = self._position.n_files + (not again)
        what = f"File {n_files} in {str(self._folder)!r}"
        at = 0
        try:
            parts = self._csv(path) if kind_of(path) == "csv" else self._parquet(path)
            for frame, malformed in parts:
                start, at = at, at + len(frame)
                before, after = (Position(number, path.name, n_files) for number in (start, at))
                numbers = np.arange(start + 1, at + 1)
                block = Block(frame, malformed, numbers, before, after, untyped=kind_of(path) == "csv")
                if at > n_done:
                    yield block.split(max(0, n_done - start))[1]
        except _DAMAGED:
            raise InputError(f"{what} cannot be read: it is damaged or of another kind than its name says.") from None
        if at < n_done:
            raise InputError(f"{what} has fewer rows than were read from it. Files must not change.")
        if at == 0:
            self._position = Position(0, path.name, n_files)

    def _csv(self, path: Path) -> Iterator[tuple[pl.DataFrame, NDArray[np.bool_]]]:
        header, separator, n_lines = read_header(path)
        wanted = [str(find_column(header, name).position) for name in self._columns]
        wrong: list[int] = []

        def note(row: Any) -> str:
            wrong.append(row.number - n_lines)
            return "skip"

        with pa.input_stream(str(path), compression="gzip" if path.name.lower().endswith(".gz") else None) as stream:
            # One thread: only then are wrong rows numbered.
            reader = pyarrow.csv.open_csv(
                stream,
                pyarrow.csv.ReadOptions(
                    block_size=_CSV_BLOCK,
                    skip_rows=n_lines,
                    column_names=[str(position) for position in range(len(header))],
                    use_threads=False,
                ),
                pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=note),
                pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(wanted, pa.string()), include_columns=wanted),
            )
            at = 0
            for batch in reader:
                n_wrong = 0
                while (found := sum(at < number <= at + len(batch) + n_wrong for number in wrong)) > n_wrong:
                    n_wrong = found
                numbers = np.arange(at + 1, at + len(batch) + n_wrong + 1)
                malformed = np.isin(numbers, wrong)
                at = int(numbers[-1]) if len(numbers) else at
                wrong[:] = [number for number in wrong if number > at]
                yield with_malformed(self._frame(batch), malformed), malformed
            if wrong:
                malformed = np.ones(len(wrong), dtype=bool)
                yield (
                    with_malformed(pl.DataFrame(schema=dict.fromkeys(self._columns, pl.String())), malformed),
                    malformed,
                )

    def _parquet(self, path: Path) -> Iterator[tuple[pl.DataFrame, NDArray[np.bool_]]]:
        with pyarrow.parquet.ParquetFile(path) as file:
            for name in self._columns:
                find_column(file.schema_arrow.names, name)
            for batch in file.iter_batches(batch_size=_ROWS, columns=self._columns):
                batch.validate(full=True)  # Parquet does not ensure that text is UTF-8
                malformed = np.zeros(len(batch), dtype=bool)
                for column in filter(is_temporal, batch.columns):
                    malformed |= beyond_calendar(column)
                good = batch.filter(pa.array(~malformed)) if malformed.any() else batch
                yield with_malformed(self._frame(good.select(self._columns)), malformed), malformed

    def _frame(self, batch: Any) -> pl.DataFrame:
        columns = plain(batch.columns)
        return pl.DataFrame([_typed(name, column) for name, column in zip(self._columns, columns, strict=True)])


def _typed(name: str, column: Any) -> pl.Series:
    """A column of a Parquet file as polars knows it."""
    kind = column.type
    if not (is_text(column) or pa.types.is_primitive(kind) or pa.types.is_decimal(kind)) or pa.types.is_duration(kind):
        raise InputError(f"Column {name!r} must hold text, numbers, dates or times in every Parquet file.")
    return as_series(column).alias(name)
