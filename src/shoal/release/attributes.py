"""The published table of static columns: `id` and one column each, a row per series, sorted by pseudonym."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.model.columns import missing_entries
from shoal.release.canonical import read_labels
from shoal.release.certificate import Certificate, ColumnType
from shoal.release.files import FileFormat, NotAPanelError, find_data, write_blocks

_TYPES: dict[str, ColumnType] = {"i": "integer", "f": "number", "b": "boolean", "O": "text"}
_ARROW = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}


def column_names(columns: Iterable[str], prefix: str = "sensitive") -> list[str]:
    """Names of the published columns: their own, in letters that every CSV reader accepts, and none twice."""
    taken = ["id", "time", "low", "high", "level", "pattern"]
    n_taken = len(taken)
    for name in columns:
        word = re.sub(r"[^\w .%/()-]", "_", name).strip() or prefix
        while word in taken:
            word = f"{prefix}_{word}"
        taken.append(word)
    return taken[n_taken:]


def column_types(columns: Mapping[str, NDArray[Any]], prefix: str = "sensitive") -> dict[str, ColumnType]:
    """What each published column holds, in the words of the certificate."""
    types = (_TYPES[column.dtype.kind] for column in columns.values())
    return dict(zip(column_names(columns, prefix), types, strict=True))


def refuse_columns(columns: Mapping[str, NDArray[Any]], known: Mapping[str, Any]) -> str | None:
    """Why these columns cannot be published, or None."""
    if unknown := len(set(columns) - set(known)):
        return f"{unknown} column(s) would be published that are not sensitive columns of the original panel."
    for name, column in columns.items():
        if n_missing := int(missing_entries(column).sum()):
            return f"Column {name!r} would be published with {n_missing} of {len(column)} entries missing."
        if column.dtype.kind == "f" and np.isinf(column).any():
            return f"Column {name!r} would be published with {int(np.isinf(column).sum())} infinite numbers."
    return None


def write_attributes(
    names: list[str],
    columns: Mapping[str, NDArray[Any]],
    path: Path,
    file_format: FileFormat,
    prefix: str = "sensitive",
) -> None:
    """Write the columns of series under these names, in this order."""
    types = column_types(columns, prefix)
    table = pa.table(
        {"id": pa.array(names, pa.string())}
        | {
            name: pa.array(column.tolist(), _ARROW[types[name]])
            for name, column in zip(types, columns.values(), strict=True)
        }
    )
    write_blocks(iter([table]), path, file_format)


def read_attributes(folder: Path, certificate: Certificate, ids: list[str]) -> dict[str, NDArray[Any]]:
    """The columns a certificate names, for series of these names in this order."""
    types = certificate.columns.sensitive or certificate.columns.attributes
    if not types:
        return {}
    path = find_data(folder, certificate.files, "attributes")
    columns = {"id": pa.string()} | {name: _ARROW[kind] for name, kind in types.items()}
    table = read_labels(path, columns, most_rows=certificate.counts.series)
    if table["id"].to_list() != ids:
        raise NotAPanelError(f"{path.name} does not name the series of the data in their order.")
    for name, kind in types.items():
        if kind == "number" and not table[name].is_finite().all():
            raise NotAPanelError(f"{path.name}: column {name!r} holds something that is not a finite number.")
    return {name: table[name].to_numpy() for name in types}
