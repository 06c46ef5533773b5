"""Differential privacy of published aggregates: the promise and its accounting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar, Literal

from shoal.errors import ParameterError
from shoal.model import Guarantee, Judged, Verdict
from shoal.model.parameters import is_number

Unit = Literal["subject", "reading"]

_WHOSE = {"subject": "The readings of any one subject", "reading": "Any one reading"}


@dataclass(frozen=True)
class Spent:
    """What one noisy query cost.

    Parameters
    ----------
    query
        What was asked, in words.
    mechanism
        How the noise was drawn.
    sensitivity
        By how much one unit can change the answer at most, summed over all its numbers.
    scale
        The scale of the noise, in the same measure.
    epsilon
        Its cost: at least sensitivity / scale.
    lower, upper
        The clipping bounds the sensitivity follows from; None for counts.
    fresh
        Whether the noise came from the operating system, so that nobody can draw it again.
    """

    query: str
    mechanism: str
    sensitivity: float
    scale: float
    epsilon: float
    lower: float | None = None
    upper: float | None = None
    fresh: bool = True


@dataclass(frozen=True)
class DifferentialPrivacy(Guarantee):
    """No unit changes the odds of any published result by more than a factor of e^epsilon.

    A mechanism M keeps it when for all panels x, x' that differ in one unit, and every set S of results,
    P(M(x) in S) <= e^epsilon P(M(x') in S). The shape of the panel is taken as known: x and x' have as many subjects
    and series, over the same instants and channels.

    It is true by the mechanism and cannot be seen in its output. The accounting says what each query cost; the check
    adds it up. It does not hold without an accounting, if the sum is above epsilon, if a query cost more than it says,
    or if the noise can be drawn again.

    It says nothing about a disjoint union of subjects: who is in which shard may itself follow from readings, and no
    budget was spent on that. Noise is drawn and accounted for once, over all shards, and all of them carry that one
    accounting; shards with different ones are not judged.

    Parameters
    ----------
    epsilon
        The budget. Smaller hides better and needs more noise; 1 is usual, above 5 hides little.
    unit
        "subject": all readings of one subject, over the whole time. "reading": one reading of one subject, which is far
        weaker: what all its readings have in common is not protected.
    accounting
        What was spent, query by query; the method fills it in.

    Examples
    --------
    >>> DifferentialPrivacy(epsilon=1.0).statement
    'The readings of any one subject change the odds of every published result by a factor of at most e^1 = 2.72.'
    >>> asked = {"query": "totals", "mechanism": "Laplace", "sensitivity": 3, "scale": 6.0, "epsilon": 0.5}
    >>> DifferentialPrivacy(epsilon=1.0, accounting=[asked]).total
    0.5

    References
    ----------
    C. Dwork and A. Roth, "The algorithmic foundations of differential privacy", 2014.
    """

    name: ClassVar[str] = "differential-privacy"
    needs_originals: ClassVar[bool] = True  # that the mechanism was run is the publisher's word
    by_mechanism: ClassVar[bool] = True

    epsilon: float
    unit: Unit = "subject"
    # What is promised is the same, whatever was spent of it.
    accounting: Sequence[Any] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        check_epsilon("epsilon", self.epsilon)
        if self.unit not in _WHOSE:
            raise ParameterError("unit must be 'subject' or 'reading'.")
        object.__setattr__(self, "accounting", tuple(_spent(entry) for entry in self.accounting))

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to build the same guarantee again, the accounting included."""
        plain: dict[str, Any] = {"epsilon": float(self.epsilon), "unit": self.unit}
        return plain | {"accounting": [asdict(entry) for entry in self.accounting]}

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        factor = math.exp(self.epsilon)
        return (
            f"{_WHOSE[self.unit]} change{'s' * (self.unit == 'reading')} the odds of every published result by a "
            f"factor of at most e^{self.epsilon:g} = {factor:.3g}."
        )

    @property
    def total(self) -> float:
        """What all queries cost together, rounded up."""
        exact = self._exact_total()
        total = float(exact)
        return total if Fraction(total) >= exact else math.nextafter(total, math.inf)

    def check(self, published: Judged) -> Verdict:
        """Add up the accounting; the values say nothing about it."""
        return self.audit()

    def merge(self, verdicts: Sequence[Verdict]) -> Verdict:
        """The verdict on the one accounting that all shards carry."""
        merged = super().merge(verdicts)
        if not merged.holds or all(verdict == merged for verdict in verdicts):
            return merged
        return Verdict("not judged", None, float(self.epsilon), note="shards carry different accountings")

    def audit(self) -> Verdict:
        """Whether the accounting supports the promise."""
        if not self.accounting:
            return self._not(None, "true by mechanism only, and no accounting says that one was run")
        if any(not entry.fresh for entry in self.accounting):
            return self._not(self.total, "noise from a fixed seed can be drawn again by anyone who guesses the seed")
        if any(Fraction(entry.epsilon) * Fraction(entry.scale) < entry.sensitivity for entry in self.accounting):
            return self._not(self.total, "a query cost more than the accounting says")
        holds = self._exact_total() <= Fraction(self.epsilon)
        note = "true by mechanism; the accounting adds up" if holds else "more than the budget was spent"
        return Verdict.of(holds, measured=self.total, required=float(self.epsilon), note=note)

    def _exact_total(self) -> Fraction:
        return sum((Fraction(entry.epsilon) for entry in self.accounting), Fraction(0))

    def _not(self, measured: float | None, why: str) -> Verdict:
        return Verdict("does not hold", measured=measured, required=float(self.epsilon), note=why)


def check_epsilon(name: str, epsilon: Any) -> None:
    """Refuse an invalid budget."""
    if not is_number(epsilon) or not 1e-9 <= epsilon <= 100:
        raise ParameterError(f"{name} must be a number from 1e-9 to 100; 1 is usual.")


def _spent(entry: Any) -> Spent:
    if isinstance(entry, Spent):
        return entry
    if not isinstance(entry, Mapping) or not {"query", "mechanism", "sensitivity", "scale", "epsilon"} <= set(entry):
        raise ParameterError("accounting needs query, mechanism, sensitivity, scale and epsilon for each query.")
    if not set(entry) <= {f.name for f in fields(Spent)}:
        raise ParameterError(f"accounting takes for each query only: {', '.join(f.name for f in fields(Spent))}.")
    spent = Spent(**entry)
    numbers = (spent.sensitivity, spent.scale, spent.epsilon)
    if not all(is_number(n) and 0 < n < math.inf for n in numbers):
        raise ParameterError("accounting needs a sensitivity, scale and epsilon above 0 for each query.")
    if not all(end is None or is_number(end) for end in (spent.lower, spent.upper)):
        raise ParameterError("accounting needs numbers as lower and upper of a query, or neither.")
    return spent
