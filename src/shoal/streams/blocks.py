"""Blocks of events as they arrive: parsed, with their place in the source."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray


@dataclass(frozen=True)
class Position:
    """How much of the source is consumed: lines, or rows of the file that is being read and the files before it."""

    number: int = 0
    file: str | None = None
    n_files: int = 0
    """Files begun, with the one of that name."""

    def facts(self) -> dict[str, Any]:
        """What may be published: counts."""
        return {"lines": self.number} if self.file is None else {"files": self.n_files, "rows": self.number}


@dataclass(frozen=True)
class Block:
    """Some events in the order of their arrival, one row each, lines that cannot be read among them.

    Parameters
    ----------
    frame
        The columns asked for, by name; a row of nulls for what cannot be read.
    malformed
        Which rows cannot be read.
    numbers
        The number of each row's line in the source, or of its row in the file; from 1.
    before, after
        The position in the source before and after this block.
    untyped
        Whether all columns are text because the source knows no types.
    """

    frame: pl.DataFrame
    malformed: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    before: Position
    after: Position
    untyped: bool = True

    def __len__(self) -> int:
        return len(self.frame)

    def split(self, row: int) -> tuple[Block, Block]:
        """The rows before one, and that one with the rest."""
        between = self.position(row)
        first = Block(self.frame[:row], self.malformed[:row], self.numbers[:row], self.before, between, self.untyped)
        rest = Block(self.frame[row:], self.malformed[row:], self.numbers[row:], between, self.after, self.untyped)
        return first, rest

    def position(self, n_rows: int) -> Position:
        """The position when that many rows are consumed."""
        if n_rows == len(self):
            return self.after
        if n_rows == 0:
            return self.before
        return Position(int(self.numbers[n_rows - 1]), self.after.file, self.after.n_files)

    def place(self, row: int) -> str:
        """Where a row stands, in words."""
        number = int(self.numbers[row])
        return f"line {number}" if self.after.file is None else f"row {number} of file {self.after.n_files}"


def parse_lines(raw: bytes, columns: Sequence[str], before: Position) -> Block:
    """Read whole lines of JSON objects; every value as text, so that what a line says does not depend on others."""
    n_lines = raw.count(b"\n") + (not raw.endswith(b"\n") and raw != b"")
    after = Position(before.number + n_lines)
    frame = _parse(raw, columns)
    if frame is not None and len(frame) == n_lines:
        numbers = np.arange(before.number + 1, after.number + 1)
        return Block(frame, np.zeros(n_lines, dtype=bool), numbers, before, after)
    lines = [line.strip(b" \t\r") for line in raw.split(b"\n")[:n_lines]]
    kept = [place for place, line in enumerate(lines) if line]
    frame, malformed = _parse_apart([lines[place] for place in kept], columns)
    return Block(frame, malformed, np.array(kept, dtype=np.int64) + before.number + 1, before, after)


def _parse(raw: bytes, columns: Sequence[str]) -> pl.DataFrame | None:
    """The table, or None where some line is no JSON object."""
    schema = dict.fromkeys(columns, pl.String())
    if not raw.strip():
        return pl.DataFrame(schema=schema)
    try:
        return pl.read_ndjson(io.BytesIO(raw), schema=schema)
    except pl.exceptions.PolarsError:
        return None


def _parse_apart(lines: list[bytes], columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.bool_]]:
    """The table with a row of nulls for each line that is no JSON object: found by halving what cannot be read."""
    malformed = np.array([not (line.startswith(b"{") and line.endswith(b"}")) for line in lines], dtype=bool)
    parts: list[tuple[int, pl.DataFrame]] = []
    to_do = [[place for place, wrong in enumerate(malformed) if not wrong]]
    while to_do:
        places = to_do.pop()
        frame = _parse(b"\n".join(lines[place] for place in places), columns)
        if frame is not None and len(frame) == len(places):
            if places:
                parts.append((places[0], frame))
        elif len(places) == 1:
            malformed[places[0]] = True
        else:
            half = len(places) // 2
            to_do += [places[:half], places[half:]]
    empty = pl.DataFrame(schema=dict.fromkeys(columns, pl.String()))
    good = pl.concat([empty, *(frame for _, frame in sorted(parts, key=lambda part: part[0]))])
    return with_malformed(good, malformed), malformed


def with_malformed(good: pl.DataFrame, malformed: NDArray[np.bool_]) -> pl.DataFrame:
    """The rows that could be read, with a row of nulls for each that could not."""
    if not malformed.any():
        return good
    if not len(good):
        return good.clear(len(malformed))
    rows = pl.Series(np.cumsum(~malformed) - 1, dtype=pl.Int64).clip(0)
    return good[rows].select(pl.when(pl.Series(~malformed)).then(pl.all()))
