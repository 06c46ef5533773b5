"""A file of a source: its bytes, its name, and its kind by its first bytes."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

from shoal.errors import InputError

HEAD = 1 << 16
"""Number of bytes at the beginning of a file that identify its kind."""

BLOCK = 1 << 20
TABLE_SUFFIXES = tuple(
    ".csv .tsv .txt .dat .json .ndjson .jsonl .xml .xlsx .xlsm .xls .parquet .pq .zip .gz".split()  # noqa: SIM905
)
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1a\x1b")


class Temporary:
    """A file of mode 0600 that is removed with the last reference to it."""

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="shoal-")
        os.close(handle)
        self.path = Path(name)
        self._end = weakref.finalize(self, os.unlink, name)


@dataclass(frozen=True)
class SourceFile:
    """One file of a source, unpacked."""

    name: str
    """Its name inside the folder or archive. It may identify a person: never print it."""
    size: int | None
    """Size as stored, if known without reading."""
    path: Path | None
    """Its path, if it is a plain file on this machine."""
    opener: Callable[[], IO[bytes]] = field(repr=False, compare=False)
    stored: Path | None = None
    """The file on this machine that contains it: itself, or the archive around it."""
    arrow: Callable[[], Any] | None = field(default=None, repr=False, compare=False)
    """Opens it as an Arrow file, for Parquet in an object store."""
    address: str | None = field(default=None, repr=False)
    """Its location in an object store, as `locate` takes it. It may hold a password: never print it."""

    copied: list[Temporary] = field(default_factory=list, repr=False, compare=False)

    def local(self) -> Path:
        """A plain file with its bytes: itself, or a temporary copy that lives as long as this object.

        For readers with threads of their own, which must not call back into Python: at exit they would crash it.
        """
        if self.path is not None:
            return self.path
        if not self.copied:
            copy = Temporary()
            with self.open() as stream, copy.path.open("wb") as target:
                shutil.copyfileobj(stream, target, BLOCK)
            self.copied.append(copy)
        return self.copied[0].path

    def open(self) -> IO[bytes]:
        """A seekable stream of its bytes, unpacked, from the beginning."""
        return self.opener()

    @property
    def stem(self) -> str:
        """The name without its suffixes: the identifier of a series if each has its own file."""
        name = PurePosixPath(self.name.replace("\\", "/")).name
        while (suffix := PurePosixPath(name).suffix.lower()) in TABLE_SUFFIXES:
            name = name[: -len(suffix)]
        return name

    def head(self, n_bytes: int = HEAD) -> bytes:
        """The first bytes."""
        with self.open() as stream:
            return stream.read(n_bytes)


def scheme_of(place: str) -> str:
    """The scheme of an address in lower case; empty for a path."""
    head, mark, _ = place.partition("://")
    return head.lower() if mark else ""


def shown(place: str) -> str:
    """How a message may name the source: a path as it was typed, for an address only its scheme."""
    scheme = scheme_of(place)
    return f"the {scheme}:// address" if scheme else place


def is_hidden(path: Path | PurePosixPath) -> bool:
    """Whether a file is hidden, so that its owner does not see it as a table."""
    # Spark and editors leave files such as _SUCCESS and .part.crc beside the data; a Mac leaves __MACOSX in archives.
    return any(part.startswith((".", "_")) for part in path.parts)


def kind_of_bytes(head: bytes) -> str:
    """The kind of a file by its first bytes: "parquet", "xlsx" (any workbook), "xml", "json", "text" or "binary"."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
        return "xlsx"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _kind_of_text(head.decode("utf-16", "ignore"))
    if b"\0" in head:
        # Every second byte of UTF-16 without a mark is zero, as long as its letters are Latin.
        for first, encoding in ((0, "utf-16-be"), (1, "utf-16-le")):
            if head[first::2].count(0) > 0.9 * len(head[first::2]) and 0 not in head[1 - first :: 2]:
                return _kind_of_text(head.decode(encoding, "ignore"))
        return "binary"
    n_odd = len(head) - len(head.translate(None, _CONTROLS))
    return "binary" if n_odd > len(head) // 100 else _kind_of_text(head.decode("utf-8-sig", "replace"))


def _kind_of_text(text: str) -> str:
    start = text.lstrip("\ufeff \t\r\n")
    if re.match(r"<(\?xml|!--|!DOCTYPE|[A-Za-z])", start):
        return "xml"
    return "json" if re.match(r'\{\s*["}]|\[\s*[\[{"\]]', start) else "text"


def local_file(path: Path, name: str | None = None) -> SourceFile:
    """A plain file of this machine."""

    def opener() -> IO[bytes]:
        try:
            return path.open("rb")
        except OSError as error:
            raise InputError(f"A file cannot be opened: {error.strerror}.") from None

    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"A file cannot be opened: {error.strerror}.") from None
    return SourceFile(name or path.name, size, path, opener, stored=path)
