"""A file of JSON lines that one process writes and others may read; each line is on disk before the next begins."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.files.durable import sync

PATIENCE = 1.0
"""Seconds for which a writer waits: a process that only checks for a writer is done long before."""


@dataclass(frozen=True)
class Journal:
    """Lines that survive a crash: an unfinished line of a killed writer is ignored."""

    path: Path

    def lines(self) -> list[dict[str, Any]]:
        """Every complete line; none if there is no file yet."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in content[: content.rfind(b"\n") + 1].splitlines()]

    @property
    def is_being_written(self) -> bool:
        """Whether a process that is alive has it open for writing."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    @contextmanager
    def writing(self) -> Iterator[Callable[[Mapping[str, Any]], None]]:
        """Append lines, one writer at a time; BlockingIOError if there is another."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            _lock(descriptor)
            sync(self.path.parent)
            content = self.path.read_bytes()
            if (whole := content.rfind(b"\n") + 1) < len(content):
                os.ftruncate(descriptor, whole)

            def append(line: Mapping[str, Any]) -> None:
                left = memoryview(json.dumps(line, allow_nan=False).encode() + b"\n")
                while left:
                    left = left[os.write(descriptor, left) :]
                os.fsync(descriptor)

            yield append
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
