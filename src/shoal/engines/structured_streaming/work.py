"""What Spark's workers do for a stream: take a batch, or finish keys. They report counts, never events."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal import errors
from shoal.engines.structured_streaming.keys import STATES, KeyFiles, KeyStream, Terms, folder_name
from shoal.errors import InputError, ReleaseError, ShoalError
from shoal.read.tables import plain
from shoal.streams.checkpoint import Checkpoint

KEY, MALFORMED = "__shoal_key", "__shoal_malformed"
"""Columns that workers get beside those of the events."""
LOST = "without-key"
"""Where events without a key are counted. No key has this folder: theirs have a = in their names."""

RESULT = pa.schema([(name, pa.string()) for name in ("name", "summary", "error", "message")])
RESULT_DDL = ", ".join(f"{name} string" for name in RESULT.names)
"""What a worker reports about a key: counts, or what went wrong, never an event."""

_Run = tuple[str | None, pl.DataFrame, NDArray[np.bool_]]
_Parts = Iterator[tuple[pl.DataFrame, NDArray[np.bool_]]]


@dataclass(frozen=True)
class TakeBatch:
    """Spark task: the events of a batch, grouped by key and in order, go through the stream of each key."""

    terms: Terms
    batch: int

    def __call__(self, blocks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row of counts for each key."""
        try:
            runs = _runs(blocks, self.terms)
            run = next(runs, None)
            while run is not None:
                parts = _SameKey(runs, run)
                yield _told(self._take, run[0], parts)
                for _ in parts:  # skip the rest of a key that failed
                    pass
                run = parts.next
        except Exception as wrong:
            yield _row(error="internal", message=_place(wrong))

    def _take(self, key: str | None, parts: _Parts) -> tuple[str, Any]:
        if key is None:
            return LOST, self._lose(parts)
        name = folder_name(self.terms.key, key)
        files = KeyFiles(self.terms, name)
        try:
            stream = KeyStream(self.terms, key, files.state_before(self.batch))
            for frame, malformed in parts:
                files.publish(list(stream.take(frame, malformed)))
            files.commit(stream.checkpoint(self.batch), stream.summary())
        finally:
            files.tidy()
        return name, stream.summary()

    def _lose(self, parts: _Parts) -> dict[str, int]:
        files = KeyFiles(self.terms, LOST)
        kept = files.state_before(self.batch)
        counts = {"malformed": 0, "without_key": 0} if kept is None else dict(kept.facts)
        for frame, malformed in parts:
            counts["malformed"] += int(malformed.sum())
            counts["without_key"] += len(frame) - int(malformed.sum())
        if self.terms.strict:
            raise InputError(
                f"{sum(counts.values())} events cannot be read or have no {self.terms.key!r}. Omit --strict to count "
                "and skip such events."
            )
        files.commit(Checkpoint(self.batch, dict(counts), {}), None)
        return counts


@dataclass(frozen=True)
class FinishKeys:
    """Spark task: the streams of the named keys are taken to their end."""

    terms: Terms

    def __call__(self, blocks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row of counts for each key."""
        for block in blocks:
            for name in block.column(0).to_pylist():
                yield _told(self._finish, name)

    def _finish(self, name: str) -> tuple[str, Any]:
        files = KeyFiles(self.terms, name)
        kept = files.state_before(None)
        assert kept is not None
        stream = KeyStream(self.terms, None, kept)
        if not stream.finished:
            try:
                files.publish(list(stream.finish()))
                files.commit(stream.checkpoint(kept.number + 1), stream.summary())
                files.forget(kept.number + 1)
            finally:
                files.tidy()
        return name, stream.summary()


def kept_summaries(terms: Terms) -> dict[str, dict[str, Any]]:
    """The figures of every key, from its last state."""
    summaries = {}
    for folder in sorted((terms.private / STATES).glob("*")):
        kept = KeyFiles(terms, folder.name).state_before(None)
        if kept is not None:
            lost = folder.name == LOST
            summaries[folder.name] = dict(kept.facts) if lost else KeyStream(terms, None, kept).summary()
    return summaries


def _told(work: Callable[..., tuple[str, Any]], *about: Any) -> pa.RecordBatch:
    """A worker's report. It never raises: Spark would log the message, and a library's message may quote the data."""
    try:
        name, figures = work(*about)
        return _row(name=name, summary=json.dumps(figures))
    except ShoalError as wrong:
        return _row(error=type(wrong).__name__, message=str(wrong))
    except OSError as wrong:
        return _row(error=ReleaseError.__name__, message=f"Cannot write the stream: {wrong.strerror}.")
    except Exception as wrong:
        return _row(error="internal", message=_place(wrong))


def _row(*, name: str = "", summary: str = "", error: str = "", message: str = "") -> pa.RecordBatch:
    values = {"name": [name], "summary": [summary], "error": [error], "message": [message]}
    return pa.RecordBatch.from_pydict(values, schema=RESULT)


def _place(wrong: Exception) -> str:
    frame = traceback.extract_tb(wrong.__traceback__)[-1]
    return f"{type(wrong).__name__} at {Path(frame.filename).name}:{frame.lineno} on a worker"


class WorkerError(Exception):
    """A defect of ours on a worker, named by its kind and place."""


def raise_told(error: str, message: str) -> None:
    """Raise at the driver the error that a worker reported."""
    raise getattr(errors, error, WorkerError)(message)


class _SameKey(Iterator[tuple[pl.DataFrame, NDArray[np.bool_]]]):
    """The runs of one key among those of all keys; `next` is the first run of another key."""

    def __init__(self, runs: Iterator[_Run], first: _Run) -> None:
        self._runs, self._key = runs, first[0]
        self.next: _Run | None = first

    def __next__(self) -> tuple[pl.DataFrame, NDArray[np.bool_]]:
        if self.next is None or self.next[0] != self._key:
            raise StopIteration
        _, frame, malformed = self.next
        self.next = next(self._runs, None)
        return frame, malformed


def _runs(blocks: Iterator[pa.RecordBatch], terms: Terms) -> Iterator[_Run]:
    """Adjacent events of one key, block by block."""
    columns = terms.arrivals().columns
    for block in blocks:
        if not block.num_rows:
            continue
        events = zip(columns, plain([block.column(name) for name in columns]), strict=True)
        frame = pl.DataFrame([pl.Series(name, pl.from_arrow(column)) for name, column in events])
        malformed = block.column(MALFORMED).to_numpy(zero_copy_only=False).astype(bool)
        keys = pl.Series(pl.from_arrow(block.column(KEY)))
        starts = np.flatnonzero(np.diff(keys.rle_id().to_numpy(), prepend=-1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(frame)], strict=True):
            yield keys[start], frame[start:end], malformed[start:end]
