"""Links from targets to published series that lie in blocks.

A block says for each target how near its nearest rows are, how many there are and how many of them are the target's
own; and how near the next row is that is further away. Blocks are merged exactly: the nearest of all are those of the
blocks whose nearest are as near, and the next is the nearest of what is left. Where series within a tolerance count as
equally alike, all different values within it are kept until the best of all is known.

What the candidates tell about other instants is asked in a second pass, of those alone who are candidates in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.attacks.ground import find_classes
from shoal.attacks.links import Carried, Chances, Links
from shoal.engines.attacking.targets import CELLS, Floats, Rows, owners_of, pieces
from shoal.engines.blocks import PUBLISHED, BlockCandidate, Clock
from shoal.engines.contract import Blocks, Shared
from shoal.engines.work import starts_of_keys, whole_keys

_KEYS = ("way", "target")

ENTRIES = pa.schema(
    [("way", pa.int32()), ("target", pa.int32()), ("value", pa.float64()), ("rows", pa.int64()), ("own", pa.int64())]
)
"""For each way to compare and each target: how far series are, how many are, and how many of these are its own."""

_FOUND = pa.schema([*ENTRIES, ("next", pa.float64())])
_TOLD = pa.schema([("way", pa.int32()), ("target", pa.int32()), ("told", pa.int64())])
_SHOWN = pa.schema(
    [
        ("way", pa.int32()),
        ("target", pa.int32()),
        ("places", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
)


class Way(Protocol):
    """One way to compare targets with series."""

    @property
    def tolerance(self) -> float:
        """Values that are no further apart are equal."""
        ...

    def nearest(self, series: Floats, targets: slice) -> tuple[Links, Floats]:
        """The nearest of different series (series, width) to some targets, and the value of each entry."""
        ...

    def told(self, links: Links, series: Floats, targets: slice) -> tuple[NDArray[np.bool_], Floats]:
        """Cells that all of some candidates have right (targets, instants x channels), and what they show there."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """What every worker needs: it travels once."""

    clock: Clock
    shown: Callable[[Floats], Floats]
    """What is compared, (series, width), of published values (series, instants, channels)."""
    ways: tuple[Way, ...]
    n_targets: int
    subjects: pa.Array
    of_targets: Rows

    @property
    def tolerances(self) -> Floats:
        """That of each way."""
        return np.array([way.tolerance for way in self.ways])


@dataclass(frozen=True, eq=False, repr=False)
class Linked:
    """What one way to compare finds."""

    chances: Chances
    reach: Floats
    """How far from each target a series may be to be a candidate."""


def link(candidate: BlockCandidate, plan: Plan) -> list[Linked]:
    """For each way what every target finds among all published rows."""
    engine = candidate.panel.engine
    entries = engine.map(candidate.table, _Compare(engine.share(plan)), ENTRIES)
    found = engine.collect(engine.together(entries, _KEYS, _Conclude(plan.tolerances), _FOUND))
    linked = []
    for way, tolerance in enumerate(plan.tolerances.tolist()):
        rows = found.filter(pa.array(found["way"].to_numpy() == way)).sort_by("target")
        best, following = rows["value"].to_numpy(), rows["next"].to_numpy()
        # A best within the tolerance is 0: it could not be told from an exact match.
        distances = np.column_stack([np.where(best > tolerance, best, 0.0), following])
        sizes, own = (rows[name].to_numpy().astype(np.int64) for name in ("rows", "own"))
        linked.append(Linked(Chances(sizes, own, distances), best + tolerance))
    return linked


@dataclass(frozen=True)
class _Compare:
    """Entries of the rows of a part."""

    plan: Shared[Plan]

    def __call__(self, blocks: Blocks) -> Blocks:
        plan = self.plan.value
        kept = ENTRIES.empty_table()
        for piece, values in pieces(blocks, PUBLISHED, plan.clock):
            series, classes = find_classes(plan.shown(values))
            owners = owners_of(piece, plan.subjects)
            found = [
                _entries(plan, number, way, series, classes, owners, targets)
                for number, way in enumerate(plan.ways)
                for targets in _slices(plan.n_targets, len(series))
            ]
            kept = narrowed(pa.concat_tables([kept, *found]), plan.tolerances)
        yield from kept.to_batches()


def _entries(
    plan: Plan, number: int, way: Way, series: Floats, classes: Rows, owners: Rows, targets: slice
) -> pa.Table:
    links, values = way.nearest(series, targets)
    target, sizes = links.target(), np.bincount(classes, minlength=len(series))
    own = _own(classes, owners, links.which, plan.of_targets[targets][target])
    following = links.distances[:, 1]
    everyone = np.arange(targets.start, targets.stop)
    n = len(target) + len(everyone)
    none = np.zeros(len(everyone), dtype=np.int64)
    return pa.table(
        [
            np.full(n, number, dtype=np.int32),
            np.concatenate([target + targets.start, everyone]).astype(np.int32),
            np.concatenate([values, following]),
            np.concatenate([sizes[links.which], none]),
            np.concatenate([own, none]),
        ],
        schema=ENTRIES,
    )


def _own(classes: Rows, owners: Rows, which: Rows, subjects: Rows) -> Rows:
    """Rows of each class in a list that belong to the subject beside it."""
    if not (owners >= 0).any():
        return np.zeros(len(which), dtype=np.int64)
    return Carried.of(classes, owners).count(which, subjects)


def _slices(n: int, width: int) -> list[slice]:
    height = max(1, CELLS // max(1, width))
    return [slice(first, min(first + height, n)) for first in range(0, n, height)]


def narrowed(entries: pa.Table, tolerances: Floats) -> pa.Table:
    """Only what may still matter: for each target the best values, added up where equal, and the next one."""
    way, target, value, rows, own = (entries[name].to_numpy() for name in ENTRIES.names)
    order = np.lexsort((value, target, way))
    way, target, value, rows, own = (column[order] for column in (way, target, value, rows, own))
    new_key = _changes(way) | _changes(target)
    starts = np.flatnonzero(new_key | _changes(value))
    if not len(starts):
        return entries
    rows, own = np.add.reduceat(rows, starts), np.add.reduceat(own, starts)
    way, target, value, new_key = way[starts], target[starts], value[starts], new_key[starts]
    best = value[new_key][np.cumsum(new_key) - 1]
    near = value <= best + tolerances[way]
    # Sorted by value: the first that is not near is the next one.
    following = ~near & np.append(True, near[:-1])
    use = near | following
    return pa.table([column[use] for column in (way, target, value, rows, own)], schema=ENTRIES)


def _changes(column: NDArray[np.generic]) -> NDArray[np.bool_]:
    found = np.ones(len(column), dtype=np.bool_)
    found[1:] = column[1:] != column[:-1]
    return found


@dataclass(frozen=True)
class _Conclude:
    """The nearest of all blocks, how many they are, and the next."""

    tolerances: Floats

    def __call__(self, blocks: Blocks) -> Blocks:
        for table in whole_keys(blocks, _KEYS, rows=1 << 16):
            entries = narrowed(table, self.tolerances)
            way, target, value, rows, own = (entries[name].to_numpy() for name in ENTRIES.names)
            new_key = _changes(way) | _changes(target)
            starts, group = np.flatnonzero(new_key), np.cumsum(new_key) - 1
            best = value[starts]
            near = value <= best[group] + self.tolerances[way]
            yield pa.record_batch(
                [
                    way[starts],
                    target[starts],
                    best,
                    np.add.reduceat(np.where(near, rows, 0), starts),
                    np.add.reduceat(np.where(near, own, 0), starts),
                    np.minimum.reduceat(np.where(near, np.inf, value), starts),
                ],
                schema=_FOUND,
            )


def tell(candidate: BlockCandidate, plan: Plan, linked: Sequence[Linked]) -> list[Rows]:
    """For each way at how many instants all candidates of a target tell its reading."""
    engine = candidate.panel.engine
    reach = tuple(found.reach for found in linked)
    shown = engine.map(candidate.table, _Tell(engine.share(plan), engine.share(reach)), _SHOWN)
    agree = _Agree(candidate.clock.n_channels)
    told = engine.collect(engine.together(shown, _KEYS, agree, _TOLD))
    counts = np.zeros((len(plan.ways), plan.n_targets), dtype=np.int64)
    way, target, n = (told[name].to_numpy() for name in _TOLD.names)
    counts[way, target] = n
    return list(counts)


@dataclass(frozen=True)
class _Tell:
    """Of the candidates in a part: the cells that all of them have right, and what they show there."""

    plan: Shared[Plan]
    reach: Shared[tuple[Floats, ...]]

    def __call__(self, blocks: Blocks) -> Blocks:
        plan = self.plan.value
        for _, values in pieces(blocks, PUBLISHED, plan.clock):
            series, _ = find_classes(plan.shown(values))
            for number, (way, reach) in enumerate(zip(plan.ways, self.reach.value, strict=True)):
                for targets in _slices(plan.n_targets, len(series)):
                    yield self._shown(number, way, reach[targets], series, targets)

    def _shown(self, number: int, way: Way, reach: Floats, series: Floats, targets: slice) -> pa.RecordBatch:
        links, values = way.nearest(series, targets)
        target = links.target()
        use = values <= reach[target]
        counts = np.bincount(target[use], minlength=len(reach))
        start = np.concatenate([[0], np.cumsum(counts)])
        cells, shown = way.told(Links(links.distances, start, links.which[use]), series, targets)
        there = np.flatnonzero(counts)
        whose, place = np.nonzero(cells[there])
        offsets = np.searchsorted(whose, np.arange(len(there) + 1)).astype(np.int32)
        return pa.record_batch(
            [
                np.full(len(there), number, dtype=np.int32),
                (there + targets.start).astype(np.int32),
                pa.ListArray.from_arrays(offsets, place.astype(np.int32)),
                pa.ListArray.from_arrays(offsets, shown[there[whose], place]),
            ],
            schema=_SHOWN,
        )


@dataclass(frozen=True)
class _Agree:
    """How many instants are right in every block that has candidates, with one value in all of them."""

    n_channels: int

    def __call__(self, blocks: Blocks) -> Blocks:
        for table in whole_keys(blocks, _KEYS, rows=1 << 12):
            whole = table.combine_chunks()
            starts = starts_of_keys(whole, _KEYS)
            key = np.cumsum(starts) - 1
            places, values = (whole[name].combine_chunks() for name in ("places", "values"))
            of_cell = key[pc.list_parent_indices(places).to_numpy()]
            place, value = pc.list_flatten(places).to_numpy(), pc.list_flatten(values).to_numpy()
            told = self._told(of_cell, place, value, np.bincount(key))
            first = np.flatnonzero(starts)
            way, target = (whole[name].to_numpy()[first] for name in _KEYS)
            yield pa.record_batch([way, target, told], schema=_TOLD)

    def _told(self, key: Rows, place: NDArray[np.int32], value: Floats, n_blocks: Rows) -> Rows:
        order = np.lexsort((place, key))
        key, place, value = key[order], place[order], value[order]
        cells = np.flatnonzero(_changes(key) | _changes(place))
        if not len(cells):
            return np.zeros(len(n_blocks), dtype=np.int64)
        low, high = np.minimum.reduceat(value, cells), np.maximum.reduceat(value, cells)
        whole = (np.diff(np.append(cells, len(key))) == n_blocks[key[cells]]) & (low == high)
        key, instant = key[cells][whole], place[cells][whole] // self.n_channels
        new = _changes(key) | _changes(instant)
        n_right = np.bincount(np.cumsum(new) - 1, minlength=1)[: np.count_nonzero(new)]
        return np.bincount(key[new][n_right == self.n_channels], minlength=len(n_blocks))
