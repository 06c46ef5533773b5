"""The last step of a stream: published snapshots and the state that covers them reach the disk, in this order."""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from shoal.errors import ReleaseError
from shoal.files.durable import Aside, sync, sync_all
from shoal.model import EventTables
from shoal.streams.checkpoint import Checkpoint, remove_asides, remove_steps, write_checkpoint
from shoal.streams.output import FileFormat, write_snapshot, write_summary

if TYPE_CHECKING:
    from shoal.streams.reposition import PublishedSnapshot

_WAITING = 3
"""Commits that may wait: the stream goes on while the disk is busy, but not far."""


@dataclass(frozen=True)
class Commit:
    """Snapshots to publish, the state after them, and the summary with them."""

    snapshots: Sequence[PublishedSnapshot]
    checkpoint: Checkpoint | None
    summary: Mapping[str, Any]

    def handed_over(self) -> Commit:
        """The same with frames of its own.

        A frame that polars writes in one thread is locked, and whoever touches the same object in another holds
        Python's lock while waiting for it: both wait for ever. A clone shares the memory and not the lock.
        """
        snapshots = [replace(snapshot, tables=_cloned(snapshot.tables)) for snapshot in self.snapshots]
        if self.checkpoint is None:
            return Commit(snapshots, None, self.summary)
        tables = {name: table.clone() for name, table in self.checkpoint.tables.items()}
        return Commit(snapshots, replace(self.checkpoint, tables=tables), self.summary)


def _cloned(tables: EventTables) -> EventTables:
    counts = None if tables.counts is None else tables.counts.clone()
    return replace(tables, records=tables.records.clone(), counts=counts)


@dataclass(frozen=True)
class _Written:
    """A commit whose files are on disk beside their places."""

    snapshots: list[Aside]
    state: list[Aside]

    def remove(self) -> None:
        for aside in (*self.snapshots, *self.state):
            aside.path.unlink(missing_ok=True)


class Publisher:
    """Brings commits to disk while the stream goes on: written side by side, put in place one after another.

    A snapshot is in its place, and the folder synced, before the state that covers it is renamed: killed in between,
    the stream goes on from the state before and writes the same bytes under the same name again.

    Parameters
    ----------
    folder
        Where snapshots go.
    private
        Where the state goes; without it there is none.
    file_format
        "parquet" or "csv".
    """

    def __init__(self, folder: Path, private: Path | None, file_format: FileFormat) -> None:
        self._folder, self._private, self._format = folder, private, file_format
        if private is not None:
            remove_asides(private)  # of a killed run; they hold events
        self._commits: queue.Queue[tuple[Commit, Future[_Written]] | None] = queue.Queue(_WAITING)
        self._error: BaseException | None = None
        self._failed = False
        self._writers, self._syncers = ThreadPoolExecutor(2), ThreadPoolExecutor(4)
        self._state_synced: Future[None] | None = None
        self._last: Checkpoint | None = None
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
        """Wait until all is written; an error of the block is told before one of the disk."""
        self._commits.put(None)
        self._thread.join()
        self._writers.shutdown()
        self._syncers.shutdown()
        if error is None:
            self._tell()

    def submit(self, commit: Commit) -> None:
        """Hand over a commit. Raises what went wrong with an earlier one."""
        self._tell()
        self._commits.put((commit, self._writers.submit(self._write, commit.handed_over())))

    def _tell(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _write(self, commit: Commit) -> _Written:
        """Everything that needs no order."""
        snapshots: list[Aside] = []
        for snapshot in commit.snapshots:
            snapshots += write_snapshot(self._folder, snapshot, self._format)
        state: list[Aside] = []
        if self._private is not None and commit.checkpoint is not None:
            state.append(write_checkpoint(self._private, commit.checkpoint))
        sync_all([*snapshots, *state], self._syncers)
        return _Written(snapshots, state)

    def _run(self) -> None:
        while (next_one := self._commits.get()) is not None:
            commit, writing = next_one
            try:
                written = writing.result()
                if self._failed:
                    written.remove()  # nothing may follow a commit that is not there
                else:
                    self._put_in_place(written, commit)
            except OSError as error:
                self._fail(ReleaseError(f"Cannot write the stream: {error.strerror}."))
            except BaseException as error:
                self._fail(error)
        try:
            self._wait_for_state()
        except OSError as error:
            self._fail(ReleaseError(f"Cannot write the stream: {error.strerror}."))

    def _fail(self, error: BaseException) -> None:
        if not self._failed:
            self._failed, self._error = True, error

    def _put_in_place(self, written: _Written, commit: Commit) -> None:
        for aside in written.snapshots:
            aside.put_in_place()
        if written.snapshots:
            sync(self._folder)
        self._wait_for_state()
        for aside in written.state:
            aside.put_in_place()
            # Waited for with the next commit: until it is on disk, the state before is as good.
            self._state_synced = self._syncers.submit(sync, aside.place.parent)
            self._last = commit.checkpoint
        write_summary(self._folder, commit.summary)

    def _wait_for_state(self) -> None:
        if self._state_synced is not None:
            self._state_synced.result()
            self._state_synced = None
            if self._private is not None and self._last is not None and self._last.whole:
                remove_steps(self._private, self._last.number)
