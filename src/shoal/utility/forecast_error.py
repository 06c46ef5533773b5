"""Whether forecasts learned from a release are as good as those learned from the originals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Measure, Panel, Score
from shoal.model.score import Unit
from shoal.utility.cells import CELLS, FAIR_SAMPLE, Floats, refuse_other_instants
from shoal.utility.days import Days, check_per_day, days_of, means_by

WEEKS_FROM = 14
"""Smallest number of days to learn from for the model to use the value of a week ago."""

_LEAST = 1e-6  # of the tested values: errors below it are rounding
_WIDTH = 5  # features and the value itself


class Errors(NamedTuple):
    """Root mean squared errors on the held-out originals, one for each channel."""

    published: Floats
    """Of the model learned from the release."""
    original: Floats
    """Of the model learned from the originals."""
    yesterday: Floats
    """Without a model: the value of the day before at that time."""


@dataclass(frozen=True)
class ForecastError(Measure):
    """Error of forecasts a day ahead by a model learned from the release, over that of one learned from the originals.

    For each time of day s, a linear model forecasts the value of day d at s from what is known a day before:

        x[d, s] ≈ a + b x[d-1, s] + c mean(x[d-1]) + e x[d-7, s] + f [d is Saturday or Sunday]

    with one set of coefficients for all series, by ridge regression; the term for last week is used if there are at
    least 14 days to learn from. One model learns from the published days before the held-out ones, another from the
    original ones. Both then forecast the held-out last days of the originals, from the originals of the days before.
    The score is the first model's root mean squared error divided by the second one's: 1 is as good as the originals,
    1.1 a tenth worse. It may be below 1, because a mean has less noise to learn from; so this judges "models". Errors
    count as at least a millionth of the tested values. With several channels, the mean of their scores.

    Days follow the panel's time zone, if it has one; when the clock is set back, the mean of both readings counts. A
    day whose value, or one it is forecast from, is missing is neither learned from nor tested; the mean of a day is
    over observed values. Series need not be matched.

    Parameters
    ----------
    test
        Share of the days, at the end, that are held out; at least one day.
    ridge
        The strength of the ridge penalty, as a share of the variance of each feature.
    per_day
        Only if times are numbers: the number of instants in a day, counted from the first. Then no day is a Sunday.

    Examples
    --------
    >>> from shoal import Microaggregation, simulate
    >>> meters = simulate.meters(60, days=21, step="1h", seed=1)
    >>> published = Microaggregation(k=5).anonymize(meters).published
    >>> 0.9 < ForecastError().measure(meters, published).value < 1.5
    True
    """

    name: ClassVar[str] = "forecast-error"
    meaning: ClassVar[str] = "error of day-ahead forecasts learned from the release, over that of the originals' own"
    judges: ClassVar[Literal["models"]] = "models"
    purpose: ClassVar[str] = "forecasting"
    unit: ClassVar[Unit] = "times"
    matched: ClassVar[bool] = False
    why_whole: ClassVar[str] = "learns from all series before it tests on them"
    sampled: ClassVar[int] = FAIR_SAMPLE

    test: float = 0.25
    ridge: float = 0.001
    per_day: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.test, bool) or not 0.0 < self.test < 1.0:
            raise ParameterError("test must be a share of the days between 0 and 1, such as 0.25.")
        if isinstance(self.ridge, bool) or not 0.0 < self.ridge < float("inf"):
            raise ParameterError("ridge must be a number above 0, such as 0.001.")
        check_per_day(self.per_day)

    def measure(self, original: Panel, published: Panel) -> Score:
        """Learn from both, test on the originals."""
        errors, size = self._errors(original, published)
        least = _LEAST * np.maximum(size, errors.published)
        found, best = np.maximum(errors.published, least), np.maximum(errors.original, least)
        ratios = np.divide(found, best, out=np.ones_like(found), where=best > 0.0)
        return self.as_score(ratios.mean())

    def errors(self, original: Panel, published: Panel) -> Errors:
        """The errors of both models, and of repeating the day before."""
        return self._errors(original, published)[0]

    def _errors(self, original: Panel, published: Panel) -> tuple[Errors, Floats]:
        """The errors, and the root mean square of the values they were tested on."""
        refuse_other_instants(original, published)
        days = days_of(original, self.per_day, name=self.name, least=3)
        n_test = max(1, int(self.test * days.n_days))
        first = days.n_days - n_test
        sees_weeks = first >= WEEKS_FROM
        taught, tested = (_targets(days, *ends, sees_weeks=sees_weeks) for ends in ((0, first), (first, days.n_days)))
        if not len(taught) or not len(tested):
            raise ParameterError(
                f"{self.name} needs consecutive days, to learn from and to test; of {days.n_days} days, {len(taught)} "
                f"and {len(tested)} have the days before them. Read a longer period or lower test."
            )
        models = [_learn(panel, days, taught, self.ridge) for panel in (published, original)]
        squares, n = np.zeros((4, original.n_channels)), np.zeros(original.n_channels)
        for z in _rows(original, days, tested):
            guesses = [model[0][..., None] + np.einsum("fsc,fscr->scr", model[1:], z[:-1]) for model in models]
            truth = z[-1]
            known = _known(z) & _known(np.array(guesses))
            for place, guess in enumerate((*guesses, z[0], np.zeros_like(truth))):
                squares[place] += np.sum((guess - truth) ** 2, axis=(0, 2), where=known)
            n += known.sum(axis=(0, 2))
        if not n.all():
            raise ParameterError(
                f"{self.name} needs complete days to learn from and to test on, but gaps leave none. Read the table "
                "with missing='interpolate:2h'."
            )
        *errors, size = np.sqrt(squares / n)
        return Errors(*errors), size


def _targets(days: Days, first: int, end: int, *, sees_weeks: bool) -> NDArray[np.int64]:
    """Days to forecast from `first` to before `end`, each with its day before and that of a week ago: (targets, 3)."""
    place = {int(number): at for at, number in enumerate(days.numbers)}
    targets = []
    for at in range(first, end):
        number = int(days.numbers[at])
        before, week = place.get(number - 1), place.get(number - 7)
        if before is not None and (week is not None or not sees_weeks):
            targets.append((at, before, week if week is not None and sees_weeks else -1))
    return np.array(targets, dtype=np.int64).reshape(-1, 3)


def _rows(panel: Panel, days: Days, targets: NDArray[np.int64]) -> Iterator[Floats]:
    """What is known and what is forecast, (features + 1, slots, channels, rows), some series at a time.

    A row is a series and a day. Features: the value of the day before, the mean of that day, the value of a week ago,
    Saturday or Sunday.
    """
    x = panel.cube
    day, before, week = targets.T
    weekend = (days.weekday[day] >= 5).astype(np.float64) if days.by_clock else np.zeros(len(day))
    height = max(1, CELLS // (_WIDTH * len(day) * days.n_slots * panel.n_channels))
    for start in range(0, panel.n_series, height):
        grid = _grid(x[start : start + height], days)
        z = np.zeros((_WIDTH, *grid.shape[:3], len(day)))
        z[0] = grid[..., before]
        z[1] = _day_means(grid)[..., before]
        if (week >= 0).all():
            z[2] = grid[..., week]
        z[3] = weekend
        z[4] = grid[..., day]
        yield z.reshape(*z.shape[:3], -1)


def _grid(x: Floats, days: Days) -> Floats:
    """Instants by day and time of the day, (slots, channels, series, days); NaN if there is none."""
    cell = days.day * days.n_slots + days.slot
    grid = np.full((len(x), days.n_days * days.n_slots, x.shape[2]), np.nan)
    grid[:, np.unique(cell)] = means_by(cell, x)
    return np.ascontiguousarray(grid.reshape(len(x), days.n_days, days.n_slots, -1).transpose(2, 3, 0, 1))


def _day_means(grid: Floats) -> Floats:
    observed = ~np.isnan(grid)
    counts = observed.sum(axis=0)
    sums = np.sum(grid, axis=0, where=observed)
    means: Floats = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means


def _known(z: Floats) -> NDArray[np.bool_]:
    """Whether everything along the first axis is observed."""
    known: NDArray[np.bool_] = np.all(~np.isnan(z), axis=0)
    return known


def _learn(panel: Panel, days: Days, targets: NDArray[np.int64], ridge: float) -> Floats:
    """Constant and coefficients, (features + 1, slots, channels); NaN if there was nothing to learn from."""
    shape = (days.n_slots, panel.n_channels)
    n, sums, products = np.zeros(shape), np.zeros((_WIDTH, *shape)), np.zeros((*shape, _WIDTH, _WIDTH))
    anchor: Floats | None = None
    for z in _rows(panel, days, targets):
        known = _known(z)
        if anchor is None:
            # Centred, so that sums of squares keep their digits.
            counts = np.maximum(known.sum(axis=2), 1)
            anchor = np.sum(z, axis=3, where=known) / counts
        moved = np.where(known, z - anchor[..., None], 0.0)
        n += known.sum(axis=2)
        sums += moved.sum(axis=3)
        by_slot = moved.transpose(1, 2, 0, 3)
        products += by_slot @ by_slot.swapaxes(2, 3)
    assert anchor is not None
    coefficients = np.full((_WIDTH, *shape), np.nan)
    for place in zip(*np.nonzero(n), strict=True):
        at = (slice(None), *place)
        centred = products[place] - np.outer(sums[at], sums[at]) / n[place]
        coefficients[at] = _coefficients(centred, anchor[at] + sums[at] / n[place], float(n[place]), ridge)
    return coefficients


def _coefficients(products: Floats, means: Floats, n: float, ridge: float) -> Floats:
    """Coefficients for one time of day. Features that do not vary, beyond rounding, get the coefficient 0."""
    own = np.diag(products)[:-1]
    varies = own > 1e-24 * n * means[:-1] ** 2
    within, towards = products[:-1, :-1][np.ix_(varies, varies)], products[:-1, -1][varies]
    slopes = np.zeros(_WIDTH - 1)
    slopes[varies] = np.linalg.solve(within + np.diag(ridge * own[varies]), towards)
    return np.array([means[-1] - slopes @ means[:-1], *slopes])
