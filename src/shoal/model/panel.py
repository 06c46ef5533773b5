"""Many series over the same instants."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import InputError
from shoal.model import frames
from shoal.model.frame_shape import FrameShape
from shoal.model.html import html_table
from shoal.model.names import text_of
from shoal.model.repeated_rows import once, unpacked
from shoal.model.roles import Roles
from shoal.model.selection import select_instants, select_series
from shoal.model.words import plural

if TYPE_CHECKING:
    import polars as pl

# The one bit pattern a missing value has inside Shoal. Other NaN payloads could carry information out.
_MISSING_BITS = np.array(np.nan).view(np.uint64)
_LARGEST = 1e140


@dataclass(frozen=True)
class Origin:
    """Where a panel came from and how it was read, as far as a certificate may say it: no names, no paths, no SQL."""

    kind: str
    sha256: tuple[str, ...] = ()
    n_rows: int | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Settings, as text or flags; and counts of what was done to readings, the only whole numbers in it."""
    told: tuple[str, ...] = ()
    """Notes to the publisher on reading: what was taken for a subject, which names were respelt. Not certified."""
    shape: FrameShape | None = field(default=None, repr=False, compare=False)
    """The frame it came in. Not certified: names of columns may be identifiers."""
    unread: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Columns of a long table that nobody asked for. Not certified either."""


class Panel:
    """Series over common instants, and optionally channels. Immutable.

    Parameters
    ----------
    values
        Array (series, instants) or (series, instants, channels); NaN = missing. Infinite values are refused.
    ids
        One identifier per series, unique in the canonical spelling of `shoal.model.names.text_of`. Default: row
        positions. Never published.
    times
        One instant per column, strictly increasing: datetimes, or integers. Default: 0, 1, 2, ... With `timezone` these
        are instants in UTC; without it, local clock times.
    subjects
        The person or household behind each series, equal if `text_of` is. Default: every row its own subject.
    attributes, sensitive
        Static columns, one entry per series: a mapping from name to array. `sensitive` may also be a bare array.
    channels
        Names of the channels. Default: "value", or "value_0", "value_1", ...
    timezone
        Name of the time zone in which the instants should be read, for example "Europe/Bratislava".
    roles
        Roles of the columns of the table this was read from.
    origin
        Digest of the input, for the certificate.
    copy
        False hands the array over instead: do not write to it afterwards, nor to any array it is a view of.

    Examples
    --------
    >>> panel = Panel([[1.0, 2.0], [3.0, 4.0]])
    >>> panel
    Panel(2 series, 2 instants, 2 subjects)
    """

    __slots__ = (
        "_subject_codes",
        "attributes",
        "channels",
        "ids",
        "n_subjects",
        "origin",
        "roles",
        "sensitive",
        "subjects",
        "times",
        "timezone",
        "values",
    )

    values: NDArray[np.float64]
    ids: NDArray[np.object_]
    times: NDArray[Any]
    subjects: NDArray[np.object_] | None
    attributes: Mapping[str, NDArray[Any]]
    sensitive: Mapping[str, NDArray[Any]]
    channels: tuple[str, ...]
    timezone: str | None
    roles: Roles
    origin: Origin | None
    n_subjects: int
    _subject_codes: NDArray[np.int64]

    def __init__(
        self,
        values: ArrayLike,
        ids: Iterable[Any] | None = None,
        times: Any = None,
        subjects: Iterable[Any] | None = None,
        attributes: Mapping[str, Any] | None = None,
        sensitive: Any = None,
        *,
        channels: Sequence[str] | None = None,
        timezone: str | None = None,
        roles: Roles | None = None,
        origin: Origin | None = None,
        copy: bool = True,
    ) -> None:
        array = _as_values(values, copy=copy)
        n_series, n_instants = array.shape[:2]
        n_channels = array.shape[2] if array.ndim == 3 else 1
        codes, n_subjects, labels = _as_subjects(subjects, n_series)
        fields = {
            "values": array,
            "ids": _as_ids(ids, n_series),
            "times": _as_times(times, n_instants),
            "subjects": labels,
            "attributes": _as_columns(attributes, n_series, "attributes"),
            "sensitive": _as_columns(sensitive, n_series, "sensitive"),
            "channels": _as_channels(channels, n_channels),
            "timezone": timezone,
            "roles": roles if roles is not None else Roles(),
            "origin": origin,
            "n_subjects": n_subjects,
            "_subject_codes": codes,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("A Panel is immutable; build a new one.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("A Panel is immutable; build a new one.")

    def __reduce__(self) -> tuple[Any, ...]:
        # Immutability by __setattr__ defeats pickle's default way in. What was checked once is not checked again:
        # workers of an engine hand panels on several times.
        fields = {name: getattr(self, name) for name in self.__slots__} | {"values": once(self.values)}
        return (_rebuild, (fields | {name: dict(fields[name]) for name in ("attributes", "sensitive")},))

    @property
    def n_series(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def n_instants(self) -> int:
        """Number of points in time."""
        return int(self.values.shape[1])

    @property
    def n_channels(self) -> int:
        """Number of values per instant."""
        return len(self.channels)

    @property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return int(np.isnan(self.values).sum())

    @property
    def subject_codes(self) -> NDArray[np.int64]:
        """The subject of each series as a number, by order of first appearance."""
        return self._subject_codes

    @property
    def one_series_per_subject(self) -> bool:
        """Whether every series has a subject of its own."""
        return self.n_subjects == self.n_series

    @property
    def rows(self) -> NDArray[np.float64]:
        """The values as a matrix (series, instants x channels): what kernels take."""
        return self.values.reshape(self.n_series, -1)

    @property
    def cube(self) -> NDArray[np.float64]:
        """The values as (series, instants, channels), even if there is one channel."""
        return self.values.reshape(self.n_series, self.n_instants, self.n_channels)

    def take(self, series: NDArray[np.int64]) -> Panel:
        """Some of the series by position, with everything that belongs to them; the origin is that of the whole.

        Examples
        --------
        >>> Panel([[1.0], [2.0], [3.0]]).take(np.array([2, 0])).values.tolist()
        [[3.0], [1.0]]
        """
        return self._with(
            values=self.values[series],
            ids=self.ids[series],
            subjects=None if self.subjects is None else self.subjects[series],
            attributes={name: column[series] for name, column in self.attributes.items()},
            sensitive={name: column[series] for name, column in self.sensitive.items()},
        )

    def _with(self, **changes: Any) -> Panel:
        """The same panel with some of its parts changed."""
        parts = {name: getattr(self, name) for name in self.__slots__ if name not in ("_subject_codes", "n_subjects")}
        return Panel(**(parts | changes), copy=False)

    def like(self, values: ArrayLike, **changes: Any) -> Panel:
        """Other values at the instants and in the channels of this panel; unless given, nothing else of it is kept."""
        own: dict[str, Any] = {"times": self.times, "channels": self.channels, "timezone": self.timezone}
        return Panel(values, **(own | changes))

    def without(self, cells: NDArray[np.bool_]) -> Panel:
        """The same panel with some cells missing; the panel itself if none of them has a value."""
        if not (cells & ~np.isnan(self.values)).any():
            return self
        return self._with(values=np.where(cells, np.nan, self.values))

    def __getitem__(self, key: Any) -> Panel:
        """Some series, or some series at some instants: `panel[:10]`, `panel[:, "2024-01-01":"2024-01-07"]`.

        Series are given by position, mask or identifier, instants by position, mask or time: a time as text stands for
        the whole period it names, so `"2024-01"` is the whole month, and the end of a slice of times is included.

        Examples
        --------
        >>> panel = Panel([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], ids=["a", "b", "c"])
        >>> panel[1:, 0].values.tolist(), panel["c"].values.tolist()
        ([[3.0], [5.0]], [[5.0, 6.0]])
        """
        series, instants = key if isinstance(key, tuple) and len(key) == 2 else (key, slice(None))
        chosen = self.take(select_series(series, self.ids))
        columns = select_instants(instants, self.times, self.timezone)
        if len(columns) == self.n_instants and (np.diff(columns) == 1).all():
            return chosen
        return chosen._with(values=chosen.values[:, columns], times=self.times[columns])

    __iter__ = None  # rows of a panel are not panels; iterate over `panel.values` and `panel.ids`

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The readings, for numpy."""
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def to_pandas(self) -> Any:
        """A pandas frame in the shape in which the panel was read; else one row per series and instant."""
        return frames.to_pandas(self)

    def to_polars(self) -> pl.DataFrame:
        """A polars frame, likewise; a former index is a column."""
        return frames.to_polars(self)

    def to_arrow(self) -> Any:
        """A pyarrow table, likewise."""
        return frames.to_arrow(self)

    def to_numpy(self) -> NDArray[Any]:
        """An array (series, instants) or (series, instants, channels)."""
        return frames.to_numpy(self)

    def to_xarray(self) -> Any:
        """An xarray DataArray with the dimensions id, time and, if there are several, channel."""
        return frames.to_xarray(self)

    def digest(self) -> str:
        """SHA-256 of everything in the panel: shape, values, identifiers, instants, subjects, static columns."""
        state = hashlib.sha256()
        state.update(repr((self.values.shape, self.channels, self.timezone, self.times.dtype.str)).encode())
        state.update(np.ascontiguousarray(self.values).data)
        state.update(np.ascontiguousarray(self.times).view(np.int64).data)
        for column in (self.ids, self._subject_codes, *self.attributes.values(), *self.sensitive.values()):
            for entry in column.tolist():
                # The length keeps ("ab", "c") and ("a", "bc") apart.
                text = str(entry).encode()
                state.update(len(text).to_bytes(8, "little") + text)
        return state.hexdigest()

    def __len__(self) -> int:
        return self.n_series

    def __repr__(self) -> str:
        parts = [f"{self.n_series} series", f"{self.n_instants} instants"]
        if self.values.ndim == 3:
            parts.append(f"{self.n_channels} channels")
        parts.append(f"{self.n_subjects} subjects")
        if missing := self.n_missing:
            parts.append(f"{missing} missing")
        return f"Panel({', '.join(parts)})"

    def _repr_html_(self) -> str:
        first, last = self.times[0], self.times[-1]
        rows = [
            ("series", plural(self.n_series, "series") + f" of {plural(self.n_subjects, 'subject')}"),
            ("instants", f"{self.n_instants:,}, {first} to {last}" + (f" ({self.timezone})" if self.timezone else "")),
            ("channels", ", ".join(self.channels)),
            ("missing", plural(self.n_missing, "value")),
        ]
        if columns := [*self.attributes, *self.sensitive]:
            rows.append(("columns", ", ".join(columns)))
        rows += [("read", text) for text in (self.origin.told if self.origin is not None else ())]
        return html_table("Panel", rows)


def _rebuild(fields: dict[str, Any]) -> Panel:
    panel = object.__new__(Panel)
    fields["values"] = unpacked(fields["values"])
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        object.__setattr__(panel, name, MappingProxyType(value) if isinstance(value, dict) else value)
    return panel


def _as_values(values: ArrayLike, *, copy: bool) -> NDArray[np.float64]:
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


def _as_ids(ids: Iterable[Any] | None, n_series: int) -> NDArray[np.object_]:
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


def _as_times(times: Any, n_instants: int) -> NDArray[Any]:
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


def _as_subjects(
    subjects: Iterable[Any] | None, n_series: int
) -> tuple[NDArray[np.int64], int, NDArray[np.object_] | None]:
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


def _as_columns(columns: Any, n_series: int, what: str) -> Mapping[str, NDArray[Any]]:
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


def _as_channels(channels: Sequence[str] | None, n_channels: int) -> tuple[str, ...]:
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
