"""The parts a panel is built from, checked and locked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import InputError
from shoal.model.names import text_of

# The one bit pattern a missing value has inside Shoal. Other NaN payloads could carry information out.
_MISSING_BITS = np.array(np.nan).view(np.uint64)
_LARGEST = 1e140


def as_values(values: ArrayLike, *, copy: bool) -> NDArray[np.float64]:
    """The readings, numbers of a size whose squares do not overflow."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        # numpy quotes the offending value; the message of ours must not.
        raise InputError(
            "Panel values must be numbers in rows of equal length, but text or ragged rows were found. Use read_panel "
            "to read tables."
        ) from None
    if array.ndim not in (2, 3):
        raise InputError(
            f"Panel values must have 2 dimensions (series, instants) or 3 (with channels last), got {array.ndim}."
        )
    if 0 in array.shape:
        raise InputError(
            f"The panel is empty: its shape is {array.shape}. It needs at least one series and one instant."
        )
    missing = np.isnan(array)
    odd = not np.all(array.view(np.uint64)[missing] == _MISSING_BITS) if array.flags.c_contiguous else True
    if copy or odd:
        array = np.array(array, dtype=np.float64, order="C", copy=True)
        array[missing] = np.nan
    infinite = int(np.isinf(array).sum())
    if infinite:
        raise InputError(
            f"{infinite} of {array.size} values are infinite. Mark them as missing (NaN) or remove those series."
        )
    if too_large := int(((array > _LARGEST) | (array < -_LARGEST)).sum()):
        raise InputError(
            f"{too_large} of {array.size} values are larger than {_LARGEST:g} in size; their squares would overflow. "
            "Change the unit or remove those series."
        )
    array.setflags(write=False)
    # A view of a read-only array cannot be made writable by its receiver.
    return array.view()


def as_ids(ids: Iterable[Any] | None, n_series: int) -> NDArray[np.object_]:
    """A different name for each series; positions by default."""
    if ids is None:
        return _object_column(range(n_series))
    column = _object_column(ids)
    if len(column) != n_series:
        raise InputError(f"The panel has {n_series} series but {len(column)} ids. Give one id per series.")
    if (n_different := len(set(_plain(column)))) != n_series:
        raise InputError(
            f"{n_series} series have only {n_different} different ids, ignoring spaces at their ends. Ids must be "
            "unique; give the person behind several series as `subjects`."
        )
    return column


def as_times(times: Any, n_instants: int) -> NDArray[Any]:
    """The instants, ascending; positions by default."""
    if times is None:
        column: NDArray[Any] = np.arange(n_instants, dtype=np.int64)
    else:
        column = np.array(times)
        if column.dtype.kind == "M" or (column.dtype.kind == "O" and len(column)):
            try:
                column = column.astype("datetime64[us]")
            except (TypeError, ValueError):
                raise InputError("Times must be datetimes or integers; other objects were found.") from None
        elif column.dtype.kind in "iu":
            column = column.astype(np.int64)
        else:
            raise InputError(f"Times must be datetimes or integers, found the type {column.dtype.name}.")
    if column.shape != (n_instants,):
        raise InputError(f"The panel has {n_instants} instants but {column.size} times. Give one time per instant.")
    if np.isnat(column).any() if column.dtype.kind == "M" else False:
        raise InputError(f"{int(np.isnat(column).sum())} times are missing. Every instant needs a time.")
    if np.any(column[1:] <= column[:-1]):
        raise InputError("Times must increase strictly: sort the instants and remove duplicates.")
    column.setflags(write=False)
    return column


def as_subjects(
    subjects: Iterable[Any] | None, n_series: int
) -> tuple[NDArray[np.int64], int, NDArray[np.object_] | None]:
    """The subject of each series as a number, how many there are, and as they were given."""
    if subjects is None:
        codes = np.arange(n_series, dtype=np.int64)
        labels = None
    else:
        labels = _object_column(subjects)
        if len(labels) != n_series:
            raise InputError(
                f"The panel has {n_series} series but {len(labels)} subjects. Give one subject per series."
            )
        if any(label is None or label != label for label in labels):
            raise InputError("Some series have no subject. Give every series one, or omit `subjects`.")
        numbers: dict[Any, int] = {}
        codes = np.array([numbers.setdefault(label, len(numbers)) for label in _plain(labels)], dtype=np.int64)
    codes.setflags(write=False)
    return codes, int(codes.max()) + 1, labels


def as_columns(columns: Any, n_series: int, what: str) -> Mapping[str, NDArray[Any]]:
    """Static columns by name, an entry for each series."""
    if columns is None:
        return MappingProxyType({})
    named = columns if isinstance(columns, Mapping) else {what: columns}
    result: dict[str, NDArray[Any]] = {}
    for name, column in named.items():
        array = np.array(column)
        if array.shape != (n_series,):
            raise InputError(
                f"Column {name!r} of `{what}` has {array.size} entries for {n_series} series. Give one per series."
            )
        array.setflags(write=False)
        result[str(name)] = array
    return MappingProxyType(result)


def as_channels(channels: Sequence[str] | None, n_channels: int) -> tuple[str, ...]:
    """A different name for each channel."""
    if channels is None:
        return ("value",) if n_channels == 1 else tuple(f"value_{c}" for c in range(n_channels))
    names = tuple(channels)
    if len(names) != n_channels or len(set(names)) != n_channels:
        raise InputError(f"The panel has {n_channels} channels; give as many different names, got {len(names)}.")
    return names


def _object_column(entries: Iterable[Any]) -> NDArray[np.object_]:
    listed = entries.tolist() if isinstance(entries, np.ndarray) else list(entries)
    column = np.empty(len(listed), dtype=object)
    column[:] = listed
    column.setflags(write=False)
    return column


def _plain(names: NDArray[np.object_]) -> list[Any]:
    """Names in canonical spelling."""
    listed = names.tolist()
    return listed if all(type(name) is int for name in listed) else [text_of(name) for name in listed]
