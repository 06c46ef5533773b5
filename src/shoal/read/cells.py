"""Filling the array of a panel, cell by cell, from rows in any order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.read.draft import allocate
from shoal.read.repeats import Duplicates, settle

Shape = tuple[int, int, int]
"""Series, instants, channels."""

_FEW = 0.01
_MANY_CELLS = 200_000_000


def refuse_sparse(n_series: int, n_instants: int, n_rows: int) -> None:
    """Refuse a huge array that would stay almost empty, before it is allocated."""
    n_cells = n_series * n_instants
    if n_cells > _MANY_CELLS and n_rows < _FEW * n_cells:
        raise InputError(
            f"{n_rows} rows would fill less than 1 % of {n_series} series x {n_instants} instants. Use a longer step "
            "with align='resample:1d' or similar, or check the times for outliers."
        )


class ExactCells:
    """One reading per cell. Further ones are set aside, compared, and settled at the end.

    Parameters
    ----------
    shape
        Series, instants, channels.
    duplicates
        What to do with readings that differ.
    """

    def __init__(self, shape: Shape, duplicates: Duplicates) -> None:
        self._values = allocate(*shape)
        self._flat = self._values.reshape(-1, shape[2])
        self._seen = np.zeros(shape[0] * shape[1], dtype=bool)
        self._duplicates = duplicates
        self._aside: list[tuple[NDArray[np.int64], list[NDArray[np.float64]]]] = []
        self.n_merged = 0
        self.repeated_at = np.zeros(shape[1], dtype=np.int64)
        """How many readings repeat another exactly, at each instant."""

    @property
    def n_repeated(self) -> int:
        """How many readings repeat another exactly."""
        return int(self.repeated_at.sum())

    @property
    def printed(self) -> NDArray[np.bool_]:
        """Which series have a row for which instant."""
        return self._seen.reshape(self._values.shape[:2])

    def add(self, cells: NDArray[np.int64], readings: Sequence[NDArray[np.float64]]) -> None:
        """Put readings into cells, counted series by series; one array of readings per channel."""
        again = self._seen[cells]
        if again.any() or pl.Series(cells).n_unique() < len(cells):
            first = np.zeros(len(cells), dtype=bool)
            first[np.unique(cells, return_index=True)[1]] = True
            fresh = first & ~again
            self._put(cells[fresh], [numbers[fresh] for numbers in readings])
            self._set_aside(cells[~fresh], [numbers[~fresh] for numbers in readings])
        else:
            self._put(cells, readings)

    def _put(self, cells: NDArray[np.int64], readings: Sequence[NDArray[np.float64]]) -> None:
        self._seen[cells] = True
        for channel, numbers in enumerate(readings):
            self._flat[cells, channel] = numbers

    def _set_aside(self, cells: NDArray[np.int64], readings: list[NDArray[np.float64]]) -> None:
        if self._duplicates is not Duplicates.LAST:
            # What equals the first row changes nothing, so that a table that is there twice takes little memory.
            other = np.zeros(len(cells), dtype=bool)
            for channel, numbers in enumerate(readings):
                held = self._flat[cells, channel] + 0.0  # zero has no sign, whichever row came first
                self._flat[cells, channel] = held
                other |= ~((held == numbers) | (np.isnan(held) & np.isnan(numbers)))
            self._repeat(cells[~other])
            cells, readings = cells[other], [numbers[other] for numbers in readings]
        if len(cells):
            self._aside.append((cells, readings))

    def _repeat(self, cells: NDArray[np.int64]) -> None:
        n_instants = len(self.repeated_at)
        self.repeated_at += np.bincount(cells % n_instants, minlength=n_instants)

    def finish(self) -> NDArray[np.float64]:
        """The array, NaN where nothing came."""
        if not self._aside:
            return self._values
        cells = np.concatenate([part for part, _ in self._aside])
        held = np.unique(cells)
        rows = np.concatenate([held, cells])
        order = np.argsort(rows, kind="stable")
        readings = [
            np.concatenate([self._flat[held, channel], *(parts[channel] for _, parts in self._aside)])[order]
            for channel in range(self._flat.shape[1])
        ]
        settled = settle(rows[order], np.zeros(len(rows), dtype=np.int64), readings, self._duplicates)
        self._repeat(settled.repeated)
        self.n_merged += len(settled.merged)
        for channel, numbers in enumerate(settled.readings):
            self._flat[settled.series, channel] = numbers
        self._aside = []
        return self._values
