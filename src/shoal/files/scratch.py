"""Scratch folders: raw data, readable by their owner only, and removed when the work is done."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

_LOCK = "lock"


@dataclass(frozen=True)
class ScratchFolder:
    """A temporary folder for its owner alone, locked while it is in use.

    The lock ends with the process, however it ends, so the next one finds what a killed one left.
    """

    path: Path
    lock: int

    @classmethod
    def make(cls, prefix: str, parent: Path | None = None) -> ScratchFolder:
        """Create one; those of dead processes are removed."""
        _sweep(prefix, Path(tempfile.gettempdir()) if parent is None else parent)
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        # Locked before it has its name, so that nobody finds it unlocked.
        lock = os.open(path / "new", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        (path / "new").rename(path / _LOCK)
        return cls(path, lock)

    def remove(self) -> None:
        """Remove it and all in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def _sweep(prefix: str, parent: Path) -> None:
    for path in parent.glob(f"{prefix}*/{_LOCK}"):
        try:
            if path.parent.is_symlink() or path.parent.stat().st_uid != os.getuid():
                continue
            lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue  # gone meanwhile, or not ours
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path.parent, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)
