"""Where a table lies: files, folders, patterns, archives, object stores and web addresses, as streams of bytes.

Archives are opened within limits, because a few kilobytes can unpack to terabytes. Addresses and the names of files
inside folders never appear in a message: the first may hold a password, the second the name of a person.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from shoal.errors import InputError
from shoal.read.archives import unpacked
from shoal.read.remote_files import fetched, files_in_store, is_store
from shoal.read.source_files import TABLE_SUFFIXES, SourceFile, is_hidden, local_file, scheme_of, shown


def locate(source: str | os.PathLike[str]) -> list[SourceFile]:
    """The files of a path, folder, pattern, archive or address, in the order of their names."""
    place = os.fspath(source)
    if scheme_of(place) in ("http", "https"):
        found = [fetched(place)]
    elif is_store(place):
        found = files_in_store(place)
    else:
        found = [local_file(path) for path in local_paths(place)]
    return [member for file in found for member in unpacked(file, shown(place))]


def local_paths(source: str) -> list[Path]:
    """The plain files of a path, folder or pattern."""
    try:
        path = Path(source).expanduser()
        odd = not source.isprintable()
        mode = None if odd else _mode(path)
    except (OSError, RuntimeError, ValueError):
        odd = True
    if odd:
        # Not echoed: this long or of several lines, it is rather a query than a name.
        raise InputError("The source is not the name of a file. Give a query as sql=.")
    if mode is not None and stat.S_ISREG(mode):
        return [path]
    if mode is not None and stat.S_ISDIR(mode):
        # Links to folders are not followed: one that leads upwards would be walked again and again.
        within = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
        found = [p for p in within if p.name.lower().endswith(TABLE_SUFFIXES) and p.is_file()]
        found = [p for p in found if not is_hidden(p.relative_to(path))]
    elif mode is not None:
        raise InputError(f"{source} is a pipe, a device or a socket, which cannot be read twice. Save it as a file.")
    elif any(sign in source for sign in "*?["):
        found = _matching(source, path)
    else:
        raise InputError(f"No such file: {source}")
    if not found:
        raise InputError(f"No file with a name ending in {', '.join(TABLE_SUFFIXES)} at {source}.")
    return sorted(found)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError("The source is a link that points back to itself. Give the file itself.") from None
        if error.errno != errno.EACCES:
            raise
        raise InputError("A folder on the path to the source cannot be opened: permission denied.") from None


def _matching(source: str, pattern: Path) -> list[Path]:
    root = Path(pattern.anchor or ".")
    try:
        found = list(root.glob(str(pattern.relative_to(pattern.anchor))))
    except (ValueError, NotImplementedError):
        raise InputError(f"The pattern {source} cannot be read: ** must stand alone between slashes.") from None
    return [path for path in found if path.is_file() and not path.name.startswith(".")]
