"""Columns with one entry for each series, collected from many rows and refused if they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.model.names import text_of


def kept_as(kind: pa.DataType, column: str) -> pa.DataType:
    """The plain type in which an engine stores entries of a type."""
    if pa.types.is_dictionary(kind):
        return kept_as(kind.value_type, column)
    if pa.types.is_boolean(kind) or pa.types.is_date32(kind):
        return kind
    if pa.types.is_uint64(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pa.float64()
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_date64(kind):
        return pa.date32()
    if pa.types.is_nested(kind):
        raise InputError(f"Column {column!r} holds nested entries. Give a column of text, numbers or dates.")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind) or "view" in str(kind):
        return pa.string()
    raise InputError(f"Column {column!r} holds entries that an engine does not carry. Write them as text or numbers.")


@dataclass(frozen=True)
class Entries:
    """A column as numbers of its different entries; -1 for a missing one."""

    codes: NDArray[np.int64]
    dictionary: pa.Array

    @classmethod
    def of(cls, array: Any, kind: pa.DataType | None = None) -> Entries:
        """Number the entries. NaN counts as missing; zero has no sign."""
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        plain = array if kind is None else pc.cast(array, kind, safe=False)
        if pa.types.is_floating(plain.type):
            numbers = plain.to_numpy(zero_copy_only=False) + 0.0
            plain = pa.array(numbers, mask=np.isnan(numbers))
        encoded = plain.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(codes, encoded.dictionary)

    def slice(self, first: int, last: int) -> Entries:
        """Some of the rows."""
        return Entries(self.codes[first:last], self.dictionary)


def one_entry_each(entries: Entries, starts: NDArray[np.int64]) -> tuple[pa.Array, NDArray[np.bool_]]:
    """The entry of each stretch of rows, and which stretches have several. A missing entry contradicts none."""
    codes = entries.codes
    largest = np.maximum.reduceat(codes, starts)
    smallest = np.minimum.reduceat(np.where(codes < 0, np.iinfo(np.int64).max, codes), starts)
    entry = entries.dictionary.take(pa.array(largest, mask=largest < 0))
    return entry, (largest >= 0) & (smallest != largest)


def as_texts(array: pa.Array, spelt: Callable[[Any], str | None] = str) -> pa.Array:
    """Entries as texts."""
    if pa.types.is_integer(array.type):
        return pc.cast(array, pa.string())
    encoded = array.dictionary_encode()
    return pa.array([spelt(entry) for entry in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def as_names(array: pa.Array) -> pa.Array:
    """Entries as subject names, in the one spelling under which they are counted; empty means none."""
    return as_texts(array, lambda entry: text_of(entry) or None)
