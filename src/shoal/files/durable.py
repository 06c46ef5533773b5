"""Files that appear complete or not at all: written to a temporary file, synced to disk, renamed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Aside:
    """A file that is written but not yet in its place."""

    path: Path
    place: Path

    def sync(self) -> None:
        """Wait until the content is on disk."""
        sync(self.path)

    def put_in_place(self) -> None:
        """Rename it, over an earlier file of that name; its folder must be synced for that to last."""
        self.path.rename(self.place)


def write_aside(place: Path, content: bytes, *, mode: int = 0o644, mark: str = "") -> Aside:
    """Write a hidden file next to its place; `mark` is part of its name."""
    path = place.with_name(f".{place.name}{mark}.partial")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return Aside(path, place)


def sync_all(asides: Sequence[Aside], pool: ThreadPoolExecutor) -> None:
    """Wait until all are on disk. Requested together, they share commits of the file system's journal."""
    for done in [pool.submit(aside.sync) for aside in asides]:
        done.result()


def sync(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
