"""What a method proposes to publish of events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.model.candidate import Recipe
from shoal.model.event_tables import EventTables
from shoal.model.events import Events
from shoal.model.guarantee import Guarantee
from shoal.model.verdict import Verdict


@dataclass(frozen=True, eq=False, repr=False)
class PrivateEvents:
    """What the publisher keeps of events. Never written with a release."""

    original: Events
    snapshots: NDArray[np.int64]
    """For each original event the position of the snapshot it is published in; -1 where it is suppressed."""


@dataclass(frozen=True, eq=False, repr=False)
class EventsCandidate:
    """The output of a method for events, not yet checked.

    Parameters
    ----------
    published
        What would be published.
    guarantee
        What the method aims at.
    recipe
        Method and parameters.
    private
        The original events and where each of them went, apart from the rest.
    """

    published: EventTables
    guarantee: Guarantee
    recipe: Recipe
    private: PrivateEvents

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """Everything the method aims at; all of it must hold."""
        return (self.guarantee,)

    def check(self) -> Verdict:
        """Judge the guarantee on the published tables."""
        return self.guarantee.check(self)

    def __repr__(self) -> str:
        return f"EventsCandidate({self.recipe.method}, {self.published!r})"
