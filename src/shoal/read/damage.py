"""What a text table must not contain: zero bytes, and a quotation mark that is never closed.

An open quotation mark swallows every row below it into one entry, and nobody notices if that column is not read.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import InputError

_BLOCK = 1 << 22
_FEW_LINES = 1000
"""Line breaks inside entries up to which all is well."""


@dataclass(frozen=True)
class TextCounts:
    """Counts of quotation marks, lines and non-empty lines in a file without zero bytes."""

    path: Path
    n_quotes: int
    n_lines: int

    @classmethod
    def of(cls, path: Path) -> TextCounts:
        """Count at the speed of reading."""
        n_quotes = n_lines = 0
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                if b"\0" in block:
                    raise InputError(
                        "A file holds zero bytes in the middle of its text: it is damaged or not a text file."
                    )
                n_quotes += block.count(b'"')
                n_lines += block.count(b"\n")
        return cls(path, n_quotes, n_lines)

    def verify(self, n_rows: int, separator: str) -> None:
        """After reading `n_rows` rows: refuse a file that lost rows to an open quotation mark."""
        swallowed = self.n_quotes > 0 and self._many(self.n_lines, n_rows) and self._many(self._n_filled(), n_rows)
        if swallowed or (self.n_quotes % 2 and self._is_open_at_end(separator)):
            raise InputError(
                "A quotation mark in a file is never closed, so the rows below it would become one entry. Close it, "
                "or double it if it is intended."
            )

    def _many(self, n_lines: int, n_rows: int) -> bool:
        return n_lines - n_rows > max(n_rows, _FEW_LINES)

    def _n_filled(self) -> int:
        with self.path.open("rb") as stream:
            return sum(bool(line.strip()) for line in stream)

    def _is_open_at_end(self, separator: str) -> bool:
        """Called only if the number of quotation marks is odd: one may stand for inches inside an entry."""
        with io.TextIOWrapper(self.path.open("rb"), encoding="utf-8-sig", errors="replace", newline="") as text:
            try:
                for _ in csv.reader(text, delimiter=separator, strict=True):
                    pass
            except csv.Error:
                return True
        return False
