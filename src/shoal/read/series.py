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
from shoal.model.names import text_of, value_of

_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}")
_DECIMAL = re.compile(r"(?:0|-?[1-9]\d{0,14}|-0(?=\.))(?:\.\d{1,15})?")


def read_ids(array: Any, column: str) -> Any:
    """An Arrow array of int64, or of large_string in the canonical spelling of names; empty is null."""
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
        raise _not_ids(column) from None
    return _plain_names(texts)


def encode_ids(array: Any, column: str) -> Any:
    """Identifiers as a dictionary array."""
    try:
        return array.dictionary_encode()
    except pa.ArrowException:  # nested entries
        raise _not_ids(column) from None


def _not_ids(column: str) -> InputError:
    return InputError(f"Column {column!r} holds neither text nor integers. Write identifiers as text.")


# Only such text can have another spelling: outside ASCII, with spaces or control characters at an end, or with a .0.
_ODD = r"[^\x00-\x7f]|^[\x00-\x20]|[\x00-\x20]$|\.0$"


def _plain_names(texts: Any) -> Any:
    """Names in their canonical spelling; null if nothing is left."""
    if pc.any(pc.match_substring_regex(texts, _ODD)).as_py():
        encoded = texts.dictionary_encode()
        names = [text_of(text) for text in encoded.dictionary.to_pylist()]
        texts = pa.array(names, pa.large_string()).take(encoded.indices)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.large_string()), texts)


class Spellings:
    """Counts the spellings of names that reading changed, and those it merged with another; `where` is their
    location."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._changed: set[str] = set()
        # Names that came in a changed spelling, and those of them that also came as they are.
        self._names: set[str] = set()
        self._plain: set[str] = set()

    def see(self, array: Any, known: Any) -> None:
        """See a batch before its names are added to those `known`; only text can be spelt in several ways."""
        if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
            return
        texts = pc.unique(array).drop_null().cast(pa.large_string())
        odd = texts.filter(pc.match_substring_regex(texts, _ODD)).to_pylist()
        changed = {text: name for text in odd if (name := text_of(text)) and name != text}
        new = set(changed.values()) - self._names
        self._changed |= set(changed)
        self._names |= new
        if new and known is not None and pa.types.is_large_string(known.type):
            listed = pa.array(sorted(new), pa.large_string())
            self._plain |= set(listed.filter(pc.is_in(listed, value_set=known)).to_pylist())
        if self._names:
            same = pc.is_in(texts, value_set=pa.array(sorted(self._names), pa.large_string()))
            self._plain |= set(texts.filter(same).to_pylist())

    def notes(self) -> tuple[str, ...]:
        """The note to the publisher; empty if no name was changed."""
        n_changed = len(self._changed)
        if not n_changed:
            return ()
        n_merged = n_changed + len(self._plain) - len(self._names)
        merged = f"; {n_merged} of them {'names' if n_merged == 1 else 'name'} what another spelling names as well"
        return (
            f"{n_changed} spelling{'s' * (n_changed != 1)} in {self.where} changed on reading (spaces at the ends, "
            f"invisible characters, accents as separate characters, the .0 of a number){merged if n_merged else ''}",
        )


def read_names(array: Any, spellings: Spellings) -> Any:
    """A whole column of names in canonical spelling; what is not text stays as it is."""
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return array
    spellings.see(array, None)
    return _plain_names(pc.cast(array, pa.large_string()))


def read_values(texts: Any, column: str) -> tuple[Any, tuple[str, ...]]:
    """A whole column of sensitive texts in canonical spelling, and the note to the publisher about it."""
    spellings = Spellings(f"column {column!r}")
    read = read_names(texts, spellings)
    different = pc.unique(read).drop_null().to_pylist()
    n_alike = len(different) - len({value_of(text) for text in different})
    if not n_alike:
        return read, spellings.notes()
    counted = (
        f"{n_alike} value{'s' * (n_alike != 1)} in column {column!r} differ{'s' * (n_alike == 1)} from another only in "
        "capitals; l-diversity counts them as one"
    )
    return read, (*spellings.notes(), counted)


def number_ids(encoded: Any, column: str) -> tuple[NDArray[np.int64], Any]:
    """The number of each row's identifier, -1 for none, and the different ones as `read_ids` reads them.

    Takes a dictionary array: a name is read once, not in every row.
    """
    names = read_ids(encoded.dictionary, column).dictionary_encode()
    numbers = np.append(names.indices.fill_null(-1).to_numpy(zero_copy_only=False), -1).astype(np.int64)
    return numbers[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)], names.dictionary


def n_respelt(encoded: Any, column: str) -> int:
    """How many rows of a dictionary array use a spelling other than the canonical one."""
    texts = encoded.dictionary
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        return 0
    respelt = pc.fill_null(pc.not_equal(pc.cast(texts, pa.large_string()), read_ids(texts, column)), False)
    return int(pc.sum(respelt.take(encoded.indices)).as_py() or 0) if pc.any(respelt).as_py() else 0


class IdColumn:
    """Collects the distinct identifiers of a column, then numbers them in sorted order."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.spellings = Spellings(f"column {column!r}")
        self.n_rows = 0
        self._n_missing = 0
        self._known: Any = None

    def add(self, array: Any) -> None:
        """See a batch."""
        self.spellings.see(array, self._known)
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
                f"Column {self.column!r} holds numbers in one part of the source and text in another. Use one type."
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
    names
        Whether its entries name subjects, which have one spelling.
    """

    def __init__(self, column: str, n_series: int, *, untyped: bool, names: bool = False) -> None:
        self.column = column
        self.spellings = Spellings(f"column {column!r}") if names else None
        self._untyped = untyped
        self._codes = np.full(n_series, -1, dtype=np.int64)
        self._conflict = np.zeros(n_series, dtype=bool)
        self._numbers: dict[Any, int] = {}

    def add(self, rows: NDArray[np.int64], array: Any) -> None:
        """See a batch; `rows` gives the series of each entry."""
        if pa.types.is_nested(array.type):
            raise InputError(f"Column {self.column!r} holds nested entries. Give a column of text, numbers or dates.")
        encoded = array.dictionary_encode("encode")
        entries = [_entry(entry, self._untyped) for entry in encoded.dictionary.to_pylist()]
        if self.spellings is not None:
            self.spellings.see(encoded.dictionary, pa.array(list(self._numbers), pa.large_string()))
            entries = [None if entry is None else text_of(entry) or None for entry in entries]
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
                "must have one value per series. Omit it, or give it as value=."
            )

    @property
    def n_missing(self) -> int:
        """Number of series without an entry."""
        return int((self._codes < 0).sum())

    def entries(self) -> list[Any]:
        """One entry per series, None if missing."""
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
    """The message if a source returns different rows the second time."""
    return InputError(
        "The source returned different rows on the second pass. Read a fixed table, or give the query a fixed order."
    )
