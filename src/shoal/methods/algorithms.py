"""Which series go together: every algorithm under its name, with the rules they share.

Groups are formed on features relative to those of the first series, so that a large common offset costs no digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.best import best_groups
from shoal.kernels.blocks import block_groups
from shoal.kernels.by_statistic import by_statistic_groups, row_means, row_variances
from shoal.kernels.fast_mdav import fast_mdav_groups
from shoal.kernels.k_ward import k_ward_groups
from shoal.kernels.mdav import mdav_groups
from shoal.kernels.nearest_groups import means_and_loss
from shoal.kernels.refine import refine_groups
from shoal.kernels.univariate import optimal_groups
from shoal.kernels.v_mdav import v_mdav_groups
from shoal.methods import loss_bound
from shoal.methods.gaps import groups_with_gaps
from shoal.methods.kernel_runs import n_threads, on_threads, watched
from shoal.model import Progress

Algorithm = Literal["auto", "mdav", "v-mdav", "k-ward", "optimal", "by-mean", "by-variance", "best"]

REFINE_WORK = 20_000
"""Largest number of changes of groups that refining examines, per series."""

CHEAP_WORK = 2000
"""That number for "auto", in each of its rounds."""

INDEX_ROWS = 2000
"""Number of series above which MDAV uses an index, at any length."""

INDEX_WORK = 1e8
"""The limit for fewer but longer ones: series² times values of each, over k; about a tenth of a second without an
index. Below, the index would also be faster, but compiling it takes 15 seconds on the first run."""


@dataclass(frozen=True)
class Grouping:
    """How groups are formed."""

    k: int
    algorithm: Algorithm
    refine: bool | None
    gain: float
    proposals: int
    seed: int
    loss: Literal["squared", "absolute"]
    threads: int | None = None

    def form(self, features: Floats, values: Floats, subjects: Ints, progress: Progress | None) -> Ints:
        """Group labels of the rows, from their features; the yardsticks use the values themselves."""
        x = _relative_to_first(features)
        many_series = int(subjects.max()) + 1 < len(x)
        if self.refine or self.algorithm not in ("auto", "mdav"):
            self._refuse(x, many_series)
        labels = self._form(x, values, subjects, progress)
        if self.refine:
            return on_threads(self.threads, lambda: refine_groups(x, labels, self.k, REFINE_WORK * len(x))[0])
        return labels

    def loss_of(self, features: Floats, labels: Ints) -> float:
        """The squared distances of features from the means of their groups."""
        # Relative to the first of each group: relative to one of all, a far group would cost the others digits.
        firsts = np.unique(labels, return_index=True)[1]
        return float(means_and_loss(features - features[firsts][labels], labels, len(firsts))[1])

    def bound_of(self, features: Floats) -> float:
        """A lower bound on that loss for any groups."""
        return loss_bound.least_loss(features, self.k)

    def _form(self, x: Floats, values: Floats, subjects: Ints, progress: Progress | None) -> Ints:
        forms: dict[str, Callable[[Ints], Any]] = {
            "auto": lambda done: self._auto(x, values, subjects, done),
            "mdav": lambda done: self._mdav(x, subjects, done),
            "v-mdav": lambda done: v_mdav_groups(x, self.k, self.gain, done),
            "k-ward": lambda done: k_ward_groups(x, self.k, done),
            "optimal": lambda done: optimal_groups(x[:, 0], self.k, self.loss),
            "by-mean": lambda done: by_statistic_groups(row_means(values), self.k),
            "by-variance": lambda done: by_statistic_groups(row_variances(values), self.k),
            "best": lambda done: best_groups(x, self.k, self.proposals, self.seed, done),
        }
        form = forms[self.algorithm]
        # Inside `watched`, because numba's number of threads is one of the thread that asks.
        found = watched(lambda done: on_threads(self.threads, lambda: form(done)), len(x), progress)
        return np.asarray(found)

    def _auto(self, x: Floats, values: Floats, subjects: Ints, done: Ints) -> Ints:
        """MDAV, in blocks that are then refined across their borders; plain MDAV if requested or required."""
        is_complete, many_series = not (np.isnan(values).any() or np.isnan(x).any()), int(subjects.max()) + 1 < len(x)
        if self.refine is not None or (many_series and not is_complete):
            return self._mdav(x, subjects, done)
        if is_complete:
            return self._in_blocks(x, done, subjects if many_series else None)

        def form(rows: Floats, size: int) -> Ints:
            done[0] += (len(x) - done[0]) // 2  # nobody knows how many sizes will be tried
            return replace(self, k=size)._in_blocks(rows, np.zeros(1, dtype=np.int64))

        return groups_with_gaps(x, values, self.k, form)

    def _in_blocks(self, x: Floats, done: Ints, subjects: Ints | None = None) -> Ints:
        """The default for complete rows; `subjects` if some have several."""

        def start(rows: Floats, done: Ints) -> Ints:
            return self._mdav(rows, np.arange(len(rows)) if subjects is None else subjects, done, threads=1)

        return block_groups(x, self.k, start, CHEAP_WORK, done, n_threads(self.threads), subjects)

    def _mdav(self, x: Floats, subjects: Ints, done: Ints, threads: int | None = None) -> Ints:
        """MDAV-generic; through an index if that pays off and the rows allow it."""
        single = int(subjects.max()) + 1 == len(x) and not np.isnan(x).any()
        if single and (len(x) > INDEX_ROWS or len(x) ** 2 * x.shape[1] / self.k > INDEX_WORK):
            return np.asarray(fast_mdav_groups(x, self.k, done, threads or n_threads(self.threads)))
        return np.asarray(mdav_groups(x, subjects, self.k, done))

    def _refuse(self, x: Floats, many_series: bool) -> None:
        what = "refine" if self.algorithm in ("auto", "mdav") else f"algorithm {self.algorithm!r}"
        if many_series:
            raise ParameterError(
                f"{what} needs one series per subject; here subjects have several. Use algorithm 'auto' without refine."
            )
        if np.isnan(x).any():
            raise ParameterError(
                f"{what} needs a panel without gaps. Read it with missing='drop-series' or 'interpolate:2h', or use "
                "algorithm 'auto' without refine."
            )
        if self.algorithm == "optimal" and x.shape[1] != 1:
            raise ParameterError(
                f"algorithm 'optimal' needs one instant and one channel, or one feature; here are {x.shape[1]}. "
                "Use algorithm 'best' for more."
            )


def _relative_to_first(features: Floats) -> Floats:
    """Features minus those of the first series that has them."""
    first = np.isnan(features).argmin(axis=0)
    origin = np.nan_to_num(features[first, np.arange(features.shape[1])], nan=0.0)
    return np.ascontiguousarray(features - origin)
