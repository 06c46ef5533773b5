"""Groups that are too small, or so large that few others remain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.guarantees.crowds import crowd_sizes
from shoal.guarantees.event_groups import event_groups
from shoal.model import EventTables, Panel, Profiles
from shoal.release.lint.written import Finding, Written
from shoal.release.publishers_word import is_by_mechanism

NAME = "group-sizes"


def group_sizes(written: Written) -> Finding | None:
    """No group may be smaller than the required crowd, nor contain all but fewer than that.

    Groups are profiles as they count themselves, series that are published exactly alike, series with one envelope, or
    the groups of events in a snapshot. Small ones are a finding wherever a guarantee is about such groups, and always
    among profiles and events; (n, l, k)-anonymity itself says how many small groups a series may be in, and without a
    guarantee every series may be alone. Then a group that holds all subjects but a few is still a finding: these few
    stand out by not being in it. Counts with the noise of differential privacy say nothing about sizes.
    """
    published, crowd = written.published, written.crowd
    promised = written.guarantees
    if is_by_mechanism(promised):
        return None
    if isinstance(published, Panel) and any(guarantee.allows_small_groups for guarantee in promised):
        return None
    alone_is_usual = isinstance(published, Panel) and not any(guarantee.crowds for guarantee in promised)
    disjoint = not isinstance(published, EventTables) and _disjoint(written)
    sizes, times = np.unique(_sizes(written), return_counts=True)
    small = 0 if alone_is_usual else int(times[sizes < crowd.size].sum())
    rest = 0
    if disjoint:  # nobody is in two groups, so that sizes can be subtracted
        left = int((sizes * times).sum() - sizes.max())
        rest = left if left < crowd.size else 0
    if not small and not rest:
        return None
    findings = [
        f"{n} {words}"
        for n, words in (
            (small, f"of {times.sum()} published groups have fewer than {crowd.size}"),
            (rest, "subject(s) stand out, because all others are in one group"),
        )
        if n
    ]
    return Finding(
        NAME,
        f"{'; '.join(findings)}.",
        "Raise k so that small groups merge with others, or drop the series that stand alone.",
    )


def _sizes(written: Written) -> NDArray[np.int64]:
    """The size of each group, in subjects."""
    published = written.published
    if isinstance(published, Profiles):
        return published.counts
    if isinstance(published, EventTables):
        return np.asarray(event_groups(published).sizes)
    classes = written.classes
    return crowd_sizes(classes, written.subjects)[np.unique(classes)]


def _disjoint(written: Written) -> bool:
    """Whether nobody is in two groups."""
    original = written.candidate.private.original
    return isinstance(original, Panel) and original.one_series_per_subject
