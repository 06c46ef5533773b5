"""Static columns in plain types: what a table can hold and a reader gets back unchanged."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGEST = 2**63


def plain_column(column: NDArray[Any]) -> NDArray[Any]:
    """The same entries as int64, float64 (NaN if missing), bool, or text in objects (None if missing).

    Numbers stay numbers and truth values truth values; dates, mixtures and everything else are written as text.
    """
    kind = column.dtype.kind
    if kind == "b":
        return column.astype(np.bool_)
    if kind == "f" or (kind == "u" and column.size and int(column.max()) >= _LARGEST):
        return column.astype(np.float64)
    if kind in "iu":
        return column.astype(np.int64)
    if kind in "Mm":
        return _objects([None if gone else str(entry) for entry, gone in zip(column, np.isnat(column), strict=True)])
    entries = [None if _is_missing(entry) else entry for entry in column.tolist()]
    present = [entry for entry in entries if entry is not None]
    complete = len(present) == len(entries)
    if present and all(isinstance(entry, bool | np.bool_) for entry in present) and complete:
        return np.array(entries, dtype=np.bool_)
    if present and all(_is_number(entry) for entry in present):
        whole = all(isinstance(entry, int | np.integer) and abs(int(entry)) < _LARGEST for entry in present)
        if whole and complete:
            return np.array(entries, dtype=np.int64)
        return np.array([np.nan if entry is None else float(entry) for entry in entries], dtype=np.float64)
    return _objects([None if entry is None else str(entry) for entry in entries])


def missing_entries(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries of a plain column are missing."""
    missing = np.zeros(len(column), dtype=np.bool_)
    if column.dtype.kind == "f":
        missing[:] = np.isnan(column)
    elif column.dtype.kind == "O":
        missing[:] = [entry is None for entry in column.tolist()]
    return missing


def _is_number(entry: Any) -> bool:
    return isinstance(entry, int | float | np.number | Decimal) and not isinstance(entry, bool)


def _is_missing(entry: Any) -> bool:
    if entry is None:
        return True
    try:
        return bool(entry != entry)
    except TypeError:  # pandas' NA is neither true nor false
        return True
    except ValueError:  # an array as an entry
        return False


def _objects(entries: list[Any]) -> NDArray[np.object_]:
    column = np.empty(len(entries), dtype=object)
    column[:] = entries
    return column
