"""The state of a stream on disk, from which a killed stream resumes: written to a temporary file, synced and renamed.

One file contains everything that is pending. Writing it after every published snapshot would cost more than publishing,
so later arrivals are in a log next to it (`BlockLog`) and are replayed.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.errors import ReleaseError
from shoal.files.durable import Aside, sync, write_aside
from shoal.files.format import check_format
from shoal.streams.blocks import Block, read_arrow

FILE_NAME = "stream.state"
_LOCK = "stream.lock"
_VERSION = 1
UNREADABLE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, AssertionError),
    *(pl.exceptions.PolarsError, pa.ArrowException),
)
"""Errors that reading a damaged state can raise."""


@dataclass(frozen=True)
class Checkpoint:
    """Everything a stream needs to resume.

    Parameters
    ----------
    number
        Counts the checkpoints of a stream.
    facts
        Parameters, positions and counts; what JSON can hold.
    tables
        Pending events, by the part of the stream they wait in, as they arrived: this file is private.
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
        """Read one back. Raises one of UNREADABLE if it is damaged, ReleaseError if a later version wrote it."""
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
    """Write a checkpoint to a temporary file, readable by its owner only."""
    mark = f"-{checkpoint.number}"  # two states may be written at once
    return write_aside(folder / FILE_NAME, checkpoint.to_bytes(), mode=0o600, mark=mark)


def remove_asides(folder: Path) -> None:
    """Remove checkpoints that were written but never moved into place."""
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


def refuse_unless_counts(*numbers: Any) -> None:
    """Raise ValueError unless these are whole numbers from 0 on, as JSON has them."""
    if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
        raise ValueError("not a count")


def refuse_unless_typed(facts: Any, kinds: Mapping[str, Any]) -> None:
    """Raise ValueError unless these are facts with these names, each of its type."""
    if not isinstance(facts, dict) or not all(name in facts and isinstance(facts[name], kinds[name]) for name in kinds):
        raise ValueError("not facts of this kind")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} in a state")


def damaged(folder: Path) -> ReleaseError:
    """The error for an unreadable state."""
    return ReleaseError(
        f"The state in {str(folder)!r} cannot be read: it is damaged. Start the stream again "
        "with new folders for --private and --out."
    )


def different(kept: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Names of the settings that differ."""
    return [name for name in given if kept.get(name) != given[name]]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a private folder against other streams; the lock of a killed process is released."""
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ReleaseError(f"Another stream is running with the private folder {str(folder)!r}.") from None
        yield
    finally:
        os.close(descriptor)


_NAME = "stream.log-"
_HEAD = struct.Struct("<QI")  # bytes and CRC-32 of the content


class BlockLog:
    """The log of what has arrived since the last checkpoint, on disk before anything is published.

    A stream is a function of its state and of the events after it, so replayed blocks publish the same bytes under the
    same names. There is one record per block and one sync per record, which covers everything the block causes. The
    file is for its owner alone. An empty record is the end of the input.

    Parameters
    ----------
    folder
        The private folder.
    number
        The checkpoint that the blocks come after.
    """

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._path = folder / f"{_NAME}{number:012d}"
        self._number = number
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self.size = os.fstat(self._descriptor).st_size
        sync(folder)

    def append(self, block: Block | None) -> None:
        """Write a block to disk, or None for the end of the input."""
        content = b"" if block is None else block.to_bytes()
        left = memoryview(_HEAD.pack(len(content), zlib.crc32(content)) + content)
        self.size += len(left)
        while left:
            left = left[os.write(self._descriptor, left) :]
        os.fdatasync(self._descriptor)

    def read(self, columns: Sequence[str] = ()) -> list[Block | None]:
        """Every complete record; an incomplete last one, left by a killed process or a lost disk, is cut off.

        Raises ReleaseError if a record is damaged or lacks one of these columns.
        """
        content = self._path.read_bytes()
        blocks: list[Block | None] = []
        start = 0
        while start + _HEAD.size <= len(content):
            length, check = _HEAD.unpack_from(content, start)
            end = start + _HEAD.size + length
            record = content[start + _HEAD.size : end]
            if end > len(content) or zlib.crc32(record) != check:
                if end < len(content):
                    raise damaged(self._folder)
                break
            try:
                block = Block.from_bytes(record) if record else None
            except UNREADABLE:
                raise damaged(self._folder) from None
            if block is not None and not block.has(columns):
                raise damaged(self._folder)
            blocks.append(block)
            start = end
        os.ftruncate(self._descriptor, start)
        self.size = start
        return blocks

    def remove_others(self) -> None:
        """Remove the logs of other checkpoints."""
        for path in self._folder.glob(f"{_NAME}*"):
            if path != self._path:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Give the file back."""
        os.close(self._descriptor)
