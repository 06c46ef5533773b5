"""Features in the map: what each series' own values give, and standardized ones from sums over all."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.blocks import BlockPanel, Clock
from shoal.engines.contract import Blocks
from shoal.engines.rows import ROW, unpack
from shoal.engines.summing import add_up
from shoal.errors import ParameterError
from shoal.features import Custom, Features, Standardized, find_features
from shoal.kernels.exact_sums import LIMBS, add_columns, add_squares, no_sums, totals
from shoal.model import Panel

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Scaled:
    """Standardized features with means and deviations that were taken over all blocks.

    Sums are exact, so neither depends on how the series are cut into blocks. They may differ in the last digits from
    those in memory, which are taken of values that were rounded once more.
    """

    centre: Floats
    deviation: Floats

    def __call__(self, panel: Panel) -> Floats:
        """(x - mean) / deviation, 0 where a column has one value only; missing stays missing."""
        scaled: Floats = (panel.rows - self.centre) / np.where(self.deviation > 0.0, self.deviation, 1.0)
        scaled[:, self.deviation == 0.0] *= 0.0
        return scaled


def features_on(panel: BlockPanel, spec: object) -> Features:
    """The features of a method, such that those of a series can be computed wherever it lies."""
    features = find_features(spec)  # type: ignore[arg-type]  # checked there
    if isinstance(features, Custom):
        raise ParameterError(
            f"Features {features.name!r} are a function of the whole panel, which no worker has. On an engine use "
            "'raw', 'standardized', 'centred', 'haar' or a learned metric; or anonymize in memory."
        )
    if isinstance(features, Standardized):
        return Custom(_scaled(panel))
    return features


@dataclass(frozen=True)
class FeaturesOf:
    """Features of rows of a block."""

    features: Features
    clock: Clock

    def __call__(self, rows: pa.RecordBatch | pa.Table) -> Floats:
        """An array (series, features)."""
        values = self.clock.shaped(unpack(rows[ROW]))
        return self.features(Panel(values, times=self.clock.times, channels=self.clock.channels, copy=False))


@dataclass(frozen=True)
class _Moments:
    """Counts, sums and sums of squares of every column, as whole numbers."""

    n_columns: int

    def __call__(self, blocks: Blocks) -> Numbers:
        counts = np.zeros((1, self.n_columns), dtype=np.int64)
        sums, squares = no_sums(self.n_columns), no_sums(self.n_columns)
        for block in blocks:
            if block.num_rows:
                x = unpack(block[ROW])
                counts += np.count_nonzero(~np.isnan(x), axis=0)
                add_columns(sums, x)
                add_squares(squares, x)
        return np.concatenate([counts, sums, squares]).ravel()


def _scaled(panel: BlockPanel) -> Scaled:
    n = panel.clock.n_instants * panel.clock.n_channels
    height = 1 + 2 * LIMBS
    found = add_up(panel.engine, panel.table, _Moments(n), height * n).reshape(height, n)
    counts = [max(1, int(count)) for count in found[0]]
    sums, squares = totals(found[1 : 1 + LIMBS]), totals(found[1 + LIMBS :])
    means = [total / count for total, count in zip(sums, counts, strict=True)]
    variances = [total / count - mean**2 for total, count, mean in zip(squares, counts, means, strict=True)]
    return Scaled(np.array([float(m) for m in means]), np.array([_root(v) for v in variances]))


def _root(x: Fraction) -> float:
    """The square root of a number that may be far too exact for a float."""
    digits = 1 << 256
    return isqrt(int(x * digits * digits)) / digits if x > 0 else 0.0
