"""A series as bytes: how rows of a panel travel through an engine.

One row is the 64-bit floats of a series, instants first and channels within them. Missing has one bit pattern, as in a
`Panel`, so that rows are equal exactly where their bytes are.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import ParameterError

ID, SUBJECT, ROW = "id", "subject", "row"

SERIES = pa.schema([(ID, pa.string()), (SUBJECT, pa.string()), (ROW, pa.binary())])
"""The columns every table of series has."""

LARGEST_BLOCK = 2**31 - 1


def pack(values: NDArray[np.float64]) -> pa.Array:
    """Rows of numbers (series, values) as one column of bytes, without copying where they are clean already."""
    rows = np.ascontiguousarray(values, dtype="<f8").reshape(len(values), -1)
    size = rows.shape[1] * 8
    if len(rows) * size > LARGEST_BLOCK:
        raise ParameterError(f"A block of {len(rows)} series is above 2 GiB. Use smaller blocks.")
    missing = np.isnan(rows)
    if missing.any():
        rows = rows.copy()
        rows[missing] = np.nan
    offsets = np.arange(len(rows) + 1, dtype=np.int64) * size
    return pa.Array.from_buffers(
        pa.binary(), len(rows), [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(rows)]
    )


def unpack(column: pa.Array | pa.ChunkedArray) -> NDArray[np.float64]:
    """The numbers (series, values) of a column of bytes; read-only, a view if there is one block."""
    if isinstance(column, pa.ChunkedArray):
        pieces = [unpack(chunk) for chunk in column.chunks if len(chunk)]
        if not pieces:
            return np.empty((0, 0))
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    if not len(column):
        return np.empty((0, 0))
    if pa.types.is_large_binary(column.type):
        column = column.cast(pa.binary())
    _, bounds, data = column.buffers()
    offsets = np.frombuffer(bounds, np.int32)[column.offset : column.offset + len(column) + 1]
    width = int(offsets[1] - offsets[0])
    if width % 8 or (np.diff(offsets) != width).any():
        raise ParameterError("Rows of a panel must all have the same number of values.")
    numbers = np.frombuffer(data, "<f8", count=len(column) * width // 8, offset=int(offsets[0]))
    return numbers.reshape(len(column), width // 8)
