"""What killed processes left behind: recognised by its lock, which ends with its process, not by its age."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Serialise starting and sweeping in a folder: nothing is visible there before it is locked."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def hold(path: Path) -> int:
    """Lock something being written until the returned descriptor is closed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def abandoned(folder: Path, prefix: str, suffix: str = "") -> Iterator[Path]:
    """Files and folders with such names whose writer is gone.

    Links and pipes are skipped: opening a pipe would block forever, and a link leads elsewhere.
    """
    for path in sorted(folder.iterdir()):
        if not (path.name.startswith(prefix) and path.name.endswith(suffix)):
            continue
        try:
            kind = path.lstat().st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                continue
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue  # gone meanwhile, or not ours
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield path
        except BlockingIOError:
            pass  # its writer is alive
        finally:
            os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file or a folder with all in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
