"""Which measures are sums over series, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.engines.blocks import Clock
from shoal.engines.measuring.sums import (
    Added,
    Apart,
    Block,
    Changes,
    Complete,
    Distances,
    Errors,
    Floats,
    Near,
    PerSeries,
    Sums,
    roots,
    variations,
    without_gaps,
)
from shoal.model import Envelopes, Panel, Score
from shoal.utility.correlation_loss import autocorrelations, correlations
from shoal.utility.curves import relative
from shoal.utility.days import Days, days_of, means_by
from shoal.utility.deviation_shift import mean_shift
from shoal.utility.interest_loss import TIMES, complete_pair
from shoal.utility.peak_time_error import peak_times
from shoal.utility.ramp_error import ramp_starts
from shoal.utility.seasonality_shift import season_labels, seasonality
from shoal.utility.signal_to_noise import decibel, series_decibels

Rows = NDArray[np.int64]
LOWER = (0.0, float("inf"))


def _information_loss(measure: Any, clock: Clock) -> Sums:
    def conclude(added: Added) -> Score:
        total, _, error = variations(added)
        if measure.standardized:
            error, total = (
                [lost / all_of_it for lost, all_of_it in zip(error, total, strict=True) if all_of_it > 0],
                [Fraction(1) for all_of_it in total if all_of_it > 0],
            )
        lost, there = sum(error), sum(total)
        return Score(float(lost / there) if there > 0 else float(lost > 0), goal="lower", range=LOWER)

    return Sums(Errors(by_instant=True), conclude)


def _normalized_divergence(measure: Any, clock: Clock) -> Sums:
    def conclude(added: Added) -> Score:
        changed, total = added.sums
        return Score(float(changed / total) if total > 0 else float(changed > 0), goal="lower", range=LOWER)

    return Sums(Changes(), conclude)


def _divergence_classes(measure: Any, clock: Clock) -> Sums:
    def conclude(added: Added) -> Score:
        return Score(added.mean() if added.counts[0] else 1.0, goal="higher", range=(0.0, 1.0))

    return Sums(Near(float(measure.limit)), conclude)


def _euclidean_loss(measure: Any, clock: Clock) -> Sums:
    return Sums(Distances(), lambda added: Score(float(added.sums[0]), goal="lower", range=LOWER))


def _deviation_shift(measure: Any, clock: Clock) -> Sums:
    def conclude(added: Added) -> Score:
        counts = [max(1, int(n)) for n in added.counts]
        before, after, _ = variations(added)
        sides = [roots([v / n for v, n in zip(side, counts, strict=False)]) for side in (before, after)]
        return Score(mean_shift(*sides), goal="lower", range=LOWER)

    return Sums(Errors(by_instant=False), conclude)


def _signal_to_noise(measure: Any, clock: Clock) -> Sums:
    if measure.per == "series":
        return _mean_of(measure, PerSeries(_Decibels()))

    def conclude(added: Added) -> Score:
        signal, _, noise = (np.array([float(v) for v in part]) for part in variations(added))
        return Score(float(decibel(signal, noise).mean()), measure.goal, measure.range)

    return Sums(Errors(by_instant=False), conclude)


@dataclass(frozen=True)
class _Decibels:
    def __call__(self, block: Block) -> Floats:
        there = ~(np.isnan(block.before) | np.isnan(block.after))
        return series_decibels(block.before, block.after, there)


def _relative(measure: Any, taken: Callable[[Floats], Floats]) -> Sums:
    def conclude(added: Added) -> Score:
        changed, total = np.split(np.array([float(part) for part in added.sums]), 2)
        return Score(relative(changed, total), measure.goal, measure.range)

    return Sums(Apart(taken), conclude)


def _mean_of(measure: Any, summarise: PerSeries) -> Sums:
    """The mean of all figures of all series."""

    def conclude(added: Added) -> Score:
        n = int(added.counts.sum())
        value = float(sum(added.sums) / n) if n else 0.0
        # Some measures say it of themselves, some of their scores.
        return Score(value, getattr(measure, "goal", "lower"), getattr(measure, "range", LOWER))

    return Sums(summarise, conclude)


def _mean_day_error(measure: Any, clock: Clock) -> Sums:
    return _relative(measure, _MeansBy(days_at(measure, clock).slot))


@dataclass(frozen=True)
class _MeansBy:
    labels: Rows

    def __call__(self, curves: Floats) -> Floats:
        return means_by(self.labels, curves)


def _peak_height_error(measure: Any, clock: Clock) -> Sums:
    return _relative(measure, _Peaks(np.flatnonzero(np.diff(days_at(measure, clock).day, prepend=-1))))


@dataclass(frozen=True)
class _Peaks:
    starts: Rows

    def __call__(self, curves: Floats) -> Floats:
        found: Floats = np.fmax.reduceat(curves, self.starts, axis=1)
        return found


def _load_duration_error(measure: Any, clock: Clock) -> Sums:
    return _relative(measure, _Sorted())


@dataclass(frozen=True)
class _Sorted:
    def __call__(self, curves: Floats) -> Floats:
        return np.sort(curves, axis=1)


def _ramp_error(measure: Any, clock: Clock) -> Sums:
    return _relative(measure, _Ramps(ramp_starts(clock.times)))


@dataclass(frozen=True)
class _Ramps:
    starts: Rows

    def __call__(self, curves: Floats) -> Floats:
        return np.sort(curves[:, self.starts + 1] - curves[:, self.starts], axis=1)


def _peak_time_error(measure: Any, clock: Clock) -> Sums:
    return _mean_of(measure, PerSeries(_PeakTimes(days_at(measure, clock))))


@dataclass(frozen=True)
class _PeakTimes:
    days: Days

    def __call__(self, block: Block) -> Floats:
        one, other = (peak_times(side, self.days) for side in block.both)
        return np.abs(one - other).reshape(-1, 1)


def _seasonality_shift(measure: Any, clock: Clock) -> Sums:
    least = 2 if measure.period == "day" else 14
    days = days_at(measure, clock, least)
    return _mean_of(measure, PerSeries(_Seasonality(season_labels(days, measure.period))))


@dataclass(frozen=True)
class _Seasonality:
    labels: Rows

    def __call__(self, block: Block) -> Floats:
        one, other = (seasonality(side, self.labels) for side in block.both)
        return np.abs(one - other).reshape(-1, 1)


@dataclass(frozen=True)
class Correlations:
    """Changes of the correlations of each series with itself later, or with a mean."""

    lags: int
    means: tuple[Floats, Floats] | None = None

    def __call__(self, block: Block) -> Floats:
        """One column of absolute changes."""
        found = []
        for channel in range(block.before.shape[2]):
            sides = [side[:, :, channel] for side in block.both]
            if self.means is None:
                one, other = (autocorrelations(side, self.lags) for side in sides)
            else:
                one, other = (
                    correlations(side, mean[None, :, channel]) for side, mean in zip(sides, self.means, strict=True)
                )
            found.append(np.abs(one - other).ravel())
        return np.concatenate(found)[:, None]


def _value_loss(measure: Any, clock: Clock) -> Sums:
    return _mean_of(measure, PerSeries(_Widths()))


@dataclass(frozen=True)
class _Widths:
    def __call__(self, block: Block) -> Floats:
        low, high = block.further["low"], block.further["high"]
        loss: Floats = np.sqrt(np.mean(np.square(high - low), axis=1))
        return loss[:, None]


@dataclass(frozen=True)
class Judged:
    """What a measure says of each series, from panels of a block."""

    measure: Any
    clock: Clock

    def __call__(self, block: Block) -> Floats:
        """One column."""
        found: Floats = self.measure.per_series(*panels(block, self.clock))
        return found[:, None]


def _interest_loss(measure: Any, clock: Clock) -> Sums:
    figure = Judged(measure, clock)
    return _complete(measure, figure, _mean_of(measure, PerSeries(figure)).conclude)


def _complete(measure: Any, figure: Callable[[Block], Floats], conclude: Callable[[Added], Score]) -> Sums:
    """A measure that refuses gaps."""
    return Sums(Complete(figure), lambda added: conclude(without_gaps(measure.name, added)))


@dataclass(frozen=True)
class Shapes:
    """What pattern loss says of each series: by words where there are some, else by values."""

    measure: Any
    clock: Clock

    def __call__(self, block: Block) -> Floats:
        """One column."""
        original, published = panels(block, self.clock)
        if "words" not in block.further:
            found: Floats = self.measure.per_series(original, published)
            return found[:, None]
        whole = Panel(block.further["original"], times=block.further["times"])
        words = Envelopes(
            block.further["low"],
            block.further["high"],
            block.further["levels"],
            tuple(block.further["words"]),
            self.clock.times,
            pattern_times=block.further["pattern_times"],
        )
        found = self.measure.per_series(whole, words)
        return found[:, None]


def _pattern_loss(measure: Any, clock: Clock) -> Sums:
    def conclude(added: Added) -> Score:
        return Score(added.mean(), goal="lower", range=(0.0, 2.0))

    return _complete(measure, Shapes(measure, clock), conclude)


def _occupancy_error(measure: Any, clock: Clock) -> Sums:
    n_channels, n_instants = clock.n_channels, clock.n_instants

    def conclude_mean(added: Added) -> Score:
        true, found = np.split(np.array([added.mean(place) for place in range(2 * n_channels)]), 2)
        apart = np.abs(found - true)
        errors = np.where(true > 0.0, apart / np.where(true > 0.0, true, 1.0), apart > 0.0)
        return Score(float(np.mean(errors)), goal="lower", range=LOWER)

    def conclude_histogram(added: Added) -> Score:
        one, other = np.array([float(n) for n in added.sums[:-1]]).reshape(2, n_channels, -1) / float(added.sums[-1])
        apart = np.abs(one - other).sum(axis=1) / 2
        return Score(min(float(np.mean(apart)), 1.0), goal="lower", range=(0.0, 1.0))

    statistic = _Occupied(measure, clock)
    if measure.compare == "mean":
        return _complete(measure, statistic, conclude_mean)
    return _complete(measure, _Histograms(statistic, int(measure.bins), n_instants), conclude_histogram)


@dataclass(frozen=True)
class _Occupied:
    measure: Any
    clock: Clock

    def __call__(self, block: Block) -> Floats:
        """The statistic of both sides, a column for each channel."""
        wanted = TIMES[self.measure.statistic](self.measure.above)
        sides = complete_pair(*panels(block, self.clock))
        return np.concatenate([np.asarray(wanted.of(side), dtype=np.float64) for side in sides], axis=1)


@dataclass(frozen=True)
class _Histograms:
    statistic: _Occupied
    bins: int
    n_instants: int

    def __call__(self, block: Block) -> Floats:
        """Of a whole block: how many series are in each bin of each side and channel, and how many there are."""
        found = self.statistic(block)
        counts = [np.histogram(column, bins=self.bins, range=(0, self.n_instants))[0] for column in found.T]
        return np.concatenate([*counts, [len(found)]]).astype(np.float64)[None]


def panels(block: Block, clock: Clock) -> tuple[Panel, Panel]:
    """Both sides of a block as panels."""
    sides = (clock.shaped(np.ascontiguousarray(side).reshape(len(side), -1)) for side in (block.before, block.after))
    one, other = (
        Panel(side, times=clock.times, channels=clock.channels, timezone=clock.timezone, copy=False) for side in sides
    )
    return one, other


def days_at(measure: Any, clock: Clock, least: int = 1) -> Days:
    """The days of a clock, refused as those of a panel."""
    nothing = clock.shaped(np.zeros((1, clock.n_instants * clock.n_channels)))
    panel = Panel(nothing, times=clock.times, channels=clock.channels, timezone=clock.timezone)
    return days_of(panel, measure.per_day, name=measure.name, least=least)


SUMS: Mapping[str, Callable[[Any, Clock], Sums]] = {
    "information-loss": _information_loss,
    "normalized-divergence": _normalized_divergence,
    "divergence-classes": _divergence_classes,
    "euclidean-loss": _euclidean_loss,
    "deviation-shift": _deviation_shift,
    "signal-to-noise": _signal_to_noise,
    "mean-day-error": _mean_day_error,
    "peak-height-error": _peak_height_error,
    "peak-time-error": _peak_time_error,
    "load-duration-error": _load_duration_error,
    "ramp-error": _ramp_error,
    "seasonality-shift": _seasonality_shift,
    "value-loss": _value_loss,
    "pattern-loss": _pattern_loss,
    "interest-loss": _interest_loss,
    "occupancy-error": _occupancy_error,
}
"""Measures of values and envelopes that are sums; what they add up travels pickled, what they conclude does not."""


def correlation_sums(measure: Any, means: tuple[Floats, Floats] | None) -> Sums:
    """Correlation loss with later instants, or with a mean that is known."""
    return _mean_of(measure, PerSeries(Correlations(int(measure.lags), means)))
