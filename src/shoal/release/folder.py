"""A folder that appears whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import ReleaseError
from shoal.release.certificate import FILE_NAME, read_certificate
from shoal.release.parts_names import files_in
from shoal.streams.durable import sync

# A younger partial folder may belong to a writer that has not locked it yet.
_STALE_SECONDS = 60


@contextmanager
def whole_folder(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a temporary folder beside `target`; on success sync it to disk and rename it, on failure remove it.

    An existing release is replaced only on request, and nothing that is not a release or an empty folder ever is.
    Replacing takes two renames: whoever looks between them finds no folder, never half a one.
    """
    check_target(target, overwrite=overwrite)
    with folder_beside(target) as partial:
        try:
            yield partial
            partial.chmod(0o755)  # mkdtemp's 0700 would hide a release from its readers
            for place, _, files in os.walk(partial, topdown=False):
                for name in files:
                    sync(Path(place) / name)
                sync(Path(place))
            _put_in_place(partial, target, overwrite=overwrite)
        except OSError as error:
            raise ReleaseError(f"Cannot write {str(target)!r}: {error.strerror}.") from None


@contextmanager
def folder_beside(target: Path) -> Iterator[Path]:
    """Yield a hidden folder beside `target`, locked while it is in use and gone in the end.

    What killed processes left of such folders is removed first.
    """
    prefix = f".{target.name}.partial-"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent, prefix)
        if target.exists():
            _sweep(target.parent, f".{target.name}.replaced-")
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
        lock = os.open(folder, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as error:
        raise ReleaseError(f"Cannot write beside {str(target)!r}: {error.strerror}.") from None
    try:
        yield folder
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def check_target(target: Path, *, overwrite: bool) -> None:
    """Raise when a release may not be written there: best asked before long work."""
    if not (target.exists() or target.is_symlink()):
        return
    if not target.is_dir() or target.is_symlink():
        raise ReleaseError(f"{str(target)!r} exists and is not a folder. Choose another name.")
    if not any(target.iterdir()):
        return
    if not overwrite:
        raise ReleaseError(f"{str(target)!r} exists. Choose another folder, or replace it with --overwrite.")
    certificate = read_certificate(target) if (target / FILE_NAME).is_file() else None
    if certificate is None or files_in(target) != {FILE_NAME, *certificate.files}:
        raise ReleaseError(
            f"{str(target)!r} holds something other than a release and is not replaced. Choose another folder."
        )


def _sweep(parent: Path, prefix: str) -> None:
    """Remove what killed runs left behind: old partial folders whose writer is gone, and its lock with it."""
    for left in parent.iterdir():
        if not left.name.startswith(prefix) or time.time() - left.stat().st_mtime < _STALE_SECONDS:
            continue
        descriptor = os.open(left, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        except BlockingIOError:
            pass  # its writer is alive
        finally:
            os.close(descriptor)


def _put_in_place(partial: Path, target: Path, *, overwrite: bool) -> None:
    if overwrite and target.exists() and any(target.iterdir()):
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.replaced-", dir=target.parent))
        target.rename(aside / "old")
        partial.rename(target)
        shutil.rmtree(aside)
    else:
        try:
            partial.rename(target)  # refused by the system where somebody else's release has appeared meanwhile
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                raise ReleaseError(f"{str(target)!r} exists. Another release was written there meanwhile.") from None
            raise
    sync(target.parent)
