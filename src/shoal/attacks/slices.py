"""Time slices without dates, compared by position in a slice.

A release with L whole-number instants, made from an original with dates, has no instants in common with it. What
remains is the position in the slice: the original is cut into stretches of L instants, one stretch of each original is
drawn, and the adversary knows some of its readings with their positions (the hour of the day, if a slice is a day). All
slices are candidates.

    own(i)   of the slices cut from original i, the one that is of the drawn stretch; the others are as wrong as
             anyone's

A release does not say which slice covers which stretch, nor are its rows in order. So own(i) is the slice most like the
true stretch: least 1 - correlation, then least mean square, and all slices that are equal in both.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.attacks.ground import NOBODY, Floats, Ground, Rows, Truth, count_readings, find_grounds
from shoal.errors import ParameterError
from shoal.kernels.likeness import most_alike
from shoal.model import Moments, Panel
from shoal.read.zones import local_times


def has_slices(original: Panel, published: Panel) -> bool:
    """Whether the original has dates and the release only numbers, few enough to be positions in a slice."""
    return (
        original.times.dtype.kind == "M"
        and published.times.dtype.kind in "iu"
        and original.n_channels == published.n_channels
        and len(published.times) <= len(original.times)
    )


def find_scenes(
    name: str, original: Panel, published: Panel, truth: Truth, seed: int
) -> tuple[list[Ground], Moments, Truth]:
    """Both panels by each way the release may show the originals, the levels that show which, and who is behind it."""
    if not has_slices(original, published):
        return *find_grounds(name, original, published, truth.is_shard), truth
    ground, truth = find_slices(name, original, published, truth, seed)
    return [ground], count_readings(ground.original), truth


def find_slices(name: str, original: Panel, published: Panel, truth: Truth, seed: int) -> tuple[Ground, Truth]:
    """One stretch of each original, as long as a slice, and the truth in which only slices of that stretch count."""
    length = published.n_instants
    n_stretches = original.n_instants // length
    counts = np.bincount(truth.rows[truth.rows >= 0])
    if 2 * int(counts.max()) <= n_stretches:
        raise ParameterError(
            f"{name} takes the release's instants for positions in slices of {length}; the original has "
            f"{n_stretches} stretches of that length, the release at most {counts.max()} slices of one series. Where "
            "it has a longer step, give the original in that step too; else give the release its dates."
        )
    x = original.cube
    p = published.values.reshape(published.n_series, length, -1)
    stretches = np.empty((original.n_series, length, x.shape[2]))
    for i in range(original.n_series):
        # Drawn one at a time, so that an original's stretch does not depend on who else is there.
        at = int(np.random.default_rng(np.random.SeedSequence([seed, 3, truth.first + i])).integers(n_stretches))
        stretches[i] = x[i, at * length : (at + 1) * length]
    owners = np.full(len(p), NOBODY, dtype=np.int64)
    order = np.argsort(truth.rows, kind="stable")
    ends = np.searchsorted(truth.rows[order], np.arange(original.n_series + 1))
    for i in range(original.n_series):
        cut = order[ends[i] : ends[i + 1]]
        if len(cut):
            owners[cut[_most_like(stretches[i], p[cut])]] = truth.subjects[i]
    return Ground(stretches, p, local_times(original.times[:length], original.timezone)), replace(truth, owners=owners)


def _most_like(stretch: Floats, slices: Floats) -> Rows:
    series = np.ascontiguousarray(slices.transpose(1, 2, 0))
    _, _, alike = most_alike(stretch[None], np.arange(len(stretch))[None], series, 0)
    squares = (slices[alike] - stretch) ** 2
    there = ~np.isnan(squares)
    n_both = there.sum(axis=(1, 2))
    total = np.where(there, squares, 0.0).sum(axis=(1, 2))
    off = np.where(n_both > 0, total / np.maximum(n_both, 1), np.inf)
    nearest: Rows = alike[off == off.min()]
    return nearest
