"""The driver's side of a stream on Spark: the query, the figures of all keys, and the stream's position."""

from __future__ import annotations

import dataclasses
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engines.session import quiet
from shoal.engines.structured_streaming.keys import STATES, Terms
from shoal.engines.structured_streaming.work import (
    KEY,
    LOST,
    MALFORMED,
    RESULT_DDL,
    FinishKeys,
    TakeBatch,
    WorkerError,
    kept_summaries,
    raise_told,
)
from shoal.errors import InputError, ParameterError, ShoalError
from shoal.files.durable import sync
from shoal.streams.checkpoint import Checkpoint, different, read_checkpoint, write_checkpoint
from shoal.streams.output import complete_summary, write_summary
from shoal.streams.stop_request import Stop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row
    from pyspark.sql.streaming.query import StreamingQuery

_CHECKPOINT = "spark"
_ROW = "__shoal_row"
_POLL_SECONDS = 0.1
_TRIGGER = "1 second"


class Run:
    """A run of a stream, from where it stopped to the end of its input."""

    def __init__(
        self,
        frame: DataFrame,
        order: tuple[str, ...],
        terms: Terms,
        settings: Mapping[str, Any],
        advance: Callable[[int, int], None],
        certify: Callable[[Sequence[Path]], None],
    ) -> None:
        self._frame, self._order, self._advance, self._certify = frame, order, advance, certify
        kept = read_checkpoint(terms.private)
        self.is_new = kept is None
        # Drawn and stored before anything is published: a snapshot that is written again must have the same groups.
        seed = secrets.randbits(128) if terms.method.seed is None else terms.method.seed
        self._facts: dict[str, Any] = {"settings": settings, "seed": seed, "ending": False, "finished": False}
        self._number = 0
        if kept is not None:
            if names := different(kept.facts["settings"], settings):
                raise ParameterError(
                    f"The stream was started with other settings: {', '.join(names)}. Give the same, or start a new "
                    "one in new folders."
                )
            self._facts, self._number = dict(kept.facts), kept.number
        self._terms = dataclasses.replace(terms, method=dataclasses.replace(terms.method, seed=self._facts["seed"]))
        self._figures = {} if kept is None else kept_summaries(self._terms)
        self._error: BaseException | None = None

    @property
    def n_published(self) -> int:
        """Snapshots published so far."""
        return int(self.summary()["snapshots"]["published"])

    def run(self, stop: Stop, *, follow: bool, flush: bool, tell: Callable[[str], None]) -> dict[str, Any]:
        """Publish until the input ends or a stop is requested."""
        self._keep()  # from now on the folder belongs to this state
        if self._facts["finished"]:
            self._query(self._refuse, stop, follow=False)
            tell(complete_summary(self._terms.to, self.summary()))
            return self.summary()
        if not self._facts["ending"]:
            self._query(self._take, stop, follow=follow)
        if self._facts["ending"] or (flush and not stop.asked):
            self._facts["ending"] = True
            self._keep()  # later events no longer belong to the stream
            with quiet():
                self._finish()
            self._facts["finished"] = True
            self._keep()
        write_summary(self._terms.to, self.summary())
        return self.summary()

    def _keep(self) -> None:
        self._number += 1
        aside = write_checkpoint(self._terms.private, Checkpoint(self._number, self._facts, {}))
        aside.sync()
        aside.put_in_place()
        sync(self._terms.private)

    def _query(self, batch: Callable[[DataFrame, int], None], stop: Stop, *, follow: bool) -> None:
        def guarded(frame: DataFrame, number: int) -> None:
            try:
                with quiet():
                    batch(frame, number)
            except BaseException as error:
                self._error = error
                raise RuntimeError("the batch failed") from None  # Spark logs this message

        writer = self._frame.writeStream.foreachBatch(guarded)
        writer = writer.option("checkpointLocation", str(self._terms.private / _CHECKPOINT))
        writer = writer.trigger(processingTime=_TRIGGER) if follow else writer.trigger(availableNow=True)
        query = writer.start()
        try:
            while query.isActive and not stop.asked:
                stop.wait(_POLL_SECONDS)
        finally:
            query.stop()
        if not stop.asked:
            self._tell_failure(query)

    def _tell_failure(self, query: StreamingQuery) -> None:
        if isinstance(self._error, ShoalError):
            raise self._error
        failure = query.exception()
        if failure is None and self._error is None:
            return
        # Only the kind of the error: Spark's message may quote the data.
        told = str(self._error) if isinstance(self._error, WorkerError) else type(self._error or failure).__name__
        if self._error is None and failure is not None:
            told = failure.getCondition() or told
        raise InputError(
            f"Spark could not continue the stream: {told}. What is published stays. Check that every file of the "
            "source can be read, and run the same command again."
        ) from None

    def _take(self, frame: DataFrame, number: int) -> None:
        from pyspark.sql import functions as f

        ordered = (
            frame.withColumn(_ROW, f.monotonically_increasing_id())
            .repartition(self._parts(), KEY)
            .sortWithinPartitions(KEY, *(f.col(f"`{name}`") for name in self._order), _ROW)
        )
        told = ordered.drop(_ROW, *(set(self._order) - set(self._columns())))
        self._hear(told.mapInArrow(TakeBatch(self._terms, number), RESULT_DDL).collect())
        write_summary(self._terms.to, self.summary())

    def _refuse(self, frame: DataFrame, number: int) -> None:
        if not frame.isEmpty():
            raise InputError("This stream is finished, so nothing can be added. Start a new one in new folders.")

    def _finish(self) -> None:
        names = [(folder.name,) for folder in sorted((self._terms.private / STATES).glob("*")) if folder.name != LOST]
        if names:
            frame = self._frame.sparkSession.createDataFrame(names, "name string").repartition(self._parts())
            self._hear(frame.mapInArrow(FinishKeys(self._terms), RESULT_DDL).collect())

    def _hear(self, rows: Sequence[Row]) -> None:
        for row in sorted(rows, key=lambda row: str(row["name"])):
            if row["error"]:
                raise_told(row["error"], row["message"])
            self._figures[row["name"]] = json.loads(row["summary"])
        self._certify([self._terms.to / row["name"] for row in rows if row["name"] != LOST])
        snapshots = self.summary()["snapshots"]
        self._advance(snapshots["published"], snapshots["closed"])

    def _parts(self) -> int:
        return 2 * max(1, self._frame.sparkSession.sparkContext.defaultParallelism)

    def _columns(self) -> list[str]:
        return [KEY, MALFORMED, *self._terms.arrivals().columns]

    def summary(self) -> dict[str, Any]:
        """The figures of all keys together."""
        keys = [figures for name, figures in sorted(self._figures.items()) if name != LOST]
        lost = self._figures.get(LOST, {"malformed": 0, "without_key": 0})
        method = self._terms.method
        empty = self._terms.arrivals().arrived.rejected
        together: dict[str, Any] = {
            "method": {"name": method.name, "parameters": method.parameters},
            "key": {"column": self._terms.key, "values": len(keys)},
            "events": _sums(keys, "events", ("arrived", "taken", "published", "suppressed", "waiting")),
            "snapshots": _sums(keys, "snapshots", ("closed", "published")),
            "moved": _sums(keys, "moved", sorted({d for figures in keys for d in figures["moved"]}, key=int)),
            "rejected": {**_sums(keys, "rejected", tuple(empty)), "without_key": lost["without_key"]},
            "out_of_order": sum(figures["out_of_order"] for figures in keys),
            "finished": self._facts["finished"],
        }
        together["events"]["arrived"] += sum(lost.values())
        together["rejected"]["malformed"] += lost["malformed"]
        return together


def _sums(keys: Sequence[Mapping[str, Any]], part: str, names: Sequence[str]) -> dict[str, int]:
    return {name: sum(figures[part].get(name, 0) for figures in keys) for name in names}
