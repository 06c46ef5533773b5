"""Distribution of rows to scratch files by a hash of their keys."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.contract import Blocks
from shoal.engines.parts import Partition
from shoal.errors import ParameterError

N_BUCKETS = 64
_BITS = 6
_BUFFER = 1 << 15
_GATHERED = 1 << 21
"""Bytes of rows that are distributed at once."""


@dataclass(frozen=True)
class BucketFile:
    """The rows of one bucket from one task, with their lowest and highest hash. If these are equal there is only one
    key, so the bucket cannot be split further."""

    bucket: int
    path: Path
    low: int
    high: int


@dataclass(frozen=True)
class Distribute:
    """Write the rows of some parts to one file for each bucket."""

    folder: Path
    keys: tuple[str, ...]
    depth: int
    buckets: int

    def __call__(self, parts: Sequence[Partition]) -> list[BucketFile]:
        """A bucket without rows has no file."""
        name = uuid4().hex
        sinks: dict[int, pa.ipc.RecordBatchFileWriter] = {}
        files: dict[int, BucketFile] = {}
        with contextlib.ExitStack() as stack:
            for block in gathered(itertools.chain.from_iterable(part.blocks() for part in parts)):
                for bucket, rows, low, high in self._split(block):
                    if bucket not in sinks:
                        path = self.folder / f"{bucket}-{name}.arrow"
                        # Buffered: Arrow writes a batch in many pieces of a few bytes each.
                        file = stack.enter_context(pa.BufferedOutputStream(pa.OSFile(str(path), "wb"), _BUFFER))
                        sinks[bucket] = stack.enter_context(pa.ipc.new_file(file, rows.schema))
                        files[bucket] = BucketFile(bucket, path, low, high)
                    sinks[bucket].write_batch(rows)
                    one = files[bucket]
                    if low < one.low or high > one.high:
                        files[bucket] = BucketFile(bucket, one.path, min(low, one.low), max(high, one.high))
        return list(files.values())

    def _split(self, block: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch, int, int]]:
        if not block.num_rows:
            return
        whole = hashes(block, self.keys)
        if self.buckets == 1:
            yield 0, block, int(whole.min()), int(whole.max())
            return
        numbers = (whole >> np.uint64(_BITS * self.depth)) % np.uint64(self.buckets)
        order = np.argsort(numbers, kind="stable")
        taken, ordered = block.take(pa.array(order)), whole[order]
        bounds = np.searchsorted(numbers[order], np.arange(self.buckets + 1))
        for bucket, (first, last) in enumerate(itertools.pairwise(bounds.tolist())):
            if last > first:
                some = ordered[first:last]
                yield bucket, taken.slice(first, last - first), int(some.min()), int(some.max())


def gathered(blocks: Blocks) -> Blocks:
    """Join small blocks: each is split into as many pieces as there are buckets, which would have only a few rows."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for block in blocks:
        if block.num_rows:
            waiting.append(block)
            size += block.nbytes
        if size >= _GATHERED:
            yield from _one(waiting)
            waiting, size = [], 0
    yield from _one(waiting)


def _one(blocks: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if len(blocks) < 2:
        return blocks
    joined: list[pa.RecordBatch] = pa.Table.from_batches(blocks).combine_chunks().to_batches()
    return joined


def hashes(block: pa.RecordBatch, keys: Sequence[str]) -> NDArray[np.uint64]:
    """A number for each row, equal if the keys are equal. It only decides where a row goes."""
    refuse_missing_keys(block, keys)
    hashed = np.zeros(block.num_rows, dtype=np.uint64)
    for name in keys:
        one = pl.Series(pl.from_arrow(block.column(name))).hash(seed=1).to_numpy()
        hashed = (hashed ^ one) * np.uint64(0x9E3779B97F4A7C15)
        hashed ^= hashed >> np.uint64(29)
    return hashed


def refuse_missing_keys(block: pa.RecordBatch, keys: Sequence[str]) -> None:
    """Refuse missing keys: a missing key equals nothing, so its row belongs nowhere."""
    for name in keys:
        if missing := block.column(name).null_count:
            raise ParameterError(f"{missing} rows of a block have no {name!r}, by which rows are grouped.")
