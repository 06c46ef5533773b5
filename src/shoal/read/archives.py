"""Packed files, unpacked within limits: gzip and zip, including workbooks."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import IO, Any

from shoal.errors import InputError
from shoal.read.source_files import BLOCK, HEAD, TABLE_SUFFIXES, SourceFile, is_hidden

MOST_UNPACKED = 64 << 30
"""Bytes that an archive may unpack to."""
FREE_UNPACKED = 256 << 20
"""Bytes that may be unpacked at any ratio."""
MOST_RATIO = 250
"""Unpacked bytes for each packed one: readings rarely exceed 50, bombs reach 1000."""
MOST_WORKBOOK = 1 << 30
"""Bytes that a workbook may unpack to: it is held in memory."""
MOST_MEMBERS = 100_000
"""Files in an archive."""
_ZIP_ERRORS = (zipfile.BadZipFile, OSError, ValueError, IndexError, EOFError, RuntimeError, NotImplementedError)
_OTHER_PACKERS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf": "7z", b"Rar!": "rar"}


def unpacked(file: SourceFile, shown: str) -> list[SourceFile]:
    """The files inside a packed file; a file that is not packed is returned itself."""
    head = file.head(HEAD)
    if head.startswith(b"\x1f\x8b"):
        return [_gunzipped(file, shown)]
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _members(file, shown)
    if packer := next((name for mark, name in _OTHER_PACKERS.items() if head.startswith(mark)), None):
        raise InputError(f"A file at {shown} is packed with {packer}. Unpack it, or use gzip or zip.")
    return [file]


def _gunzipped(file: SourceFile, shown: str) -> SourceFile:
    def opener() -> IO[bytes]:
        packed = file.open()
        return _limited(gzip.GzipFile(fileobj=packed, mode="rb"), (packed,), file.size, shown)

    unpacked = SourceFile(re.sub(r"(?i)\.gz$", "", file.name), file.size, None, opener, stored=file.stored)
    _refuse_nested(unpacked.head(8), shown)
    return unpacked


def _members(file: SourceFile, shown: str) -> list[SourceFile]:
    try:
        with file.open() as stream, zipfile.ZipFile(stream) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    except _ZIP_ERRORS:
        raise _damaged(shown) from None
    if len(entries) > MOST_MEMBERS:
        raise InputError(f"{shown} holds {len(entries)} files, more than {MOST_MEMBERS}. Unpack it first.")
    total = sum(entry.file_size for entry in entries)
    if total > MOST_UNPACKED or (total > FREE_UNPACKED and total > MOST_RATIO * max(file.size or 0, 1)):
        raise _too_much(shown)
    if any(entry.filename == "[Content_Types].xml" for entry in entries):
        if total > MOST_WORKBOOK:
            raise _too_much(shown)
        return [file]  # a workbook is a zip of its own
    entries = [entry for entry in entries if not is_hidden(PurePosixPath(entry.filename))]
    tables = [entry for entry in entries if entry.filename.lower().endswith(TABLE_SUFFIXES)]
    if any(entry.flag_bits & 1 for entry in tables):
        raise InputError(f"{shown} is protected by a password. Unpack it first.")
    if not tables:
        raise InputError(f"None of the {len(entries)} files packed in {shown} is a table. Check the archive.")
    members = [_member(file, entry, shown) for entry in sorted(tables, key=lambda entry: entry.filename)]
    for member in members:
        _refuse_nested(member.head(8), shown)
    return members


def _member(file: SourceFile, entry: zipfile.ZipInfo, shown: str) -> SourceFile:
    def opener() -> IO[bytes]:
        packed = file.open()
        try:
            archive = zipfile.ZipFile(packed)
            stream = archive.open(entry)
        except _ZIP_ERRORS:
            packed.close()
            raise _damaged(shown) from None
        return _limited(stream, (archive, packed), file.size, shown)

    return SourceFile(PurePosixPath(entry.filename).name, entry.file_size, None, opener, stored=file.stored)


def _limited(stream: Any, below: tuple[Any, ...], packed: int | None, shown: str) -> IO[bytes]:
    return io.BufferedReader(_Limited(stream, below, packed, shown), BLOCK)


class _Limited(io.RawIOBase):
    """Unpacked bytes, up to what a genuine archive of this size holds."""

    def __init__(self, stream: Any, below: tuple[Any, ...], packed: int | None, shown: str) -> None:
        self._stream, self._below, self._shown = stream, below, shown
        by_ratio = max(FREE_UNPACKED, MOST_RATIO * packed) if packed else MOST_UNPACKED
        self._most = min(by_ratio, MOST_UNPACKED)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return int(self._stream.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        try:
            return int(self._stream.seek(offset, whence))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError):
            raise _damaged(self._shown) from None

    def readinto(self, buffer: Any) -> int:
        try:
            block = self._stream.read(len(buffer))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError):
            raise _damaged(self._shown) from None
        if self._stream.tell() > self._most:
            raise _too_much(self._shown)
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        if not self.closed:
            for stream in (self._stream, *self._below):
                stream.close()
        super().close()


def _refuse_nested(head: bytes, shown: str) -> None:
    if head.startswith((b"\x1f\x8b", b"PK\x03\x04", *_OTHER_PACKERS)):
        raise InputError(f"{shown} holds a packed file inside a packed file. Unpack the outer one first.")


def _damaged(shown: str) -> InputError:
    return InputError(f"A packed file at {shown} cannot be unpacked: it is damaged or of another kind.")


def _too_much(shown: str) -> InputError:
    return InputError(
        f"A packed file at {shown} unpacks to far more than tables do (over {MOST_RATIO} times its size, or over "
        f"{MOST_UNPACKED >> 30} GiB). If that is intended, unpack it first."
    )
