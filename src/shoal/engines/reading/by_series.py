"""A table that is stored by series: each is assembled where its rows lie, and few of them travel.

Rows of a series that lie next to each other are a run. A part of the table may begin or end in the middle of one, and
nobody sees where: so every run is assembled as if it were a whole series, and one with a gap keeps its segments. Then
ids are counted. Where one occurs several times, its segments are brought together and assembled once more.
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
"""A column with the segments of a run that may be part of a series, each a message of Arrow's."""

_AT_ONCE = 16
"""Segments that are assembled at once, at least: a block of Spark's may have fewer rows than a series."""

_ROWS = 1 << 14


def is_by_series(first: First) -> bool:
    """Whether the rows of nearly every series lie next to each other; the number of series is known to an eighth."""
    return first.n_runs < 2 * first.n_about


def assemble_runs(
    engine: Engine, table: Table, reading: Work, segments: pa.Schema, work: Work, series: pa.Schema
) -> Table | None:
    """Series of a table that seems to be stored by series; None if too many are in several places after all.

    Parameters
    ----------
    engine, table
        The rows, as they are read.
    reading, segments
        Makes segments of rows, and what these look like.
    work, series
        Makes series of segments that are sorted by id, and what these look like.
    """
    wider = series.append(pa.field(_SEGMENTS, pa.binary()))
    runs = engine.keep(engine.map(table, _AssembleRuns(reading, work, wider), wider))
    ids = pa.schema([series.field(ID)])
    try:
        again = engine.collect(engine.together(engine.map(runs, Columns((ID,)), ids), [ID], _Repeated(), ids))[ID]
    except ParameterError:
        return None
    found = engine.map(runs, Columns(tuple(series.names)), series)
    if not len(again):
        return found
    named = pa.schema([wider.field(ID), wider.field(_SEGMENTS)])
    parts = engine.map(engine.map(runs, Columns((ID, _SEGMENTS)), named), Having(ID, again.combine_chunks()), named)
    if engine.collect(engine.map(parts, _Complete(), ids)).num_rows:
        return None
    joined = engine.together(engine.map(parts, _Segments(segments), segments), [ID], work, series)
    return engine.concat(
        [engine.map(found, Having(ID, again.combine_chunks(), others=True), series), engine.keep(joined)]
    )


@dataclass(frozen=True)
class _AssembleRuns:
    """Each run as a series; with its segments if it has a gap."""

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
    """Ids of runs without a gap: if there are further rows of such a series, some are there twice."""

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
