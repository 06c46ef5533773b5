"""What the pages of a Parquet file say besides the rows: entries of dictionaries, ends in page headers.

Someone who reads the rows never sees a dictionary entry that no row refers to, nor the smallest and largest value in a
page header, and raw readings can hide in both. So each of them must be a value of the rows. Page headers are parsed
here, because the libraries do not expose them, and the footer, because Arrow ends the process at an unknown codec or at
size statistics of another schema. Bytes after the last value of a page are not examined.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal.release.files import NotAPanelError

_LARGEST = 1 << 26
"""Largest size of a dictionary, 64 MiB: libraries end one at about 1 MiB."""
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_HEADS = {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}
"""The field of a page header with further details, by the type of the page."""
_N_FIELDS = {_DATA: 5, _DICTIONARY: 3, _DATA_2: 8}
"""How many fields that part has; for data pages, the last are statistics."""
_ENDS = (1, 2, 5, 6)
_OTHER_STATISTICS = (3, 7, 8)
"""The number of missing values, and whether the ends are exact."""
_SHORTEST_CUT = 16
_CODECS = range(8)
_REQUIRED, _OPTIONAL, _REPEATED = range(3)  # how often a column has a value in a row
_TEXT = 6  # the physical type of texts
_TAIL = struct.Struct("<I4s")  # bytes of the footer, and the mark
_WIDE: dict[pa.DataType, tuple[pa.DataType, str]] = {
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.date32()), (pa.int32(), "<i4")),
    **dict.fromkeys((pa.uint8(), pa.uint16(), pa.uint32()), (pa.uint32(), "<u4")),
    pa.int64(): (pa.int64(), "<i8"),
    pa.uint64(): (pa.uint64(), "<u8"),
    pa.float32(): (pa.float32(), "<f4"),
    pa.float64(): (pa.float64(), "<f8"),
}


class Unused:
    """The values that pages of one column of a row group hold, minus those that its rows have."""

    def __init__(self, path: Path, chunk: Any, kind: pa.DataType) -> None:
        self._column, self._kind = chunk.path_in_schema, kind
        self._is_text = kind == pa.string()
        self._wide, self._numpy = _WIDE.get(pa.int64() if pa.types.is_timestamp(kind) else kind, (kind, ""))
        try:
            entries, ends = self._read(path, chunk)
        except (KeyError, IndexError, TypeError, AttributeError, OverflowError, struct.error):
            raise ValueError("no pages") from None
        # Bit by bit, except that the libraries may write either zero as an end.
        self._entries = self._keys(entries, exact=True)
        self._ends = self._keys(ends, exact=False)

    def see(self, column: pa.ChunkedArray) -> None:
        """Remove what these rows have."""
        if self._is_text:
            column = column.unique()  # a name occurs in as many rows as there are instants
        for name, exact in (("_entries", True), ("_ends", False)):
            if len(left := getattr(self, name)):
                there = self._keys(column.drop_null(), exact=exact)
                setattr(self, name, left.filter(pc.invert(pc.is_in(left, value_set=there))))
        if self._is_text and len(self._ends):
            texts = column.cast(pa.binary())
            # Long ends may be cut, the upper one then rounded up in its last byte.
            cut = [len(end) >= _SHORTEST_CUT and _any_starts(texts, end[:-1]) for end in self._ends.to_pylist()]
            self._ends = self._ends.filter(pa.array(np.logical_not(cut)))

    def refuse(self) -> None:
        """Raise if something is left."""
        if n_unused := len(self._entries):
            raise NotAPanelError(
                f"holds {n_unused} entries in a dictionary of column {self._column!r} that no row uses"
            )
        if len(self._ends):
            raise NotAPanelError(f"has a page of column {self._column!r} whose statistics do not match its rows")

    def _read(self, path: Path, chunk: Any) -> tuple[Any, Any]:
        entries: Any = self._values(b"", 0)
        ends: list[bytes] = []
        n_values = 0
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for number, (head, start) in enumerate(_pages(content, chunk)):
                kind = head[1]
                more = head.get(_HEADS.get(kind, 0), {0: None})
                told = more.get(_N_FIELDS[kind], {}) if kind in (_DATA, _DATA_2) else {}
                if (
                    set(head) != {1, 2, 3, _HEADS.get(kind)}
                    or not set(more) <= set(range(1, 1 + _N_FIELDS[kind]))
                    or not set(told) <= {*_ENDS, *_OTHER_STATISTICS}
                    or (kind == _DICTIONARY and number)
                ):
                    raise NotAPanelError(f"has a page of column {self._column!r} that Shoal does not write")
                if kind == _DICTIONARY:
                    packed = content[start : start + head[3]]
                    entries = self._values(_unpacked(packed, head[2], chunk.compression), more[1])
                    continue
                n_values += more[1]
                ends += [told[end] for end in _ENDS if end in told]
        if n_values != chunk.num_values:
            raise NotAPanelError(f"has pages of column {self._column!r} with other than {chunk.num_values} values")
        return entries, self._ends_of(ends)

    def _ends_of(self, ends: list[bytes]) -> Any:
        if self._is_text:
            return pa.array(ends, pa.binary())
        if pa.types.is_boolean(self._kind):
            if any(end not in (b"\0", b"\1") for end in ends):
                raise ValueError
            return pa.array([end == b"\1" for end in ends], pa.bool_())
        return self._values(b"".join(ends), len(ends))

    def _values(self, plain: bytes, n_values: int) -> Any:
        """Values written one after the other."""
        if self._is_text:
            return pa.array(_texts(plain, n_values), pa.binary())
        if not self._numpy:
            if n_values:
                raise ValueError
            return pa.array([], self._kind)
        numbers = np.frombuffer(plain, self._numpy)
        if len(numbers) != n_values:
            raise ValueError
        return pa.array(numbers)

    def _keys(self, column: Any, *, exact: bool) -> Any:
        """Values in the form that is compared: floats by their bits, or with one zero."""
        if self._is_text:
            return column.cast(pa.binary())
        wide = column if column.type == self._wide else column.cast(self._wide)
        if not pa.types.is_floating(self._wide):
            return wide
        numbers = wide.to_numpy(zero_copy_only=False) if isinstance(wide, pa.Array) else wide.to_numpy()
        return pa.array(np.ascontiguousarray(numbers).view(f"i{numbers.itemsize}") if exact else numbers + 0.0)


def refuse_odd_footer(path: Path) -> None:
    """Raise ValueError if Arrow would end the process at the footer of a file, or if it cannot be parsed."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        at = len(content) - _TAIL.size
        try:
            length, mark = _TAIL.unpack_from(content, at)
            if mark != b"PAR1" or length > at:
                raise IndexError
            footer, _ = _struct(content, at - length, 0)
            repetitions = [leaf.get(3, 0) for leaf in footer[2][1:]]
            chunks = [chunk[3] for group in footer[4] for chunk in group[1]]
            codecs = [chunk[4] for chunk in chunks]
            sizes = [
                _fits(chunk[1], chunk.get(16, {}), repetition)
                for chunk, repetition in zip(chunks, repetitions * len(footer[4]), strict=True)
            ]
        except (KeyError, IndexError, TypeError, AttributeError, struct.error):
            raise ValueError("no footer") from None
    if any(type(codec) is not int or codec not in _CODECS for codec in codecs):
        raise ValueError("an unknown codec")
    if not all(sizes):
        raise ValueError("size statistics that do not fit the schema")


def _fits(kind: int, sizes: dict[int, Any], repetition: int) -> bool:
    """Whether size statistics are those of a column of this type: lengths of texts, and a count for each level."""
    levels = ((2, 1 + (repetition == _REPEATED)), (3, 1 + (repetition != _REQUIRED)))
    if repetition not in (_REQUIRED, _OPTIONAL, _REPEATED) or (1 in sizes and kind != _TEXT):
        return False
    return all(len(sizes.get(field, ())) in (0, n) for field, n in levels)


def refuse_overlaps(metadata: pq.FileMetaData) -> None:
    """Raise if two columns share bytes: as many others could be hidden elsewhere, and nobody would miss them."""
    chunks = [
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]
    places = sorted((start := _start(chunk), start + chunk.total_compressed_size) for chunk in chunks)
    if any(start < end for (_, end), (start, _) in pairwise(places)):
        raise NotAPanelError("has columns that share bytes")


def _start(chunk: Any) -> int:
    offsets = (chunk.dictionary_page_offset, chunk.data_page_offset)
    return int(min(offset for offset in offsets if offset))


def _pages(content: mmap.mmap, chunk: Any) -> Iterator[tuple[dict[int, Any], int]]:
    """The header of each page of a column, and where its content begins; raises if they do not fill its space."""
    at = _start(chunk)
    end = at + chunk.total_compressed_size
    while at < end:
        head, start = _struct(content, at, 0)
        yield head, start
        at = start + head[3]
        if head[3] < 0:
            raise ValueError
    if at != end:
        raise ValueError


def _unpacked(packed: bytes, n_bytes: int, codec: str) -> bytes:
    if not 0 <= n_bytes <= _LARGEST:
        raise NotAPanelError("has a larger dictionary than any library writes")
    if codec == "UNCOMPRESSED":
        return packed
    unpacked: bytes = pa.decompress(packed, decompressed_size=n_bytes, codec=codec.lower(), asbytes=True)
    return unpacked


def _texts(plain: bytes, n_values: int) -> list[bytes]:
    texts, at = [], 0
    for _ in range(n_values):
        (length,) = struct.unpack_from("<I", plain, at)
        texts.append(plain[at + 4 : at + 4 + length])
        at += 4 + length
    if at != len(plain):
        raise ValueError
    return texts


def _any_starts(texts: pa.ChunkedArray, beginning: bytes) -> bool:
    return bool(pc.any(pc.starts_with(texts, beginning)).as_py())


# Page headers and footers are in Thrift's compact protocol: fields by number, whole numbers in groups of seven bits.
_DEEPEST = 8


def _struct(content: mmap.mmap, at: int, depth: int) -> tuple[dict[int, Any], int]:
    if depth > _DEEPEST:
        raise ValueError
    fields: dict[int, Any] = {}
    number = 0
    while head := content[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _whole(content, at)
        fields[number], at = _value(content, at, head & 15, depth)
    return fields, at + 1


def _value(content: mmap.mmap, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2):
        return kind == 1, at
    if kind == 3:
        return content[at], at + 1
    if kind in (4, 5, 6):
        return _whole(content, at)
    if kind == 8:
        length, at = _unsigned(content, at)
        return content[at : at + length], at + length
    if kind == 9:
        return _list(content, at, depth + 1)
    if kind == 12:
        return _struct(content, at, depth + 1)
    raise ValueError  # maps and floats are in no file that Shoal writes


def _list(content: mmap.mmap, at: int, depth: int) -> tuple[list[Any], int]:
    if depth > _DEEPEST:
        raise ValueError
    head = content[at]
    length, at = _unsigned(content, at + 1) if head >> 4 == 15 else (head >> 4, at + 1)
    items = []
    for _ in range(length):
        if head & 15 in (1, 2):  # in a list, a truth value takes a byte
            value, at = content[at] == 1, at + 1
        else:
            value, at = _value(content, at, head & 15, depth)
        items.append(value)
    return items, at


def _whole(content: mmap.mmap, at: int) -> tuple[int, int]:
    folded, at = _unsigned(content, at)
    return (folded >> 1) ^ -(folded & 1), at


def _unsigned(content: mmap.mmap, at: int) -> tuple[int, int]:
    number = shift = 0
    while shift < 64:
        part = content[at]
        at += 1
        number |= (part & 127) << shift
        if part < 128:
            return number, at
        shift += 7
    raise ValueError
