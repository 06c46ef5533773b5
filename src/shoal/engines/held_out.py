"""Subjects held out of a panel on an engine, by a hash of their names that depends on the readings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pyarrow as pa

from shoal.engines.contract import Blocks
from shoal.engines.reading.key_counts import KeyCounts, count_distinct, count_keys
from shoal.engines.rows import ROW, SUBJECT, unpack
from shoal.engines.series import SeriesTable, chances

_DIGEST = 17
_HASHES, _SERIES, _MISSING = "hashes", "series", "missing"


def hold_out(series: SeriesTable, share: float, seed: int) -> tuple[SeriesTable, SeriesTable]:
    """Hold out about `share` of the subjects; returns the other series, then those held out. Someone who has the names
    and the seed, but not the readings, cannot tell who is held out."""
    digest = count_keys(series.engine, series.table, _Digest())[_HASHES].get(0, 0)
    drawn = np.random.SeedSequence([seed, digest % 2**64]).generate_state(1, np.uint64)[0]
    return _some(series, _Draw(share, int(drawn), out=False)), _some(series, _Draw(share, int(drawn), out=True))


def _some(series: SeriesTable, draw: _Draw) -> SeriesTable:
    engine = series.engine
    table = engine.map(series.table, draw, series.table.schema)
    counts = count_keys(engine, table, _Count())
    n_series, n_missing = (counts.get(what, {}).get(0, 0) for what in (_SERIES, _MISSING))
    alone = series.whole.one_series_per_subject
    n_subjects = n_series if alone else count_distinct(engine, table, SUBJECT)
    whole = replace(series.whole, n_series=n_series, n_subjects=n_subjects, n_missing=n_missing)
    return SeriesTable(engine, table, whole)


@dataclass(frozen=True)
class _Digest:
    """Sum the hashes of all series, modulo 2^64 like all sums of counts; the order of series does not matter."""

    def __call__(self, blocks: Blocks) -> Blocks:
        total = np.zeros(1, dtype=np.uint64)
        for block in blocks:
            if block.num_rows:
                total += pl.Series(pl.from_arrow(block.column(ROW))).hash(seed=_DIGEST).to_numpy().sum(dtype=np.uint64)
        counts = KeyCounts()
        counts.add(_HASHES, total.view(np.int64)[0])
        yield from counts.blocks()


@dataclass(frozen=True)
class _Count:
    def __call__(self, blocks: Blocks) -> Blocks:
        counts = KeyCounts()
        for block in blocks:
            if block.num_rows:
                counts.add(_SERIES, block.num_rows)
                counts.add(_MISSING, np.isnan(unpack(block.column(ROW))).sum())
        yield from counts.blocks()


@dataclass(frozen=True)
class _Draw:
    """Keep the series of the subjects that are drawn, or of the others."""

    share: float
    seed: int
    out: bool

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            drawn = chances(block.column(SUBJECT), self.seed) < self.share
            yield block.filter(pa.array(drawn if self.out else ~drawn))
