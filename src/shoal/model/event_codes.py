"""Columns of events as whole numbers. Querying a frame costs more than counting a thousand events."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

_LARGEST = 1 << 62


def text_codes(texts: pl.Series, spell: Callable[[str], str] = str) -> tuple[NDArray[np.int64], int]:
    """The rank of each text among the different ones by `spell`, missing first; and their number."""
    encoded = texts.to_arrow(compat_level=pl.CompatLevel.oldest()).dictionary_encode("encode")
    spelt = [None if text is None else spell(text) for text in encoded.dictionary.to_pylist()]
    shift = int(None in spelt)
    different = sorted({text for text in spelt if text is not None})
    places: dict[str | None, int] = {text: place for place, text in enumerate(different, shift)}
    places[None] = 0
    ranks = np.array([places[text] for text in spelt], dtype=np.int64)
    return np.asarray(ranks[encoded.indices.to_numpy()], dtype=np.int64), len(places) - 1 + shift


def dense_codes(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Equal keys as equal numbers from 0, in order; without sorting if they are close together."""
    if not len(keys):
        return keys
    low = int(keys.min())
    span = int(keys.max()) - low + 1
    if span > 4 * len(keys) + 1024:
        return np.unique(keys, return_inverse=True)[1].reshape(-1)
    ranks = np.cumsum(np.bincount(keys - low, minlength=span) > 0) - 1
    return np.asarray(ranks[keys - low], dtype=np.int64)


def as_numbers(column: pl.Series) -> NDArray[np.int64]:
    """Whole numbers unchanged, dates and times as their counts; without gaps."""
    return (
        column.to_numpy().view(np.int64)
        if column.dtype.is_temporal() and column.dtype != pl.Date
        else (column.to_numpy().astype(np.int64))
    )


def physical(column: pl.Series) -> pl.Series:
    """The numbers behind dates and times; numbers unchanged, because asking polars costs more than using them."""
    return column if column.dtype.is_integer() else column.to_physical()


def take_rows(frame: pl.DataFrame, rows: NDArray[np.int64]) -> pl.DataFrame:
    """Rows by number, column by column: for a whole frame polars would use its threads."""
    numbers = pl.Series(rows.astype(np.uint32))
    return pl.DataFrame([column[numbers] for column in frame])


def sort_rows(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The rows sorted by these columns, missing first, as `frame.sort` does."""
    keys = _keys(frame, names)
    if keys is None:
        return frame.sort(names)
    if (keys[1:] >= keys[:-1]).all():  # as published tables are
        return frame
    return take_rows(frame, np.argsort(keys, kind="stable"))


def count_rows(frame: pl.DataFrame, count: str) -> pl.DataFrame:
    """The different rows, sorted, with a further column: how often each occurs."""
    keys = _keys(frame, frame.columns)
    if keys is None:
        return frame.group_by(frame.columns).len(count).cast({count: pl.Int64}).sort(frame.columns)
    _, rows, often = np.unique(keys, return_index=True, return_counts=True)
    return pl.DataFrame([*take_rows(frame, rows), pl.Series(count, often, dtype=pl.Int64)])


def _keys(frame: pl.DataFrame, names: Sequence[str]) -> NDArray[np.int64] | None:
    """Rows as numbers in the order of these columns; None for values that numbers cannot hold."""
    keys = np.zeros(len(frame), dtype=np.int64)
    n_keys = 1
    for name in names:
        coded = _codes(frame[name])
        if coded is None:
            return None
        codes, n_codes = coded
        if n_keys * n_codes > _LARGEST:
            keys = dense_codes(keys)
            n_keys = int(keys.max(initial=0)) + 1
        keys, n_keys = keys * n_codes + codes, n_keys * n_codes
    return keys


def _codes(column: pl.Series) -> tuple[NDArray[np.int64], int] | None:
    """The order of a column as numbers from 0, and their count; None for values that numbers cannot hold."""
    if column.dtype == pl.String:
        return text_codes(column)
    numbers = physical(column)
    if not numbers.dtype.is_integer() or numbers.dtype == pl.UInt64 or numbers.null_count():
        return None
    codes = dense_codes(numbers.to_numpy().astype(np.int64))
    return codes, int(codes.max(initial=0)) + 1
