"""How much value loss the blocks can have cost, at most.

Let VL be the mean over the published series of the root of the mean squared width of their envelopes. For a subgroup S
that is the same whether the panel is divided or not, every group that holds it is made of whole subgroups and has k
series, so that it is at least as wide as `kernels.kp_floor` finds over all subgroups of the panel: floor(S). A series
of a leaf that was cut is a subgroup of its own here, of one, as nothing is known of its subgroup in an undivided panel.
With the loss of S in what is published,

    VL(divided) - VL(undivided)  <=  mean over series of ( loss(S) - floor(S) )

and the same holds against any other way to put these subgroups together, the best one included. The mean is taken over
all subgroups where they are few, otherwise over a sample that the hash of their names draws; then it is the upper limit
of its confidence interval, which a chance of 1 in 1000 lets it miss.

Where p = k and no leaf is cut, every subgroup is a group: nothing is lost, and the bound is 0. Otherwise it is wide,
about a third of the loss with k = 10 and p = 3 on random walks, because groups of several subgroups cannot be as tight
as their nearest pairs are, in blocks or not. What blocks really cost is a few percent: 1 to 4 % with blocks of 2 000 of
20 000 series, and `benchmarks/scale_kp.py` measures it with the default. Where series of bad leaves were recycled in
several places, they count as series of a cut leaf, and the two means are over series that differ by those suppressed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.blocks import GROUP, PUBLISHED, chances
from shoal.engines.contract import Blocks, Engine, Shared, Table
from shoal.engines.kp.cells import Cells
from shoal.engines.kp.subgroups import BOX, LEAD, PLACE, SIZE, places_of, with_subgroup
from shoal.engines.kp.words import only, stretches
from shoal.engines.rows import ID, unpack
from shoal.engines.work import starts_of_keys, whole_keys
from shoal.kernels.exact_sums import add_columns, no_sums, totals
from shoal.kernels.kp_floor import floors, nearest

_MOST_SUBGROUPS, _MOST_BYTES = 20_000, 2**25
_MOST_TARGETS = 500
_CHANCE = 0.001
_SEED = 9  # of the hash that draws them; not a secret

_SAMPLE = pa.schema([(ID, pa.string()), (SIZE, pa.int64()), (BOX, pa.binary()), (PLACE, pa.binary())])
_FOUND = pa.schema([("what", pa.int64()), ("width", pa.float64()), ("rows", pa.int64())])
_LOSSES = pa.schema(
    [
        *((name, pa.int64()) for name in ("limb", "block", "count", "last")),
        (ID, pa.string()),
        ("loss", pa.float64()),
    ]
)


@dataclass(frozen=True, eq=False)
class Sample:
    """Some subgroups: names of their first series, sizes, places, and boxes (subgroups, 2, instants)."""

    ids: tuple[str, ...]
    sizes: NDArray[np.int64]
    places: NDArray[np.float32]
    boxes: NDArray[np.float64]
    is_all: bool

    def first(self, n: int) -> Sample:
        """The first so many; they are in an order that has nothing to do with them."""
        is_all = self.is_all and n >= len(self.ids)
        return Sample(self.ids[:n], self.sizes[:n], self.places[:n], self.boxes[:n], is_all)


@dataclass(frozen=True, eq=False)
class Near:
    """What is found over all subgroups: how many there are, series in each cell, and the floor of each target."""

    n_subgroups: int
    in_cell: NDArray[np.int64]
    floors: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What is found in what is published: groups, mean value loss, and the loss of each target."""

    n_series: int
    n_groups: int
    value_loss: float
    of_target: NDArray[np.float64]


def share_drawn(*, n_series: int, least: int, n_instants: int) -> float:
    """Which share of the subgroups, of `least` series or more, is some 20 000 of them."""
    return min(1.0, min(_MOST_SUBGROUPS, _MOST_BYTES // (16 * n_instants)) * least / n_series)


def draw(engine: Engine, table: Table, share: float) -> tuple[pa.Table, int]:
    """A share of the subgroups, drawn by a hash of their names; and how many series have none."""
    some = only(engine, table, (ID, LEAD, SIZE, BOX, PLACE))
    rows = engine.collect(engine.map(some, _Draw(share), _SAMPLE))
    drawn = pc.is_valid(rows[ID])
    n_without = pc.sum(rows.filter(pc.invert(drawn))[SIZE]).as_py() or 0
    return rows.filter(drawn), int(n_without)


def as_sample(rows: pa.Table, share: float, n_instants: int) -> Sample:
    """What was drawn, in the order of the hashes."""
    if not rows.num_rows:
        return Sample((), np.empty(0, np.int64), np.empty((0, 1), np.float32), np.empty((0, 2, n_instants)), share >= 1)
    names = rows[ID].combine_chunks()
    rows = rows.take(pa.array(np.lexsort((names.to_numpy(zero_copy_only=False), chances(names, _SEED)))))
    return Sample(
        tuple(rows[ID].to_pylist()),
        rows[SIZE].to_numpy(),
        places_of(rows[PLACE]),
        np.ascontiguousarray(unpack(rows[BOX]).reshape(rows.num_rows, n_instants, 2).swapaxes(1, 2)),
        share >= 1.0,
    )


def look_near(engine: Engine, table: Table, sample: Sample, cells: Cells, k: int, instants: NDArray[np.int64]) -> Near:
    """Count the series of each cell, and find the floors of the first subgroups of the sample; over these instants."""
    targets = sample.first(_MOST_TARGETS)
    boxes = engine.share(np.ascontiguousarray(targets.boxes[:, :, instants]))
    work = _LookNear(boxes, engine.share(cells), k, tuple(instants.tolist()))
    found = engine.map(only(engine, table, (LEAD, SIZE, BOX, PLACE)), work, _FOUND)
    # Merged where they are: of every part there are up to k entries for each target.
    rows = engine.collect(engine.together(found, ["what"], _Merge(k), _FOUND, order=["width"]))
    what, width, found = (rows[name].to_numpy() for name in ("what", "width", "rows"))
    in_cell = np.zeros(cells.n_cells, dtype=np.int64)
    np.add.at(in_cell, -2 - what[what < -1], found[what < -1])
    of_target = what >= 0
    least = floors(what[of_target], width[of_target], found[of_target], k, len(targets.ids))
    return Near(int(found[what == -1].sum()), in_cell, np.sqrt(least / len(instants)))


def outcome(engine: Engine, table: Table, targets: Sample | None) -> Outcome:
    """Sum up what is published. Whole numbers are added, so that every engine finds the same."""
    names = () if targets is None else targets.first(_MOST_TARGETS).ids
    work = _Losses(engine.share(names))
    rows = engine.collect(engine.map(only(engine, table, (ID, PUBLISHED, GROUP)), work, _LOSSES)).to_pylist()
    sums = no_sums(1)
    last: dict[int, int] = {}
    n_series = 0
    losses: dict[str, float] = {}
    for row in rows:
        if row[ID] is not None:
            losses[row[ID]] = row["loss"]
        elif row["limb"] is not None:
            sums[row["limb"], 0] += row["count"]
        else:
            last[row["block"]] = max(last.get(row["block"], 0), row["last"])
            n_series += row["count"]
    of_target = np.array([losses[name] for name in names])
    return Outcome(n_series, sum(last.values()), float(totals(sums)[0] / max(1, n_series)), of_target)


def extra_at_most(found: Outcome, near: Near, sample: Sample) -> float:
    """The bound on VL(divided) - VL(undivided), in the unit of the values."""
    targets = sample.first(_MOST_TARGETS)
    n = len(targets.ids)
    if n < 2 and not targets.is_all:
        return found.value_loss  # nothing is known of the other one but that it is not below 0
    extra = targets.sizes * np.maximum(found.of_target - near.floors, 0.0)
    mean = float(extra.mean())
    if not targets.is_all:
        mean += NormalDist().inv_cdf(1.0 - _CHANCE) * float(extra.std(ddof=1)) / math.sqrt(n)
    return min(found.value_loss, mean * near.n_subgroups / found.n_series)


@dataclass(frozen=True)
class _Draw:
    share: float

    def __call__(self, blocks: Blocks) -> Blocks:
        n_without = 0
        for block in blocks:
            n_without += block.column(LEAD).null_count
            drawn = (block.column(SIZE).to_numpy() > 0) & (chances(block.column(ID), _SEED) < self.share)
            some = block.filter(pa.array(drawn))
            if some.num_rows:
                yield some.select(_SAMPLE.names)
        if n_without:
            yield pa.RecordBatch.from_pylist([{SIZE: n_without}], schema=_SAMPLE)


@dataclass(frozen=True)
class _LookNear:
    targets: Shared[NDArray[np.float64]]
    cells: Shared[Cells]
    k: int
    instants: tuple[int, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        """One list for each part: lists are merged by what they hold, not by where they come from."""
        targets, cells, chosen = self.targets.value, self.cells.value, np.array(self.instants)
        widths, rows = np.empty((len(targets), self.k)), np.empty((len(targets), self.k), dtype=np.int64)
        counts = np.zeros(len(targets), dtype=np.int64)
        in_cell = np.zeros(cells.n_cells, dtype=np.int64)
        n_subgroups = 0
        for block in map(with_subgroup, stretches(blocks)):
            in_cell += np.bincount(cells.of(places_of(block.column(PLACE))), minlength=len(in_cell))
            some = block.filter(pa.array(block.column(SIZE).to_numpy() > 0))
            n_subgroups += some.num_rows
            if len(targets) and some.num_rows:
                low, high = (np.ascontiguousarray(ends[:, chosen]) for ends in _boxes(some))
                nearest(targets, low, high, np.array(some.column(SIZE).to_numpy()), self.k, widths, rows, counts)
        seen = np.flatnonzero(in_cell)
        listed = np.arange(self.k) < counts[:, None]
        columns = [
            np.concatenate([[-1], -2 - seen, np.repeat(np.arange(len(targets)), counts)]),
            np.concatenate([np.zeros(1 + len(seen)), widths[listed]]),
            np.concatenate([[n_subgroups], in_cell[seen], rows[listed]]),
        ]
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=_FOUND)


@dataclass(frozen=True)
class _Merge:
    """Counts added up; of each target the nearest entries that make k rows together."""

    k: int

    def __call__(self, blocks: Blocks) -> Blocks:
        for table in whole_keys(blocks, ["what"]):
            what, rows = table["what"].to_numpy(), table["rows"].to_numpy()
            starts = np.flatnonzero(starts_of_keys(table, ["what"]))
            lengths = np.diff(np.append(starts, len(what)))
            before = np.cumsum(rows) - rows
            kept = before - np.repeat(before[starts], lengths) < self.k
            counted = what < 0
            kept[counted] = False
            kept[starts] = True
            rows = np.where(counted, np.repeat(np.add.reduceat(rows, starts), lengths), rows)
            merged = [pa.array(what), table["width"].combine_chunks(), pa.array(rows)]
            yield pa.RecordBatch.from_arrays(merged, schema=_FOUND).filter(pa.array(kept))


@dataclass(frozen=True)
class _Losses:
    names: Shared[tuple[str, ...]]

    def __call__(self, blocks: Blocks) -> Blocks:
        """Sums as whole numbers; the last group of each block; the losses of the targets."""
        sums = no_sums(1)
        blocks_seen: dict[int, list[int]] = {}
        found: list[dict[str, Any]] = []
        names = pa.array(self.names.value, pa.string())
        for block in stretches(blocks):
            loss = loss_of(unpack(block.column(PUBLISHED)))
            add_columns(sums, loss[:, None])
            group = block.column(GROUP).to_numpy()
            for one in np.unique(group >> 32).tolist():
                there = group[group >> 32 == one] & 0xFFFFFFFF
                last, n_series = blocks_seen.get(one, [0, 0])
                blocks_seen[one] = [max(last, int(there.max()) + 1), n_series + len(there)]
            asked = pc.is_in(block.column(ID), value_set=names)
            here = np.flatnonzero(asked.to_numpy(zero_copy_only=False))
            named = block.column(ID).take(pa.array(here)).to_pylist()
            found += [{ID: name, "loss": one} for name, one in zip(named, loss[here].tolist(), strict=True)]
        found += [{"limb": limb, "count": int(sums[limb, 0])} for limb in np.flatnonzero(sums[:, 0]).tolist()]
        found += [{"block": one, "count": n, "last": last} for one, (last, n) in blocks_seen.items()]
        if found:
            yield pa.RecordBatch.from_pylist(found, schema=_LOSSES)


def loss_of(ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """The value loss of each row of low and high ends in turn."""
    loss: NDArray[np.float64] = np.sqrt(np.mean(np.square(ends[:, 1::2] - ends[:, ::2]), axis=1))
    return loss


def _boxes(rows: pa.RecordBatch) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both ends of each row's box."""
    ends = unpack(rows.column(BOX))
    return ends[:, ::2], ends[:, 1::2]
