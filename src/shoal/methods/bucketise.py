"""Quasi-identifiers and sensitive values of one snapshot in two tables: Anatomy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.guarantees.event_groups import counted_as
from shoal.kernels.anatomy import anatomy_groups
from shoal.methods.event_parts import Snapshot, value_codes
from shoal.model import EventTables
from shoal.model.event_tables import COUNT, GROUP, TIME


def form_groups(values: pl.Series, *, l: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The group of each event of an l-eligible snapshot: of at least l events, all with different sensitive values.

    `rng` decides which event of a value goes to which group. It must stay as secret as the groups' pairs.
    """
    codes, n_values = value_codes(counted_as(values))
    n = len(codes)
    formed = anatomy_groups(codes, n_values, l, rng.permutation(n), rng.random(l - 1))
    return np.asarray(rng.permutation(n // l)[formed])


def bucketise(
    events: pl.DataFrame,
    *,
    quasi: Sequence[str],
    sensitive: str,
    l: int,
    rng: np.random.Generator,
    groups: NDArray[np.int64] | None = None,
) -> EventTables:
    """Publish an l-eligible snapshot in groups of at least l events, all with different sensitive values.

    Quasi-identifiers stay as they are; which of the values in a group belongs to which of its events is not published.
    Rows are sorted by all columns, and groups are numbered by chance: neither tells the order of arrival, nor that in
    which groups were formed, which would tell apart frequent values from rare ones.

    Parameters
    ----------
    events
        The events of one snapshot, with `time` and the columns named here; others are left out.
    quasi, sensitive
        Columns with quasi-identifiers and with the sensitive value.
    l
        One sensitive value may have one in l events of a group at most.
    rng
        Decides which event of a value goes to which group. It must stay as secret as the groups' pairs.
    groups
        The group of each event where they are formed already; a value may be in one more than once.

    Examples
    --------
    >>> events = pl.DataFrame({"time": [0, 0, 0], "age": [30, 41, 52], "result": ["no", "yes", "perhaps"]})
    >>> tables = bucketise(events, quasi=["age"], sensitive="result", l=3, rng=np.random.default_rng(0))
    >>> tables.records["group"].to_list(), tables.counts["result"].to_list()
    ([0, 0, 0], ['no', 'perhaps', 'yes'])

    References
    ----------
    X. Xiao, Y. Tao, "Anatomy: simple and effective privacy preservation", 2006.
    """
    frame, codes, _ = Snapshot.of(events, quasi, sensitive, l)
    n = len(frame)
    given = groups is not None
    if groups is None:
        groups = form_groups(frame[sensitive], l=l, rng=rng)
    # Columns are put together as they are: on snapshots of some hundred events, queries would take most of the time.
    records = pl.DataFrame([frame[TIME], pl.Series(GROUP, groups), *(frame[name] for name in quasi)])
    if given:
        _, by_value, often = np.unique(groups * n + codes, return_index=True, return_counts=True)
    else:
        # No value is twice in a group, so that every row is a count of one.
        by_value, often = np.lexsort((codes, groups)), np.ones(n, dtype=np.int64)
    counts = pl.DataFrame(
        [
            frame[TIME].head(1).new_from_index(0, len(by_value)),
            pl.Series(GROUP, groups[by_value]),
            frame[sensitive].gather(by_value),
            pl.Series(COUNT, often, dtype=pl.Int64),
        ]
    )
    return EventTables(records.sort(records.columns), counts, tuple(quasi), sensitive)
