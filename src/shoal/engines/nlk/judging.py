"""Instants judged for the check of (n, l, k)-anonymity on an engine: who is published alike, and in how large a group.

Values are compared bit by bit in all channels, groups are counted in subjects (or in series, where the guarantee says
so), with the kernels of the check in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Shared
from shoal.engines.nlk.turning import INSTANT, RANGE, VALUES, as_slices, each_instant, joined, lengths_of, several
from shoal.engines.rows import ID, SUBJECT
from shoal.engines.work import each_key, starts_of_keys, whole_keys
from shoal.kernels.nlk_labels import Groups, instant_labels, make_groups

COUNTS, FIRST, MOST, SUSPECTS, N_SERIES = "counts", "first", "most", "suspects", "n_series"
ALL, MEMBERS, LABELS, CROWDS, CODE = "all", "members", "labels", "crowds", "code"

COUNTED = pa.schema([(RANGE, pa.int32()), (FIRST, pa.int32()), (COUNTS, pa.binary())])
"""Of each series of a range: at how many instants of a part its group is below k."""

SUMMED = pa.schema(
    [(RANGE, pa.int32()), (N_SERIES, pa.int32()), (MOST, pa.int32()), (SUSPECTS, pa.binary()), (COUNTS, pa.binary())]
)
"""Of a range: its number of series, the largest count, and the places and counts of the series that have too many."""

MARKED = pa.schema([(ALL, pa.int32()), (MEMBERS, pa.binary())])
GATHERED = pa.schema([(INSTANT, pa.int32()), (LABELS, pa.binary()), (CROWDS, pa.binary())])
"""Labels and group sizes of some series at an instant."""


class Judged(NamedTuple):
    """Groups of one instant."""

    t: int
    labels: NDArray[np.int32]
    crowds: NDArray[np.int32]  # of each series: how many its group has
    lengths: NDArray[np.int64]  # of the ranges


@dataclass(frozen=True)
class Rule:
    """What is counted: subjects by their codes, or series where there are none."""

    k: int
    n_channels: int
    subjects: Shared[NDArray[np.int64]] | None


def judged(blocks: Blocks, rule: Rule) -> Iterator[Judged]:
    """Instants one by one, of pieces of a turned panel."""
    for some in several(each_instant(blocks)):
        shape = -1, rule.n_channels
        bits = np.stack([joined(table[VALUES], np.uint64).reshape(shape) for _, table in some], axis=1)
        labels = instant_labels(bits)
        subjects = np.arange(len(bits)) if rule.subjects is None else rule.subjects.value
        groups: Groups = make_groups(labels, subjects)
        for i, (t, table) in enumerate(some):
            lengths = lengths_of(table[VALUES]) // (8 * rule.n_channels)
            yield Judged(t, labels[:, i], groups.crowd[i][groups.start[i]], lengths)


@dataclass(frozen=True)
class Count:
    """Add up at how many instants of a part each series is in a group below k."""

    rule: Rule

    def __call__(self, blocks: Blocks) -> Blocks:
        """Rows of COUNTED."""
        counts: NDArray[np.int32] | None = None
        first, lengths = 0, np.empty(0, dtype=np.int64)
        for instant in judged(blocks, self.rule):
            if counts is None:
                counts = np.zeros(len(instant.labels), dtype=np.int32)
                first, lengths = instant.t, instant.lengths
            counts += instant.crowds < self.rule.k
        if counts is not None:
            numbers = [pa.array(some, pa.int32()) for some in (np.arange(len(lengths)), [first] * len(lengths))]
            yield pa.RecordBatch.from_arrays([*numbers, as_slices(counts, lengths)], schema=COUNTED)


@dataclass(frozen=True)
class Sum:
    """Counts over all instants; a series with `too_many` is a suspect."""

    too_many: int

    def __call__(self, blocks: Blocks) -> Blocks:
        """Rows of SUMMED."""
        for table in each_key(blocks, [RANGE]):
            counts = joined(table[COUNTS], np.int32).reshape(table.num_rows, -1).sum(axis=0, dtype=np.int32)
            suspects = np.flatnonzero(counts >= self.too_many).astype(np.int32)
            numbers = [table[RANGE][0].as_py(), len(counts), int(counts.max())]
            told = [pa.array([some.tobytes()], pa.binary()) for some in (suspects, counts[suspects])]
            yield pa.RecordBatch.from_arrays(
                [*(pa.array([number], pa.int32()) for number in numbers), *told], schema=SUMMED
            )


@dataclass(frozen=True)
class Mark:
    """Who shares a value with one of the suspects at an instant of the part: a bit for each series."""

    rule: Rule
    suspects: Shared[NDArray[np.int64]]

    def __call__(self, blocks: Blocks) -> Blocks:
        """Rows of MARKED."""
        members: NDArray[np.bool_] | None = None
        suspects = self.suspects.value
        for instant in judged(blocks, self.rule):
            if members is None:
                members = np.zeros(len(instant.labels), dtype=np.bool_)
            with_suspects = np.zeros(int(instant.labels.max()) + 1, dtype=np.bool_)
            with_suspects[instant.labels[suspects]] = True
            members |= with_suspects[instant.labels]
        if members is not None:
            yield _marked(np.packbits(members))


@dataclass(frozen=True)
class Unite:
    """The members of all parts: a bit for each series takes too much to come to the driver once per part."""

    def __call__(self, blocks: Blocks) -> Blocks:
        """One row of MARKED."""
        members: NDArray[np.uint8] | None = None
        for block in blocks:
            for row in block.column(MEMBERS):
                some = np.frombuffer(row.as_buffer(), np.uint8)
                members = some.copy() if members is None else members | some
        if members is not None:
            yield _marked(members)


def _marked(members: NDArray[np.uint8]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([0], pa.int32()), pa.array([members.tobytes()])], schema=MARKED)


@dataclass(frozen=True)
class Gather:
    """Labels and group sizes of some series at every instant: all that a search needs of them."""

    rule: Rule
    series: Shared[NDArray[np.int64]] | None

    def __call__(self, blocks: Blocks) -> Blocks:
        """Rows of GATHERED."""
        for instant in judged(blocks, self.rule):
            chosen = slice(None) if self.series is None else self.series.value
            told = [pa.array([some[chosen].tobytes()], pa.binary()) for some in (instant.labels, instant.crowds)]
            yield pa.RecordBatch.from_arrays([pa.array([instant.t], pa.int32()), *told], schema=GATHERED)


@dataclass(frozen=True)
class MostSeries:
    """The largest number of series that one subject has, of rows that come together by subject."""

    def __call__(self, blocks: Blocks) -> Blocks:
        """One row."""
        most = 0
        for table in whole_keys(blocks, [SUBJECT]):
            starts = np.flatnonzero(starts_of_keys(table.combine_chunks(), [SUBJECT]))
            most = max(most, int(np.diff([*starts, table.num_rows]).max()))
        if most:
            yield pa.RecordBatch.from_arrays([pa.array([most], pa.int32())], [MOST])


@dataclass(frozen=True)
class FirstOfSubject:
    """For each series the id-order code of its subject: a number that is the same for the series of a subject."""

    def __call__(self, blocks: Blocks) -> Blocks:
        """Rows of id and the first id of the subject, of rows that come together by subject and then by id."""
        for table in whole_keys(blocks, [SUBJECT]):
            starts = starts_of_keys(table.combine_chunks(), [SUBJECT])
            first = np.flatnonzero(starts)[np.cumsum(starts) - 1]
            ids = table[ID].combine_chunks()
            yield pa.RecordBatch.from_arrays([ids, ids.take(pa.array(first))], [ID, CODE])


def subject_codes(rows: pa.Table) -> NDArray[np.int64]:
    """Codes by the order of ids, from rows of FirstOfSubject."""
    ordered = rows.sort_by(ID)
    return np.asarray(ordered[CODE].combine_chunks().dictionary_encode().indices.to_numpy(), dtype=np.int64)
