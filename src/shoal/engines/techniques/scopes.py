"""Means over groups of subjects that keep the 15/15 rule, on an engine.

Groups are the entries of an attribute; each series is published as the mean of its group. What decides is merged from
sums where the series lie: for each subject what it adds up to, for each entry the number of its subjects, their total
and the largest. The driver joins or withholds entries from those, as in memory. A subject that is above the limit among
all stays above it when others are taken away, so that they can be taken away together.

Means are rounded from sums in whole steps, the same on every engine; in memory the last digit may differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.blocks import BlockCandidate, BlockPanel
from shoal.engines.contract import Blocks, Engine, Shared, Table
from shoal.engines.reading.static import as_texts
from shoal.engines.reading.tally import TALLY
from shoal.engines.rows import ID, ROW, SUBJECT, pack, unpack
from shoal.engines.techniques.scopes_plan import Entry, Plan, make_plan
from shoal.engines.techniques.sums import Steps
from shoal.engines.techniques.table import made, schema_of, with_published
from shoal.engines.work import starts_of_keys, whole_keys
from shoal.errors import ParameterError
from shoal.guarantees import AggregateRule, KAnonymity
from shoal.methods.altered import refuse_gaps
from shoal.methods.scope_aggregation import ScopeAggregation

_ENTRY, _AMOUNTS, _SEVERAL, _N = "entry", "amounts", "several", "n"

_SUBJECTS = pa.schema(
    [(SUBJECT, pa.string()), (_ENTRY, pa.string()), (ID, pa.string()), (_AMOUNTS, pa.binary()), (_SEVERAL, pa.bool_())]
)
_LARGE = pa.schema([(SUBJECT, pa.string()), (_AMOUNTS, pa.binary())])
_SUMS = pa.schema([("label", pa.int64()), (_N, pa.int64()), ("coarse", pa.binary()), ("fine", pa.binary())])


def aggregate_scopes(method: ScopeAggregation, panel: BlockPanel) -> BlockCandidate:
    """Form the groups, mend those that break the rule, publish their means."""
    _refuse(method, panel)
    engine, n_channels = panel.engine, panel.clock.n_channels
    single = engine.map(panel.table, _Single(str(method.within), n_channels), _SUBJECTS)
    subjects = engine.keep(engine.together(single, [SUBJECT], _Whole(), _SUBJECTS, order=[ID]))
    n_several = _total(engine, subjects, _CountSeveral())
    if n_several:
        raise ParameterError(
            f"{n_several} of {panel.n_subjects} subjects have series in several groups of {method.within!r}. On an "
            "engine every subject is in one group: complete the attribute, or leave --engine out."
        )
    entries, gone = _entries(engine, subjects, panel, float(method.share))
    plan = make_plan(entries, gone, int(method.size), float(method.share), method.otherwise)
    if not plan.n_groups:
        raise ParameterError(
            f"No group keeps the rule of at least {method.size} subjects, none with more than {method.share:g} of the "
            f"total; the panel has {panel.n_subjects} subjects. Lower size, raise share, or use otherwise='merge'."
        )
    shared = engine.share(plan)
    steps = Steps.of(_largest(engine, panel), panel.n_series)
    sums = engine.map(panel.table, _Sums(str(method.within), shared, steps, plan.n_groups), _SUMS)
    found = engine.collect(engine.together(sums, ["label"], _AddUp(), _SUMS)).sort_by("label")
    counts = found[_N].to_numpy()
    coarse, fine = (_integers(found[name]) for name in ("coarse", "fine"))
    # Whole numbers until here, so that this is the same everywhere.
    totals = np.ldexp(coarse.astype(np.float64), -steps.coarse) + np.ldexp(fine.astype(np.float64), -steps.fine)
    work = _Means(str(method.within), shared, engine.share(totals / counts[:, None]))
    table = engine.keep(engine.map(panel.table, work, schema_of(panel)))
    n_published = int(counts.sum())
    return made(
        method,
        panel,
        table,
        clock=panel.clock,
        figures={
            "groups": plan.n_groups,
            "groups_merged": plan.n_merged,
            "groups_withheld": plan.n_withheld,
            "subjects_too_large": len(plan.gone),
            "series_withheld": panel.n_series - n_published,
            "cells_withheld": 0,
        },
        n_published=n_published,
        aims_at=(AggregateRule(int(method.size), float(method.share)), KAnonymity(int(method.size))),
    )


def _refuse(method: ScopeAggregation, panel: BlockPanel) -> None:
    if method.within is None:
        raise ParameterError(
            "scope-aggregation of groups drawn by chance does not run on an engine: groups that break the rule would "
            "have to be joined one by one. Name an attribute with within=, or use microaggregation."
        )
    if method.figure != "mean":
        raise ParameterError(
            "figure='total' does not run on an engine, which publishes each series as the mean of its group. Use "
            "figure='mean': the total is that times the number of series published alike."
        )
    if method.within not in panel.attributes:
        raise ParameterError(
            f"within={method.within!r} is not among the {len(panel.attributes)} attributes of the panel. "
            "Name it as quasi when reading."
        )
    if panel.n_subjects < method.size:
        raise ParameterError(
            f"size={method.size} needs at least {method.size} subjects, the panel has {panel.n_subjects}. "
            "Lower size or read more series."
        )
    refuse_gaps(method, panel)


def _texts(column: pa.Array) -> pa.Array:
    """Entries as texts that are never missing: one without an entry is the empty text, the others begin with a sign."""
    return pc.fill_null(pc.binary_join_element_wise("=", as_texts(column), ""), "")


@dataclass(frozen=True)
class _Single:
    """What each series adds, as if it were its subject's only one."""

    within: str
    n_channels: int

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            if not block.num_rows:
                continue
            readings = np.abs(unpack(block.column(ROW))).reshape(block.num_rows, -1, self.n_channels)
            yield pa.record_batch(
                [
                    block.column(SUBJECT),
                    _texts(block.column(self.within)),
                    block.column(ID),
                    pack(readings.sum(axis=1)),
                    pa.array(np.zeros(block.num_rows, dtype=np.bool_)),
                ],
                schema=_SUBJECTS,
            )


@dataclass(frozen=True)
class _Whole:
    """One row for each subject: what all its series add up to, and its first id."""

    def __call__(self, blocks: Blocks) -> Blocks:
        for table in whole_keys(blocks, [SUBJECT]):
            starts = np.flatnonzero(starts_of_keys(table, [SUBJECT]))
            amounts = np.add.reduceat(unpack(table[_AMOUNTS]), starts, axis=0)
            codes = table[_ENTRY].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
            several = np.maximum.reduceat(codes, starts) != np.minimum.reduceat(codes, starts)
            first = table.take(pa.array(starts))
            yield pa.record_batch(
                [*(first[name].combine_chunks() for name in (SUBJECT, _ENTRY, ID)), pack(amounts), pa.array(several)],
                schema=_SUBJECTS,
            )


@dataclass(frozen=True)
class _CountSeveral:
    def __call__(self, blocks: Blocks) -> Blocks:
        n = sum(int(block.column(_SEVERAL).to_numpy(zero_copy_only=False).sum()) for block in blocks)
        yield pa.record_batch([["several"], [0], [n]], schema=TALLY)


def _total(engine: Engine, table: Table, work: Any) -> int:
    return int(sum(engine.collect(engine.map(table, work, TALLY))["n"].to_pylist()))


def _entries(engine: Engine, subjects: Table, panel: BlockPanel, share: float) -> tuple[list[Entry], frozenset[str]]:
    """The entries without the subjects that are too large for any group, and those."""
    n_channels = panel.clock.n_channels
    schema = _entry_schema(n_channels)
    largest = engine.collect(engine.map(subjects, _LargestAmount(), _LARGE))[_AMOUNTS]
    steps = Steps.of(float(unpack(largest).max()), panel.n_subjects)
    gone: frozenset[str] = frozenset()
    while True:
        partial = engine.map(subjects, _Entries(steps, gone, n_channels, schema), schema)
        rows = engine.collect(engine.together(partial, [_ENTRY], _MergeEntries(n_channels, schema), schema))
        entries = [Entry.of(row, n_channels, steps) for row in rows.to_pylist()]
        totals = np.array([float(sum(entry.totals[c] for entry in entries)) for c in range(n_channels)])
        large = engine.collect(engine.map(subjects, _TooLarge(share * totals, gone), _LARGE))
        if not large.num_rows:
            return entries, gone
        gone |= set(large[SUBJECT].to_pylist())


def _entry_schema(n_channels: int) -> pa.Schema:
    numbers = [
        (f"{what} {c}", pa.float64() if what == "largest" else pa.int64())
        for what in ("coarse", "fine", "largest")
        for c in range(n_channels)
    ]
    return pa.schema([(_ENTRY, pa.string()), (ID, pa.string()), ("free", pa.string()), (_N, pa.int64()), *numbers])


@dataclass(frozen=True)
class _LargestAmount:
    def __call__(self, blocks: Blocks) -> Blocks:
        largest = max((float(unpack(block.column(_AMOUNTS)).max()) for block in blocks if block.num_rows), default=0.0)
        yield pa.record_batch([[""], pack(np.array([[largest]]))], schema=_LARGE)


@dataclass(frozen=True)
class _TooLarge:
    """Subjects above the limit in some channel."""

    limits: NDArray[np.float64]
    gone: frozenset[str]

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            if block.num_rows:
                over = (unpack(block.column(_AMOUNTS)) > self.limits).any(axis=1)
                over &= ~_are_in(block.column(SUBJECT), self.gone)
                yield block.filter(pa.array(over)).select([SUBJECT, _AMOUNTS])


def _are_in(names: pa.Array, some: frozenset[str]) -> NDArray[np.bool_]:
    found = pc.is_in(names, value_set=pa.array(sorted(some), pa.string()))
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


@dataclass(frozen=True)
class _Entries:
    """For each entry in a block: its subjects, what they add up to, the largest of them, and its first ids."""

    steps: Steps
    gone: frozenset[str]
    n_channels: int
    schema: pa.Schema

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            if not block.num_rows:
                continue
            order = pc.sort_indices(block.select([_ENTRY, ID]), sort_keys=[(_ENTRY, "ascending"), (ID, "ascending")])
            block = block.take(order)
            starts = np.flatnonzero(starts_of_keys(block, [_ENTRY]))
            free = ~_are_in(block.column(SUBJECT), self.gone)
            amounts = np.where(free[:, None], unpack(block.column(_AMOUNTS)), 0.0)
            coarse, fine = self.steps.split(amounts)
            place = np.where(free, np.arange(len(free)), len(free))
            first_free = np.minimum.reduceat(place, starts)
            ids = block.column(ID)
            yield pa.record_batch(
                [
                    block.column(_ENTRY).take(pa.array(starts)),
                    ids.take(pa.array(starts)),
                    ids.take(pa.array(first_free, mask=first_free == len(free))),
                    pa.array(np.add.reduceat(free.astype(np.int64), starts)),
                    *_columns(np.add.reduceat(coarse, starts, axis=0)),
                    *_columns(np.add.reduceat(fine, starts, axis=0)),
                    *_columns(np.maximum.reduceat(amounts, starts, axis=0)),
                ],
                schema=self.schema,
            )


def _columns(numbers: NDArray[Any]) -> Iterator[pa.Array]:
    return (pa.array(np.ascontiguousarray(column)) for column in numbers.T)


@dataclass(frozen=True)
class _MergeEntries:
    n_channels: int
    schema: pa.Schema

    def __call__(self, blocks: Blocks) -> Blocks:
        for table in whole_keys(blocks, [_ENTRY]):
            sums = [_N, *(f"{what} {c}" for what in ("coarse", "fine") for c in range(self.n_channels))]
            most = [f"largest {c}" for c in range(self.n_channels)]
            merged = table.group_by(_ENTRY, use_threads=False).aggregate(
                [(name, "sum") for name in sums] + [(name, "max") for name in most] + [(ID, "min"), ("free", "min")]
            )
            names = {f"{name}_sum": name for name in sums} | {f"{name}_max": name for name in most}
            names |= {f"{ID}_min": ID, "free_min": "free", _ENTRY: _ENTRY}
            renamed = merged.rename_columns([names[name] for name in merged.column_names])
            yield from renamed.select(self.schema.names).cast(self.schema).combine_chunks().to_batches()


def _labels(block: pa.RecordBatch, within: str, plan: Plan) -> NDArray[np.int64]:
    """The group of each series, -1 where it is withheld."""
    encoded = _texts(block.column(within)).dictionary_encode()
    of_entry = np.array([plan.labels.get(entry, -1) for entry in encoded.dictionary.to_pylist()], dtype=np.int64)
    found = of_entry[encoded.indices.to_numpy(zero_copy_only=False)]
    return np.where(_are_in(block.column(SUBJECT), plan.gone), -1, found)


@dataclass(frozen=True)
class _Sums:
    """For each group what its series add up to at each instant, in whole steps."""

    within: str
    plan: Shared[Plan]
    steps: Steps
    n_groups: int

    def __call__(self, blocks: Blocks) -> Blocks:
        coarse: dict[int, NDArray[np.int64]] = {}
        fine: dict[int, NDArray[np.int64]] = {}
        counts: dict[int, int] = {}
        for block in blocks:
            labels = _labels(block, self.within, self.plan.value)
            rows = unpack(block.column(ROW))
            for label in np.unique(labels[labels >= 0]).tolist():
                some = self.steps.split(rows[labels == label])
                own = [part.sum(axis=0) for part in some]
                coarse[label] = coarse.get(label, 0) + own[0]
                fine[label] = fine.get(label, 0) + own[1]
                counts[label] = counts.get(label, 0) + len(some[0])
        if counts:
            keys = sorted(counts)
            yield pa.record_batch(
                [
                    pa.array(keys, pa.int64()),
                    pa.array([counts[key] for key in keys], pa.int64()),
                    pa.array([coarse[key].tobytes() for key in keys], pa.binary()),
                    pa.array([fine[key].tobytes() for key in keys], pa.binary()),
                ],
                schema=_SUMS,
            )


def _integers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Rows of whole numbers from their bytes."""
    return np.stack([np.frombuffer(row, "<i8") for row in column.to_pylist()])


@dataclass(frozen=True)
class _AddUp:
    def __call__(self, blocks: Blocks) -> Blocks:
        for table in whole_keys(blocks, ["label"]):
            starts = np.flatnonzero(starts_of_keys(table, ["label"]))
            sums = [np.add.reduceat(_integers(table[name]), starts, axis=0) for name in ("coarse", "fine")]
            yield pa.record_batch(
                [
                    table["label"].combine_chunks().take(pa.array(starts)),
                    pa.array(np.add.reduceat(table[_N].to_numpy(), starts)),
                    *(pa.array([row.tobytes() for row in part], pa.binary()) for part in sums),
                ],
                schema=_SUMS,
            )


@dataclass(frozen=True)
class _Means:
    """Each series as the mean of its group; withheld ones are left out."""

    within: str
    plan: Shared[Plan]
    means: Shared[NDArray[np.float64]]

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            labels = _labels(block, self.within, self.plan.value)
            kept = block.filter(pa.array(labels >= 0))
            if kept.num_rows:
                labels = labels[labels >= 0]
                done = with_published(kept, pack(self.means.value[labels]))
                yield done.set_column(done.schema.get_field_index("group"), "group", pa.array(labels))


def _largest(engine: Engine, panel: BlockPanel) -> float:
    found = engine.collect(engine.map(panel.table, _LargestReading(), _LARGE))
    return float(unpack(found[_AMOUNTS]).max())


@dataclass(frozen=True)
class _LargestReading:
    def __call__(self, blocks: Blocks) -> Blocks:
        largest = max((float(np.abs(unpack(block.column(ROW))).max()) for block in blocks if block.num_rows), default=0)
        yield pa.record_batch([[""], pack(np.array([[float(largest)]]))], schema=_LARGE)
