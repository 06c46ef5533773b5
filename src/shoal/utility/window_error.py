"""How well published events answer questions about a stretch of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.errors import ParameterError
from shoal.model import Events, EventTables, Measure, Score
from shoal.model.score import Unit
from shoal.queries import random_windows
from shoal.queries.window_count import count_windows


@dataclass(frozen=True)
class WindowError(Measure):
    """Mean relative error of random window queries: |published - original| / original, which is never 0.

    Queries are those of `random_windows`: intervals of up to `longest` snapshots with a condition on each
    quasi-identifier and on the sensitive value, around an original event.

    Parameters
    ----------
    n
        Number of queries.
    longest
        The largest number of snapshots in a window. Short windows are hard on events that moved.
    selectivity
        Share of a window's events that would meet the conditions on quasi-identifiers if these were independent.
    seed
        The same seed gives the same queries.

    Examples
    --------
    >>> from shoal import simulate
    >>> from shoal.methods import Reposition
    >>> events = simulate.events(days=20, seed=1)
    >>> published = Reposition(l=3, window=5).anonymize(events).published
    >>> 0.0 < WindowError(n=100).measure(events, published).value < 1.0
    True

    References
    ----------
    K. Wang, Y. Xu, R. C.-W. Wong, A. W.-C. Fu, "Anonymizing temporal data", 2010, section I.A (window queries).
    """

    name: ClassVar[str] = "window-error"
    meaning: ClassVar[str] = "mean relative error of counting events of a stretch of time"
    judges: ClassVar[Literal["events"]] = "events"
    plain: ClassVar[str] = "Counts of events in a stretch of time are off by"
    purpose: ClassVar[str] = "events"
    unit: ClassVar[Unit] = "share"
    matched: ClassVar[bool] = False
    why_whole: ClassVar[str] = "is about events, which have no shards"

    n: int = 1000
    longest: int = 14
    selectivity: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n < 1 or self.longest < 1 or not 0.0 < self.selectivity <= 1.0:
            raise ParameterError("window-error needs n and longest of at least 1 and a selectivity in (0, 1].")

    def measure(self, original: Events, published: EventTables) -> Score:
        """Put the same queries to both."""
        asked = random_windows(original, self.n, self.seed, longest=self.longest, selectivity=self.selectivity)
        true, estimated = count_windows(asked, original), count_windows(asked, published)
        return self.as_score(np.mean(np.abs(estimated - true) / true))
