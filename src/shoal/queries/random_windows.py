"""Random window queries for testing a release of events."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from shoal.errors import ParameterError
from shoal.model import Events
from shoal.queries.window_count import Between, Condition, WindowCount

LONGEST = 14
SELECTIVITY = 0.05


def random_windows(
    events: Events, n: int, seed: int = 0, *, longest: int = LONGEST, selectivity: float = SELECTIVITY
) -> list[WindowCount]:
    """Draw window queries that at least one original event answers.

    Every query is drawn around a random event: a stretch of 1 to `longest` snapshots that contains it, its sensitive
    value, and a condition on each quasi-identifier that it meets. With q of those, each condition is met by about a
    share selectivity^(1/q) of all events: a range by rank around a number, or a set of words that contains the event's
    own.

    Parameters
    ----------
    events
        The originals.
    n, seed
        How many; the same seed draws the same queries.
    longest
        The largest number of snapshots in a window.
    selectivity
        Share of the events of a window that would meet the conditions on quasi-identifiers if these were independent.

    Examples
    --------
    >>> from shoal import simulate
    >>> events = simulate.events(days=20, seed=1)
    >>> min(query.count(events) for query in random_windows(events, 20)) >= 1.0
    True
    """
    if n < 1 or longest < 1 or not 0.0 < selectivity <= 1.0:
        raise ParameterError("random_windows needs n and longest of at least 1 and a selectivity in (0, 1].")
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    frame = events.frame
    instants = frame[events.time].unique().sort()
    home = instants.search_sorted(frame[events.time]).to_numpy()
    moments = instants.to_list()
    share = selectivity ** (1 / max(len(events.quasi), 1))
    columns = {name: _Column(frame[name], share) for name in events.quasi}
    sensitive = frame[events.sensitive].to_list()
    queries = []
    for row in rng.integers(0, len(frame), size=n).tolist():
        length = int(rng.integers(1, longest + 1))
        first = int(home[row]) - int(rng.integers(0, length))
        start, end = moments[max(first, 0)], moments[min(first + length, len(moments)) - 1]
        where: dict[str, Condition] = {}
        for name, column in columns.items():
            condition = column.around(row, rng)
            if condition is not None:
                where[name] = condition
        where[events.sensitive] = sensitive[row]
        queries.append(WindowCount(start, end, where))
    return queries


class _Column:
    """A quasi-identifier, prepared for conditions that a given share of all events meets."""

    def __init__(self, values: pl.Series, share: float) -> None:
        self.entries = values.to_list()
        self.share = share
        self.numeric = values.dtype.is_numeric()
        known = values.drop_nulls()
        self.sorted = known.sort().to_list() if self.numeric else []
        counted = known.value_counts(sort=True) if not self.numeric else None
        # As text, so that equal counts come in one order on every machine.
        self.words = {} if counted is None else dict(sorted(counted.iter_rows(), key=lambda pair: str(pair[0])))

    def around(self, row: int, rng: np.random.Generator) -> Condition | None:
        """A condition that the entry of this row meets; None if it is missing."""
        entry: Any = self.entries[row]
        if entry is None:
            return None
        if self.numeric:
            n = len(self.sorted)
            length = max(1, round(self.share * n))
            rank = int(np.searchsorted(self.sorted, entry))
            first = int(rng.integers(max(0, rank - length + 1), min(rank, n - length) + 1))
            return Between(self.sorted[first], self.sorted[first + length - 1])
        chosen, covered = [entry], self.words[entry]
        others = [word for word in self.words if word != entry]
        for place in rng.permutation(len(others)).tolist():
            if covered >= self.share * len(self.entries):
                break
            chosen.append(others[place])
            covered += self.words[others[place]]
        return tuple(chosen)
