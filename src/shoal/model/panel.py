"""Many series over the same instants."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.model import frames
from shoal.model.frame_shape import FrameShape
from shoal.model.html import html_table
from shoal.model.panel_parts import as_channels, as_columns, as_ids, as_subjects, as_times, as_values
from shoal.model.repeated_rows import once, unpacked
from shoal.model.roles import Roles
from shoal.model.selection import select_instants, select_series
from shoal.model.words import plural

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Origin:
    """Where a panel came from and how it was read, as far as a certificate may say it: no names, no paths, no SQL."""

    kind: str
    sha256: tuple[str, ...] = ()
    n_rows: int | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Settings, as text or flags; and counts of what was done to readings, the only whole numbers in it."""
    notes: tuple[str, ...] = ()
    """Notes to the publisher about reading: what was taken for a subject, which names were respelt. Not certified."""
    shape: FrameShape | None = field(default=None, repr=False, compare=False)
    """The frame it came in. Not certified: names of columns may be identifiers."""
    unread: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Columns that were not requested. Not certified either."""


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
        array = as_values(values, copy=copy)
        n_series, n_instants = array.shape[:2]
        n_channels = array.shape[2] if array.ndim == 3 else 1
        codes, n_subjects, labels = as_subjects(subjects, n_series)
        fields = {
            "values": array,
            "ids": as_ids(ids, n_series),
            "times": as_times(times, n_instants),
            "subjects": labels,
            "attributes": as_columns(attributes, n_series, "attributes"),
            "sensitive": as_columns(sensitive, n_series, "sensitive"),
            "channels": as_channels(channels, n_channels),
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
        rows += [("read", text) for text in (self.origin.notes if self.origin is not None else ())]
        return html_table("Panel", rows)


def _rebuild(fields: dict[str, Any]) -> Panel:
    panel = object.__new__(Panel)
    fields["values"] = unpacked(fields["values"])
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        object.__setattr__(panel, name, MappingProxyType(value) if isinstance(value, dict) else value)
    return panel
