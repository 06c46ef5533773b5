"""What belongs to a series as a whole: its identifier, and columns that do not change over time."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import InputError

_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}")
_DECIMAL = re.compile(r"(?:0|-?[1-9]\d{0,14}|-0(?=\.))(?:\.\d{1,15})?")


def read_ids(array: Any, column: str) -> Any:
    """An Arrow array of int64 or large_string, empty text as null."""
    kind = array.type
    if pa.types.is_floating(kind):
        numbers = pc.cast(array, pa.float64()).to_numpy(zero_copy_only=False)
        if np.any(np.isinf(numbers)) or np.any(numbers[~np.isnan(numbers)] % 1):
            raise InputError(
                f"Column {column!r} holds fractional numbers, which cannot identify series. Write it as text."
            )
        # pandas turns integers into floats as soon as one is missing.
        gone = np.isnan(numbers)
        if np.any(np.abs(numbers[~gone]) > 2**53):
            raise InputError(f"Column {column!r} holds numbers too large to identify series exactly. Write it as text.")
        return pa.array(np.where(gone, 0, numbers).astype(np.int64), mask=gone)
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return pc.cast(array, pa.int64())
    try:
        texts = pc.cast(array, pa.large_string())
    except (pa.ArrowException, TypeError):
        raise InputError(f"Column {column!r} holds neither text nor integers. Write identifiers as text.") from None
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.large_string()), texts)


class IdColumn:
    """Collects the different identifiers of a column, then numbers them in sorted order."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.n_rows = 0
        self._n_missing = 0
        self._known: Any = None

    def add(self, array: Any) -> None:
        """See a batch."""
        ids = read_ids(array, self.column)
        self.n_rows += len(ids)
        if ids.null_count:
            self._n_missing += ids.null_count
            ids = ids.drop_null()
        found = pc.unique(ids)
        if self._known is None:
            self._known = found
            return
        self._alike(found)
        new = found.filter(pc.invert(pc.is_in(found, value_set=self._known)))
        if len(new):
            self._known = pa.concat_arrays([self._known, new])

    def finish(self) -> None:
        """Refuse rows without identifier, and sort."""
        if self._n_missing:
            raise InputError(
                f"{self._n_missing} of {self.n_rows} rows have no identifier in column {self.column!r}. "
                "Complete or remove these rows."
            )
        self._known = self._known.take(pc.sort_indices(self._known))

    @property
    def n_series(self) -> int:
        """Number of different identifiers."""
        return len(self._known)

    def positions(self, array: Any) -> NDArray[np.int64]:
        """The position of each row's identifier among the sorted ones."""
        ids = read_ids(array, self.column)
        self._alike(ids)
        places = pc.index_in(ids, value_set=self._known)
        if places.null_count:
            raise changed()
        return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)

    def texts(self) -> list[str]:
        """The identifiers as text, sorted."""
        return [str(entry) for entry in self._known.to_pylist()]

    def _alike(self, ids: Any) -> None:
        if ids.type != self._known.type:
            raise InputError(
                f"Column {self.column!r} holds numbers in one part of the source and text in another. Write them alike."
            )


class StaticColumn:
    """A column with one entry per series. A missing entry does not contradict the others of its series.

    Parameters
    ----------
    column
        Its name.
    n_series
        Number of series.
    untyped
        Whether text that is a plain number should become one (CSV).
    """

    def __init__(self, column: str, n_series: int, *, untyped: bool) -> None:
        self.column = column
        self._untyped = untyped
        self._codes = np.full(n_series, -1, dtype=np.int64)
        self._conflict = np.zeros(n_series, dtype=bool)
        self._numbers: dict[Any, int] = {}

    def add(self, rows: NDArray[np.int64], array: Any) -> None:
        """See a batch; `rows` says the series of each entry."""
        if pa.types.is_nested(array.type):
            raise InputError(f"Column {self.column!r} holds nested entries. Give a column of text, numbers or dates.")
        encoded = array.dictionary_encode("encode")
        entries = [_entry(entry, self._untyped) for entry in encoded.dictionary.to_pylist()]
        numbers = np.array(
            [-1 if entry is None else self._numbers.setdefault(entry, len(self._numbers)) for entry in entries],
            dtype=np.int64,
        )
        codes = numbers[encoded.indices.to_numpy(zero_copy_only=False)]
        present = codes >= 0
        fresh = present & (self._codes[rows] < 0)
        self._codes[rows[fresh]] = codes[fresh]
        self._conflict[rows[present & (self._codes[rows] != codes)]] = True

    def verify(self) -> None:
        """Refuse series with different entries."""
        if n_conflicts := int(self._conflict.sum()):
            raise InputError(
                f"Column {self.column!r} changes within {n_conflicts} of {len(self._codes)} series; a static column "
                "must have one value per series. Leave it out, or give it as value=."
            )

    @property
    def n_missing(self) -> int:
        """Number of series without an entry."""
        return int((self._codes < 0).sum())

    def entries(self) -> list[Any]:
        """One entry per series, None where missing."""
        known = [*self._numbers, None]
        return [known[code] for code in self._codes.tolist()]

    def array(self) -> NDArray[Any]:
        """The entries in the plainest type that holds them."""
        return as_array(self.entries(), untyped=self._untyped)


def as_array(entries: list[Any], *, untyped: bool) -> NDArray[Any]:
    """Numbers as numbers (NaN for missing), the rest as objects (None for missing)."""
    present = [entry for entry in entries if entry is not None]
    kinds = {type(entry) for entry in present}
    if untyped and present and kinds == {str}:
        if all(_INTEGER.fullmatch(entry) for entry in present):
            kinds, entries = {int}, [None if entry is None else int(entry) for entry in entries]
        elif all(_DECIMAL.fullmatch(entry) for entry in present):
            kinds, entries = {float}, [None if entry is None else float(entry) for entry in entries]
    complete = len(present) == len(entries)
    if kinds == {bool} and complete:
        return np.array(entries, dtype=bool)
    if kinds == {int} and complete and all(abs(entry) < 2**63 for entry in entries):
        return np.array(entries, dtype=np.int64)
    if kinds and kinds <= {int, float} and (float in kinds or not complete):
        return np.array([np.nan if entry is None else entry for entry in entries], dtype=np.float64)
    column = np.empty(len(entries), dtype=object)
    column[:] = entries
    return column


def _entry(entry: Any, untyped: bool) -> Any:
    if (untyped and entry == "") or entry != entry:
        return None
    if isinstance(entry, Decimal):
        return float(entry)
    return entry


def changed() -> InputError:
    """What to say when a source gives other rows the second time."""
    return InputError(
        "The source gave different rows at the second reading. Read a fixed table, or order and fix the query."
    )
