"""Write the layouts, the correct reading of each and the manifest.

Run `PYTHONPATH=tests python -m read.layouts.make_layouts`.
Every value and every identifier is invented; only the layouts are real.
"""

import json
import math
import shutil
from datetime import UTC
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from read.layouts import (
    day_rows,
    documents,
    european_rows,
    logger_tables,
    nested_documents,
    other_rows,
    portal_days,
    wide_tables,
)
from read.layouts.readings import LAYOUTS

HERE = Path(__file__).parent
__all__ = [
    "day_rows",
    "documents",
    "european_rows",
    "logger_tables",
    "nested_documents",
    "other_rows",
    "portal_days",
    "wide_tables",
]


def expected(layout, book):
    """The correct reading in long form: id, start of the interval, value or null, channel or null."""
    rows = []
    for (name, channel, start), value in sorted(book.values.items()):
        time = start.astimezone(UTC).replace(tzinfo=None) if layout.basis == "UTC" else book.wall(start)
        value = None if math.isnan(value) else value
        rows.append({"file": layout.file, "id": name, "time": time, "value": value, "channel": channel or None})
    return rows


def main(to=HERE, layouts=LAYOUTS):
    files = to / "files"
    shutil.rmtree(files, ignore_errors=True)
    manifest, rows = {}, []
    for layout in layouts:
        book, content = layout.write(layout.file)
        parts = {layout.file: content} if isinstance(content, bytes) else content
        for name, data in parts.items():
            (files / name).parent.mkdir(parents=True, exist_ok=True)
            (files / name).write_bytes(data)
        rows += expected(layout, book)
        manifest[layout.file] = {
            "why": layout.why,
            "basis": layout.basis,
            "zone": book.zone.key,
            "timezone": layout.timezone,
            "names": layout.names,
            "layout": layout.layout,
        }
    (to / "manifest.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    schema = pa.schema(
        [(name, pa.string()) for name in ("file", "id")]
        + [("time", pa.timestamp("us")), ("value", pa.float64()), ("channel", pa.string())]
    )
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), to / "expected.parquet", compression="zstd")


if __name__ == "__main__":
    main()
