"""k-anonymity of what is published, on an engine: exact, by the bytes of the rows.

Equal rows are found in each block first, so that a published row travels once for many subjects; then all rows with
the same bytes come together and their different subjects are counted. A hash only decides where rows meet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.blocks import LEVEL, PUBLISHED, WORD, BlockPublished
from shoal.engines.contract import Blocks
from shoal.engines.rows import SUBJECT
from shoal.engines.work import Columns, starts_of_keys, whole_keys
from shoal.guarantees import KAnonymity
from shoal.model import Verdict

SUBJECTS = "subjects"

_ROWS = 4096
_TALLY = pa.schema([("size", pa.int64()), ("groups", pa.int64()), ("series", pa.int64())])


@dataclass(frozen=True)
class Crowds:
    """How many are published alike.

    Parameters
    ----------
    groups
        For each number of subjects, how many groups have so many.
    series
        The same in series.
    """

    groups: dict[int, int]
    series: dict[int, int]

    @property
    def smallest(self) -> int:
        """The smallest crowd."""
        return min(self.groups)

    def n_series_below(self, k: int) -> int:
        """How many series have too small a crowd."""
        return sum(n for size, n in self.series.items() if size < k)


def check(guarantee: KAnonymity, published: BlockPublished) -> Verdict:
    """The verdict of `KAnonymity.check` on the same rows; without a witness, whose position would mean nothing here."""
    # Beside an envelope the word and its level tell series apart, as they do in memory.
    marks = (LEVEL, WORD) if published.form == "envelopes" else ()
    crowds = count_crowds(published, (PUBLISHED, *marks), per=guarantee.per)
    below = crowds.n_series_below(guarantee.k)
    return Verdict.of(
        crowds.smallest >= guarantee.k,
        measured=crowds.smallest,
        required=int(guarantee.k),
        note=f"{below} of {published.n_series} series are in groups below k" if below else "",
    )


def group_sizes(published: BlockPublished) -> dict[int, int]:
    """For each number of subjects, how many groups of series published alike have so many."""
    return count_crowds(published, (PUBLISHED,)).groups


def count_crowds(published: BlockPublished, keys: tuple[str, ...], *, per: str = "subject") -> Crowds:
    """How many subjects, or series, have the same bytes in all of the columns."""
    engine, table = published.engine, published.table
    narrow = pa.schema([table.schema.field(name) for name in (SUBJECT, *keys)])
    alike = pa.schema([*(table.schema.field(name) for name in keys), (SUBJECTS, pa.list_(pa.string()))])
    rows = engine.map(table, Columns(tuple(narrow.names)), narrow)
    partial = engine.map(rows, _Alike(keys), alike)
    found = engine.collect(engine.together(partial, keys, _Count(keys, per), _TALLY))
    groups: dict[int, int] = {}
    series: dict[int, int] = {}
    for row in found.to_pylist():
        groups[row["size"]] = groups.get(row["size"], 0) + row["groups"]
        series[row["size"]] = series.get(row["size"], 0) + row["series"]
    return Crowds(dict(sorted(groups.items())), dict(sorted(series.items())))


@dataclass(frozen=True)
class _Alike:
    """Rows of a block with the same bytes as one, with all their subjects."""

    keys: tuple[str, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            if not block.num_rows:
                continue
            # Neighbours only: candidates have equal rows next to each other, and what is missed is found later.
            starts = np.flatnonzero(starts_of_keys(block, self.keys))
            offsets = np.append(starts, block.num_rows).astype(np.int32)
            subjects = pa.ListArray.from_arrays(pa.array(offsets), block[SUBJECT])
            first = block.select(list(self.keys)).take(pa.array(starts))
            yield first.append_column(SUBJECTS, subjects)


@dataclass(frozen=True)
class _Count:
    """Of rows that are sorted by their bytes: how many groups of each size."""

    keys: tuple[str, ...]
    per: str

    def __call__(self, blocks: Blocks) -> Blocks:
        tally: dict[int, tuple[int, int]] = {}
        for rows in whole_keys(blocks, self.keys, rows=_ROWS):
            groups = np.cumsum(starts_of_keys(rows, self.keys)) - 1
            sizes, n_series = self._sizes(rows, groups)
            found, places, counts = np.unique(sizes, return_inverse=True, return_counts=True)
            series = np.bincount(places, weights=n_series).astype(np.int64)
            for size, n, m in zip(found.tolist(), counts.tolist(), series.tolist(), strict=True):
                before = tally.get(size, (0, 0))
                tally[size] = before[0] + n, before[1] + m
        columns = zip(*((size, *counts) for size, counts in tally.items()), strict=True)
        yield pa.record_batch([pa.array(c, pa.int64()) for c in columns] or [[], [], []], schema=_TALLY)

    def _sizes(self, rows: pa.Table, groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        lists = rows[SUBJECTS].combine_chunks()
        lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
        n_series = np.bincount(groups, weights=lengths).astype(np.int64)
        if self.per == "series":
            return n_series, n_series
        codes = lists.flatten().dictionary_encode()
        numbers = codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        pairs = np.unique(np.repeat(groups, lengths) * len(codes.dictionary) + numbers)
        return np.bincount(pairs // len(codes.dictionary)), n_series
