"""What a method proposes to publish of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.model.candidate import Candidate, Published, Recipe
from shoal.model.event_tables import EventTables
from shoal.model.events import Events
from shoal.model.guarantee import Guarantee
from shoal.model.suppression import Suppression, ValueSuppression
from shoal.model.verdict import Verdict


@dataclass(frozen=True, eq=False, repr=False)
class PrivateEvents:
    """What the publisher keeps of events. Never written with a release."""

    original: Events
    snapshots: NDArray[np.int64]
    """For each original event the position of the snapshot it is published in; -1 if it is suppressed."""
    groups: NDArray[np.int64] | None = None
    """For each original event the number of its group in that snapshot, -1 if suppressed; None without groups."""
    coarser: Mapping[str, str] = field(default_factory=dict)
    """Sensitive values that may be published as coarser ones, with those coarser values."""


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
        The original events and where each of them went, kept separate.
    further
        What else the method aims at.
    """

    published: EventTables
    guarantee: Guarantee
    recipe: Recipe
    private: PrivateEvents
    further: tuple[Guarantee, ...] = ()

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """Everything the method aims at; all of it must hold."""
        return (self.guarantee, *self.further)

    @property
    def suppression(self) -> Suppression:
        """How many events are not published, in all and by sensitive value, the most frequent first."""
        original, published = self.private.original, self.private.snapshots >= 0
        values = original.frame[original.sensitive].cast(pl.String)
        counts = (
            pl.DataFrame({"value": values, "after": published})
            .group_by("value", maintain_order=True)
            .agg(pl.len().alias("before"), pl.col("after").sum())
            .sort("before", "value", descending=[True, False])
        )
        losses = tuple(ValueSuppression(*row) for row in counts.select("value", "before", "after").iter_rows())
        return Suppression(int(published.sum()), int((~published).sum()), "events", losses)

    def check(self) -> Verdict:
        """Judge the guarantee on the published tables."""
        return self.guarantee.check(self)

    def __repr__(self) -> str:
        return f"EventsCandidate({self.recipe.method}, {self.published!r})"


Judged = Published | Candidate | EventTables | EventsCandidate
"""Everything a guarantee can be asked about: series or events, as they are published or as a method proposes them."""
