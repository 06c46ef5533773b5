"""Filling the array of a panel, cell by cell, from rows in any order."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.read.align import By
from shoal.read.draft import allocate

Shape = tuple[int, int, int]
"""Series, instants, channels."""

_FEW = 0.01
_MANY_CELLS = 200_000_000


class Cells(Protocol):
    """Takes readings and gives the array."""

    def add(
        self, cells: NDArray[np.int64], instants: NDArray[np.int64], channel: int, numbers: NDArray[np.float64]
    ) -> None:
        """Put readings into cells, counted series by series."""

    def finish(self) -> NDArray[np.float64]:
        """The array, NaN where nothing came."""


def refuse_sparse(n_series: int, n_instants: int, n_rows: int) -> None:
    """Refuse a huge array that would stay all but empty, before it is allocated."""
    n_cells = n_series * n_instants
    if n_cells > _MANY_CELLS and n_rows < _FEW * n_cells:
        raise InputError(
            f"{n_rows} rows would fill less than 1 % of {n_series} series x {n_instants} instants. "
            "Use a longer step with align='resample:1d' or another, or check the times for outliers."
        )


class ExactCells:
    """One reading per cell; a second one is refused."""

    def __init__(self, shape: Shape) -> None:
        self._values = allocate(*shape)
        self._flat = self._values.reshape(-1, shape[2])
        self._seen = np.zeros(shape[0] * shape[1], dtype=bool)
        self._n_rows = 0

    def add(
        self, cells: NDArray[np.int64], instants: NDArray[np.int64], channel: int, numbers: NDArray[np.float64]
    ) -> None:
        """Put readings into cells."""
        self._flat[cells, channel] = numbers
        if channel == 0:
            self._seen[cells] = True
            self._n_rows += len(cells)

    def finish(self) -> NDArray[np.float64]:
        """The array, if no cell came twice."""
        if n_again := self._n_rows - int(self._seen.sum()):
            raise InputError(
                f"{n_again} of {self._n_rows} rows are duplicates: they repeat the id and time of another. Gather "
                "them with align='resample:1h' or another step; if they lie in the hour that the clock shows twice at "
                "the end of summer time, export times in UTC or with offsets."
            )
        return self._values


class _Sum:
    def __init__(self, shape: Shape, *, mean: bool) -> None:
        self._values = allocate(*shape)
        self._values.fill(0.0)
        self._flat = self._values.reshape(-1, shape[2])
        self._count = np.zeros(self._flat.shape, dtype=np.int32)
        self._mean = mean

    def add(
        self, cells: NDArray[np.int64], instants: NDArray[np.int64], channel: int, numbers: NDArray[np.float64]
    ) -> None:
        present = ~np.isnan(numbers)
        np.add.at(self._flat[:, channel], cells[present], numbers[present])
        np.add.at(self._count[:, channel], cells[present], np.int32(1))

    def finish(self) -> NDArray[np.float64]:
        if self._mean:
            np.divide(self._flat, self._count, out=self._flat, where=self._count > 0)
        self._flat[self._count == 0] = np.nan
        return self._values


class _Extreme:
    def __init__(self, shape: Shape, *, largest: bool) -> None:
        self._values = allocate(*shape)
        self._flat = self._values.reshape(-1, shape[2])
        # These two let a number win over NaN.
        self._pick = np.fmax if largest else np.fmin

    def add(
        self, cells: NDArray[np.int64], instants: NDArray[np.int64], channel: int, numbers: NDArray[np.float64]
    ) -> None:
        present = ~np.isnan(numbers)
        self._pick.at(self._flat[:, channel], cells[present], numbers[present])

    def finish(self) -> NDArray[np.float64]:
        return self._values


class _Edge:
    """The earliest reading of a bucket or the latest; of equal times the earlier or the later row."""

    def __init__(self, shape: Shape, *, latest: bool) -> None:
        self._values = allocate(*shape)
        self._flat = self._values.reshape(-1, shape[2])
        self._sign = -1 if latest else 1
        self._best = np.full(self._flat.shape, np.iinfo(np.int64).max)

    def add(
        self, cells: NDArray[np.int64], instants: NDArray[np.int64], channel: int, numbers: NDArray[np.float64]
    ) -> None:
        rows = np.flatnonzero(~np.isnan(numbers))
        if self._sign < 0:
            rows = rows[::-1]
        rank = self._sign * instants[rows]
        order = np.lexsort((rank, cells[rows]))
        target, first = np.unique(cells[rows][order], return_index=True)
        chosen, rank = rows[order][first], rank[order][first]
        best = self._best[target, channel]
        wins = rank < best if self._sign > 0 else rank <= best
        self._best[target[wins], channel] = rank[wins]
        self._flat[target[wins], channel] = numbers[chosen[wins]]

    def finish(self) -> NDArray[np.float64]:
        return self._values


def gather(by: By, shape: Shape) -> Cells:
    """Cells that combine the readings that fall into them."""
    if by in (By.MEAN, By.SUM):
        return _Sum(shape, mean=by is By.MEAN)
    if by in (By.MIN, By.MAX):
        return _Extreme(shape, largest=by is By.MAX)
    return _Edge(shape, latest=by is By.LAST)
