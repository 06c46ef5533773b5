"""Value columns: from Arrow of any type to float64 with NaN for missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import InputError

MISSING_WORDS = ("", "na", "nan", "null")

_COUNTED = ("n_rows", "_n_text", "_n_infinite")


class NumberColumn:
    """Reads one value column, or several of one table alike, and counts what is not a number.

    Parameters
    ----------
    label
        Its name in messages, for example "Column 'value'". In a wide table column names are identifiers, so the label
        must not contain one.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.n_rows = 0
        self._n_text = 0
        self._first_text: int | None = None
        self._n_infinite = 0

    def read(self, array: Any) -> NDArray[np.float64]:
        """The numbers of a batch."""
        kind = array.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            numbers = self._read_text(array)
        elif pa.types.is_boolean(kind):
            numbers = _to_numpy(pc.cast(array, pa.uint8()))
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            numbers = _to_numpy(array)
        else:
            raise InputError(
                f"{self.label} holds neither numbers nor text (its type is {_safe_type(kind)}). Convert it to numbers."
            )
        # One bit pattern for every missing value: other payloads could carry information out.
        numbers[np.isnan(numbers)] = np.nan
        self._n_infinite += int(np.isinf(numbers).sum())
        self.n_rows += len(array)
        return numbers

    def _read_text(self, array: Any) -> NDArray[np.float64]:
        texts = pl.Series(pl.from_arrow(array)).str.strip_chars()
        numbers = texts.cast(pl.Float64, strict=False)
        if numbers.null_count() > texts.null_count():
            words = texts.str.to_lowercase().is_in(MISSING_WORDS)
            wrong = (numbers.is_null() & texts.is_not_null() & ~words.fill_null(True)).to_numpy()
            if n_wrong := int(wrong.sum()):
                self._n_text += n_wrong
                if self._first_text is None:
                    self._first_text = self.n_rows + int(wrong.argmax())
        return np.array(numbers.fill_null(np.nan).to_numpy(), dtype=np.float64)

    @property
    def n_refused(self) -> int:
        """How many rows hold text or something infinite."""
        return self._n_text + self._n_infinite

    def counts(self) -> dict[str, int]:
        """All counts, to be added to the counts of other parts of the same column."""
        return {name: getattr(self, name) for name in _COUNTED}

    def take_counts(self, counts: Mapping[str, int]) -> None:
        """Become the column that saw everything behind these counts, except positions of rows."""
        for name in _COUNTED:
            setattr(self, name, counts.get(name, 0))

    def verify(self) -> None:
        """Refuse text and infinite values, with counts and the way out."""
        if (trouble := self.trouble()) is not None:
            raise trouble

    def trouble(self) -> InputError | None:
        """What is wrong with the column, or nothing."""
        if self._n_text:
            # Where parts were read apart, nobody knows which row is the first.
            first = self._first_text
            where = "" if first is None else f", the first in data row {first + 1}, counted from 1"
            return InputError(
                f"{self.label} holds text in {self._n_text} of {self.n_rows} rows{where}. "
                "Write numbers with a decimal point; mark gaps as empty, NA, NaN or null."
            )
        if self._n_infinite:
            return InputError(
                f"{self.label} holds {self._n_infinite} infinite values in {self.n_rows} rows. "
                "Mark them as missing or remove them."
            )
        return None


def _to_numpy(array: Any) -> NDArray[np.float64]:
    numbers = pc.cast(array, pa.float64(), safe=False)
    return np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def _safe_type(kind: Any) -> str:
    # The full name of a nested type lists field names.
    return str(kind).split("<")[0]
