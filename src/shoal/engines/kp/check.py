"""(k, P)-anonymity of what lies in blocks, exactly.

Series with one envelope are brought together by its bytes, never by a hash alone, and counted by subject: all of them,
and those with the same level and word. Before they travel, series of a stretch that are published alike become one row
with a list of subjects: an envelope is long, and a group has it only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.blocks import LEVEL, PUBLISHED, WORD, BlockPublished
from shoal.engines.contract import Blocks
from shoal.engines.kp.words import ROWS_AT_ONCE, stretches
from shoal.engines.rows import SUBJECT
from shoal.engines.work import starts_of_keys, whole_keys
from shoal.guarantees import KPAnonymity
from shoal.model import Verdict

_SUBJECTS = "subjects"
_FOUND = pa.schema([(name, pa.int64()) for name in ("envelope", "pattern", "few_envelope", "few_pattern")])


def check(guarantee: KPAnonymity, published: BlockPublished) -> Verdict:
    """The verdict that `KPAnonymity.check` gives of the same rows, without a witness: positions mean nothing here."""
    alike = (PUBLISHED, LEVEL, WORD) if published.form == "envelopes" else (PUBLISHED,)
    engine = published.engine
    schema = pa.schema([*(published.table.schema.field(name) for name in alike), (_SUBJECTS, pa.list_(pa.string()))])
    lists = engine.map(published.table, GatherSubjects(alike), schema)
    work = SmallestCrowds(alike, int(guarantee.k), int(guarantee.p))
    found = engine.collect(engine.together(lists, [PUBLISHED], work, _FOUND, order=alike[1:]))
    if not found.num_rows:
        return Verdict("does not hold", None, int(guarantee.k), None, "no series is published")
    envelope, pattern, few_envelope, few_pattern = (found[name].to_numpy() for name in _FOUND.names)
    if (least := int(envelope.min())) < guarantee.k:
        note = f"an envelope has too few subjects; {int(few_envelope.sum())} series have such a one"
        return Verdict("does not hold", least, int(guarantee.k), None, note)
    least = int(pattern.min())
    if least < guarantee.p:
        note = f"a pattern has too few subjects inside its envelope; {int(few_pattern.sum())} series have such a one"
        return Verdict("does not hold", least, int(guarantee.p), None, note)
    note = f"smallest group of a pattern; of an envelope it is {int(envelope.min())}, required {guarantee.k}"
    return Verdict("holds", least, int(guarantee.p), None, note)


@dataclass(frozen=True)
class GatherSubjects:
    """One row for the series of a stretch that are published alike, with their subjects."""

    alike: tuple[str, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        """A subject with several of them is listed as often."""
        for block in stretches(blocks):
            classes, firsts = classes_of(block, self.alike)
            order = np.argsort(classes, kind="stable")
            ends = np.concatenate([[0], np.cumsum(np.bincount(classes))]).astype(np.int32)
            subjects = block.column(SUBJECT).cast(pa.string()).take(pa.array(order))
            rows = block.select(list(self.alike)).take(pa.array(firsts))
            lists = pa.ListArray.from_arrays(pa.array(ends), subjects)
            yield pa.RecordBatch.from_arrays([*rows.columns, lists], [*self.alike, _SUBJECTS])


@dataclass(frozen=True)
class SmallestCrowds:
    """Of stretches of whole envelopes: the smallest crowds, and how many series are in crowds that are too small."""

    alike: tuple[str, ...]
    k: int
    p: int

    def __call__(self, blocks: Blocks) -> Blocks:
        """One row for each stretch."""
        for table in whole_keys(blocks, [PUBLISHED], rows=ROWS_AT_ONCE // 4):
            rows = table.combine_chunks()
            lists = rows[_SUBJECTS].combine_chunks()
            of_list = np.repeat(np.arange(len(lists)), np.diff(lists.offsets.to_numpy()))
            subject = lists.flatten().dictionary_encode().indices.to_numpy().astype(np.int64)
            found = []
            for keys, least in (((PUBLISHED,), self.k), (self.alike, self.p)):
                crowds, n_series = crowds_of(np.cumsum(starts_of_keys(rows, keys))[of_list] - 1, subject)
                found.append((int(crowds.min()), int(n_series[crowds < least].sum())))
            (envelope, few_envelope), (pattern, few_pattern) = found
            yield pa.RecordBatch.from_pylist(
                [dict(zip(_FOUND.names, (envelope, pattern, few_envelope, few_pattern), strict=True))], schema=_FOUND
            )


def classes_of(block: pa.RecordBatch, columns: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Classes of rows that are equal in these columns, numbered from 0, and the first row of each."""
    classes = np.zeros(block.num_rows, dtype=np.int64)
    firsts = np.zeros(min(1, block.num_rows), dtype=np.int64)
    for name in columns:
        codes = block.column(name).dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        both = classes * (block.num_rows + 1) + codes + 1
        _, firsts, classes = np.unique(both, return_index=True, return_inverse=True)
        classes = classes.reshape(-1).astype(np.int64)
    return classes, firsts


def crowds_of(classes: NDArray[np.int64], subjects: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Different subjects of each class, and its series."""
    width = int(subjects.max()) + 1
    pairs = np.unique(classes * width + subjects)
    return np.bincount(pairs // width), np.bincount(classes)
