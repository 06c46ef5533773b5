"""The stretches of a growing panel: a table for each in a folder, or one table that is appended to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import InputError, ParameterError
from shoal.model import Panel, account_of
from shoal.read import read_panel
from shoal.read.durations import DAY, Duration, parse_duration
from shoal.read.files import digest, kind_of
from shoal.read.zones import find_zone


@dataclass(frozen=True, eq=False)
class Stretch:
    """A stretch of instants with its readings.

    Parameters
    ----------
    panel
        The readings.
    source
        SHA-256 of the file that holds this stretch alone; None if a file holds several.
    """

    panel: Panel
    source: str | None


def stretches(
    source: Path,
    settings: Mapping[str, Any],
    *,
    every: str | None,
    known: Callable[[str], bool],
    tell: Callable[[str], None],
) -> Iterator[Stretch]:
    """The stretches to publish, in order; a file that is `known` by its SHA-256 is not read again.

    A folder has one table per stretch, in the order of their names. One table is cut at multiples of `every`, by
    default a day, on the clock of the data; its last stretch waits until it is complete.
    """
    if source.is_dir():
        if every is not None:
            raise ParameterError("--every cuts one table. In a folder, each table is a stretch of its own: omit it.")
        files = sorted(p for p in source.iterdir() if kind_of(p) and not p.name.startswith((".", "_")))
        if not files:
            raise InputError(f"No CSV or Parquet file in {source}.")
        for path in files:
            sha256 = digest(path)
            if not known(sha256):
                yield Stretch(_read(path, settings, tell), sha256)
        return
    if not source.is_file():
        raise InputError(f"No such file or folder: {source}.")
    yield from _cut(_read(source, settings, tell), _length(every), tell)


def _read(path: Path, settings: Mapping[str, Any], tell: Callable[[str], None]) -> Panel:
    """A table, and what was done to its readings: the certificates of a growing panel have no such counts."""
    panel: Panel = read_panel(path, **settings)
    if panel.origin is not None and (said := account_of(panel.origin.reading)):
        tell(f"{path.name}: {' '.join(said)}")
    return panel


def _length(every: str | None) -> Duration:
    return Duration(DAY, on_clock=True) if every is None else parse_duration(every, "every")


def _cut(panel: Panel, length: Duration, tell: Callable[[str], None]) -> Iterator[Stretch]:
    on_clock = panel.times.dtype.kind == "M"
    if not on_clock and length.on_clock:
        raise ParameterError("The times are whole numbers: give --every, the number of them in a stretch.")
    size = length.needs(clock=on_clock, setting="every")
    times = panel.times.astype(np.int64)
    shown = local_clock(times, panel.timezone)
    ends = np.flatnonzero(np.diff(shown // size)) + 1
    bounds = [0, *ends.tolist(), len(times)]
    for start, stop in pairwise(bounds):
        if stop == len(times) and not _whole(times, panel.timezone, size):
            tell(f"The last {stop - start} instant(s) wait until their stretch is complete.")
            return
        values = panel.values[:, start:stop]
        rows = np.flatnonzero(~np.isnan(values.reshape(panel.n_series, -1)).all(axis=1))
        if len(rows):
            yield Stretch(_part(panel, rows, start, stop), None)


def _whole(times: Any, timezone: str | None, size: int) -> bool:
    """Whether the instant after the last one would belong to another stretch."""
    if len(times) < 2:
        return size == 1
    after = np.array([times[-1], 2 * times[-1] - times[-2]])
    first, second = local_clock(after, timezone) // size
    return bool(first != second)


def _part(panel: Panel, rows: Any, start: int, stop: int) -> Panel:
    """Some series at some instants, with everything that belongs to them."""
    return Panel(
        panel.values[rows, start:stop],
        ids=panel.ids[rows],
        times=panel.times[start:stop],
        subjects=None if panel.subjects is None else panel.subjects[rows],
        attributes={name: column[rows] for name, column in panel.attributes.items()},
        channels=panel.channels,
        timezone=panel.timezone,
        roles=panel.roles,
        origin=panel.origin,
    )


def local_clock(times: Any, timezone: str | None) -> Any:
    """What the clock of the data shows, in microseconds."""
    return times if timezone is None else find_zone(timezone).to_local(times)


def name_of(panel: Panel) -> str:
    """A folder's name for a stretch: the day it begins on, with the time and its offset unless it is midnight."""
    first = panel.times[:1].astype(np.int64)
    if panel.times.dtype.kind != "M":
        return str(int(first[0]))
    shown = int(local_clock(first, panel.timezone)[0])
    clock = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=shown)
    if shown % DAY == 0:
        return f"{clock:%Y-%m-%d}"
    text = f"{clock:%Y-%m-%dT%H%M%S}" + (f".{clock:%f}" if clock.microsecond else "")
    if panel.timezone is None:
        return text
    minutes = (shown - int(first[0])) // 60_000_000
    return f"{text}{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}{abs(minutes) % 60:02d}"
