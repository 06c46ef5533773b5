"""A folder that appears complete or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import ReleaseError
from shoal.files.durable import sync
from shoal.files.leftovers import abandoned, alone_in, hold, remove


@contextmanager
def whole_folder(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a temporary folder next to `target`; on success sync it to disk and rename it, on failure remove it.

    An existing folder that is not empty is replaced only on request; the caller decides whether it may be. Replacing
    takes two renames: between them there is no folder, never half of one. If the process is killed in between, the next
    writer restores the earlier folder (`put_back`).
    """
    with folder_beside(target) as partial:
        try:
            yield partial
            partial.chmod(0o755)  # mkdtemp's 0700 would hide it from its readers
            for place, _, files in os.walk(partial, topdown=False):
                for name in files:
                    sync(Path(place) / name)
                sync(Path(place))
            _put_in_place(partial, target, overwrite=overwrite)
        except OSError as error:
            raise ReleaseError(f"Cannot write {str(target)!r}: {error.strerror}.") from None


@contextmanager
def folder_beside(target: Path) -> Iterator[Path]:
    """Yield a hidden folder next to `target`, locked while it is in use and removed at the end.

    What killed processes left of such folders is removed first.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with alone_in(target.parent):
            for left in abandoned(target.parent, f".{target.name}.partial-"):
                remove(left)
            folder, lock = _begin(target, "partial")
    except OSError as error:
        raise ReleaseError(f"Cannot write beside {str(target)!r}: {error.strerror}.") from None
    try:
        yield folder
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def _begin(target: Path, what: str) -> tuple[Path, int]:
    """A hidden folder next to a target, and the descriptor that locks it."""
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.{what}-", dir=target.parent))
    return folder, hold(folder)


def put_back(target: Path) -> None:
    """Restore the folder that a killed process was about to replace; remove it if the new one is in place."""
    if not target.parent.is_dir():
        return
    try:
        with alone_in(target.parent):
            for left in abandoned(target.parent, f".{target.name}.replaced-"):
                if (left / "old").is_dir() and not (target.exists() or target.is_symlink()):
                    (left / "old").rename(target)
                remove(left)
    except OSError as error:
        raise ReleaseError(f"Cannot write beside {str(target)!r}: {error.strerror}.") from None


def _put_in_place(partial: Path, target: Path, *, overwrite: bool) -> None:
    if overwrite and target.exists() and any(target.iterdir()):
        with alone_in(target.parent):
            aside, lock = _begin(target, "replaced")
        try:
            target.rename(aside / "old")
            partial.rename(target)
        finally:
            os.close(lock)
        shutil.rmtree(aside)
    else:
        try:
            partial.rename(target)  # refused by the system if another release has appeared meanwhile
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                raise ReleaseError(
                    f"{str(target)!r} exists. Another release was written there in the meantime."
                ) from None
            raise
    sync(target.parent)
