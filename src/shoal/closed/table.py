"""The table behind a closed service, and the rows that meet conditions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.closed.questions import Moment, Range, Refused, Window
from shoal.errors import ParameterError
from shoal.queries.instants import as_instant, as_stored, find_instants

Figures = NDArray[np.float64]

_STATISTICS: dict[str, Any] = {"mean": np.mean, "least": np.min, "greatest": np.max}


@dataclass(frozen=True, eq=False)
class ClosedTable:
    """Rows over common instants and channels.

    Parameters
    ----------
    values
        Array (rows, instants, channels); NaN = missing.
    weights
        How many series each row stands for.
    subjects
        How many different subjects are behind each row.
    observed
        How many of them are behind each value: an array like `values`.
    times, channels, timezone
        As in a Panel.
    """

    values: Figures
    weights: NDArray[np.int64]
    subjects: NDArray[np.int64]
    observed: NDArray[np.int64]
    times: NDArray[Any]
    channels: tuple[str, ...]
    timezone: str | None = None
    one_each: bool = False
    """Whether every subject is known to have one series only."""

    @property
    def is_sound(self) -> bool:
        """Whether its parts have consistent types and shapes."""
        parts = (self.weights, self.subjects, self.observed)
        if self.values.dtype != np.float64 or self.values.ndim != 3 or any(part.dtype != np.int64 for part in parts):
            return False
        rows, instants, channels = self.values.shape
        names = all(isinstance(channel, str) for channel in self.channels) and len(set(self.channels)) == channels
        shapes = self.weights.shape == self.subjects.shape == (rows,) and self.observed.shape == self.values.shape
        clock = self.times.shape == (instants,) and self.times.dtype.kind in "iM"
        if not (rows and instants and names and shapes and clock):
            return False
        return bool((self.times[1:] > self.times[:-1]).all() and (self.weights >= 1).all())

    @property
    def least(self) -> int:
        """The fewest subjects behind a row or a value of one."""
        behind = self.observed[~np.isnan(self.values)]
        return int(min(self.subjects.min(), behind.min() if len(behind) else self.subjects.min()))

    def select(self, where: Iterable[Range | Window]) -> NDArray[np.bool_]:
        """For each row, whether it meets all conditions; a missing value meets none."""
        kept = np.ones(len(self.values), dtype=bool)
        for condition in where:
            if isinstance(condition, Range):
                found = self.values[:, self._instant(condition.at), self._channel(condition.channel)]
            else:
                found = self.over(condition.start, condition.end, condition.channel, condition.of)
            low = -np.inf if condition.low is None else condition.low
            high = np.inf if condition.high is None else condition.high
            kept &= (low <= found) & (found <= high)
        return kept

    def over(self, start: Moment | None, end: Moment | None, channel: str | None, of: str = "mean") -> Figures:
        """A figure of each row from `start` to `end`, both included; missing if a value in between is."""
        inside = np.ones(len(self.times), dtype=bool)
        if start is not None:
            inside &= self.times >= self._moment(start)
        if end is not None:
            inside &= self.times <= self._moment(end)
        if not inside.any():
            raise Refused("not-understood")
        figures: Figures = _STATISTICS[of](self.values[:, inside, self._channel(channel)], axis=1)
        return figures

    def _moment(self, time: Moment) -> Any:
        try:
            moment = as_stored(as_instant(time), self.timezone)
        except (ParameterError, OverflowError):
            raise Refused("not-understood") from None
        if isinstance(moment, int) != (self.times.dtype.kind == "i"):
            raise Refused("not-understood")
        return moment

    def _instant(self, time: Moment) -> int:
        try:
            return find_instants([self._moment(time)], self.times)[0]
        except ParameterError:
            raise Refused("not-understood") from None

    def _channel(self, channel: str | None) -> int:
        if channel is None and len(self.channels) == 1:
            return 0
        if channel not in self.channels:
            raise Refused("not-understood")
        return self.channels.index(channel)
