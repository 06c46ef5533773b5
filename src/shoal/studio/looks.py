"""What `shoal look` found in a table, kept with the table: counts, names of columns and pictures of everyone together.

A look contains no reading, no identifier, and no curve of fewer than ten meters.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.process.look import look
from shoal.studio.project import Project

QUICK = 30_000_000
"""Largest size in bytes of a table that is examined while its page is made; a larger one is examined by a job."""

_WHAT_IT_IS = (
    *("id", "time", "value", "subject", "channel", "layout"),
    *("decimal", "time_format", "null", "interval", "register", "sql", "sheet"),
)


def kept_look(project: Project, table: str, *, as_read: bool = True) -> dict[str, Any] | None:
    """What was found in a table in its current state; None if it has not been examined. `as_read`: with the saved
    columns."""
    with project.store.reading() as connection:
        row = connection.execute("select of, content from looks where name = ?", (table,)).fetchone()
    if row is None:
        return None
    found, before, now = dict(json.loads(row[1])), json.loads(row[0]), json.loads(_stamp(project, table))
    # Saving what was proposed adds nothing new.
    same = not as_read or now[2] in (before[2], {n: v for n, v in found["settings"].items() if n in _WHAT_IT_IS})
    return found if before[:2] == now[:2] and same else None


def look_at(project: Project, table: str) -> dict[str, Any]:
    """Examine a table and store what was found."""
    stamp = _stamp(project, table)
    found = look(str(project.table(table)), **_said(project.reading(table))).to_dict()
    found |= {"command": "", "policy": ""}  # both would reveal a folder of this machine
    with project.store.writing() as connection:
        connection.execute("insert or replace into looks values (?, ?, ?)", (table, stamp, json.dumps(found)))
    return found


def is_quick(project: Project, table: str) -> bool:
    """Whether a look is quick, judged by the size of the unpacked table."""
    path = project.table(table)
    return max(path.stat().st_size, _unpacked_bytes(path)) <= QUICK


def _unpacked_bytes(path: Path) -> int:
    """The unpacked size that a packed file states; 0 if it is not packed or states none."""
    try:
        if path.suffix == ".parquet":
            found = pq.read_metadata(path)
            return int(8 * found.num_rows * found.num_columns)
        with zipfile.ZipFile(path) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, pa.ArrowException, OSError, ValueError):
        return 0


def _said(reading: dict[str, Any]) -> dict[str, Any]:
    """The settings that say what a table is; those for gaps do not matter here."""
    return {name: reading[name] for name in _WHAT_IT_IS if name in reading}


def _stamp(project: Project, table: str) -> str:
    """A key that changes with the table or its settings."""
    status = project.table(table).stat()
    return json.dumps([status.st_size, status.st_mtime_ns, _said(project.reading(table))], sort_keys=True)


def summary(found: dict[str, Any]) -> str:
    """A look in one line, for lists."""
    counts, n = found["counts"], len(found["problems"])
    series = f"{counts['meters']:,} series"
    subjects = f" of {counts['subjects']:,} subjects" if counts["subjects"] != counts["meters"] else ""
    step = f", {found['step']} apart" if found["step"] else ""
    problems = f"; {n} finding{'s' * (n != 1)}" if n else ""
    return f"{series}{subjects}{step}{problems}"
