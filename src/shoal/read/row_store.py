"""Readings held until their series are complete: in memory while they are few, on disk in parts when they are many.

Rows of one series can be anywhere in a table, and only side by side do they show repeats and gaps. So they are gathered
by series, a part of the series at a time; memory is one block of rows and one part.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.files.scratch import ScratchFolder

N_PARTS = 64
HELD_ROWS = 4_000_000
"""Number of rows in memory before they are written to disk: 80 MB, and twice that while they are sorted."""

_KINDS = {"series": np.int32, "times": np.int64, "values": np.float64}
_LARGEST = 2**62

Rows = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]
"""Series, time and value of each row."""


class RowStore:
    """Takes rows in any order, and returns them by series and time, equal ones in the order they arrived.

    Parameters
    ----------
    held
        Rows in memory before they are written to disk.
    """

    def __init__(self, held: int = HELD_ROWS) -> None:
        self._held = held
        self._rows: list[Rows] = []
        self._n_held = 0
        self._folder: ScratchFolder | None = None
        self.n_rows = 0

    def add(self, series: NDArray[np.int32], times: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Take a block of rows; it is not copied, so it must not change."""
        self._rows.append((series, times, values))
        self._n_held += len(series)
        self.n_rows += len(series)
        if self._n_held >= self._held:
            self._write()

    def parts(self) -> Iterator[Rows]:
        """All rows, some whole series at a time."""
        if self._folder is None:
            if self._n_held:
                yield _sorted(self._taken())
            return
        self._write()
        for part in range(N_PARTS):
            if self._file(part, "series").exists():
                yield _sorted(tuple(np.fromfile(self._file(part, name), kind) for name, kind in _KINDS.items()))

    def _taken(self) -> Any:
        """Release the rows held, and return them."""
        taken = tuple(np.concatenate([block[column] for block in self._rows]) for column in range(len(_KINDS)))
        self._rows, self._n_held = [], 0
        return taken

    def _write(self) -> None:
        if not self._n_held:
            return
        if self._folder is None:
            self._folder = ScratchFolder.make("shoal-rows-")
        columns = self._taken()
        part = (columns[0] % N_PARTS).astype(np.uint8)
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(N_PARTS + 1))
        for name, column in zip(_KINDS, columns, strict=True):
            arranged = column[order]
            for number, (start, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
                if end > start:
                    with self._file(number, name).open("ab") as file:
                        arranged[start:end].tofile(file)

    def _file(self, part: int, name: str) -> Path:
        assert self._folder is not None
        return self._folder.path / f"{part:02d}-{name}"

    def close(self) -> None:
        """Remove the files on disk."""
        self._rows, self._n_held = [], 0
        if self._folder is not None:
            self._folder.remove()
            self._folder = None


def _sorted(rows: Any) -> Rows:
    """The rows by series and time; equal ones keep their order."""
    series, times, values = rows
    first = int(times.min())
    span = int(times.max()) - first + 1
    lowest = int(series.min())
    if (int(series.max()) - lowest + 1) * span < _LARGEST:
        keys = (series.astype(np.int64) - lowest) * span + (times - first)
        if bool(np.all(keys[1:] >= keys[:-1])):
            return series, times, values
        order = np.argsort(keys, kind="stable")
    else:
        order = np.lexsort((times, series))
    return series[order], times[order], values[order]
