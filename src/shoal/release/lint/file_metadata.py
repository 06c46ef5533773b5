"""What files carry beside their rows: notes of a library, a byte-order mark, comments, somebody else's dates."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.release.certificate import FILE_NAME
from shoal.release.lint.finding import Finding
from shoal.release.lint.written import Written

NAME = "file-metadata"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Clocks of file systems are coarse.
_SLACK_SECONDS = 2.0


def file_metadata(written: Written) -> Finding | None:
    """Files must carry nothing that the plain writers of the libraries do not put there.

    Parquet: no entry of key-value metadata but the schema, none in the schema or its fields, and the mark of the
    library that every file of this machine has. CSV: no byte-order mark and no comment after the last row; one before
    the header or between rows does not verify. All files: last changed while this release was written.
    """
    notes = sum(notes_in(path) for path in written.tables if path.suffix == ".parquet")
    marks = sum(is_marked(path) for path in written.tables if path.suffix == ".csv")
    return judge_files(notes, marks, odd_dates(written.folder, list(written.folder.iterdir()), written.began))


def odd_dates(folder: Path, files: Sequence[Path], began: float) -> int:
    """How many files were last changed at another time than while this release was written."""
    # A server's clock may be another than ours: the certificate, just written, tells by how much.
    latest = (folder / FILE_NAME).stat().st_mtime
    earliest = began - (time.time() - latest)
    return sum(not earliest - _SLACK_SECONDS <= path.stat().st_mtime <= latest + _SLACK_SECONDS for path in files)


def judge_files(notes: int, marks: int, dates: int) -> Finding | None:
    """The finding about so many notes, marks and dates."""
    found = [
        f"{n} {words}"
        for n, words in (
            (notes, "note(s) in Parquet metadata that its writer does not need"),
            (marks, "CSV file(s) with a byte-order mark or comments"),
            (dates, "file(s) with a date of change that is not this release's"),
        )
        if n
    ]
    if not found:
        return None
    return Finding(
        NAME,
        f"The files carry {', '.join(found)}.",
        "Write the release with Shoal's own writers, to a folder that nothing else writes to.",
    )


@cache
def _usual() -> tuple[frozenset[bytes], frozenset[str]]:
    """Keys and marks that the two libraries put into a file of nothing in particular."""
    keys: set[bytes] = set()
    marks: set[str] = set()
    for write in (
        lambda file: pq.write_table(pa.table({"a": [1]}), file),
        lambda file: pl.DataFrame({"a": [1]}).write_parquet(file),
    ):
        file = io.BytesIO()
        write(file)
        metadata = pq.read_metadata(io.BytesIO(file.getvalue()))
        keys |= set(metadata.metadata or {})
        marks.add(metadata.created_by)
    return frozenset(keys), frozenset(marks)


def notes_in(path: Path) -> int:
    """How many notes a Parquet file has that are not usual."""
    keys, marks = _usual()
    metadata = pq.read_metadata(path)
    schema = metadata.schema.to_arrow_schema()
    # The number of a column is no note.
    in_fields = sum(len(set(field.metadata or {}) - {b"PARQUET:field_id"}) for field in schema)
    return len(set(metadata.metadata or {}) - keys) + (metadata.created_by not in marks) + in_fields


def is_marked(path: Path) -> bool:
    """Whether a CSV begins with a byte-order mark or ends with a comment."""
    with path.open("rb") as file:
        head = file.read(len(_BYTE_ORDER_MARK))
        file.seek(max(0, path.stat().st_size - 65_536))
        last = file.read().rstrip(b"\r\n").rpartition(b"\n")[2]
    # A line that begins inside an entry of several lines has an odd number of quotes.
    is_comment = last.startswith(b"#") and last.count(b'"') % 2 == 0
    return head.startswith(_BYTE_ORDER_MARK) or is_comment


def texts_in_metadata(path: Path) -> list[str]:
    """Everything that a Parquet file says beside its rows, as texts; a CSV says nothing."""
    if path.suffix != ".parquet":
        return []
    metadata = pq.read_metadata(path)
    schema = metadata.schema.to_arrow_schema()
    notes = [metadata.metadata or {}, schema.metadata or {}, *(field.metadata or {} for field in schema)]
    entries = [entry for note in notes for pair in note.items() if pair[0] != b"ARROW:schema" for entry in pair]
    return [str(metadata.created_by), *(entry.decode("utf-8", "replace") for entry in entries)]
