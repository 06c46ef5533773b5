"""From events that arrive to published snapshots: read, close, reposition, check, write, remember."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import InputError, ParameterError, ReleaseError
from shoal.methods.reposition import Reposition
from shoal.model import Recipe
from shoal.model.sentence import said
from shoal.model.watcher import Watcher, silent
from shoal.process.stream_sentences import LOSS, Streamed
from shoal.release.private import open_private
from shoal.streams.arrivals import Arrivals
from shoal.streams.checkpoint import Checkpoint, Kept, different, locked, read_checkpoints
from shoal.streams.folder import Folder
from shoal.streams.lines import Lines
from shoal.streams.output import Totals, check_new, complete_summary, summarise
from shoal.streams.publisher import Commit, Publisher
from shoal.streams.reposition import PublishedSnapshot, RepositionStream
from shoal.streams.stop_request import Stop, stopping
from shoal.streams.terms import check_terms, method_terms, read_duration

_STEPS = 20
"""Checkpoints that only say what has changed, before the next whole one."""


@dataclass(frozen=True)
class StreamColumns:
    """Which column of the events is what."""

    time: str
    sensitive: str
    quasi: tuple[str, ...] = ()
    id: str | None = None


def stream_events(
    source: int | Path,
    method: Reposition,
    to: Path,
    columns: StreamColumns,
    *,
    every: str | None = None,
    lateness: str | None = None,
    known: Sequence[str] | None = None,
    private: Path | None = None,
    file_format: str = "parquet",
    strict: bool = False,
    goes_on: bool = False,
    follow: bool = False,
    flush: bool = True,
    steps: Watcher = silent,
    tell: Callable[[str], None] = lambda note: None,
) -> dict[str, Any]:
    """Publish events as they arrive; `source` is a file descriptor with NDJSON, or a folder. Gives the summary.

    Parameters
    ----------
    source, columns, every, lateness, known, strict
        As in `Lines`, `Folder` and `Arrivals`.
    to
        The folder for published snapshots: new, or that of the state in `private`.
    private
        The folder of the state, from which a later run goes on.
    goes_on
        Whether lines that are consumed already do not come again.
    follow
        Whether to wait for further files until SIGINT or SIGTERM.
    flush
        Whether the end of the input is the end of the stream.
    tell
        Who is told, in a sentence, what a publisher should know and what is no error.
    """
    check_terms(method, [*columns.quasi, columns.sensitive], known, file_format)
    if private is None and (goes_on or not flush):
        raise ParameterError(
            "--continue and --no-flush need --private: there stands what waits, and where the stream was."
        )
    if goes_on and isinstance(source, Path):
        raise ParameterError("--continue is for standard input; a folder is always read from where the stream was.")
    if follow and not isinstance(source, Path):
        raise ParameterError("--follow is for a folder; standard input is read until it ends.")
    if isinstance(source, Path) and not source.is_dir():
        raise InputError(f"No such folder: {source}. A file is read with: shoal stream - < FILE")
    arrivals = Arrivals(
        **dataclasses.asdict(columns),
        every=read_duration(every, "every"),
        lateness=read_duration(lateness, "lateness"),
        known=known,
        strict=strict,
    )
    settings = {
        "source": "standard input" if isinstance(source, int) else str(source.resolve()),
        "out": str(to.resolve()),
        "format": file_format,
        **{
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(columns).items()
        },
        "every": every,
        "lateness": lateness,
        "known": None if known is None else sorted(set(known)),
        **method_terms(method),
    }
    with ExitStack() as stack:
        kept = None
        if private is not None:
            open_private(private, to)
            stack.enter_context(locked(private))
            kept = read_checkpoints(private)
        stream = _Stream(method, arrivals, settings, kept)
        if kept is None:
            check_new(to)
        elif stream.published and not to.exists():
            raise ReleaseError(
                f"{str(to)!r} is gone, and with it {stream.published} snapshots that were published there. Put the "
                "folder back, empty if they were taken elsewhere, or begin a new stream in new folders."
            )
        to.mkdir(parents=True, exist_ok=True)
        stop = stack.enter_context(stopping())
        if isinstance(source, Path):
            reader: Lines | Folder = Folder(source, arrivals.columns, arrivals.position, follow=follow, tell=tell)
        else:
            reader = Lines(source, arrivals.columns, arrivals.position, skip=not goes_on, goes_on=not flush)
        if stream.finished:
            if any(len(block) for block in reader.blocks(stop)):
                raise InputError("This stream is finished, so nothing can be added. Begin a new one in new folders.")
            tell(complete_summary(to, stream.summary()))
            return stream.summary()
        if private is None:
            tell("Without --private no state is kept: a stream that is stopped cannot go on.")
        with Publisher(to, private, "csv" if file_format == "csv" else "parquet") as publisher:
            stream.run(reader, publisher, stop, flush=flush, steps=steps)
        stream.tell_of_suppression(tell)
        return stream.summary()


class _Stream:
    """A stream between its reader and its publisher."""

    def __init__(self, method: Reposition, arrivals: Arrivals, settings: Mapping[str, Any], kept: Kept | None) -> None:
        # Drawn before anything is published and kept: a snapshot that is written again must have the same groups.
        seed = secrets.randbits(128) if method.seed is None else method.seed
        self._method = dataclasses.replace(method, seed=seed)
        self._arrivals, self._settings = arrivals, dict(settings)
        self._operator: RepositionStream | None = None
        self._totals = Totals()
        self._pushed: list[pl.DataFrame] = []
        """Snapshots since the last checkpoint."""
        self._number = self._n_steps = 0
        self._ending = False
        self.finished = False
        if kept is not None:
            self._restore(kept)

    def _restore(self, kept: Kept) -> None:
        facts = kept.state.facts
        if names := different(facts["settings"], self._settings):
            raise ParameterError(
                f"The stream was begun with other settings than now: {', '.join(names)}. Give the same, or begin a new "
                "one in new folders."
            )
        self._method = dataclasses.replace(self._method, seed=facts["seed"])
        self._go_to(kept.state)
        if facts["operator"] is not None:
            self._operator = RepositionStream.restored(self._method, kept.state.tables["window"], facts["operator"])
        for step in kept.steps:
            self._go_to(step)
            if "pushed" in step.tables:
                for snapshot in step.tables["pushed"].partition_by(self._arrivals.time, maintain_order=True):
                    self._operate(snapshot)  # gives again what is published already
        self._number = kept.last_number

    def _go_to(self, checkpoint: Checkpoint) -> None:
        facts = checkpoint.facts
        self._arrivals.restore(checkpoint.tables.get("open"), facts["arrivals"])
        self._totals = Totals.restored(facts["totals"])
        self._ending, self.finished = facts["ending"], facts["finished"]

    @property
    def published(self) -> int:
        """Snapshots published so far."""
        return self._totals.snapshots

    def run(self, reader: Lines | Folder, publisher: Publisher, stop: Stop, *, flush: bool, steps: Watcher) -> None:
        """Publish until the input ends or a stop is asked for."""
        self._commit([], publisher, whole=True)  # from now on the folder belongs to this state
        steps.start("publishing snapshots")
        closed = iter(()) if self._ending else self._closed(reader, stop)
        while (snapshot := self._next(closed, publisher)) is not None:
            self._push(snapshot, publisher)
            steps.advance(self._totals.snapshots, self._arrivals.n_closed)
            if stop.asked:
                break
        if self._ending or (flush and not (stop.asked and publisher.durable)):
            self._ending = True
            for snapshot in self._arrivals.finish():
                self._push(snapshot, publisher)
            self.finished = True
            self._commit([] if self._operator is None else self._operator.flush(), publisher, whole=True)
        else:
            self._commit([], publisher, whole=True)

    def _next(self, closed: Iterator[pl.DataFrame], publisher: Publisher) -> pl.DataFrame | None:
        """The next closed snapshot; where the input cannot be read further, the state up to there is kept."""
        try:
            return next(closed, None)
        except InputError:
            self._commit([], publisher, whole=True)
            raise

    def _closed(self, reader: Lines | Folder, stop: Stop) -> Iterator[pl.DataFrame]:
        yield from self._arrivals.settle()
        for block in reader.blocks(stop):
            yield from self._arrivals.take(block)

    def _push(self, snapshot: pl.DataFrame, publisher: Publisher) -> None:
        published = self._operate(snapshot)
        self._pushed.append(snapshot)
        if published:
            self._commit(published, publisher)

    def _operate(self, snapshot: pl.DataFrame) -> list[PublishedSnapshot]:
        if self._operator is None:
            arrivals = self._arrivals
            self._operator = RepositionStream(
                self._method,
                time=arrivals.time,
                sensitive=arrivals.sensitive,
                quasi=arrivals.quasi,
                known=arrivals.known_values(),
            )
        return self._operator.push(snapshot)

    def _commit(self, published: Sequence[PublishedSnapshot], publisher: Publisher, *, whole: bool = False) -> None:
        for snapshot in published:
            self._totals = self._totals.plus(snapshot)
        checkpoint = self._checkpoint(whole or self._n_steps == _STEPS) if publisher.durable else None
        self._pushed = []
        publisher.submit(Commit(published, checkpoint, self.summary()))

    def _checkpoint(self, whole: bool) -> Checkpoint:
        self._number += 1
        self._n_steps = 0 if whole else self._n_steps + 1
        tables: dict[str, pl.DataFrame] = {}
        events, arrived = self._arrivals.state()
        if events is not None:
            tables["open"] = events
        facts = {
            "arrivals": arrived,
            "totals": self._totals.facts(),
            "ending": self._ending,
            "finished": self.finished,
        }
        if not whole:
            if self._pushed:
                tables["pushed"] = pl.concat(self._pushed)
            return Checkpoint(self._number, whole, facts, tables)
        operator = None
        # After the flush nothing waits any more.
        if self._operator is not None and not self.finished:
            tables["window"], operator = self._operator.state()
        facts |= {"settings": self._settings, "seed": self._method.seed, "operator": operator}
        return Checkpoint(self._number, whole, facts, tables)

    def tell_of_suppression(self, tell: Callable[[str], None]) -> None:
        """Tell the publisher what was lost so far, by value; the summary beside the release says only how much."""
        recipe = Recipe(self._method.name, self._method.parameters)
        for sentence in said(LOSS, Streamed(self._totals.suppression, recipe, self.finished)):
            tell(sentence)

    def summary(self) -> dict[str, Any]:
        """The figures so far: counts only."""
        return summarise(self._method, self._arrivals, self._totals, finished=self.finished)
