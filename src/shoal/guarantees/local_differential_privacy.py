"""Differential privacy kept on the device that measures: the promise and its accounting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar

from shoal.errors import ParameterError
from shoal.guarantees.differential_privacy import check_epsilon
from shoal.model import Guarantee, Judged, Verdict


@dataclass(frozen=True)
class DeviceAccount:
    """What devices spent, as far as the collector received it.

    Parameters
    ----------
    scheme
        How the budget is divided over time.
    mechanism
        How a device perturbs a reading.
    instants
        How many instants the account covers.
    reports
        How many reports were used.
    window
        The most that one device spent in reports that were used, within any w successive instants, as an exact
        fraction such as "1/48".
    """

    scheme: str
    mechanism: str
    instants: int
    reports: int
    window: str


@dataclass(frozen=True)
class LocalDifferentialPrivacy(Guarantee):
    """Any w successive readings change the odds of whatever a device sends about them by a factor of at most e^epsilon.

    A randomised device M keeps it if for all streams x, x' of readings that are equal outside of w successive instants,
    and every set S of transcripts, P(M(x) in S) <= e^epsilon P(M(x') in S). A transcript is everything that the device
    ever sends, and the collector may choose what to ask next from what it received before. Nobody is trusted: not the
    network, not the collector, not the publisher. What is published is computed from transcripts, so it keeps the same
    promise.

    It is true by what ran on the devices, and cannot be seen in what is published. The check compares the largest
    sum that one device spent within any window with epsilon; it does not hold without an account.

    A disjoint union of subjects keeps it: each device keeps its own budget, whatever others do. The largest window of
    the union is the largest of its parts.

    Parameters
    ----------
    epsilon
        The budget of one device for any w successive instants. Smaller hides better and needs more devices.
    w
        How many successive instants share the budget: 48 is a day of half-hours. Habits that last longer than this are
        not hidden.
    accounting
        What was spent; the collector fills it in.

    Examples
    --------
    >>> LocalDifferentialPrivacy(1.0, 48).statement
    'Any 48 successive readings of a meter change the odds of everything it sent by a factor of at most e^1 = 2.72.'

    References
    ----------
    G. Kellaris et al., "Differentially private event sequences over infinite streams", 2014, definition 4 (w-event
    privacy). X. Ren et al., "LDP-IDS: local differential privacy for infinite data streams", 2022, definition 3.3.
    """

    name: ClassVar[str] = "local-differential-privacy"
    needs_originals: ClassVar[bool] = True  # that devices ran the mechanism is the word of those who made them
    by_mechanism: ClassVar[bool] = True

    epsilon: float
    w: int
    # What is promised is the same, whatever was spent of it.
    accounting: Sequence[Any] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        check_epsilon("epsilon", self.epsilon)
        if isinstance(self.w, bool) or not isinstance(self.w, int) or self.w < 1:
            raise ParameterError("w must be a whole number, at least 1: how many successive readings share the budget.")
        object.__setattr__(self, "accounting", tuple(_account(entry) for entry in self.accounting))

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to build the same guarantee again, the accounting included."""
        return {
            "epsilon": float(self.epsilon),
            "w": self.w,
            "accounting": [asdict(entry) for entry in self.accounting],
        }

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        which = (
            "Any reading of a meter changes" if self.w == 1 else f"Any {self.w} successive readings of a meter change"
        )
        return (
            f"{which} the odds of everything it sent by a factor of at most e^{self.epsilon:g} = "
            f"{math.exp(self.epsilon):.3g}."
        )

    @property
    def total(self) -> float:
        """The most that one device spent within a window, rounded up."""
        exact = self._exact_total()
        total = float(exact)
        return total if Fraction(total) >= exact else math.nextafter(total, math.inf)

    def check(self, published: Judged) -> Verdict:
        """Compare the account with the budget; the values say nothing about it."""
        return self.audit()

    def audit(self) -> Verdict:
        """Whether the account supports the promise."""
        required = float(self.epsilon)
        if not self.accounting:
            note = "true by what ran on the devices only, and no account says that anything did"
            return Verdict("does not hold", measured=None, required=required, note=note)
        holds = self._exact_total() <= Fraction(self.epsilon)
        note = "true by mechanism; the accounting adds up" if holds else "a device spent more than the budget"
        return Verdict.of(holds, measured=self.total, required=required, note=note)

    def _weakness(self, verdict: Verdict) -> tuple[float, ...]:
        return () if verdict.measured is None else (-float(verdict.measured),)

    def _exact_total(self) -> Fraction:
        return max((Fraction(entry.window) for entry in self.accounting), default=Fraction(0))


def _account(entry: Any) -> DeviceAccount:
    names = {f.name for f in fields(DeviceAccount)}
    if not isinstance(entry, DeviceAccount) and (not isinstance(entry, Mapping) or set(entry) != names):
        raise ParameterError("accounting needs scheme, mechanism, instants, reports and window for each account.")
    account = entry if isinstance(entry, DeviceAccount) else DeviceAccount(**entry)
    try:
        window = Fraction(account.window)
    except (TypeError, ValueError, ZeroDivisionError):
        raise ParameterError("The window of an account must be a fraction, such as '1/48'.") from None
    if window <= 0 or min(account.instants, account.reports) < 1:
        raise ParameterError("An account needs a window above 0, and at least one instant and one report.")
    return account
