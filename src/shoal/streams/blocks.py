"""Blocks of events as they arrive: parsed, with their place in the source."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.streams.checkpoint import read_arrow
from shoal.streams.stop_request import Stop


class Source(Protocol):
    """Where events come from."""

    def blocks(self, stop: Stop) -> Iterator[Block]:
        """What has arrived, again and again, until the input ends or a stop is asked for."""

    def acknowledge(self, block: Block) -> None:
        """This block is on disk and need not come again. Called in order, from another thread."""

    def close(self) -> None:
        """Give back what is held open."""


@dataclass(frozen=True)
class Position:
    """How much of the source is consumed: lines, or rows of the file that is being read and the files before it."""

    number: int = 0
    file: str | None = None
    n_files: int = 0
    """Files begun, with the one of that name."""
    marks: dict[str, Any] | None = None
    """For a topic: where it continues, as JSON."""

    def facts(self) -> dict[str, Any]:
        """What may be published: counts."""
        return {"lines": self.number} if self.file is None else {"files": self.n_files, "rows": self.number}

    def state(self) -> list[Any]:
        """All of it, as JSON holds it."""
        return [self.number, self.file, self.n_files, self.marks]


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
    arrived
        When it was read, in seconds of the clock that only goes forward.
    """

    frame: pl.DataFrame
    malformed: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    before: Position
    after: Position
    untyped: bool = True
    arrived: float = field(default_factory=time.monotonic, compare=False)

    def __len__(self) -> int:
        return len(self.frame)

    def split(self, row: int) -> tuple[Block, Block]:
        """The rows before one, and that one with the rest."""
        between = self.position(row)
        first = replace(
            self, frame=self.frame[:row], malformed=self.malformed[:row], numbers=self.numbers[:row], after=between
        )
        rest = replace(
            self, frame=self.frame[row:], malformed=self.malformed[row:], numbers=self.numbers[row:], before=between
        )
        return first, rest

    def position(self, n_rows: int) -> Position:
        """The position when that many rows are consumed."""
        if n_rows == len(self):
            return self.after
        if n_rows == 0:
            return self.before
        return Position(int(self.numbers[n_rows - 1]), self.after.file, self.after.n_files)

    def to_bytes(self) -> bytes:
        """A line of JSON and the frame as an Arrow stream."""
        head = {
            "before": self.before.state(),
            "after": self.after.state(),
            "untyped": self.untyped,
            "malformed": np.flatnonzero(self.malformed).tolist(),
            # Nearly always lines come one after another.
            "numbers": [int(n) for n in self.numbers[:1]] if _in_a_row(self.numbers) else self.numbers.tolist(),
        }
        buffer = io.BytesIO()
        # Another object with the same memory: a frame that one thread writes must not be touched by another.
        self.frame.clone().write_ipc_stream(buffer, compression="lz4")
        return json.dumps(head, allow_nan=False).encode() + b"\n" + buffer.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Block:
        """Read one back."""
        line, _, rest = content.partition(b"\n")
        head = json.loads(line)
        frame = read_arrow(rest)
        malformed = np.zeros(len(frame), dtype=bool)
        malformed[head["malformed"]] = True
        numbers = np.array(head["numbers"], dtype=np.int64)
        if len(numbers) == 1:
            numbers = numbers[0] + np.arange(len(frame))
        before, after = (Position(*head[name]) for name in ("before", "after"))
        return cls(frame, malformed, numbers, before, after, head["untyped"])

    def place(self, row: int) -> str:
        """Where a row stands, in words."""
        number = int(self.numbers[row])
        return f"line {number}" if self.after.file is None else f"row {number} of file {self.after.n_files}"


def _in_a_row(numbers: NDArray[np.int64]) -> bool:
    return len(numbers) > 0 and int(numbers[-1] - numbers[0]) == len(numbers) - 1


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
    """The table, or None if some line is no JSON object."""
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
