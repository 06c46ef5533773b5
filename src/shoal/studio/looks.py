"""What `shoal look` found in a table, kept with the table: counts, names of columns and pictures of everyone together.

No reading and no identifier is in a look, and no curve of fewer than ten meters.
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
    """What was found in a table as it is; None if nobody looked yet. `as_read`: with the columns that are set."""
    with project.store.reading() as connection:
        row = connection.execute("select of, content from looks where name = ?", (table,)).fetchone()
    if row is None:
        return None
    found, before, now = dict(json.loads(row[1])), json.loads(row[0]), json.loads(_stamp(project, table))
    # Whoever saves what was proposed has said nothing new.
    same = not as_read or now[2] in (before[2], {n: v for n, v in found["settings"].items() if n in _WHAT_IT_IS})
    return found if before[:2] == now[:2] and same else None


def look_at(project: Project, table: str) -> dict[str, Any]:
    """Look at a table and keep what was found."""
    stamp = _stamp(project, table)
    found = look(str(project.table(table)), **_said(project.reading(table))).to_dict()
    found |= {"command": "", "policy": ""}  # both would name a folder of this machine
    with project.store.writing() as connection:
        connection.execute("insert or replace into looks values (?, ?, ?)", (table, stamp, json.dumps(found)))
    return found


def is_quick(project: Project, table: str) -> bool:
    """Whether nobody would have to wait for a look: by what a table holds, not by what it is packed into."""
    path = project.table(table)
    return max(path.stat().st_size, _unpacked_bytes(path)) <= QUICK


def _unpacked_bytes(path: Path) -> int:
    """What a packed file says it holds; 0 where it is not packed, or says nothing that can be read."""
    try:
        if path.suffix == ".parquet":
            found = pq.read_metadata(path)
            return int(8 * found.num_rows * found.num_columns)
        with zipfile.ZipFile(path) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, pa.ArrowException, OSError, ValueError):
        return 0


def _said(reading: dict[str, Any]) -> dict[str, Any]:
    """What was said about a table that tells what it is; what to do about gaps is not asked."""
    return {name: reading[name] for name in _WHAT_IT_IS if name in reading}


def _stamp(project: Project, table: str) -> str:
    """Changes when the table, or what it is said to be, does."""
    status = project.table(table).stat()
    return json.dumps([status.st_size, status.st_mtime_ns, _said(project.reading(table))], sort_keys=True)


def summary(found: dict[str, Any]) -> str:
    """A look in a line, for lists."""
    counts, n = found["counts"], len(found["problems"])
    series = f"{counts['meters']:,} series"
    subjects = f" of {counts['subjects']:,} subjects" if counts["subjects"] != counts["meters"] else ""
    step = f", {found['step']} apart" if found["step"] else ""
    problems = f"; {n} finding{'s' * (n != 1)}" if n else ""
    return f"{series}{subjects}{step}{problems}"
