"""Tables stored by series: each series is assembled where its rows are, and few rows travel.

A run is a sequence of adjacent rows of one series. A part of the table may begin or end in the middle of a run, which
the rows themselves do not show. So every run is assembled as if it were a whole series, and a run with a gap keeps its
segments. Then ids are counted. If an id occurs several times, its segments are brought together and assembled again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from shoal.engines.contract import Blocks, Engine, Table, Work
from shoal.engines.reading.first import First
from shoal.engines.reading.summary import helper
from shoal.engines.rows import ID
from shoal.engines.work import Columns, Having, starts_of_keys, whole_keys
from shoal.errors import ParameterError

_SEGMENTS = "n segments"
"""A column with the segments of a run that may be part of a series, each as an Arrow message."""

_AT_ONCE = 16
"""Least number of segments assembled at once: one of Spark's blocks may have fewer rows than a series."""

_ROWS = 1 << 14


def is_by_series(first: First) -> bool:
    """Whether nearly every series has its rows together; the number of series is only known to about an eighth."""
    return first.n_runs < 2 * first.n_about


def assemble_runs(
    engine: Engine, table: Table, reading: Work, segments: pa.Schema, work: Work, series: pa.Schema
) -> Table | None:
    """Assemble series from a table that seems to be stored by series; None if too many turn out to be in several
    places.

    Parameters
    ----------
    engine, table
        The rows, as they are read.
    reading, segments
        Makes segments from rows, and the schema of segments.
    work, series
        Makes series from segments that are sorted by id, and the schema of series.
    """
    wider = series.append(pa.field(_SEGMENTS, pa.binary()))
    runs = engine.keep(engine.map(table, _AssembleRuns(reading, work, wider), wider))
    ids = pa.schema([series.field(ID)])
    try:
        again = engine.collect(engine.together(engine.map(runs, Columns((ID,)), ids), [ID], _Repeated(), ids))[ID]
    except ParameterError:
        return None
    assembled = engine.map(runs, Columns(tuple(series.names)), series)
    if not len(again):
        return assembled
    named = pa.schema([wider.field(ID), wider.field(_SEGMENTS)])
    parts = engine.map(engine.map(runs, Columns((ID, _SEGMENTS)), named), Having(ID, again.combine_chunks()), named)
    if engine.collect(engine.map(parts, _Complete(), ids)).num_rows:
        return None
    joined = engine.together(engine.map(parts, _Segments(segments), segments), [ID], work, series)
    return engine.concat(
        [engine.map(assembled, Having(ID, again.combine_chunks(), others=True), series), engine.keep(joined)]
    )


@dataclass(frozen=True)
class _AssembleRuns:
    """Assemble each run as a series; keep its segments if it has a gap."""

    reading: Work
    work: Work
    schema: pa.Schema

    def __call__(self, blocks: Blocks) -> Blocks:
        for table in whole_keys(self.reading(blocks), [ID], rows=_AT_ONCE):
            (segments,) = table.combine_chunks().to_batches()
            bounds = np.append(np.flatnonzero(starts_of_keys(segments, [ID])), segments.num_rows)
            done = 0
            for series in self.work(iter([segments])):
                has_gap = series.column(helper("missing")).to_numpy() > 0
                kept: list[bytes | None] = [None] * series.num_rows
                for at in np.flatnonzero(has_gap).tolist():
                    first, last = bounds[done + at : done + at + 2]
                    kept[at] = segments.slice(first, last - first).serialize().to_pybytes()
                done += series.num_rows
                yield pa.record_batch([*series.columns, pa.array(kept, pa.binary())], schema=self.schema)


@dataclass(frozen=True)
class _Repeated:
    """Ids that occur several times, once each."""

    def __call__(self, blocks: Blocks) -> Blocks:
        for rows in whole_keys(blocks, [ID], rows=_ROWS):
            starts = np.flatnonzero(starts_of_keys(rows, [ID]))
            several = starts[np.diff(starts, append=rows.num_rows) > 1]
            yield from rows.take(pa.array(several)).to_batches()


@dataclass(frozen=True)
class _Complete:
    """Ids of runs without a gap: if such a series has further rows, some of them are there twice."""

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield block.filter(block.column(_SEGMENTS).is_null()).select([ID])


@dataclass(frozen=True)
class _Segments:
    """The segments of runs."""

    schema: pa.Schema

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            for message in block.column(_SEGMENTS):
                yield pa.ipc.read_record_batch(message.as_buffer(), self.schema)
