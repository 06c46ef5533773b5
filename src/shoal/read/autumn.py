"""The hour that a clock shows twice when summer time ends, distinguished by the order of rows.

Within a series, in the order of the table (reversed if the table runs backwards), times advance until the clock is put
back: from the row at which they do not, all belong to the second hour. A series whose times advance throughout, because
one of the two hours is missing, stays undecided.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.read.durations import DAY
from shoal.read.zones import Zone


class Dst(StrEnum):
    """Which of two hours is meant."""

    INFER = "infer"
    FIRST = "first"
    SECOND = "second"
    FAIL = "fail"


class Autumn:
    """Collects the rows of such hours, and settles which of the two each belongs to."""

    def __init__(self) -> None:
        self._ids: list[pl.Series] = []
        self._instants: list[NDArray[np.int64]] = []
        self._n_forward = 0
        self._n_backward = 0

    def see(self, instants: NDArray[np.int64]) -> None:
        """Add the instants of a batch, to learn whether the table runs forwards or backwards."""
        steps = np.diff(instants)
        self._n_forward += int((steps > 0).sum())
        self._n_backward += int((steps < 0).sum())

    def add(self, ids: Any, instants: NDArray[np.int64]) -> None:
        """Add rows of such an hour, with the first of the two instants each may mean."""
        self._ids.append(pl.Series(pl.from_arrow(ids)).cast(pl.String))
        self._instants.append(instants)

    @property
    def n_rows(self) -> int:
        """How many rows lie in such an hour."""
        return sum(map(len, self._instants))

    def instants(self, second: NDArray[np.bool_], zone: Zone | None) -> NDArray[np.int64]:
        """The instants of these rows once it is settled which hour they mean."""
        instants = np.concatenate(self._instants)
        if zone is not None:
            instants[second] = zone.second_of(instants[second])
        return instants

    def settle(self, dst: Dst) -> tuple[NDArray[np.bool_], int]:
        """Which rows mean the second hour, in the order they came, and how many stay undecided."""
        n = self.n_rows
        second = np.full(n, dst is Dst.SECOND)
        if not n or dst is Dst.FAIL:
            return second, n
        instants = np.concatenate(self._instants)
        frame = pl.DataFrame({"id": pl.concat(self._ids), "day": instants // DAY, "row": np.arange(n)})
        n_open = 0
        backward = self._n_backward > self._n_forward
        for rows in frame.group_by("id", "day", maintain_order=True).agg("row")["row"].to_list():
            places = np.array(rows[::-1] if backward else rows)
            back = np.flatnonzero(np.diff(instants[places]) <= 0)
            if _in_pairs(instants[places]):
                second[places] = np.arange(len(places)) % 2 == 1
            elif len(back) == 1:
                second[places] = np.arange(len(places)) > back[0]
            elif dst is Dst.INFER:
                n_open += len(places)
        return second, n_open


def _in_pairs(instants: NDArray[np.int64]) -> bool:
    """Whether each time comes twice in a row, and times advance from pair to pair."""
    pairs = instants[: len(instants) // 2 * 2].reshape(-1, 2)
    twice = len(instants) % 2 == 0 and bool(np.all(pairs[:, 0] == pairs[:, 1]))
    return twice and len(pairs) > 0 and bool(np.all(np.diff(pairs[:, 0]) > 0))
