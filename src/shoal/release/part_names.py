"""Names of files: a table of a release is one file, or in shards many, `data-00000.parquet` and so on.

A part holds whole shards. Which shards, and in which order, is drawn at random; so a part reveals only that its series
were published together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

MOST_PARTS = 100_000

_PART = re.compile(r"(data|patterns|attributes|wide|row-per-series|day-rows)-(\d{5})\.(parquet|csv)")


def part_name(table: str, number: int | None) -> str:
    """The name of a part of a table; for a release in one part, that of the table.

    Examples
    --------
    >>> part_name("data.parquet", 3), part_name("data.parquet", None)
    ('data-00003.parquet', 'data.parquet')
    """
    stem, _, suffix = table.partition(".")
    return table if number is None else f"{stem}-{number:05}.{suffix}"


def part_numbers(files: Iterable[str]) -> list[int]:
    """The parts among the files of a release, in order; none if its tables are single files."""
    return sorted({int(found[2]) for name in files if (found := _PART.fullmatch(name))})


def files_by_part(files: Mapping[str, T]) -> dict[int, dict[str, T]]:
    """The tables of each part, in the order of their numbers; none if they are single files."""
    found: dict[int, dict[str, T]] = {number: {} for number in part_numbers(files)}
    for name, file in files.items():
        if part := _PART.fullmatch(name):
            found[int(part[2])][name] = file
    return found


def table_of(name: str) -> str:
    """The table that a file is, or is a part of: `data` of `data-00003.parquet`."""
    found = _PART.fullmatch(name)
    return found[1] if found else name.partition(".")[0]


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
