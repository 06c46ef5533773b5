"""The file of a learned metric: an uncompressed .npz, read without trusting it.

A small file may claim to contain any number of bytes, compressed or not. Reading never takes more than the file has:
entries are stored uncompressed, together no larger than the file, and each array is as large as it says.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError

LARGEST = 1 << 30
"""Bytes of a metric, 1 GiB: a full linear metric of series with 11 000 instants."""

BROKEN = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    EOFError,
    OverflowError,
    RecursionError,
    RuntimeError,  # zipfile's for an encrypted entry
    MemoryError,
    NotImplementedError,
    zipfile.BadZipFile,
)
"""Errors that reading a file may raise if it is not a metric."""

_ENCRYPTED = 1


def write_arrays(target: Path, arrays: dict[str, NDArray[Any]]) -> Path:
    """Write arrays of numbers as .npz."""
    if sum(array.nbytes for array in arrays.values()) > LARGEST:
        raise ParameterError(
            f"A learned metric may have at most {LARGEST} bytes, but this one has more. Learn from series with fewer "
            "instants, or form='diagonal'."
        )
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    # Readable by its owner only, whatever was there before: it may reveal who was shown with whom.
    target.unlink(missing_ok=True)
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(buffer.getvalue())
    return target


def read_arrays(source: Path) -> dict[str, NDArray[Any]]:
    """The arrays in a .npz by name; raises InputError if it is too large, and one of BROKEN if it is not a .npz."""
    if source.stat().st_size > 2 * LARGEST:
        raise _too_large(source)
    content = source.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        entries = file.infolist()
        total = sum(entry.file_size for entry in entries)
        if total > LARGEST + len(entries) * 1024:  # each with a heading of its own
            raise _too_large(source)
        stored = all(
            entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & _ENCRYPTED for entry in entries
        )
        if not stored or total > len(content) or len({entry.filename for entry in entries}) < len(entries):
            raise ValueError("entries")
        return {entry.filename.removesuffix(".npy"): _array(file.read(entry)) for entry in entries}


def _array(content: bytes) -> NDArray[Any]:
    """One entry, if it holds exactly the numbers it says."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("version")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype not in (np.dtype("<f8"), np.dtype("u1")) or any(n < 0 for n in shape):
        raise ValueError("type")
    if math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError("size")
    array = np.frombuffer(content, dtype=dtype, offset=stream.tell())
    return array.reshape(shape, order="F" if by_columns else "C").copy()


def _too_large(source: Path) -> InputError:
    return InputError(f"{source} holds more than {LARGEST} bytes, the limit for a learned metric. Give another file.")
