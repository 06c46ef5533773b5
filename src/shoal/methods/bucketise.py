"""Quasi-identifiers and sensitive values of one snapshot in two tables: Anatomy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from shoal.guarantees.event_groups import counted_codes
from shoal.kernels.anatomy import anatomy_groups
from shoal.kernels.arrays import Ints
from shoal.methods.event_parts import refuse_ineligible
from shoal.model import EventTables
from shoal.model.event_codes import dense_codes, sort_rows
from shoal.model.event_kinds import plain_types
from shoal.model.event_tables import COUNT, GROUP, TIME

_PLACE = "__place"


def form_groups(values: pl.Series, *, l: int, rng: np.random.Generator) -> Ints:
    """The group of each event of an l-eligible snapshot: of at least l events, all with different sensitive values.

    `rng` decides which event of a value goes to which group. It must stay as secret as the assignment itself.
    """
    codes, n_values = counted_codes(values)
    return _formed(codes, n_values, l, rng)


def bucketise(
    events: pl.DataFrame,
    *,
    quasi: Sequence[str],
    sensitive: str,
    l: int,
    rng: np.random.Generator,
    groups: Ints | None = None,
) -> EventTables:
    """Publish an l-eligible snapshot in groups of at least l events, all with different sensitive values.

    Quasi-identifiers stay as they are; which of the values in a group belongs to which of its events is not published.
    Rows are sorted by all columns, and groups are numbered at random: neither reveals the order of arrival, nor the
    order in which groups were formed, which would distinguish frequent values from rare ones.

    Parameters
    ----------
    events
        The events of one snapshot, with `time` and the columns named here; others are left out.
    quasi, sensitive
        Columns with quasi-identifiers and with the sensitive value.
    l
        One sensitive value may have at most one in l events of a group.
    rng
        Decides which event of a value goes to which group. It must stay as secret as the groups' pairs.
    groups
        The group of each event, if groups are already formed; a value may occur more than once in one.

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
    return bucketise_each([events], quasi=quasi, sensitive=sensitive, l=l, rngs=[rng], groups=[groups])[0]


def bucketise_each(
    snapshots: Sequence[pl.DataFrame],
    *,
    quasi: Sequence[str],
    sensitive: str,
    l: int,
    rngs: Sequence[np.random.Generator],
    groups: Sequence[Ints | None],
) -> list[EventTables]:
    """Bucketise several snapshots. Frames are queried once for all of them."""
    frame = plain_types(pl.concat([events[[TIME, *quasi, sensitive]] for events in snapshots]))
    codes, n_values = counted_codes(frame[sensitive])
    ends = np.cumsum([len(events) for events in snapshots]).tolist()
    bounds = list(zip([0, *ends], ends, strict=False))
    numbers = np.empty(len(frame), dtype=np.int64)
    for (start, end), events, rng, given in zip(bounds, snapshots, rngs, groups, strict=True):
        inside = dense_codes(codes[start:end])
        refuse_ineligible(events[TIME], inside, l)
        numbers[start:end] = _formed(inside, n_values, l, rng) if given is None else given
    places = np.repeat(np.arange(len(snapshots)), np.diff([0, *ends]))
    place, group = pl.Series(_PLACE, places), pl.Series(GROUP, numbers)
    records = pl.DataFrame([place, frame[TIME], group, *(frame[name] for name in quasi)])
    records = sort_rows(records, [_PLACE, GROUP, *quasi]).drop(_PLACE)
    # In groups formed here, no value occurs twice; in others it may.
    rows, often = np.arange(len(frame)), np.ones(len(frame), dtype=np.int64)
    if any(given is not None for given in groups):
        keys = dense_codes((places * (int(numbers.max(initial=0)) + 1) + numbers) * n_values + codes)
        _, rows, often = np.unique(keys, return_index=True, return_counts=True)
    columns = [place, frame[TIME], group, frame[sensitive]]
    counts = pl.DataFrame([*(column[rows] for column in columns), pl.Series(COUNT, often, dtype=pl.Int64)])
    counts = sort_rows(counts, [_PLACE, GROUP, sensitive]).drop(_PLACE)
    cuts = np.searchsorted(np.sort(places[rows]), np.arange(len(snapshots) + 1)).tolist()
    return [
        EventTables(records[a:b], counts[c:d], tuple(quasi), sensitive)
        for (a, b), (c, d) in zip(bounds, pairwise(cuts), strict=True)
    ]


def _formed(codes: Ints, n_values: int, l: int, rng: np.random.Generator) -> Ints:
    n = len(codes)
    formed = anatomy_groups(codes, n_values, l, rng.permutation(n), rng.random(l - 1))
    return np.asarray(rng.permutation(n // l)[formed])
