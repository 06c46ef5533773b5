"""What someone wants to know about a series, and pairs labelled from it by program.

An interest maps series to what matters about them; the true distance of two series is the Euclidean distance of that.
Windows are given as positions of instants, or as times of day such as "11:00" if a series is one day. To add one: a
frozen dataclass with `of`, or wrap a function in `CustomInterest`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features.labelled import Booleans, Floats, as_series, one_thread, row_norms
from shoal.model.parameters import check_choice

By = Literal["threshold", "clusters"]
Instant = int | str

CLUSTERS = range(2, 8)
"""Numbers of clusters to try, as in the authors' program."""


class Interest(Protocol):
    """What matters about a series."""

    def of(self, values: Any) -> Floats:
        """An array (series, numbers) from one (series, instants) or (series, instants, channels)."""


class LabelledPairs(NamedTuple):
    """Two arrays of series and whether the rows are similar: `LinearMetric().learn(*pairs)`."""

    left: Floats
    right: Floats
    similar: Booleans


@dataclass(frozen=True)
class _Window:
    """Some consecutive instants."""

    start: Instant
    end: Instant

    def __post_init__(self) -> None:
        _refuse_window(self.start, self.end)

    def inside(self, values: Any) -> Floats:
        """The values from `start` to before `end`."""
        x = as_series(values)
        return x[:, _window(self.start, self.end, x.shape[1])]


@dataclass(frozen=True)
class Segment(_Window):
    """The values from `start` to before `end`: lunchtime is Segment("11:00", "14:00").

    Examples
    --------
    >>> Segment(1, 3).of([[5.0, 6.0, 7.0, 8.0]]).tolist()
    [[6.0, 7.0]]
    """

    def of(self, values: Any) -> Floats:
        """The segment, channels side by side."""
        return _rows(self.inside(values))


@dataclass(frozen=True)
class WindowTotal(_Window):
    """The sum of the values from `start` to before `end`, one for each channel: use in the peak hours.

    Examples
    --------
    >>> WindowTotal(1, 3).of([[5.0, 6.0, 7.0, 8.0]]).tolist()
    [[13.0]]
    """

    def of(self, values: Any) -> Floats:
        """The totals."""
        return _rows(self.inside(values).sum(axis=1))


@dataclass(frozen=True)
class Totals:
    """The sum of the values of each stretch of instants, one for each channel: daily totals.

    Examples
    --------
    >>> Totals(starts=(0, 2)).of([[5.0, 6.0, 7.0, 8.0]]).tolist()
    [[11.0, 15.0]]
    """

    starts: tuple[int, ...]
    """The start of each stretch; the last one ends with the series."""

    def of(self, values: Any) -> Floats:
        """The totals."""
        return _rows(np.add.reduceat(as_series(values), self.starts, axis=1))


@dataclass(frozen=True)
class PeakHeight:
    """The highest value.

    Examples
    --------
    >>> PeakHeight().of([[1.0, 6.0, 2.0, 5.0]]).tolist()
    [[6.0]]
    """

    def of(self, values: Any) -> Floats:
        """The height, one for each channel."""
        return _rows(as_series(values).max(axis=1))


@dataclass(frozen=True)
class PeakTime:
    """The first instant with the highest value, as a position.

    Examples
    --------
    >>> PeakTime().of([[1.0, 6.0, 2.0, 5.0]]).tolist()
    [[1.0]]
    """

    def of(self, values: Any) -> Floats:
        """The time of the peak, one for each channel."""
        return _rows(as_series(values).argmax(axis=1))


@dataclass(frozen=True)
class Shape:
    """The values minus their own mean, for each channel: the shape of a series at whatever level.

    Examples
    --------
    >>> Shape().of([[1.0, 3.0], [101.0, 103.0]]).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    def of(self, values: Any) -> Floats:
        """The shapes, channels side by side."""
        x = as_series(values)
        x = x - x[:, :1]  # a large offset would cost digits of the mean
        return _rows(x - x.mean(axis=1, keepdims=True))


@dataclass(frozen=True)
class Arrival:
    """The first instant above `above`, as a position; the number of instants if there is none.

    Someone who has not come by the end of the day counts as arriving after it: an empty day differs from all others,
    and most from one occupied from the start. (The authors' program puts it at 0, with those.)

    Examples
    --------
    >>> Arrival().of([[0, 0, 1, 1], [0, 0, 0, 0]]).tolist()
    [[2.0], [4.0]]
    """

    above: float = 0.0

    def of(self, values: Any) -> Floats:
        """The time of arrival, one for each channel."""
        there = as_series(values) > self.above
        first = np.where(there.any(axis=1), there.argmax(axis=1), there.shape[1])
        return _rows(first)


@dataclass(frozen=True)
class Departure:
    """The position after the last instant above `above`, 0 if there is none.

    Examples
    --------
    >>> Departure().of([[0, 1, 1, 0], [0, 0, 0, 0]]).tolist()
    [[3.0], [0.0]]
    """

    above: float = 0.0

    def of(self, values: Any) -> Floats:
        """The time of departure, one for each channel."""
        there = as_series(values) > self.above
        last = np.where(there.any(axis=1), there.shape[1] - there[:, ::-1].argmax(axis=1), 0)
        return _rows(last)


@dataclass(frozen=True)
class TimeOccupied:
    """How many instants are above `above`.

    Examples
    --------
    >>> TimeOccupied().of([[0, 1, 0, 1], [0, 0, 0, 0]]).tolist()
    [[2.0], [0.0]]
    """

    above: float = 0.0

    def of(self, values: Any) -> Floats:
        """The number of instants, one for each channel."""
        there = as_series(values) > self.above
        return _rows(there.sum(axis=1))


@dataclass(frozen=True)
class CustomInterest:
    """Any function of an array of series: one number or one row of numbers for each.

    Examples
    --------
    >>> CustomInterest(lambda values: values.max(axis=1)).of([[1.0, 4.0], [3.0, 2.0]]).tolist()
    [[4.0], [3.0]]
    """

    function: Callable[[NDArray[Any]], Any]

    def of(self, values: Any) -> Floats:
        """The result of the function, checked."""
        x = as_series(values)
        result = np.asarray(self.function(x))
        if result.dtype.kind not in "biuf" or result.ndim not in (1, 2) or len(result) != len(x) or result.size == 0:
            raise ParameterError(
                f"The interest gave an array of shape {result.shape} and type {result.dtype.name} for {len(x)} series. "
                f"Give numbers of shape ({len(x)},) or ({len(x)}, numbers)."
            )
        result = result.astype(np.float64).reshape(len(x), -1)
        if not np.isfinite(result).all():
            raise ParameterError("The interest gave missing or infinite numbers. Give finite ones for every series.")
        return result


def find_interest(interest: Interest | Callable[[NDArray[Any]], Any]) -> Interest:
    """An interest, or any function wrapped as one."""
    if not isinstance(interest, type):
        if hasattr(interest, "of"):
            return interest
        if callable(interest):
            return CustomInterest(interest)
    raise ParameterError("An interest is an instance such as interests.Arrival(), or a function of an array of series.")


def distances(interest: Interest | Callable[[NDArray[Any]], Any], left: Any, right: Any) -> Floats:
    """The true distance of each pair of rows: ‖f(x) - f(y)‖₂ for the interest f.

    Examples
    --------
    >>> distances(Arrival(), [[0, 0, 1, 1]], [[1, 0, 0, 0]]).tolist()
    [2.0]
    """
    wanted = find_interest(interest)
    return row_norms(wanted.of(left) - wanted.of(right))


def label_pairs(
    values: Any,
    interest: Interest | Callable[[NDArray[Any]], Any],
    *,
    by: By = "threshold",
    threshold: float | None = None,
    n_pairs: int | None = 2775,
    seed: int = 0,
) -> LabelledPairs:
    """Draw pairs of series and label them by an interest.

    Parameters
    ----------
    values
        Series (series, instants) or (series, instants, channels), without missing values: public ones, or anonymised
        ones if an analyst sees them.
    interest
        What matters, or a function.
    by
        "threshold": similar if the true distance is at most `threshold`. "clusters": similar if k-means on what matters
        puts both into one cluster, with the number of clusters from 2 to 7 that has the best silhouette. Clusters say
        nothing about distances within or beyond them, so a threshold teaches more.
    threshold
        In the unit of the interest. Default: the median of the true distances of the pairs.
    n_pairs
        How many different pairs to draw; all if there are fewer, or if it is None.
    seed
        Seeds the draw and k-means.

    Examples
    --------
    >>> days = np.eye(6).repeat(3, axis=0)
    >>> pairs = label_pairs(days, Arrival(), threshold=1)
    >>> pairs.left.shape, int(pairs.similar.sum())
    ((153, 6), 63)

    References
    ----------
    "PAD: learned metric", section 4, step 2; the clusters are those of the authors' published program.
    """
    check_choice("by", by, By)
    if threshold is not None and (by != "threshold" or not 0.0 <= threshold < float("inf")):
        raise ParameterError("threshold applies to by='threshold' and must be a number of at least 0.")
    if n_pairs is not None and n_pairs < 1:
        raise ParameterError("n_pairs must be at least 1, or None for all pairs.")
    x = as_series(values)
    first, second = _draw(len(x), n_pairs, seed)
    what = find_interest(interest).of(x)
    if by == "clusters":
        clusters = best_clusters(what, seed=seed)
        similar = clusters[first] == clusters[second]
    else:
        apart = row_norms(what[first] - what[second])
        similar = apart <= (float(np.median(apart)) if threshold is None else threshold)
    return LabelledPairs(x[first], x[second], similar)


def best_clusters(what: Floats, *, seed: int = 0) -> NDArray[np.int64]:
    """The k-means cluster of each row, with the number of clusters from 2 to 7 that has the best silhouette, the first
    in a tie."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    n_different = len(np.unique(what, axis=0))
    best, labels = -np.inf, np.zeros(len(what), dtype=np.int64)
    with one_thread():
        for n_clusters in CLUSTERS:
            if n_clusters > min(n_different, len(what) - 1):
                break
            clusters = KMeans(n_clusters=n_clusters, n_init=10, random_state=seed).fit_predict(what)
            silhouette = float(silhouette_score(what, clusters))
            if silhouette > best:
                best, labels = silhouette, clusters.astype(np.int64)
    return labels


def _rows(what: NDArray[Any]) -> Floats:
    return what.reshape(len(what), -1).astype(np.float64)


def _draw(n_series: int, n_pairs: int | None, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of different pairs of different series, ascending."""
    if n_series < 2:
        raise ParameterError(f"Pairs need at least 2 series, found {n_series}.")
    n_all = n_series * (n_series - 1) // 2
    random = np.random.default_rng(seed)
    if n_pairs is None or n_pairs >= n_all:
        chosen = np.arange(n_all)
    else:
        chosen = np.sort(random.choice(n_all, size=n_pairs, replace=False))
    return ends_of(chosen, n_series)


def ends_of(numbers: NDArray[np.int64], n_series: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The two series of the pair with a number; pairs are numbered (0, 1), (0, 2), …, (1, 2), …"""
    # Pair number p is in the row of the triangle that begins at ends[row - 1].
    ends = np.cumsum(np.arange(n_series - 1, 0, -1))
    first = np.searchsorted(ends, numbers, side="right")
    return first.astype(np.int64), (n_series - (ends[first] - numbers)).astype(np.int64)


def _refuse_window(start: Instant, end: Instant) -> None:
    for instant in (start, end):
        if isinstance(instant, str):
            minutes_of(instant)
        elif isinstance(instant, bool) or instant < 0:
            raise ParameterError("A window is given by positions of at least 0, or by times such as '11:00'.")
    kinds = {isinstance(instant, str) for instant in (start, end)}
    if len(kinds) > 1:
        raise ParameterError("Give both ends of a window as positions, or both as times such as '11:00'.")
    if minutes_of(start) >= minutes_of(end):
        raise ParameterError("A window must end after it starts.")


def minutes_of(instant: Instant) -> float:
    """Minutes since midnight of a time; a position as it is."""
    if not isinstance(instant, str):
        return float(instant)
    hours, colon, minutes = instant.partition(":")
    if not (colon and hours.isdecimal() and len(minutes) == 2 and minutes.isdecimal()) or int(minutes) > 59:
        raise ParameterError("A time of the day has the form '11:00', up to '24:00'.")
    total = 60 * int(hours) + int(minutes)
    if total > 1440:
        raise ParameterError("A time of the day has the form '11:00', up to '24:00'.")
    return float(total)


def _window(start: Instant, end: Instant, n_instants: int) -> slice:
    ends = []
    for instant in (start, end):
        if isinstance(instant, str):
            position = minutes_of(instant) * n_instants / 1440
            if position != int(position):
                raise ParameterError(
                    f"A day of {n_instants} instants has none at a requested time. Give a time on its grid."
                )
            ends.append(int(position))
        else:
            ends.append(int(instant))
    if ends[1] > n_instants:
        raise ParameterError(f"The window ends at position {ends[1]}, the series have {n_instants} instants.")
    return slice(*ends)
