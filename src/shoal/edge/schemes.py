"""How the budget of w instants is divided: the published schemes, on the collector's side.

A scheme asks and concludes; it cannot overspend, because every device keeps its own budget and refuses the rest.

- budget-uniform (LBU): everyone at every instant, for epsilon / w.
- budget-distribution (LBD): everyone for epsilon / 2w, to see whether something changed; if so, for half of what the
  window has left of the other half. Otherwise the last figures are kept.
- budget-absorption (LBA): the same first look; new figures take the shares of instants that were skipped.
- population-uniform (LPU): one part in w, in turn, for epsilon.
- population-distribution, population-absorption (LPD, LPA): as LBD and LBA, with parts of the meters instead of parts
  of the budget. A meter that answers does so for epsilon, and is not asked again for w instants.

X. Ren et al., "LDP-IDS: local differential privacy for infinite data streams", 2022, sections 5 and 6.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.edge.response import Grid, RandomizedResponse
from shoal.errors import ParameterError


@dataclass(frozen=True)
class SchemeQuestion:
    """Who is asked at an instant, and what an answer may cost, in units."""

    cost: int
    whom: tuple[int, ...]


Counts = NDArray[np.int64]
"""How often each point was reported."""


@dataclass(frozen=True)
class Estimate:
    """What is concluded about one instant.

    Parameters
    ----------
    shares
        Estimated share of meters at each point of the grid; None if nobody has answered yet.
    variance
        Variance of the mean; infinite if unknown.
    answers
        How many reports it is based on.
    fresh
        Whether it is based on reports about this instant; otherwise it repeats an earlier one.
    """

    shares: NDArray[np.float64] | None
    variance: float
    answers: int
    fresh: bool


Asking = Generator[SchemeQuestion, Counts, Estimate]


@dataclass
class Scheme(ABC):
    """The questions of one group of meters, instant by instant.

    Parameters
    ----------
    epsilon
        The budget of a window, in units.
    w
        The length of a window.
    members
        The meters of the group.
    grid
        The grid of answers.
    seed
        For the order in which parts of the population are asked; not secret.
    """

    unasked: ClassVar[bool] = False
    """Whether devices know by themselves when to answer, so that messages go one way only."""

    epsilon: int
    w: int
    members: Sequence[int]
    grid: Grid
    seed: int = 0

    def __post_init__(self) -> None:
        self.last = Estimate(None, float("inf"), 0, False)
        self._order = random.Random(self.seed)
        self.begin()

    def begin(self) -> None:  # noqa: B027 - a scheme may remember nothing
        """What a scheme remembers, before the first instant."""

    @classmethod
    def due(cls, epsilon: int, w: int, place: int, label: int) -> int:
        """What a device spends on unprompted answers, by its place in the group; 0 if it waits for a question."""
        return 0

    @abstractmethod
    def instant(self, label: int) -> Asking:
        """Yield questions, receive the counts of answers, and return the estimate."""

    def _conclude(self, cost: int, counts: Counts) -> Estimate:
        """A new estimate; the last one if nobody answered."""
        if counts.sum() == 0:
            return self._repeat()
        response = RandomizedResponse.costing(cost, self.grid.points)
        variance = response.mean_variance(counts, self.grid.values)
        self.last = Estimate(response.shares(counts), variance, int(counts.sum()), True)
        return self.last

    def _repeat(self) -> Estimate:
        return replace(self.last, fresh=False)

    def _changed(self, cost: int, counts: Counts, potential: float) -> bool:
        """Whether, judging by a first look, the last estimate is further off than a new one would be."""
        if self.last.shares is None:
            return True
        n = int(counts.sum())
        if n == 0:
            return False
        response = RandomizedResponse.costing(cost, self.grid.points)
        apart = float(np.mean((response.shares(counts) - self.last.shares) ** 2))
        return apart - response.variance(n) > potential

    def _error(self, cost: int, n: int) -> float:
        """The variance of a share estimated from n answers of a cost."""
        if cost < 1 or n < 1:
            return float("inf")
        return RandomizedResponse.costing(cost, self.grid.points).variance(n)


class BudgetUniform(Scheme):
    """Ask everyone at every instant, for the same cost."""

    unasked: ClassVar[bool] = True

    @classmethod
    def due(cls, epsilon: int, w: int, place: int, label: int) -> int:
        """An equal part of the budget."""
        return epsilon // w

    def instant(self, label: int) -> Asking:
        """One question."""
        cost = self.epsilon // self.w
        return self._conclude(cost, (yield SchemeQuestion(cost, tuple(self.members))))


class BudgetDistribution(Scheme):
    """A first look for half of the budget; new figures for half of what is left of the rest."""

    def begin(self) -> None:
        """What the last w - 1 instants cost beyond the first looks."""
        self._costs: deque[int] = deque(maxlen=self.w - 1)

    def instant(self, label: int) -> Asking:
        """One question, or two."""
        look = self.epsilon // (2 * self.w)
        counts = yield SchemeQuestion(look, tuple(self.members))
        cost = (self.epsilon // 2 - sum(self._costs)) // 2
        if not self._changed(look, counts, self._error(cost, int(counts.sum()))) or cost < 1:
            self._costs.append(0)
            return self._repeat()
        self._costs.append(cost)
        return self._conclude(cost, (yield SchemeQuestion(cost, tuple(self.members))))


class BudgetAbsorption(Scheme):
    """A first look for half of the budget; new figures for the shares of all instants that were skipped."""

    def begin(self) -> None:
        """Instants since the last new figures, and how many shares these took."""
        self._since, self._taken = 0, 0

    def instant(self, label: int) -> Asking:
        """One question, or two."""
        look = self.epsilon // (2 * self.w)
        counts = yield SchemeQuestion(look, tuple(self.members))
        self._since += 1
        # As many instants stay silent as shares were taken in advance.
        shares = min(self._since - max(0, self._taken - 1), self.w)
        if shares < 1 or not self._changed(look, counts, self._error(shares * look, int(counts.sum()))):
            return self._repeat()
        self._since, self._taken = 0, shares
        return self._conclude(shares * look, (yield SchemeQuestion(shares * look, tuple(self.members))))


class _Population(Scheme):
    """Ask some meters for their whole budget, then not again for w instants."""

    def begin(self) -> None:
        """Meters that are resting, by how long ago they were asked."""
        self._resting: deque[tuple[int, ...]] = deque(maxlen=self.w - 1)
        self._asked: tuple[int, ...] = ()

    def _next_instant(self) -> None:
        self._resting.append(self._asked)
        self._asked = ()

    def _draw(self, n: int) -> tuple[int, ...]:
        """This many meters that have not answered within the window, or as many as there are."""
        tired = {member for some in (*self._resting, self._asked) for member in some}
        rested = [member for member in self.members if member not in tired]
        drawn = tuple(self._order.sample(rested, min(n, len(rested))))
        self._asked += drawn
        return drawn


class PopulationUniform(Scheme):
    """One part in w, in turn by their places in the group."""

    unasked: ClassVar[bool] = True

    @classmethod
    def due(cls, epsilon: int, w: int, place: int, label: int) -> int:
        """Everything, once in w instants."""
        return epsilon if place % w == label % w else 0

    def instant(self, label: int) -> Asking:
        """One question."""
        whom = tuple(self.members[label % self.w :: self.w])
        if not whom:
            return self._repeat()
        return self._conclude(self.epsilon, (yield SchemeQuestion(self.epsilon, whom)))


class PopulationDistribution(_Population):
    """Half of the meters take first looks in turn; new figures come from half of those who are left of the others."""

    def begin(self) -> None:
        """How many were asked for new figures, instant by instant."""
        super().begin()
        self._numbers: deque[int] = deque(maxlen=self.w - 1)

    def instant(self, label: int) -> Asking:
        """One question, or two."""
        n = len(self.members)
        counts = yield SchemeQuestion(self.epsilon, self._draw(max(1, n // (2 * self.w))))
        number = (n // 2 - sum(self._numbers)) // 2
        if number < 1 or not self._changed(self.epsilon, counts, self._error(self.epsilon, number)):
            self._numbers.append(0)
            self._next_instant()
            return self._repeat()
        self._numbers.append(number)
        counts = yield SchemeQuestion(self.epsilon, self._draw(number))
        self._next_instant()
        return self._conclude(self.epsilon, counts)


class PopulationAbsorption(_Population):
    """Like `PopulationDistribution`, but new figures come from the parts of all instants that were skipped."""

    def begin(self) -> None:
        """Instants since the last new figures, and how many parts these took."""
        super().begin()
        self._since, self._taken = 0, 0

    def instant(self, label: int) -> Asking:
        """One question, or two."""
        part = max(1, len(self.members) // (2 * self.w))
        counts = yield SchemeQuestion(self.epsilon, self._draw(part))
        self._since += 1
        parts = min(self._since - max(0, self._taken - 1), self.w)
        if parts < 1 or not self._changed(self.epsilon, counts, self._error(self.epsilon, parts * part)):
            self._next_instant()
            return self._repeat()
        self._since, self._taken = 0, parts
        counts = yield SchemeQuestion(self.epsilon, self._draw(parts * part))
        self._next_instant()
        return self._conclude(self.epsilon, counts)


SCHEMES: dict[str, type[Scheme]] = {
    "budget-uniform": BudgetUniform,
    "budget-distribution": BudgetDistribution,
    "budget-absorption": BudgetAbsorption,
    "population-uniform": PopulationUniform,
    "population-distribution": PopulationDistribution,
    "population-absorption": PopulationAbsorption,
}


def check_scheme(name: str) -> str:
    """Refuse an unknown scheme."""
    if name not in SCHEMES:
        raise ParameterError(f"scheme must be one of {', '.join(SCHEMES)}; got {name!r}.")
    return name
