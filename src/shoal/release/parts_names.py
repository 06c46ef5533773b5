"""Tables in parts: `data.parquet` as a folder of files, which any reader of Parquet takes as one table.

A part holds whole series, and all whose pseudonym begins with the same bits. So series are sorted over all parts, and
neither part nor order tells anything but the pseudonym.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

DATA, PATTERNS = "data.parquet", "patterns.parquet"
MOST_BITS = 16
"""So many leading bits of a pseudonym tell parts apart at most: 65 536 parts."""

_PART = re.compile(r"(?:data|patterns)\.parquet/part-\d{5}\.parquet")


def part_file(table: str, number: int) -> str:
    """The name of a part, as the certificate has it."""
    return f"{table}/part-{number:05}.parquet"


def is_part(name: str) -> bool:
    """Whether a file of a release is a part of a table."""
    return _PART.fullmatch(name) is not None


def parts_of(files: Iterable[str], table: str = DATA) -> list[str]:
    """The parts of a table among the files of a release, in their order; none where it is one file."""
    return sorted(name for name in files if is_part(name) and name.startswith(f"{table}/"))


def files_in(folder: Path) -> set[str]:
    """Every file in a folder and the folders in it, by its name from there; links are not followed."""
    found: set[str] = set()
    for place, folders, files in os.walk(folder):
        here = Path(place).relative_to(folder)
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        found |= {(here / name).as_posix() for name in (*files, *links)}
        if not files and not folders and Path(place) != folder:
            found.add(here.as_posix())  # an empty folder is something, too
    return found
