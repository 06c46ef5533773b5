"""The result of an attack."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from shoal.errors import ParameterError
from shoal.model.html import html_table
from shoal.model.words import number, percent


@dataclass(frozen=True)
class Interval:
    """A confidence interval of a share."""

    low: float
    high: float
    level: float = 0.95

    def __post_init__(self) -> None:
        if not 0.0 <= self.low <= self.high <= 1.0:
            raise ParameterError("An interval of a share needs 0 <= low <= high <= 1.")

    @staticmethod
    def exactly(share: float) -> Interval:
        """A share that was computed, not sampled."""
        return Interval(share, share, level=1.0)

    @staticmethod
    def wilson(share: float, n: int, level: float = 0.95) -> Interval:
        """Wilson's interval for a share of n targets.

        If targets count in part, such as 1/4 each, the share may be any number. Numbers from 0 to 1 vary at most as
        much as hits and misses with the same mean, so the interval then errs on the wide side.

        >>> found = Interval.wilson(0.5, 100)
        >>> round(found.low, 3), round(found.high, 3)
        (0.404, 0.596)
        """
        if n < 1 or not 0.0 < level < 1.0:
            raise ParameterError("An interval needs at least 1 target and a level between 0 and 1.")
        z = NormalDist().inv_cdf(0.5 + level / 2.0)
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        reach = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        # At 0 and 1, rounding may leave the share itself slightly outside.
        return Interval(max(0.0, min(middle - reach, share)), min(1.0, max(middle + reach, share)), level)


@dataclass(frozen=True, repr=False)
class Risk:
    """The success rate of an attack, with that of guessing without the release.

    Parameters
    ----------
    success, interval
        Share of targets the attack got right, with its confidence interval.
    baseline, baseline_interval
        The same for an adversary who never saw the release.
    n_targets
        Number of targets attacked.
    worst
        Positions of the targets most at risk, worst first.
    prosecutor
        The same for the one target most at risk; the journalist's view, all targets, is `success`.
    control, control_interval
        What the attack finds if there is nothing to find; each attack says which case. A success that the control also
        has does not count.
    confidence
        How sure the adversary may be of an answer, on average: 1/m if m candidates fit equally well.
    sentence
        The same in plain words, without any value or identity.
    """

    success: float
    interval: Interval
    baseline: float
    baseline_interval: Interval
    n_targets: int
    worst: tuple[int, ...] = ()
    prosecutor: float | None = None
    control: float | None = None
    control_interval: Interval | None = None
    confidence: float | None = None
    sentence: str = ""

    def __init_subclass__(cls) -> None:
        cls.__repr__ = Risk.__repr__  # type: ignore[method-assign]  # one line, whatever fields a class adds

    def __post_init__(self) -> None:
        for name in ("success", "baseline", "prosecutor", "control", "confidence"):
            share = getattr(self, name)
            if share is not None and not 0.0 <= share <= 1.0:
                raise ParameterError(f"Risk: {name} is a share and must be between 0 and 1.")
        if self.n_targets < 1:
            raise ParameterError(f"Risk needs at least 1 target, got {self.n_targets}.")

    @property
    def journalist(self) -> float:
        """The share of all targets: the success of an adversary who is after anyone."""
        return self.success

    @property
    def excess(self) -> tuple[float, float, float] | None:
        """What it finds beyond the control, with the ends of its 95 % interval (Newcombe's); None without a control.

        For an attack whose control is people outside the release, this is what the release itself gives away.
        """
        if self.control is None or self.control_interval is None:
            return None
        found, outside = self.interval, self.control_interval
        difference = self.success - self.control
        down = sqrt((self.success - found.low) ** 2 + (outside.high - self.control) ** 2)
        up = sqrt((found.high - self.success) ** 2 + (self.control - outside.low) ** 2)
        return difference, difference - down, difference + up

    @property
    def advantage(self) -> float:
        """What the release adds to guessing."""
        return self.success - self.baseline

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(success {self.success:.3g} in [{self.interval.low:.3g}, {self.interval.high:.3g}], "
            f"baseline {self.baseline:.3g}, {self.n_targets} targets)"
        )

    def _repr_html_(self) -> str:
        rows = [
            ("success", _with_interval(self.success, self.interval)),
            ("guessing without the release", _with_interval(self.baseline, self.baseline_interval)),
            ("targets", number(self.n_targets)),
        ]
        if self.prosecutor is not None:
            rows.insert(1, ("where the adversary may be surest", percent(self.prosecutor)))
        if self.control is not None and self.control_interval is not None:
            rows.append(("control", _with_interval(self.control, self.control_interval)))
        return html_table(type(self).__name__, rows + ([("in words", self.sentence)] if self.sentence else []))


def _with_interval(share: float, interval: Interval) -> str:
    if interval.low == interval.high:
        return percent(share)
    return f"{percent(share)} ({percent(interval.low)} to {percent(interval.high)})"
