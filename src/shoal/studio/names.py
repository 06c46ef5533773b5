"""Names that are allowed in addresses and on disk: anything else never becomes a path."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import StringConstraints

SLUG = r"^[A-Za-z0-9_-]{1,64}$"
ENDINGS = ("csv", "tsv", "txt", "parquet", "xlsx", "json", "xml", "zip")
"""Suffixes of table files: those that `shoal look` understands."""
TABLE = rf"^[A-Za-z0-9_-]{{1,64}}\.({'|'.join(ENDINGS)})$"

Slug = Annotated[str, StringConstraints(pattern=SLUG)]
"""The name of a task, an analyst or a release: letters, digits, _ and -, at most 64."""

TableName = Annotated[str, StringConstraints(pattern=TABLE)]
"""The name of a table in data/: a slug with one of the endings."""


def is_slug(text: str) -> bool:
    """Whether a text is a name.

    Examples
    --------
    >>> is_slug("lunch-2024"), is_slug("../etc"), is_slug("a\\n")
    (True, False, False)
    """
    return re.fullmatch(SLUG[1:-1], text) is not None


def endings() -> str:
    """The endings of table names, in words."""
    return ", ".join(f".{one}" for one in ENDINGS[:-1]) + f" or .{ENDINGS[-1]}"


def is_table(text: str) -> bool:
    """Whether a text is the name of a table.

    Examples
    --------
    >>> is_table("days.csv"), is_table("days.csv.exe"), is_table("../days.csv")
    (True, False, False)
    """
    return re.fullmatch(TABLE[1:-1], text) is not None
