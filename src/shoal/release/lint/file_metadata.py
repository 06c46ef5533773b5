"""What files carry besides their rows: notes of a library, bytes of no column, foreign dates."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.release.certificate import FILE_NAME
from shoal.release.lint.written import Finding, Written
from shoal.release.parquet_pages import refuse_odd_footer

NAME = "file-metadata"

_LIBRARY = re.compile(r"parquet-cpp-arrow version [\d.]+(-SNAPSHOT)?|Polars( \(python\) version [\w.]+ \(build \w+\))?")
_FRAME = 12
"""Bytes of a Parquet file besides pages and footer."""
_INDEX_BYTES = 512
"""Bytes of the index of a column chunk, generously."""
# Clocks of file systems are coarse.
_SLACK_SECONDS = 2.0


def file_metadata(written: Written) -> Finding | None:
    """Files must carry nothing that the plain writers of the libraries do not put there.

    Parquet: no key-value metadata except the schema, none in the schema or its fields, and the library mark that every
    file of this machine has. A CSV with anything besides its rows does not verify. All files: last changed while this
    release was written.
    """
    notes = sum(notes_in(path) for path in written.tables if path.suffix == ".parquet")
    return judge_files(notes, odd_dates(written.folder, list(written.folder.iterdir()), written.began))


def odd_dates(folder: Path, files: Sequence[Path], began: float) -> int:
    """How many files were last changed at another time than while this release was written.

    Checked once the certificate exists, which is written last.
    """
    if not (folder / FILE_NAME).exists():
        return 0
    # A file server's clock may differ from ours; the certificate, just written, shows by how much.
    latest = (folder / FILE_NAME).stat().st_mtime
    earliest = began - (time.time() - latest)
    return sum(not earliest - _SLACK_SECONDS <= path.stat().st_mtime <= latest + _SLACK_SECONDS for path in files)


def judge_files(notes: int, dates: int) -> Finding | None:
    """The finding about this many notes and dates."""
    findings = [
        f"{n} {words}"
        for n, words in (
            (notes, "note(s) in Parquet metadata that its writer does not need"),
            (dates, "file(s) with a modification date that is not this release's"),
        )
        if n
    ]
    if not findings:
        return None
    return Finding(
        NAME,
        f"The files carry {', '.join(findings)}.",
        "Write the release with Shoal's own writers, to a folder that nothing else writes to.",
    )


@cache
def _usual() -> tuple[frozenset[bytes], frozenset[str]]:
    """Keys and marks that the two libraries write into any file."""
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
        marks.add(_mark(metadata))
    return frozenset(keys), frozenset(marks)


def _mark(metadata: Any) -> str:
    """The name of the library that wrote a file; None if it is not text, which no library writes."""
    try:
        return str(metadata.created_by or "")
    except UnicodeDecodeError:
        return ""


def notes_in(path: Path) -> int:
    """How many unusual notes a Parquet file has."""
    keys, marks = _usual()
    metadata = pq.read_metadata(path)
    schema = metadata.schema.to_arrow_schema()
    # The number of a column is not a note.
    in_fields = sum(len(set(field.metadata or {}) - {b"PARQUET:field_id"}) for field in schema)
    return len(set(metadata.metadata or {}) - keys) + (_mark(metadata) not in marks) + in_fields


def beside_rows(path: Path) -> list[str]:
    """What a published Parquet file carries besides its rows, whichever version of the libraries wrote it.

    It may contain only pages of its columns, the schema, and the name of the library. Polars also adds an index of its
    pages, which is a small share of the file.
    """
    refuse_odd_footer(path)
    metadata = pq.read_metadata(path)
    schema = metadata.schema.to_arrow_schema()
    in_fields = sum(len(set(field.metadata or {}) - {b"PARQUET:field_id"}) for field in schema)
    in_schema = len(set(schema.metadata or {}) - set(metadata.metadata or {}))
    odd_mark = _LIBRARY.fullmatch(_mark(metadata)) is None
    n_notes = len(set(metadata.metadata or {}) - {b"ARROW:schema"}) + in_fields + in_schema + odd_mark
    chunks = [
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]
    size = path.stat().st_size
    n_free = size - _FRAME - metadata.serialized_size - sum(chunk.total_compressed_size for chunk in chunks)
    indexed = any(chunk.has_column_index for chunk in chunks)
    most = max(_INDEX_BYTES * len(chunks), size // 50) if indexed else 0
    # It holds the Arrow schema as base64 text; anything much longer holds something else.
    longest = 2 * len(schema.remove_metadata().serialize()) + _INDEX_BYTES
    n_free += max(0, len((metadata.metadata or {}).get(b"ARROW:schema", b"")) - longest)
    findings = [f"carries {n_notes} note(s) in its metadata that Shoal does not write"] if n_notes else []
    return [*findings, f"holds {n_free} byte(s) that belong to no column"] if n_free > most or n_free < 0 else findings


def texts_in_metadata(path: Path) -> list[str]:
    """Everything that a Parquet file says besides its rows, as texts; a CSV says nothing."""
    if path.suffix != ".parquet":
        return []
    metadata = pq.read_metadata(path)
    schema = metadata.schema.to_arrow_schema()
    notes = [metadata.metadata or {}, schema.metadata or {}, *(field.metadata or {} for field in schema)]
    entries = [entry for note in notes for pair in note.items() if pair[0] != b"ARROW:schema" for entry in pair]
    return [_mark(metadata), *(entry.decode("utf-8", "replace") for entry in entries)]
