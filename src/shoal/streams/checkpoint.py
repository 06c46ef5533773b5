"""The state of a stream on disk, from which a killed stream goes on: written aside, synced and renamed.

One file holds everything that waits. Writing it after every published snapshot would cost more than publishing, so what
arrives after it is in a log next to it (`BlockLog`), and is taken in again.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.errors import ReleaseError
from shoal.files.durable import Aside, write_aside
from shoal.files.format import check_format

FILE_NAME = "stream.state"
_LOCK = "stream.lock"
_VERSION = 1
UNREADABLE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, AssertionError),
    *(pl.exceptions.PolarsError, pa.ArrowException),
)
"""What reading a state that is none can raise."""


@dataclass(frozen=True)
class Checkpoint:
    """Everything a stream needs to go on.

    Parameters
    ----------
    number
        Counts the checkpoints of a stream.
    facts
        Parameters, positions and counts; what JSON can hold.
    tables
        Events that wait, by the part of the stream they wait in. They are as they arrived: this file is private.
    """

    number: int
    facts: dict[str, Any]
    tables: dict[str, pl.DataFrame]

    def to_bytes(self) -> bytes:
        """A line with the SHA-256 of the rest, one of JSON, then the tables as Arrow streams."""
        parts = {}
        for name, table in self.tables.items():
            buffer = io.BytesIO()
            table.write_ipc_stream(buffer, compression="lz4")
            parts[name] = buffer.getvalue()
        lengths = {name: len(part) for name, part in parts.items()}
        head = {"version": _VERSION, "number": self.number, "facts": self.facts, "tables": lengths}
        content = b"".join([json.dumps(head, allow_nan=False).encode(), b"\n", *parts.values()])
        return hashlib.sha256(content).hexdigest().encode() + b"\n" + content

    @classmethod
    def from_bytes(cls, content: bytes) -> Checkpoint:
        """Read one back. Raises one of UNREADABLE where it is none, ReleaseError where a later version wrote it."""
        digest, _, content = content.partition(b"\n")
        if digest != hashlib.sha256(content).hexdigest().encode():
            raise ValueError("damaged")
        head_line, _, rest = content.partition(b"\n")
        head = json.loads(head_line, parse_constant=_refuse_constant)
        check_format(head["version"], _VERSION, "The state")
        if sum(head["tables"].values()) != len(rest):
            raise ValueError("another length")
        tables, start = {}, 0
        for name, length in head["tables"].items():
            tables[name] = read_arrow(rest[start : start + length])
            start += length
        refuse_unless_counts(head["number"])
        if not isinstance(head["facts"], dict):
            raise ValueError("not the facts of a stream")
        return cls(head["number"], head["facts"], tables)


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> Aside:
    """Write a checkpoint next to its place, for its owner alone."""
    mark = f"-{checkpoint.number}"  # two states may be written at once
    return write_aside(folder / FILE_NAME, checkpoint.to_bytes(), mode=0o600, mark=mark)


def remove_asides(folder: Path) -> None:
    """Remove checkpoints that were written but never put in their place."""
    for path in folder.glob(".stream.*.partial"):
        path.unlink(missing_ok=True)


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """The state in a private folder, if it has one."""
    if not (folder / FILE_NAME).exists():
        return None
    try:
        return Checkpoint.from_bytes((folder / FILE_NAME).read_bytes())
    except UNREADABLE:
        raise damaged(folder) from None


def read_arrow(content: bytes) -> pl.DataFrame:
    """A table from an Arrow stream; by Arrow, since polars panics at some that are damaged."""
    table = pa.ipc.open_stream(content).read_all()
    table.validate(full=True)
    return pl.DataFrame(table)


def refuse_unless_counts(*numbers: Any) -> None:
    """Raise ValueError unless these are whole numbers from 0 on, as JSON has them."""
    if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
        raise ValueError("not a count")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} in a state")


def damaged(folder: Path) -> ReleaseError:
    """What is said of a state that cannot be read."""
    return ReleaseError(
        f"The state in {str(folder)!r} cannot be read: it is damaged. Start the stream again "
        "with new folders for --private and --out."
    )


def different(kept: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Names of the settings that differ."""
    return [name for name in given if kept.get(name) != given[name]]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other streams away from a private folder; a killed process gives its lock back."""
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ReleaseError(f"Another stream is running with the private folder {str(folder)!r}.") from None
        yield
    finally:
        os.close(descriptor)
