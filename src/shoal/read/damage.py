"""What a text table must not have: zero bytes, and a quotation mark that is never closed.

An open quotation mark swallows every row below it into one entry, and nobody notices if that column is not read.
"""

from __future__ import annotations

import csv
import io
from typing import IO, Any

from shoal.errors import InputError
from shoal.read.locations import SourceFile

_FEW_LINES = 1000
"""Line breaks inside entries that are nothing to worry about."""


class TextWatch(io.RawIOBase):
    """A stream of text that is looked at on its way. The cost is that of counting bytes.

    Parameters
    ----------
    stream
        Its bytes.
    separator
        Of its entries.
    """

    def __init__(self, stream: IO[bytes], separator: str) -> None:
        self._stream, self._separator = stream, separator
        self._n_quotes = self._n_lines = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes."""
        block = self._stream.read(len(buffer))
        if b"\0" in block:
            raise InputError("A file holds zero bytes in the middle of its text: it is damaged or no text.")
        self._n_quotes += block.count(b'"')
        self._n_lines += block.count(b"\n")
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        """Close the stream below."""
        if not self.closed:
            self._stream.close()
        super().close()

    def verify(self, n_rows: int, file: SourceFile) -> None:
        """After the last of `n_rows` rows: refuse a file that lost rows to an open quotation mark."""
        swallowed = self._n_quotes > 0 and self._n_lines - n_rows > max(n_rows, _FEW_LINES) and _filled(file, n_rows)
        if swallowed or (self._n_quotes % 2 and _is_open_at_end(file, self._separator)):
            raise InputError(
                "A quotation mark in a file is never closed, so that the rows below it would be one entry. Close it, "
                "or double it where it is meant."
            )


def _filled(file: SourceFile, n_rows: int) -> bool:
    """Whether it is rows, not empty lines, that are missing."""
    n_filled = 0
    with file.open() as stream:
        for line in stream:
            n_filled += bool(line.strip())
    return n_filled - n_rows > max(n_rows, _FEW_LINES)


def _is_open_at_end(file: SourceFile, separator: str) -> bool:
    """Asked only where the number of quotation marks is odd: one may stand for inches inside an entry."""
    with file.open() as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="") as text:
        try:
            for _ in csv.reader(text, delimiter=separator, strict=True):
                pass
        except csv.Error:
            return True
    return False
