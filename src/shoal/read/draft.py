"""A panel in the making: the array still writable, columns not yet checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.model import Origin, Panel, Roles
from shoal.read.numbers import NumberColumn

_TOLD = 3
"""Number of columns with the same problem that are named one by one."""


@dataclass
class PanelDraft:
    """What a layout read: values, and the data that belongs to each series and instant."""

    values: NDArray[np.float64]
    ids: list[str] | None = None
    times: NDArray[np.int64] | None = None
    """Microseconds if `on_clock`, otherwise integers; None for bare positions."""
    on_clock: bool = False
    timezone: str | None = None
    subjects: list[Any] | None = None
    attributes: dict[str, NDArray[Any]] = field(default_factory=dict)
    sensitive: dict[str, NDArray[Any]] = field(default_factory=dict)
    channels: tuple[str, ...] | None = None
    n_rows: int = 0
    notes: tuple[str, ...] = ()
    """Notes to the publisher about its names."""
    printed: NDArray[np.bool_] | None = None
    """Which series have a row for which instant, with a reading or without one."""
    troubles: list[InputError] = field(default_factory=list)
    """Problems of the table found on the way, most important first."""
    account: dict[str, int] = field(default_factory=dict)
    """How many readings were filled, dropped, merged or scaled, by operation."""

    @property
    def n_channels(self) -> int:
        """Readings per series and instant."""
        return self.values.shape[2] if self.values.ndim == 3 else 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of series, subjects and channels."""
        n_series = len(self.values)
        n_subjects = n_series if self.subjects is None else len(set(self.subjects))
        return n_series, n_subjects, self.n_channels

    def count(self, **changes: int) -> None:
        """Record what was done; zero makes no entry."""
        for name, n in changes.items():
            if n:
                self.account[name] = self.account.get(name, 0) + n

    def keep_series(self, which: NDArray[np.bool_]) -> PanelDraft:
        """Only these series."""
        places = np.flatnonzero(which).tolist()
        return replace(
            self,
            values=np.compress(which, self.values, axis=0),
            ids=None if self.ids is None else [self.ids[place] for place in places],
            subjects=None if self.subjects is None else [self.subjects[place] for place in places],
            attributes={name: column[which] for name, column in self.attributes.items()},
            sensitive={name: column[which] for name, column in self.sensitive.items()},
        )

    def keep_instants(self, which: NDArray[np.bool_]) -> PanelDraft:
        """Only these instants, with their times."""
        times = np.arange(self.values.shape[1], dtype=np.int64) if self.times is None else self.times
        return replace(self, values=np.compress(which, self.values, axis=1), times=times[which])

    def panel(self, roles: Roles, origin: Origin) -> Panel:
        """The finished panel, which takes over the array without a copy."""
        values = self.values
        if values.base is not None or not values.flags.c_contiguous:
            values = values.copy(order="C")
        values.setflags(write=False)
        times: Any = self.times
        if times is not None and self.on_clock:
            times = times.view("datetime64[us]")
        return Panel(
            values,
            ids=self.ids,
            times=times,
            subjects=self.subjects,
            attributes=self.attributes,
            sensitive=self.sensitive,
            channels=self.channels,
            timezone=self.timezone,
            roles=roles,
            origin=origin,
            copy=False,
        )


@contextmanager
def noted(troubles: list[InputError]) -> Iterator[None]:
    """Note a refusal and continue, so that one run reports everything that is wrong."""
    try:
        yield
    except InputError as error:
        troubles.append(error)


def text_troubles(columns: Sequence[NumberColumn]) -> list[InputError]:
    """What is wrong with columns of readings: each of the first few, and how many more there are."""
    found = [trouble for column in columns if (trouble := column.trouble()) is not None]
    if n_more := len(found[_TOLD:]):
        found[_TOLD:] = [InputError(f"{n_more} more columns also hold text or infinite values.")]
    return found


def gathered(troubles: Sequence[InputError]) -> InputError:
    """All problems of a table as one error, most important first."""
    if len(troubles) == 1:
        return troubles[0]
    return InputError(" Also: ".join(str(trouble) for trouble in troubles))


def allocate(n_series: int, n_instants: int, n_channels: int) -> NDArray[np.float64]:
    """An array of missing values: (series, instants), with channels if there are several."""
    shape = (n_series, n_instants) if n_channels == 1 else (n_series, n_instants, n_channels)
    try:
        return np.full(shape, np.nan)
    except MemoryError:
        raise InputError(
            f"A panel of {n_series} series x {n_instants} instants x {n_channels} channels does not fit into memory. "
            "Read fewer series or a shorter span."
        ) from None
