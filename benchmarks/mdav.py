"""MDAV groups: the numba kernel against two baselines.

Run: python benchmarks/mdav.py [--json]

Baselines: "naive oracle", the plain Python of tests/naive that the tests compare with (small panels only), and "numpy
brute force", the same algorithm written below with whole-array arithmetic. The latter in two kinds: "differences" sums
squared differences as the definition says; "matrix product" expands the square into |x|^2 - 2 x.c + |c|^2, which a
tuned linear algebra library does much faster, but which loses digits where values have a large common offset, so that
its groups may differ. Panels are random daily profiles. Compile time is left out, times are the best of 3.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from measuring import Row, best_of, print_rows
from numpy.typing import NDArray

from shoal.kernels.mdav import mdav_groups

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from naive.mdav import naive_mdav

SMALL = (300, 24)
LARGE = ((5_000, 48), (20_000, 48))
K = 10


def profiles(n: int, n_columns: int) -> NDArray[np.float64]:
    """Random daily curves: a few shapes, each series with its own level and noise."""
    rng = np.random.default_rng(n)
    shapes = rng.gamma(2.0, 0.5, size=(8, n_columns))
    level = rng.lognormal(0.0, 0.6, size=(n, 1))
    curves: NDArray[np.float64] = shapes[rng.integers(8, size=n)] * level + rng.gamma(1.0, 0.2, size=(n, n_columns))
    return curves


def noisy_profiles(n: int, n_columns: int) -> NDArray[np.float64]:
    """Random daily curves that no two series share: mixtures of two of forty shapes, each reading off by a half."""
    rng = np.random.default_rng(n)
    shapes = rng.gamma(2.0, 0.5, size=(40, n_columns))
    level = rng.lognormal(0.0, 0.6, size=(n, 1))
    one, other, share = rng.integers(40, size=n), rng.integers(40, size=n), rng.random((n, 1))
    curves = (share * shapes[one] + (1.0 - share) * shapes[other]) * level
    noisy: NDArray[np.float64] = curves * rng.gamma(4.0, 0.25, size=(n, n_columns))
    return noisy


class Differences:
    """Squared distances by the definition."""

    def __init__(self, points: NDArray[np.float64]) -> None:
        self.points = points

    def to(self, centre: NDArray[np.float64]) -> NDArray[np.float64]:
        difference = self.points - centre
        apart: NDArray[np.float64] = np.einsum("ij,ij->i", difference, difference)
        return apart

    def keep(self, which: NDArray[np.bool_]) -> Differences:
        return Differences(self.points[which])


class MatrixProduct:
    """Squared distances from squared lengths and one product with the whole array."""

    def __init__(self, points: NDArray[np.float64], lengths: NDArray[np.float64] | None = None) -> None:
        self.points = points
        self.lengths = np.einsum("ij,ij->i", points, points) if lengths is None else lengths

    def to(self, centre: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.maximum(self.lengths - 2.0 * (self.points @ centre) + centre @ centre, 0.0)

    def keep(self, which: NDArray[np.bool_]) -> MatrixProduct:
        return MatrixProduct(self.points[which], self.lengths[which])


def numpy_mdav(x: NDArray[np.float64], k: int, distances: type[Differences | MatrixProduct]) -> NDArray[np.int64]:
    """MDAV-generic for rows without gaps, each its own subject: whole-array arithmetic, one Python loop over groups."""
    labels = np.empty(len(x), dtype=np.int64)
    rows, left, label = np.arange(len(x)), distances(x), 0

    def nearest(apart: NDArray[np.float64], centre: int) -> NDArray[np.intp]:
        # Everything not farther than the k-th, then exact ties by row position.
        apart[centre] = -1.0
        close = np.flatnonzero(apart <= np.partition(apart, k - 1)[k - 1])
        return close[np.argsort(apart[close], kind="stable")[:k]]

    while len(rows) >= 2 * k:
        first = int(left.to(left.points.mean(axis=0)).argmax())
        apart = left.to(left.points[first])
        around = nearest(apart, first)
        keep = np.ones(len(rows), dtype=bool)
        keep[around] = False
        labels[rows[around]] = label
        label += 1
        two_groups = len(rows) >= 3 * k
        rows, left, apart = rows[keep], left.keep(keep), apart[keep]
        if two_groups:
            second = int(apart.argmax())
            around = nearest(left.to(left.points[second]), second)
            keep = np.ones(len(rows), dtype=bool)
            keep[around] = False
            labels[rows[around]] = label
            label += 1
            rows, left = rows[keep], left.keep(keep)
    labels[rows] = label
    return labels


def kernel(x: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    groups: NDArray[np.int64] = mdav_groups(x, np.arange(len(x)), k, np.zeros(1, dtype=np.int64))
    return groups


def share_identical(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    """Share of rows that have exactly the same companions in both groupings."""
    pairs, sizes = np.unique(np.stack([a, b], axis=1), axis=0, return_counts=True)
    size_a, size_b = np.bincount(a), np.bincount(b)
    same = (sizes == size_a[pairs[:, 0]]) & (sizes == size_b[pairs[:, 1]])
    return float(sizes[same].sum() / len(a))


BASELINES = {
    "naive oracle (plain Python, tests/naive)": naive_mdav,
    "numpy brute force MDAV, differences": lambda x, k: numpy_mdav(x, k, Differences),
    "numpy brute force MDAV, matrix product": lambda x, k: numpy_mdav(x, k, MatrixProduct),
}


def measure() -> list[Row]:
    naive, *vectorised = BASELINES
    rows = []
    for (n, n_columns), names in [(SMALL, [naive]), *((size, vectorised) for size in LARGE)]:
        x = profiles(n, n_columns)
        kernel(x[: 4 * K], K)  # compiles
        found, seconds = best_of(lambda x=x: kernel(x, K))
        for name in names:
            expected, baseline_seconds = best_of(lambda x=x, name=name: BASELINES[name](x, K))
            rows.append(
                Row(
                    what="MDAV kernel, 1 thread",
                    size=f"{n:,} x {n_columns}, k = {K}",
                    seconds=seconds,
                    baseline=name,
                    baseline_seconds=baseline_seconds,
                    note=f"{100 * share_identical(found, expected):.4g} % of rows in identical groups",
                )
            )
    return rows


if __name__ == "__main__":
    print_rows(measure())
