"""The aggregates that the page draws, so that it never needs a series.

Every number about the originals is taken over at least `crowd` different subjects. With x[s, t] the reading of series s
at instant t, and only observed readings counted:

    profile(c)   mean of x[s, t] over all series and all instants t with clock time c
    duration     mean over s of x[s, t], times the number of series, for each t; sorted downwards
    bands(c, q)  with m[u] the profile of subject u alone at c: m sorted and cut into five blocks, sizes w differing
                 by at most one, every observed subject in exactly one; the mean of the block with q % in its middle

A number is also left out if one subject makes up more than nine tenths of it: where all others read zero, the total is
that subject's reading. If this happens to one block of a bin, the others are left out too: total minus four is the
fifth.

Blocks do not overlap, but the published mean of a group may cover a block except for one subject. So each block mean of
the originals is blurred:

    bands(c, q) + z * spread(c) / w    spread(c) = highest - lowest block mean at c

with z standard normal, cut off at +-3: a single reading obtained by subtraction is off by about the whole spread. Half
the variance of z is one draw for all bins; otherwise averaging over the day would remove it. Blurred means are sorted,
and are below zero only where the lowest block mean is. z follows from a hash of the readings: the same panel gives the
same figures, and only someone who has the readings can compute it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.model import Panel
from shoal.report.axis import common_axis, same_times

FIFTHS = (10, 30, 50, 70, 90)  # per cent of the subjects below the middle of each fifth
MAX_BYTES = 120_000
MAX_CHANNELS = 8
MAX_POINTS = 400
MAX_SHARES = 200
MAX_SHARE = 0.9  # of one subject in a number about the originals
CUT_OFF = 3.0  # of the blur, in standard deviations
_DOMAIN = b"shoal report bands"
_NAME_LENGTH = 60
# Sums held at once; keeps a panel of a million series from doubling in memory.
_WORKING_BYTES = 64_000_000
_ROWS = 4096
# A rounded number takes at most about 13 characters in JSON, unless it is astronomically large.
_NUMBERS = 8_400

Curve = list[float | None]


class _Rule(NamedTuple):
    """The rule for showing a number: at least this many subjects, none with a larger share of it."""

    subjects: int
    share: float


def summarise(original: Panel, published: Panel, crowd: int) -> dict[str, Any]:
    """Gather what the page may show of the originals next to the published values.

    A point is None if fewer than `crowd` subjects were observed, or if one makes up more than 90 %. At most 400 points
    per curve, 8 channels and 120 kB of JSON, whatever the panels.

    Parameters
    ----------
    original, published
        The panel as read and as published. They may differ in series and instants.
    crowd
        The smallest number of different subjects behind each number about the originals: the k of the release. Less
        than 2 counts as 2, so that no figure is one subject's own.

    Returns
    -------
    dict
        `crowd`, `largest_share`, `series`, `axis` (where the points of `profile` and `bands` lie), `channels` (a list
        with `name`, `profile`, `duration` and `bands`; `duration` at evenly spaced shares of the time) and
        `channels_left_out`.

    Examples
    --------
    >>> original, published = Panel([[1.0, 4.0], [3.0, 8.0]]), Panel([[2.0, 6.0], [2.0, 6.0]])
    >>> summarise(original, published, crowd=2)["channels"][0]["duration"]["original"]
    [12.0, 4.0]
    """
    crowd = max(crowd, 2)
    n_channels = min(original.n_channels, MAX_CHANNELS)
    points = min(MAX_POINTS, max(24, (_NUMBERS // n_channels - 2 * MAX_SHARES) // (2 + 2 * len(FIFTHS))))
    shares = MAX_SHARES
    secret = _secret(original)
    while True:
        summary = _summarise(original, published, crowd, points, shares, secret)
        if len(json.dumps(summary)) < MAX_BYTES:
            return summary
        points, shares = points // 2, shares // 2


def _summarise(original: Panel, published: Panel, crowd: int, points: int, shares: int, secret: int) -> dict[str, Any]:
    axis = common_axis(original, published, points)
    n_bins = len(axis.at)
    rule = _Rule(crowd, MAX_SHARE)
    # Published values are public: where a release has fewer rows than a crowd has subjects, they may all be shown.
    other_rule = _Rule(min(crowd, published.n_subjects), 1.0)
    rng = np.random.Generator(np.random.PCG64(secret))
    channels = []
    for channel in range(min(original.n_channels, MAX_CHANNELS)):
        mean, bands, reason = _profile_and_bands(
            original, channel, axis.original, n_bins, crowd, rule, _draws(rng, n_bins)
        )
        totals = _totals(original, channel, rule)
        other_mean, other_bands, others = None, None, np.empty(0)
        if channel < published.n_channels:
            others = _totals(published, channel, other_rule)
            if axis.published is not None:
                other_mean, other_bands, other_reason = _profile_and_bands(
                    published, channel, axis.published, n_bins, crowd, other_rule
                )
                reason = reason or other_reason
        if len(others) and same_times(original, published):
            # Sorted curves compare only over the same instants.
            unmatched = np.isnan(totals) | np.isnan(others)
            totals, others = np.where(unmatched, np.nan, totals), np.where(unmatched, np.nan, others)
        channels.append(
            {
                "name": original.channels[channel][:_NAME_LENGTH],
                "profile": {"original": mean, "published": other_mean},
                "duration": _duration(totals, others, shares),
                "bands": {"original": bands, "published": other_bands, "reason": reason},
            }
        )
    return {
        "crowd": crowd,
        "largest_share": MAX_SHARE,
        "series": {"original": original.n_series, "published": published.n_series},
        "axis": {
            "kind": axis.kind,
            "at": axis.at,
            "width": axis.width,
            "timezone": None if original.timezone is None else original.timezone[:_NAME_LENGTH],
        },
        "channels": channels,
        "channels_left_out": max(0, original.n_channels - MAX_CHANNELS),
    }


def _profile_and_bands(
    panel: Panel,
    channel: int,
    bins: NDArray[np.int64],
    n_bins: int,
    crowd: int,
    rule: _Rule,
    draws: NDArray[np.float64] | None = None,
) -> tuple[Curve, dict[str, Curve] | None, str | None]:
    """Return the mean of each bin, its fifths of the subjects, blurred by `draws` if given, and the reason if there are
    none."""
    least = len(FIFTHS) * crowd
    wanted = panel.n_subjects >= least
    mean = np.full(n_bins, np.nan)
    bands = np.full((n_bins, len(FIFTHS)), np.nan)
    for first, sums, counts in _subject_sums(panel, channel, bins, n_bins):
        mean[first : first + len(sums)] = _means(sums, counts, rule)
        for place, (bin_sums, bin_counts) in enumerate(zip(sums, counts, strict=True), start=first):
            observed = bin_counts > 0
            if wanted and np.count_nonzero(observed) >= least:
                means, sizes = _fifths(bin_sums[observed] / bin_counts[observed], rule)
                bands[place] = means if draws is None else _in_order(_blurred(means, sizes, draws[place]), means[0])
    if not wanted:
        reason = f"Bands need at least {least:,} subjects, five crowds of {crowd:,}; there are {panel.n_subjects:,}."
        return _rounded(mean), None, reason
    return _rounded(mean), {f"p{q}": _rounded(band) for q, band in zip(FIFTHS, bands.T, strict=True)}, None


def _fifths(figures: NDArray[np.float64], rule: _Rule) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return mean and size of each fifth of the figures, lowest first; all NaN if the rule forbids one of them."""
    blocks = np.array_split(np.sort(figures), len(FIFTHS))
    means = np.concatenate([_means(block[None], np.ones((1, len(block))), rule) for block in blocks])
    if not np.isfinite(means).all():
        means[:] = np.nan
    return means, np.array([len(block) for block in blocks])


def _blurred(means: NDArray[np.float64], sizes: NDArray[np.int64], draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move each block mean by draw * spread / size."""
    with np.errstate(over="ignore", invalid="ignore"):
        moved: NDArray[np.float64] = means + draws * ((means[-1] - means[0]) / sizes)
    return moved


def _in_order(blurred: NDArray[np.float64], lowest: float) -> NDArray[np.float64]:
    """Sort from the lowest up; below zero only if the lowest mean was."""
    ordered = np.sort(blurred)
    return np.maximum(ordered, 0.0) if lowest >= 0 else ordered


def _draws(rng: np.random.Generator, n_bins: int) -> NDArray[np.float64]:
    """Draw standard normal numbers for each bin and fifth, cut off, half of their variance shared by all bins."""
    common, own = rng.standard_normal(len(FIFTHS)), rng.standard_normal((n_bins, len(FIFTHS)))
    return np.clip((common + own) * math.sqrt(0.5), -CUT_OFF, CUT_OFF)


def _secret(panel: Panel) -> int:
    """Derive a seed from the readings alone, not from Panel.digest(), which certificates show."""
    state = hashlib.sha256(_DOMAIN)
    for row in range(0, panel.n_series, _ROWS):
        # Nothing is copied where the panel is contiguous.
        state.update(np.ascontiguousarray(panel.values[row : row + _ROWS]).data)
    return int.from_bytes(state.digest(), "big")


def _duration(totals: NDArray[np.float64], others: NDArray[np.float64], shares: int) -> dict[str, Any]:
    """Return totals in falling order at evenly spaced shares of the time, from 0 to 1."""
    kept, other_kept = (np.sort(t[~np.isnan(t)])[::-1] for t in (totals, others))
    n_points = min(shares, max(len(kept), len(other_kept)))
    return {
        "original": _at_shares(kept, n_points),
        "published": _at_shares(other_kept, n_points),
        "instants": len(kept),
        "left_out": len(totals) - len(kept),
        "note": "The total of an instant is the mean over its observed series times the number of series, so that gaps "
        "do not look like low totals.",
    }


def _at_shares(falling: NDArray[np.float64], n_points: int) -> Curve:
    if not len(falling):
        return [None] * n_points
    return _rounded(falling[np.rint(np.linspace(0, len(falling) - 1, n_points)).astype(np.int64)])


def _totals(panel: Panel, channel: int, rule: _Rule) -> NDArray[np.float64]:
    """Return the total of each instant, NaN where the rule forbids it."""
    totals = np.empty(panel.n_instants)
    for first, sums, counts in _subject_sums(panel, channel, np.arange(panel.n_instants), panel.n_instants):
        with np.errstate(over="ignore"):
            totals[first : first + len(sums)] = _means(sums, counts, rule) * panel.n_series
    return totals


def _means(sums: NDArray[np.float64], counts: NDArray[np.float64], rule: _Rule) -> NDArray[np.float64]:
    """Return the mean reading of each bin over its subjects, NaN where the rule forbids it."""
    means = np.full(len(sums), np.nan)
    allowed = np.count_nonzero(counts, axis=1) >= max(rule.subjects, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        if rule.share < 1:
            parts = np.abs(sums)
            allowed &= parts.max(axis=1) <= rule.share * parts.sum(axis=1)
        np.divide(sums.sum(axis=1), counts.sum(axis=1), out=means, where=allowed)
    return means


def _subject_sums(
    panel: Panel, channel: int, bins: NDArray[np.int64], n_bins: int
) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield the sum and number of readings of each subject in each bin, as (bin, subject) arrays for some bins at a
    time."""
    values = panel.values if panel.values.ndim == 2 else panel.values[:, :, channel]
    order = np.argsort(bins, kind="stable")
    ordered = bins[order]
    n_at_once = max(1, _WORKING_BYTES // (16 * panel.n_subjects))
    for first in range(0, n_bins, n_at_once):
        last = min(first + n_at_once, n_bins)
        columns = order[np.searchsorted(ordered, first) : np.searchsorted(ordered, last)]
        sums, counts = np.zeros((2, last - first, panel.n_subjects))
        cuts = np.searchsorted(bins[columns], np.arange(first, last + 1)).tolist()
        for row in range(0, panel.n_series, _ROWS):
            # Turned round, so that the sums run along memory.
            block = values[row : row + _ROWS, columns].T.copy()
            observed = ~np.isnan(block)
            block[~observed] = 0.0
            subjects, places = np.unique(panel.subject_codes[row : row + _ROWS], return_inverse=True)
            for target, source in ((sums, block), (counts, observed)):
                for figures, start, stop in zip(target, cuts, cuts[1:], strict=False):
                    with np.errstate(over="ignore"):
                        own = source[start:stop].sum(axis=0, dtype=np.float64)
                        if panel.one_series_per_subject:
                            figures[row : row + _ROWS] = own
                        else:
                            figures[subjects] += np.bincount(places, own)
        yield first, sums, counts


def _rounded(numbers: NDArray[np.float64]) -> Curve:
    """Round to four significant digits; None for what was left out."""
    return [float(f"{number:.4g}") + 0.0 if math.isfinite(number) else None for number in numbers.tolist()]
