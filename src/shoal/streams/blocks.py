"""Blocks of events as they arrive: parsed, with their place in the source."""

from __future__ import annotations

import io
import json
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.streams.stop_request import Stop


class Source:
    """Where events come from."""

    def blocks(self, stop: Stop) -> Iterator[Block]:
        """Yield what has arrived, repeatedly, until the input ends or a stop is requested."""
        raise NotImplementedError

    def acknowledge(self, block: Block) -> None:
        """The block is on disk and need not be sent again. Called in order, from another thread."""

    def close(self) -> None:
        """Release what is held open, if anything is."""


@dataclass(frozen=True)
class Position:
    """How much of the source is consumed: lines, or rows of the current file and the files before it."""

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
        """All of it, for JSON."""
        return [self.number, self.file, self.n_files, self.marks]


@dataclass(frozen=True)
class Block:
    """Some events in the order of arrival, one row each, including unreadable lines.

    Parameters
    ----------
    frame
        The requested columns, by name; a row of nulls for an unreadable line.
    malformed
        Which rows cannot be read.
    numbers
        The number of each row's line in the source, or of its row in the file; from 1.
    before, after
        The position in the source before and after this block.
    untyped
        Whether all columns are text because the source has no types.
    arrived
        When it was read, in seconds of the monotonic clock.
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
        """Split before a row."""
        between = self.position(row)
        first = replace(
            self, frame=self.frame[:row], malformed=self.malformed[:row], numbers=self.numbers[:row], after=between
        )
        rest = replace(
            self, frame=self.frame[row:], malformed=self.malformed[row:], numbers=self.numbers[row:], before=between
        )
        return first, rest

    def position(self, n_rows: int) -> Position:
        """The position after that many rows."""
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
        # A separate object on the same memory: a frame that one thread writes must not be used by another.
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
        if len(numbers) != len(frame) or not isinstance(head["untyped"], bool):
            raise ValueError("not a block")
        return cls(frame, malformed, numbers, before, after, head["untyped"])

    def has(self, columns: Sequence[str]) -> bool:
        """Whether it has these columns, as text if its source has no types."""
        kinds = self.frame.schema
        return all(name in kinds and (not self.untyped or kinds[name] == pl.String) for name in columns)

    def place(self, row: int) -> str:
        """The place of a row, in words."""
        number = int(self.numbers[row])
        return f"line {number}" if self.after.file is None else f"row {number} of file {self.after.n_files}"


def read_arrow(content: bytes) -> pl.DataFrame:
    """A table from an Arrow stream; by Arrow, since polars panics at some that are damaged."""
    table = pa.ipc.open_stream(content).read_all()
    table.validate(full=True)
    return pl.DataFrame(table)


def _in_a_row(numbers: NDArray[np.int64]) -> bool:
    return len(numbers) > 0 and int(numbers[-1] - numbers[0]) == len(numbers) - 1


def parse_lines(raw: bytes, columns: Sequence[str], before: Position) -> Block:
    """Read complete lines of JSON objects, every value as text, so that lines are independent of each other."""
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
    """The table, or None if some line is not a JSON object."""
    schema = dict.fromkeys(columns, pl.String())
    if not raw.strip():
        return pl.DataFrame(schema=schema)
    try:
        return pl.read_ndjson(io.BytesIO(raw), schema=schema)
    except pl.exceptions.PolarsError:
        return None


def _parse_apart(lines: list[bytes], columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.bool_]]:
    """The table with a row of nulls for each line that is not a JSON object, found by bisection."""
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


T = TypeVar("T")
_AHEAD = 2


@contextmanager
def prefetched(items: Iterator[T]) -> Iterator[Iterator[T]]:
    """The same items, read at most two ahead; an error from reading is raised at its position."""
    ahead: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(_AHEAD)
    left = threading.Event()

    def put(item: tuple[T] | BaseException | None) -> None:
        while not left.is_set():
            try:
                ahead.put(item, timeout=0.1)
            except queue.Full:
                continue
            return

    def read() -> None:
        try:
            for item in items:
                put((item,))
                if left.is_set():
                    return
            put(None)
        except BaseException as error:
            put(error)

    def take() -> Iterator[T]:
        while (item := ahead.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item[0]

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield take()
    finally:
        left.set()
        # A reader that is waiting for input is abandoned: as a daemon, it ends with the process.
        thread.join(timeout=0.5)
