"""What several releases reveal together: the crowds that remain when their groups are intersected.

Every published series is in a group, with those published alike. Two adversaries hold all releases.

**The adversary who knows people** knows one series of the target in every release: the same one wherever it is
published again. A *trail* of a subject is a maximal set of its series, no two of which are in the same release. For
each release it gives the group of its series there, or that there is none.

**The adversary who follows names** knows one series of the target and finds it by its name in every keyed release; all
keyed releases are assumed to share one key, as if they were joined into one. The *thread* of a series gives its group
in each keyed release, or that it is absent.

    crowd(trail)  = #{ subjects with a trail that gives the same in all releases }
    crowd(thread) = #{ subjects with a series whose thread gives the same in all keyed releases }

A subject is promised the smallest k of the releases it is in; the releases are safe together if

    the crowd of every trail and of every thread is at least what its subject was promised.

If each subject has one series, a trail is the subject's group, or absence, in each release, and crowds are *cells*:
every set that can be formed from the groups by "and", "or" and "but not" is a union of cells, so no combination leads
to a few people if and only if no cell is small. That covers intersection (in group A then and in group B now) as well
as differencing (in group A then, absent now).

If a subject has several, a single k-anonymous release is safe: it promises a crowd for each series, not for pairs. So
two series of a subject that share a release are not combined, in that release or in others: one release of everything,
which would be safe, would reveal as much.

Releases of other instants, of other methods or under other pseudonyms do not escape: the subjects are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.guarantees.crowds import crowd_sizes

Numbers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

MOST_TRAILS = 1_000_000
"""Largest number of trails, of subjects with several series, that are examined; this takes a few seconds."""


class TooManyTrailsError(Exception):
    """Subjects have more trails than are examined."""


@dataclass(frozen=True, eq=False)
class Layer:
    """The groups of a release, and their promised size.

    Parameters
    ----------
    subjects
        For each series, the subject, as a number.
    groups
        For each series, the group.
    k
        The smallest crowd that was promised.
    series
        What identifies the series of one subject from release to release. By default, each subject has one series,
        identified by the subject.
    keyed
        Whether names are made with a key, so that anyone can follow a series.
    """

    subjects: Hashes
    groups: Numbers
    k: int
    series: Hashes | None = None
    keyed: bool = False


@dataclass(frozen=True, eq=False)
class Cells:
    """For each subject in any of several releases, the smallest crowd they leave, and what was promised."""

    subjects: Hashes
    sizes: Numbers
    promised: Numbers

    @property
    def small(self) -> NDArray[np.bool_]:
        """Subjects in a crowd that is smaller than promised."""
        return self.sizes < self.promised


def cells_of(layers: Sequence[Layer]) -> Cells:
    """Count the smallest crowd of each subject over some releases.

    Examples
    --------
    Each of two releases in groups of two is safe; together they leave everyone alone.

    >>> people = np.arange(4, dtype=np.uint64)
    >>> first, second = Layer(people, np.array([0, 0, 1, 1]), 2), Layer(people, np.array([0, 1, 0, 1]), 2)
    >>> cells_of([first]).sizes.tolist(), cells_of([first, second]).sizes.tolist()
    ([2, 2, 2, 2], [1, 1, 1, 1])

    If one leaves, so must others of the same group.

    >>> cells_of([first, Layer(people[:3], np.array([0, 0, 1]), 2)]).sizes.tolist()
    [2, 2, 1, 1]

    A meter is replaced: anyone who follows names sees that its series ends, unlike the others of its group.

    >>> before, after = (
    ...     Layer(people, np.array([0, 0, 1, 1]), 2, np.array(meters, dtype=np.uint64), keyed=True)
    ...     for meters in ([10, 11, 12, 13], [10, 11, 12, 99])
    ... )
    >>> cells_of([before, after]).sizes.tolist()
    [2, 2, 1, 1]
    """
    subjects = np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *(layer.subjects for layer in layers)]))
    promised = np.full(len(subjects), np.iinfo(np.int64).max)
    sizes = promised.copy()
    if not len(subjects):
        return Cells(subjects, sizes, promised)
    placed = _place(layers, subjects)
    for layer, rows in zip(layers, placed.rows, strict=True):
        np.minimum.at(promised, placed.owners[rows], layer.k)
    keyed = [place for place, layer in enumerate(layers) if layer.keyed]
    if keyed:
        followed = np.unique(np.concatenate([placed.rows[place] for place in keyed]))
        _count((placed.column(place)[followed] for place in keyed), placed.owners[followed], sizes)
    owners, told = _trails(placed, len(subjects))
    _count(told, owners, sizes)
    return Cells(subjects, sizes, promised)


def made_small(earlier: Sequence[Layer], added: Layer) -> tuple[Cells, NDArray[np.bool_]]:
    """The crowds with one more release, and the subjects whom it leaves in too small a crowd.

    The new release is not blamed for subjects whom earlier ones left in a small crowd, unless that crowd shrinks.
    """
    before, after = cells_of(earlier), cells_of([*earlier, added])
    places = np.searchsorted(after.subjects, before.subjects)
    had = np.full(len(after.subjects), np.iinfo(np.int64).max)
    had[places] = before.sizes
    was_small = np.zeros(len(after.subjects), dtype=np.bool_)
    was_small[places] = before.small
    return after, after.small & ~(was_small & (after.sizes == had))


@dataclass(frozen=True, eq=False)
class _Placed:
    """All series of all releases, numbered: the subject of each, and its group in each release."""

    owners: Numbers
    rows: tuple[Numbers, ...]
    groups: tuple[Numbers, ...]

    def column(self, place: int) -> Numbers:
        """The group of each series in a release, from 1; 0 where it is absent."""
        own = np.zeros(len(self.owners), dtype=np.int64)
        own[self.rows[place]] = self.groups[place]
        return own


def _place(layers: Sequence[Layer], subjects: Hashes) -> _Placed:
    """Number the series; the same subject and name is the same series."""
    codes = [np.searchsorted(subjects, layer.subjects) for layer in layers]
    names = [layer.subjects if layer.series is None else layer.series for layer in layers]
    name_codes = np.unique(np.concatenate(names), return_inverse=True)[1].reshape(-1)
    pairs = np.concatenate(codes) * (int(name_codes.max()) + 1) + name_codes
    _, first, numbers = np.unique(pairs, return_index=True, return_inverse=True)
    stops = np.cumsum([len(layer.subjects) for layer in layers])[:-1]
    rows = np.split(numbers.reshape(-1), stops)
    groups = (np.unique(layer.groups, return_inverse=True)[1].reshape(-1) + 1 for layer in layers)
    return _Placed(np.concatenate(codes)[first], tuple(rows), tuple(groups))


def _count(columns: Iterable[Numbers], owners: Numbers, sizes: Numbers) -> None:
    """Lower the sizes of subjects to the crowds that share what is known about each."""
    classes = np.zeros(len(owners), dtype=np.int64)
    for own in columns:
        classes = np.unique(classes * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1].reshape(-1)
    np.minimum.at(sizes, owners, crowd_sizes(classes, owners))


def _trails(placed: _Placed, n_subjects: int) -> tuple[Numbers, Iterator[Numbers]]:
    """The subject of each trail, and for each release the group that the trail gives, 0 for none."""
    several = np.zeros(n_subjects, dtype=np.bool_)
    for rows in placed.rows:
        several |= np.bincount(placed.owners[rows], minlength=n_subjects) > 1
    # A subject with one series in each release has one trail, which contains all of them.
    of_several = np.flatnonzero(several[placed.owners])
    of_several = of_several[np.argsort(placed.owners[of_several], kind="stable")]
    threads = np.stack([placed.column(place)[of_several] for place in range(len(placed.rows))], axis=1)
    whose, starts = np.unique(placed.owners[of_several], return_index=True)
    found: list[tuple[int, ...]] = []
    further: list[int] = []
    for subject, own in zip(whose.tolist(), np.split(threads, starts[1:]), strict=bool(len(whose))):
        for trail in _trails_of(sorted({tuple(thread) for thread in own.tolist()})):
            found.append(trail)
            further.append(subject)
            if len(found) > MOST_TRAILS:
                raise TooManyTrailsError
    told = np.array(found, dtype=np.int64).reshape(len(found), len(placed.rows))

    def columns() -> Iterator[Numbers]:
        for place, rows in enumerate(placed.rows):
            one = np.zeros(n_subjects, dtype=np.int64)
            one[placed.owners[rows]] = placed.groups[place]
            yield np.concatenate([one[~several], told[:, place]])

    return np.concatenate([np.flatnonzero(~several), np.array(further, dtype=np.int64)]), columns()


def _trails_of(threads: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Maximal sets of threads, no two in one release (Bron and Kerbosch 1973)."""
    present = [sum(1 << place for place, group in enumerate(thread) if group) for thread in threads]
    fits = [sum(1 << b for b, other in enumerate(present) if not mine & other) for mine in present]

    def extend(trail: tuple[int, ...], open_: int, done: int) -> Iterator[tuple[int, ...]]:
        if not open_ and not done:
            yield trail
            return
        # Every such set contains the pivot, or one that does not fit it.
        pivot = fits[((open_ | done) & -(open_ | done)).bit_length() - 1]
        left = open_ & ~pivot
        while left:
            lowest = left & -left
            number = lowest.bit_length() - 1
            longer = tuple(a or b for a, b in zip(trail, threads[number], strict=True))
            yield from extend(longer, open_ & fits[number], done & fits[number])
            open_, done, left = open_ & ~lowest, done | lowest, left & ~lowest

    if threads:
        yield from extend((0,) * len(threads[0]), (1 << len(threads)) - 1, 0)
