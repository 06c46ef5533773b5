"""What the publisher keeps of each recipient's copy, to recognise it; and leaked tables, read leniently."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.errors import ReleaseError
from shoal.files.durable import sync
from shoal.files.leftovers import alone_in
from shoal.kernels.equal_rows import row_classes
from shoal.release.agreement import Agreement
from shoal.release.private import write_privately

COPY = "shoal.copy"
"""Where the private record of a copy keeps its recipient, as JSON in its metadata."""


@dataclass(frozen=True, eq=False)
class Copy:
    """What the publisher keeps of a recipient's copy: enough to recognise it.

    Parameters
    ----------
    recipient, expires
        Whose copy it is, and until when.
    data_sha256
        SHA-256 of its data file.
    names
        The names of its rows, in the order of the file.
    classes
        For each row, which of the `curves` it is.
    curves
        The different rows, (curves, instants x figures).
    times
        The instants, as text or whole numbers.
    figures
        Names of the columns with figures.
    """

    recipient: str
    expires: str
    data_sha256: str
    names: tuple[str, ...]
    classes: NDArray[np.int64]
    curves: NDArray[np.float64]
    times: tuple[Any, ...]
    figures: tuple[str, ...]


def keep_copy(folder: Path, release: Path, agreement: Agreement, data_sha256: str) -> None:
    """Store what identifies a copy in the private folder, under a name that says which data file it belongs to."""
    table = read_rows(next(path for path in release.iterdir() if path.stem == "data"))
    if table is None:
        raise ReleaseError("The data of this release is not a table of series, so its copy cannot be marked.")
    names, times, figures, values = table
    alike = row_classes(np.ascontiguousarray(values).view(np.uint64))
    first, classes = np.unique(alike, return_inverse=True)
    members = np.split(np.argsort(classes, kind="stable"), np.cumsum(np.bincount(classes))[:-1])
    kept = pa.table(
        {
            "curve": pa.array(values[first].tolist(), pa.list_(pa.float64())),
            "rows": pa.array([rows.tolist() for rows in members], pa.list_(pa.int64())),
            "names": pa.array([[names[i] for i in rows] for rows in members], pa.list_(pa.string())),
        }
    )
    about = {
        "recipient": agreement.recipient,
        "expires": agreement.expires.isoformat(),
        "data_sha256": data_sha256,
        "times": list(times),
        "figures": list(figures),
    }
    place = folder / f"copy-{data_sha256[:16]}.parquet"
    partial = place.with_name(f".{place.name}.partial")
    with alone_in(folder):
        write_privately(partial, b"")
        pq.write_table(kept.replace_schema_metadata({COPY: json.dumps(about)}), partial)
        sync(partial)
        partial.rename(place)
        sync(folder)


def load_copies(folder: Path) -> list[Copy]:
    """Every copy the private folder knows, by the name of its file."""
    if not folder.is_dir():
        raise ReleaseError(f"There is no private folder {str(folder)!r}.")
    return [_load_copy(path) for path in sorted(folder.glob("copy-*.parquet"))]


def _load_copy(path: Path) -> Copy:
    try:
        table = pq.read_table(path)
        about = json.loads(table.schema.metadata[COPY.encode()])
        rows, names = table["rows"].to_pylist(), table["names"].to_pylist()
        n_rows = sum(map(len, rows))
        classes, in_order = np.empty(n_rows, dtype=np.int64), [""] * n_rows
        for number, (places, called) in enumerate(zip(rows, names, strict=True)):
            classes[places] = number
            for place, name in zip(places, called, strict=True):
                in_order[place] = name
        return Copy(
            recipient=about["recipient"],
            expires=about["expires"],
            data_sha256=about["data_sha256"],
            names=tuple(in_order),
            classes=classes,
            curves=np.array(table["curve"].to_pylist(), dtype=np.float64),
            times=tuple(about["times"]),
            figures=tuple(about["figures"]),
        )
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        raise ReleaseError(f"{path.name} in the private folder cannot be read.") from None


Rows = tuple[list[str], tuple[Any, ...], tuple[str, ...], NDArray[np.float64]]
"""Names of rows, their instants, the columns with figures, and the figures (rows, instants x figures)."""


def read_rows(path: Path) -> Rows | None:
    """A table of series that may have been tampered with: rows by name and instant, NaN if there is nothing.

    Rows come in the order in which their names first appear. Without names, a row ends where time does not advance.
    None if there is no time or no figure.
    """
    try:
        frame = _read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError):
        raise ReleaseError(f"{path.name} cannot be read as a {path.suffix[1:] or 'parquet'} table.") from None
    label = next((name for name in ("id", "group") if name in frame.columns), None)
    figures = tuple(
        name
        for name, kind in frame.schema.items()
        if kind.is_numeric() and name not in ("id", "group", "count", "time")
    )
    if "time" not in frame.columns or not figures or frame.is_empty():
        return None
    moments = _comparable(frame["time"])
    instants = moments.drop_nulls().unique().sort()
    when = _places(moments, instants)
    names = frame[label].cast(pl.String).fill_null("") if label else _runs(when)
    rows = names.unique(maintain_order=True)
    at, known = _places(names, rows), when >= 0
    values = np.full((len(rows), len(instants), len(figures)), np.nan)
    values[at[known], when[known]] = frame.select(pl.col(figures).cast(pl.Float64)).to_numpy()[known]
    return rows.to_list(), tuple(instants.to_list()), figures, values.reshape(len(rows), -1)


def _places(entries: pl.Series, known: pl.Series) -> NDArray[np.int64]:
    """For each entry its place among the known ones, -1 if it is not one of them."""
    if known.is_empty():
        return np.full(len(entries), -1, dtype=np.int64)
    places = entries.replace_strict(known, pl.Series(range(len(known))), default=-1, return_dtype=pl.Int64)
    return np.array(places.to_numpy(), dtype=np.int64)


def _read_csv(path: Path) -> pl.DataFrame:
    # A pseudonym that consists of digits is still a name.
    names = dict.fromkeys(pl.read_csv(path, n_rows=0, glob=False).columns, pl.String)
    return pl.read_csv(
        path,
        glob=False,
        infer_schema_length=None,
        schema_overrides={name: kind for name, kind in names.items() if name in ("id", "group")},
    )


def _comparable(column: pl.Series) -> pl.Series:
    """Instants that compare alike, whether they came from Parquet or CSV: whole numbers, or ISO text without a zone."""
    if column.dtype.is_integer():
        return column.cast(pl.Int64)
    if column.dtype == pl.String:
        form = "%Y-%m-%dT%H:%M:%S%.f%:z"
        marked = column.str.replace("Z$", "+00:00").str.to_datetime(form, time_unit="us", strict=False)
        plain = column.str.strip_suffix("Z").str.to_datetime(time_unit="us", strict=False)
        column = marked.dt.replace_time_zone(None) if not marked.null_count() else plain
    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("us")).dt.strftime("%Y-%m-%dT%H:%M:%S%.6f")
    return column.cast(pl.String)


def _runs(when: NDArray[np.int64]) -> pl.Series:
    """A name for each stretch in which time advances."""
    begins = np.concatenate([[0], np.cumsum((when[1:] <= when[:-1]) | (when[1:] < 0))])
    return pl.Series(begins).cast(pl.String)
