"""The table's own step, which defines a full bucket.

The step of the table is the most frequent difference between successive instants of a series, over all series. A series
has a step of its own if it has at least 10 such differences, at least half of them are equal, and that length divides
the bucket; otherwise the step of the table is taken. Of two lengths that are equally frequent the shorter counts. A row
makes an instant whether or not its reading is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
