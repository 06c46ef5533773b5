"""The error of the part of a series that matters to someone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features.interests import (
    Arrival,
    Departure,
    Instant,
    Interest,
    Segment,
    TimeOccupied,
    WindowTotal,
    find_interest,
)
from shoal.features.kept import WORDS, KeptInterest
from shoal.features.labelled import as_series, row_norms
from shoal.model import Measure, Moments, Panel, Score, Tally
from shoal.model.score import Unit
from shoal.read.zones import find_zone
from shoal.utility.cells import refuse_other_shapes

InterestName = Literal["segment", "total", "arrival", "departure", "occupied"]
TIMES: dict[str, type[Arrival | Departure | TimeOccupied]] = {
    "arrival": Arrival,
    "departure": Departure,
    "occupied": TimeOccupied,
}
_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class InterestLoss(Measure):
    """Mean distance between what matters in the original series and in the published ones.

    IL = (1/n) Σ over series x of ‖f(x) - f(published x)‖₂, where f takes a series to what matters: the values of a
    segment, the total of a window, or in instants the time of arrival, of departure, or occupied (see
    `shoal.features.interests`; with several channels f gives the numbers of all). It is in the unit of f, so it
    compares releases of the same panel, not different panels. 0 keeps all that matters, whatever else was changed.

    Missing values are refused: with a gap, nobody knows when a series was first occupied.

    Parameters
    ----------
    interest
        "segment": the values from `start` to before `end`. "total": their sum. "arrival": the first instant above
        `above`, "departure": the one after the last, "occupied": how many are; a day without any arrives after its end
        and departs at 0. Or a word of `shoal.features.keep`, such as "shape", "daily-totals" or
        "window:17:00-20:00". Or a function of an array of series, such as `interests.Arrival(20.0).of`.
    start
        Only "segment" and "total": a position such as 44, or a time such as 11:00 if a series is one day from midnight.
        Default: the first instant.
    end
        Only "segment" and "total": the same for the end, which is not included. Default: after the last instant.
    above
        Only "arrival", "departure" and "occupied": the value above which someone is present. 0.5 suits presence (0 or
        1), and also published means: someone is there if half of the group is. For loads give a power.

    Examples
    --------
    >>> original = Panel([[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    >>> published = Panel([[0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]])
    >>> InterestLoss("arrival").measure(original, published).value
    1.0
    >>> InterestLoss("total", start=0, end=2).measure(original, published).value
    0.5

    References
    ----------
    "PAD: learned metric", sections 7.3 and 7.4 (information loss for special-purpose publication).
    """

    name: ClassVar[str] = "interest-loss"
    meaning: ClassVar[str] = "mean distance between what matters of original and of published series, in its own unit"
    plain: ClassVar[str] = "What had to be kept{}: Euclidean distance of a series from its original, on average"
    purpose: ClassVar[str] = "presence and special interests"
    # The threshold for presence must be stated.
    usual = ()

    interest: InterestName | str | Callable[[NDArray[Any]], Any] = "segment"
    start: Instant | None = None
    end: Instant | None = None
    above: float = 0.5

    def __post_init__(self) -> None:
        refuse_above(self.above)
        if isinstance(self.interest, str) and self._kept() is None and self.interest not in get_args(InterestName):
            raise ParameterError(
                f"interest must be one of: {', '.join(get_args(InterestName))}; a word of `shoal.features.keep` such "
                "as shape, daily-totals or window:17:00-20:00; or a function of an array of series."
            )
        if self.interest not in ("segment", "total") and not (self.start is None and self.end is None):
            raise ParameterError("start and end apply to the interests 'segment' and 'total'.")
        if self._kept() is None:
            self._wanted(np.iinfo(np.int64).max)  # refuses an impossible window with its own words

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to measure the same again; a function by its name."""
        interest = self.interest if isinstance(self.interest, str) else getattr(self.interest, "__name__", "custom")
        return super().parameters | {"interest": interest}

    @property
    def unit(self) -> Unit:
        """Instants for times, the unit of the data for values; none for a shape or a function."""
        if not isinstance(self.interest, str):
            return "number"
        word = self.interest.partition(":")[0]
        return "instants" if word in TIMES else "number" if word == "shape" else "data"

    def tally(self, original: Panel, published: Panel) -> Tally:
        """The losses."""
        return Tally({"loss": Moments.of(self.per_series(original, published))})

    def score(self, tally: Tally) -> Score:
        """The mean over the series."""
        return self.as_score(tally["loss"].means)

    def per_series(self, original: Panel, published: Panel) -> NDArray[np.float64]:
        """The loss of each series."""
        before, after = complete_pair(original, published)
        if (kept := self._kept()) is not None:
            return row_norms(kept.of(original) - kept.of(published))
        if any(isinstance(instant, str) for instant in self._window()):
            refuse_other_than_a_day(original)
        wanted = self._wanted(original.n_instants)
        return row_norms(wanted.of(before) - wanted.of(after))

    def _kept(self) -> KeptInterest | None:
        """What a release keeps, if the interest is one of its words; our own names come first."""
        named = isinstance(self.interest, str) and self.interest not in get_args(InterestName)
        if not named or str(self.interest).partition(":")[0] not in WORDS:
            return None
        if (kept := KeptInterest.parse(str(self.interest))).word == "peaks":
            raise ParameterError("Peaks have a height and a time: measure peak-height-error and peak-time-error.")
        return kept

    def _wanted(self, n_instants: int) -> Interest:
        if not isinstance(self.interest, str):
            return find_interest(self.interest)
        if self.interest in TIMES:
            return TIMES[self.interest](self.above)
        start, end = self._window()
        clock = isinstance(start, str) or isinstance(end, str)
        window: tuple[Instant, Instant] = (
            ("00:00" if clock else 0) if start is None else start,
            ("24:00" if clock else n_instants) if end is None else end,
        )
        return Segment(*window) if self.interest == "segment" else WindowTotal(*window)

    def _window(self) -> tuple[Instant | None, Instant | None]:
        """Both ends; digits alone are a position, because a command line passes numbers as text."""
        start, end = (int(i) if isinstance(i, str) and i.isdecimal() else i for i in (self.start, self.end))
        return start, end


def complete_pair(original: Panel, published: Panel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The values before and after, of panels with the same series in the same order and without gaps."""
    refuse_other_shapes(original, published)
    return as_series(original.values, "the original panel"), as_series(published.values, "the published panel")


def refuse_above(above: float) -> None:
    """Only finite numbers."""
    if isinstance(above, bool) or not np.isfinite(above):
        raise ParameterError("above must be a finite number: the value from which on someone is present.")


def refuse_other_than_a_day(panel: Panel) -> None:
    """If the panel has a clock, a time such as 11:00 needs series of one day from midnight."""
    if panel.times.dtype.kind != "M":
        return
    times = panel.times.astype("datetime64[us]").astype(np.int64)
    # By the local clock: a day on which it is set forward or back has no even steps.
    local = times if panel.timezone is None else find_zone(panel.timezone).to_local(times)
    steps = np.diff(local)
    whole = len(steps) == 0 or (np.all(steps == steps[0]) and steps[0] * len(local) == _DAY)
    if local[0] % _DAY or not whole:
        raise ParameterError(
            "Times of the day need series of one day from midnight on, in even steps, and these series are not. Give "
            "start and end as positions of instants."
        )
