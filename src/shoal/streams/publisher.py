"""The last step of a stream: arrivals, publications and the state after them reach the disk in order.

A block is in the log before anything that it causes is in place. After a kill in between, the stream replays the block
and writes the same bytes under the same names. So published files need to be synced only before a checkpoint discards
the log, and a block costs one sync.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from shoal.errors import ReleaseError
from shoal.files.durable import Aside, sync, sync_all
from shoal.streams.blocks import Block
from shoal.streams.checkpoint import BlockLog, Checkpoint, remove_asides, write_checkpoint

if TYPE_CHECKING:
    from shoal.streams.reposition import PublishedSnapshot


_PER_DOUBLING = 8
"""Number of classes per doubling of time: a quantile is accurate to within 9 %."""
_N_CLASSES = 32 * _PER_DOUBLING
_SHORTEST = 2.0**-16  # seconds


class Latency:
    """How long events wait from their arrival until everything they caused is committed.

    Events are counted by the logarithm of their waiting time, so that memory does not grow.
    """

    def __init__(self) -> None:
        self._counts = np.zeros(_N_CLASSES, dtype=np.int64)

    def add(self, seconds: float, n_events: int) -> None:
        """Count events with a waiting time."""
        place = math.ceil(_PER_DOUBLING * math.log2(max(seconds, _SHORTEST) / _SHORTEST))
        self._counts[min(place, _N_CLASSES - 1)] += n_events

    def quantile(self, share: float) -> float | None:
        """The time in seconds within which this share of the events was committed; None before any was."""
        total = int(self._counts.sum())
        if not total:
            return None
        place = int(np.searchsorted(np.cumsum(self._counts), share * total))
        return float(_SHORTEST * 2.0 ** (place / _PER_DOUBLING))

    def facts(self) -> dict[str, Any] | None:
        """Median and 99th percentile in milliseconds; None before any event was committed."""
        median, last = self.quantile(0.5), self.quantile(0.99)
        if median is None or last is None:
            return None
        return {"p50_ms": round(1000 * median, 1), "p99_ms": round(1000 * last, 1)}


_WAITING = 3
"""Number of commits that may be pending: the stream continues while the disk is busy, up to this point."""


class Admitted(Protocol):
    """Snapshots in temporary files that the gate has checked as written."""

    @property
    def asides(self) -> Sequence[Aside]:
        """Their files."""


class Gate(Protocol):
    """The only way out: writes, reads back, checks, and certifies what is in place."""

    def admit(self, snapshots: Sequence[PublishedSnapshot]) -> Admitted:
        """Write snapshots to temporary files and check what was written; called from several threads."""

    def certify(self, admitted: Admitted, summary: Mapping[str, Any]) -> None:
        """Account for snapshots that are now in place; called in order."""

    def sync(self) -> None:
        """Wait until what was certified is on disk."""


@dataclass(frozen=True)
class Commit:
    """Snapshots to publish, the block that caused them, the state after it if it must be saved, and the summary."""

    snapshots: Sequence[PublishedSnapshot]
    summary: Mapping[str, Any]
    block: Block | None = None
    checkpoint: Checkpoint | None = None


class Publisher:
    """Writes commits to disk while the stream continues: written in parallel, put in place one after another.

    Parameters
    ----------
    folder
        Where snapshots go.
    private
        The folder for the log and the state; without it, there are none.
    gate
        The gate that snapshots pass through.
    acknowledge
        Called for each block once it need not be sent again.
    """

    def __init__(
        self,
        folder: Path,
        private: Path | None,
        gate: Gate,
        acknowledge: Callable[[Block], None] = lambda block: None,
    ) -> None:
        self._folder, self._private, self._gate, self._acknowledge = folder, private, gate, acknowledge
        for path in folder.glob(".*.partial"):
            path.unlink(missing_ok=True)
        if private is not None:
            remove_asides(private)  # from a killed run; they contain events
        self.latency = Latency()
        self.on_commit: Callable[[int], None] | None = None
        """Receives the number of snapshots that are in place."""
        self.log: BlockLog | None = None
        self._commits: queue.Queue[tuple[Commit, Future[Admitted], Future[None] | None] | None] = queue.Queue(_WAITING)
        self._error: BaseException | None = None
        self._failed = False
        self._writers, self._logger, self._syncers = (ThreadPoolExecutor(n) for n in (2, 1, 4))
        self._to_sync: list[Path] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def durable(self) -> bool:
        """Whether the state is kept."""
        return self._private is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait until everything is written; an error in the block is raised before one of the disk."""
        self._commits.put(None)
        self._thread.join()
        for pool in (self._writers, self._logger, self._syncers):
            pool.shutdown()
        if self.log is not None:
            self.log.close()
        if error is None:
            self._tell()

    def keep(self, block: Block | None) -> Future[None] | None:
        """Start to write a block, or the end of the input, to the log."""
        return None if self.log is None else self._logger.submit(self.log.append, block)

    def submit(self, commit: Commit, logged: Future[None] | None = None) -> None:
        """Hand over a commit, to be put in place once its block is in the log. Raises earlier errors."""
        self._tell()
        self._commits.put((commit, self._writers.submit(self._gate.admit, commit.snapshots), logged))
        if commit.checkpoint is not None:
            self.wait()  # the log continues in another file from here: nothing may be logged before that

    def wait(self) -> None:
        """Wait until everything handed over is in place. Raises errors."""
        self._commits.join()
        self._tell()

    def _tell(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _run(self) -> None:
        while (waiting := self._commits.get()) is not None:
            commit, admission, logged = waiting
            try:
                admitted = admission.result()
                if logged is not None:
                    logged.result()
                if self._failed:
                    remove(admitted)  # nothing may follow a failed commit
                else:
                    self._put_in_place(admitted, commit)
            except OSError as error:
                self._fail(ReleaseError(f"Cannot write the stream: {error.strerror}."))
            except BaseException as error:
                self._fail(error)
            finally:
                self._commits.task_done()

    def _fail(self, error: BaseException) -> None:
        if not self._failed:
            self._failed, self._error = True, error

    def _put_in_place(self, admitted: Admitted, commit: Commit) -> None:
        if commit.block is not None:
            self._acknowledge(commit.block)
        if self._private is not None and commit.checkpoint is not None and not commit.snapshots:
            # For a new stream: nothing may be in the folder before there is a state that it belongs to.
            self._keep_state(self._private, commit.checkpoint)
        for aside in admitted.asides:
            aside.put_in_place()
        self._gate.certify(admitted, commit.summary)
        if commit.block is not None:
            self.latency.add(time.monotonic() - commit.block.arrived, len(commit.block))
        if self.on_commit is not None:
            self.on_commit(int(commit.summary["snapshots"]["published"]))
        if self._private is None:
            return
        self._to_sync += [aside.place for aside in admitted.asides]
        if commit.checkpoint is not None and commit.snapshots:
            self._keep_state(self._private, commit.checkpoint)

    def _keep_state(self, private: Path, checkpoint: Checkpoint) -> None:
        """Everything that the new state covers is on disk before it replaces the old one and its log."""
        sync_all([Aside(place, place) for place in self._to_sync], self._syncers)
        self._to_sync = []
        self._gate.sync()
        sync(self._folder)
        if self.log is not None:
            self.log.close()
        log = BlockLog(private, checkpoint.number)
        aside = write_checkpoint(private, checkpoint)
        aside.sync()
        aside.put_in_place()
        sync(private)
        log.remove_others()
        self.log = log


def remove(admitted: Admitted) -> None:
    """Remove temporary files."""
    for aside in admitted.asides:
        aside.path.unlink(missing_ok=True)
