"""Quasi-identifiers and sensitive values of one snapshot in two tables: Anatomy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.guarantees.event_groups import counted_codes
from shoal.kernels.anatomy import anatomy_groups
from shoal.methods.event_parts import refuse_ineligible
from shoal.model import EventTables
from shoal.model.event_codes import dense_codes, sort_rows
from shoal.model.event_kinds import plain_types
from shoal.model.event_tables import COUNT, GROUP, TIME

_PLACE = "__place"


def bucketise(
    events: pl.DataFrame, *, quasi: Sequence[str], sensitive: str, l: int, rng: np.random.Generator
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
    return bucketise_each([events], quasi=quasi, sensitive=sensitive, l=l, rngs=[rng])[0]


def bucketise_each(
    snapshots: Sequence[pl.DataFrame],
    *,
    quasi: Sequence[str],
    sensitive: str,
    l: int,
    rngs: Sequence[np.random.Generator],
) -> list[EventTables]:
    """Each of some snapshots as `bucketise` gives it. Frames are queried once for all, whatever their number."""
    frame = plain_types(pl.concat([events[[TIME, *quasi, sensitive]] for events in snapshots]))
    codes, n_values = counted_codes(frame[sensitive])
    ends = np.cumsum([len(events) for events in snapshots]).tolist()
    bounds = list(zip([0, *ends], ends, strict=False))
    groups = np.empty(len(frame), dtype=np.int64)
    for (start, end), events, rng in zip(bounds, snapshots, rngs, strict=True):
        inside = dense_codes(codes[start:end])
        refuse_ineligible(events[TIME], inside, l)
        formed = anatomy_groups(inside, n_values, l, rng.permutation(end - start), rng.random(l - 1))
        groups[start:end] = rng.permutation((end - start) // l)[formed]
    places = pl.Series(_PLACE, np.repeat(np.arange(len(snapshots)), np.diff([0, *ends])))
    numbers, ones = pl.Series(GROUP, groups), pl.Series(COUNT, np.ones(len(frame), dtype=np.int64))
    records = pl.DataFrame([places, frame[TIME], numbers, *(frame[name] for name in quasi)])
    # No value is twice in a group, so that every row is a count of one.
    counts = pl.DataFrame([places, frame[TIME], numbers, frame[sensitive], ones])
    records, counts = sort_rows(records, [_PLACE, GROUP, *quasi]), sort_rows(counts, [_PLACE, GROUP, sensitive])
    records, counts = records.drop(_PLACE), counts.drop(_PLACE)
    return [EventTables(records[a:b], counts[a:b], tuple(quasi), sensitive) for a, b in bounds]
