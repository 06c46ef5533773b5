"""Readings gathered into buckets, and whether a bucket has all of its readings.

The step of the table is the most frequent difference between successive instants of a series, over all series. A series
has a step of its own if it has at least 10 such differences, at least half of them are equal, and that length divides
the bucket; otherwise the step of the table is taken. Of two lengths that are equally frequent the shorter counts. A row
makes an instant whether or not its reading is missing.

A full bucket has as many readings as the step of its series fits into it: length // step, at least one; a local day of
23 hours is shorter. With n of N readings, 0 < n < N, and a share c asked for (`complete`):

    n / N < c     missing
    n / N >= c    a sum is multiplied by N / n; a mean, first, last, min or max stays as it is

More readings than N are a full bucket. A bucket without any is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.read.align import Buckets, By, write_step
from shoal.read.draft import allocate

_ENOUGH = 10
"""Smallest number of differences for a series to have a step of its own."""

_ALL, _LOOSE, _OWN = "difference", "loose difference", "own"


class StepCount:
    """Counts differences series by series; counts of different series can be added up.

    Parameters
    ----------
    bucket
        Length of a bucket.
    """

    def __init__(self, bucket: int) -> None:
        self._bucket = bucket
        self.counts: dict[str, Counter[int]] = {_ALL: Counter(), _LOOSE: Counter(), _OWN: Counter()}

    @classmethod
    def of(cls, counts: Mapping[str, Mapping[int, int]]) -> StepCount:
        """Build from counts that were added up elsewhere."""
        found = cls(0)
        for name in found.counts:
            found.counts[name].update(counts.get(name, {}))
        return found

    def add(self, series: NDArray[np.int64], instants: NDArray[np.int64], n_series: int) -> NDArray[np.int64]:
        """Count whole series, sorted, each instant once; returns the own step of each of these series, 0 for none."""
        own = np.zeros(n_series, dtype=np.int64)
        inside = series[1:] == series[:-1]
        if not inside.any():
            return own
        frame = pl.DataFrame({"series": series[1:][inside], "length": np.diff(instants)[inside]})
        lengths = frame.group_by("series", "length").len().with_columns(pl.col("len").cast(pl.Int64))
        usual = (
            lengths.sort("len", "length", descending=[True, False])
            .group_by("series", maintain_order=True)
            .agg(pl.col("length").first(), pl.col("len").first(), pl.col("len").sum().alias("all"))
            .filter(
                (pl.col("all") >= _ENOUGH)
                & (2 * pl.col("len") >= pl.col("all"))
                & (self._bucket % pl.col("length") == 0)
            )
        )
        own[usual["series"].to_numpy()] = usual["length"].to_numpy()
        loose = lengths.join(usual.select("series"), on="series", how="anti")
        self._count(_ALL, lengths)
        self._count(_LOOSE, loose)
        self.counts[_OWN][0] += int(usual["len"].sum())
        return own

    def _count(self, name: str, lengths: pl.DataFrame) -> None:
        summed = lengths.group_by("length").agg(pl.col("len").sum())
        self.counts[name].update(dict(zip(summed["length"].to_list(), summed["len"].to_list(), strict=True)))

    @property
    def usual(self) -> int | None:
        """The most frequent difference; None if no series has two instants."""
        pooled = self.counts[_ALL]
        return min(pooled, key=lambda length: (-pooled[length], length)) if pooled else None

    @property
    def n_differences(self) -> int:
        """How many differences were counted."""
        return sum(self.counts[_ALL].values())

    @property
    def n_explained(self) -> int:
        """How many of the differences are the step of their series."""
        usual = self.usual
        return self.counts[_OWN][0] + (self.counts[_LOOSE][usual] if usual is not None else 0)


_CELLS = 1 << 20  # judged at once


class Gathered:
    """Buckets of series, filled whole series by whole series.

    Parameters
    ----------
    n_series
        Number of series.
    buckets
        Where a reading falls.
    by
        The aggregate of each channel.
    """

    def __init__(self, n_series: int, buckets: Buckets, by: Sequence[By]) -> None:
        self._values = allocate(n_series, buckets.n_buckets, len(by))
        self._flat = self._values.reshape(-1, len(by))
        self._counts = np.zeros(self._flat.shape, dtype=np.int32)
        self._own = np.zeros(n_series, dtype=np.int64)
        self._buckets, self._by = buckets, tuple(by)
        self.steps = StepCount(buckets.step)

    def add(
        self,
        first: int,
        n_series: int,
        series: NDArray[np.int64],
        instants: NDArray[np.int64],
        readings: Sequence[NDArray[np.float64]],
    ) -> None:
        """Gather series `first` and following; rows sorted by series, counted from `first`, and instant, each once."""
        self._own[first : first + n_series] = self.steps.add(series, instants, n_series)
        cells = (series + first) * self._buckets.n_buckets + self._buckets.positions(instants)
        for channel, numbers in enumerate(readings):
            present = ~np.isnan(numbers)
            own, found = cells[present], numbers[present]
            starts = np.flatnonzero(np.diff(own, prepend=-1))
            if len(starts):
                ends = np.append(starts[1:], len(own))
                self._flat[own[starts], channel] = _combine(self._by[channel], found, starts, ends)
                self._counts[own[starts], channel] = ends - starts

    def add_dense(self, values: NDArray[np.float64], instants: NDArray[np.int64]) -> None:
        """Gather all series of an array over the same instants."""
        n_instants = len(instants)
        at_once = max(1, _CELLS // values[0].size)
        for first in range(0, len(values), at_once):
            some = values[first : first + at_once].reshape(-1, n_instants, len(self._by))
            series = np.repeat(np.arange(len(some)), n_instants)
            channels = [some[:, :, channel].ravel() for channel in range(len(self._by))]
            self.add(first, len(some), series, np.tile(instants, len(some)), channels)

    def finish(self, complete: Fraction | None, step: int | None) -> tuple[NDArray[np.float64], Incomplete]:
        """The array; `step` is that of the table, for series without their own."""
        if complete is None or step is None:
            none = np.zeros(len(self._own), dtype=np.int64)
            return self._values, Incomplete(none, none, none)
        steps = np.where(self._own > 0, self._own, step)
        lengths = self._buckets.lengths()
        n_series, n_buckets = len(steps), len(lengths)
        values = self._flat.reshape(n_series, n_buckets, -1)
        counts = self._counts.reshape(values.shape)
        found = Incomplete(*(np.zeros(n_series, dtype=np.int64) for _ in range(3)))
        at_once = max(1, _CELLS // n_buckets)
        for start in range(0, n_series, at_once):
            some = slice(start, start + at_once)
            full = np.maximum(lengths[None, :] // steps[some, None], 1)
            for channel, by in enumerate(self._by):
                n, cell = counts[some, :, channel].astype(np.int64), values[some, :, channel]
                short = (n > 0) & (n < full)
                kept = short & (n * complete.denominator >= full * complete.numerator)
                found.incomplete[some] += (short & ~kept).sum(axis=1)
                cell[short & ~kept] = np.nan
                if by is By.SUM:
                    cell[kept] *= full[kept] / n[kept]
                    found.scaled[some] += kept.sum(axis=1)
                else:
                    found.partial[some] += kept.sum(axis=1)
        return self._values, found


@dataclass(frozen=True, eq=False)
class Incomplete:
    """Buckets that lacked readings, counted for each series."""

    incomplete: NDArray[np.int64]
    """Missing, because they had too few readings."""
    scaled: NDArray[np.int64]
    """Sums scaled up."""
    partial: NDArray[np.int64]
    """Accepted as they are."""

    def account(self) -> dict[str, int]:
        """The counts of all series together."""
        return {name: int(getattr(self, name).sum()) for name in ("incomplete", "scaled", "partial")}


def _combine(
    by: By, numbers: NDArray[np.float64], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """One number for each stretch, in the order of time."""
    if by is By.FIRST:
        return numbers[starts]
    if by is By.LAST:
        return numbers[ends - 1]
    pick = {By.MIN: np.minimum, By.MAX: np.maximum}.get(by, np.add)
    found: NDArray[np.float64] = pick.reduceat(numbers, starts)
    return found / (ends - starts) if by is By.MEAN else found


def require_step(steps: StepCount, bucket: int, by: By, *, on_clock: bool) -> int:
    """The step of the table; refused if it has none or if it does not divide a bucket."""
    usual = steps.usual
    length = write_step(bucket, on_clock=on_clock)
    anyway = "complete='any' accepts every bucket that has a reading."
    if usual is None:
        raise InputError(
            f"No series has two instants, so the number of readings in a full bucket of {length} is unknown. {anyway}"
        )
    step = write_step(usual, on_clock=on_clock)
    if 2 * steps.n_explained < steps.n_differences:
        raise InputError(
            f"The series have no step of their own: the most frequent one, {step}, explains {steps.n_explained} of "
            f"{steps.n_differences} differences between successive times. So the number of readings in a full bucket "
            f"of {length} is unknown. {anyway}"
        )
    if bucket % usual:
        longer = write_step(-(-bucket // usual) * usual, on_clock=on_clock)
        raise InputError(
            f"The table's own step of {step} does not divide buckets of {length}. Give a multiple of it, such as "
            f"align='resample:{longer}:{by}'; {anyway}"
        )
    return usual
