"""What an attack achieved."""

from dataclasses import dataclass

from shoal.errors import ParameterError


@dataclass(frozen=True)
class Interval:
    """A confidence interval of a share."""

    low: float
    high: float
    level: float = 0.95

    def __post_init__(self) -> None:
        if not 0.0 <= self.low <= self.high <= 1.0:
            raise ParameterError("An interval of a share needs 0 <= low <= high <= 1.")


@dataclass(frozen=True)
class Risk:
    """The success rate of an attack beside that of guessing without the release.

    Parameters
    ----------
    success, interval
        Share of targets the attack got right, with its confidence interval.
    baseline, baseline_interval
        The same for an adversary who never saw the release.
    n_targets
        How many targets were attacked.
    worst
        Positions of the targets most at risk, worst first.
    """

    success: float
    interval: Interval
    baseline: float
    baseline_interval: Interval
    n_targets: int
    worst: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("success", "baseline"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ParameterError(f"Risk: {name} is a share and must lie between 0 and 1.")
        if self.n_targets < 1:
            raise ParameterError(f"Risk needs at least 1 target, got {self.n_targets}.")

    @property
    def advantage(self) -> float:
        """What the release adds to guessing."""
        return self.success - self.baseline
