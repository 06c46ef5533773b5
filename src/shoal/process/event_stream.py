"""From events that arrive to published snapshots: read, close, reposition, check, write, remember."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
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
from shoal.release.stream_gate import StreamGate
from shoal.streams.arrivals import Arrivals
from shoal.streams.blocks import Block, Source, prefetched
from shoal.streams.checkpoint import UNREADABLE, BlockLog, Checkpoint, damaged, different, locked, read_checkpoint
from shoal.streams.delivery import Delivery
from shoal.streams.folder import Folder
from shoal.streams.kafka import KafkaDelivery, KafkaSource
from shoal.streams.lines import Lines
from shoal.streams.mqtt import MqttDelivery, MqttSource
from shoal.streams.output import PublishedTotals, check_new, complete_summary, summarise
from shoal.streams.publisher import Commit, Publisher
from shoal.streams.reposition import PublishedSnapshot, RepositionStream
from shoal.streams.stop_request import Stop, stopping
from shoal.streams.terms import check_terms, read_duration, stream_terms
from shoal.streams.topics import Topic

LOG_BYTES = 1 << 24
"""Bytes of the log after which the whole state is saved: after a crash, this much is read again."""
AT_ONCE = 64
"""Snapshots that go through the operator together."""


@dataclass(frozen=True)
class StreamColumns:
    """The role of each column of the events."""

    time: str
    sensitive: str
    quasi: tuple[str, ...] = ()
    id: str | None = None
    subject: str | None = None

    @property
    def withheld(self) -> tuple[str, ...]:
        """Columns that are read and not published."""
        return tuple(dict.fromkeys(name for name in (self.id, self.subject) if name is not None))


def stream_events(
    source: int | Path | Topic,
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
    send: Topic | None = None,
    steps: Watcher = silent,
    tell: Callable[[str], None] = lambda note: None,
) -> dict[str, Any]:
    """Publish events as they arrive; `source` is a descriptor with NDJSON, a folder, or a topic. Returns the summary.

    Parameters
    ----------
    source, columns, every, lateness, known, strict
        As in `Lines`, `Folder` and `Arrivals`.
    to
        The folder for published snapshots: new, or the one that belongs to the state in `private`.
    private
        The folder of the state from which a later run resumes.
    goes_on
        Whether lines already consumed will not come again.
    follow
        Whether to wait for further files or messages until SIGINT or SIGTERM.
    flush
        Whether the end of the input is the end of the stream.
    send
        A topic to which published snapshots are sent as well.
    tell
        Receives a sentence for anything a publisher should know that is not an error.
    """
    check_terms(method, [*columns.quasi, columns.sensitive], known, file_format, subject=columns.subject)
    if private is None and (goes_on or not flush):
        raise ParameterError(
            "--continue and --no-flush need --private: it holds pending events and the stream's position."
        )
    if private is None and (isinstance(source, Topic) or send is not None):
        raise ParameterError("Topics need --private: only the state records what was read and sent.")
    if send is not None and file_format != "parquet":
        raise ParameterError("--send needs --format parquet: snapshots are sent from the published files.")
    if goes_on and not isinstance(source, int):
        raise ParameterError(
            "--continue is for standard input; a folder or a topic always resumes at the stream's position."
        )
    if follow and isinstance(source, int):
        raise ParameterError("--follow is for a folder or a topic; standard input is read until it ends.")
    if isinstance(source, Path) and not source.is_dir():
        raise InputError(f"No such folder: {source}. A file is read with: shoal stream - < FILE")
    arrivals = Arrivals(
        **dataclasses.asdict(columns),
        every=read_duration(every, "every"),
        lateness=read_duration(lateness, "lateness"),
        known=known,
        strict=strict,
    )
    terms = stream_terms(
        method,
        dataclasses.asdict(columns),
        to=to,
        file_format=file_format,
        every=every,
        lateness=lateness,
        known=known,
    )
    settings = terms | {"source": _name_of(source), "send": None if send is None else send.text}
    with ExitStack() as stack:
        kept = None
        if private is not None:
            open_private(private, to)
            stack.enter_context(locked(private))
            kept = read_checkpoint(private)
            if kept is not None and "client" not in kept.facts:
                raise damaged(private)  # from a stream without a log
        try:
            stream = _Stream(method, arrivals, settings, kept)
            stream.summary()
        except UNREADABLE:
            if kept is None or private is None:
                raise
            raise damaged(private) from None
        if kept is None:
            check_new(to)
        elif stream.published and not to.exists():
            raise ReleaseError(
                f"{str(to)!r} is gone, and with it {stream.published} published snapshots. Restore the folder (empty "
                "if the snapshots were moved elsewhere), or start a new stream in new folders."
            )
        to.mkdir(parents=True, exist_ok=True)
        stop = stack.enter_context(stopping())
        gate = stack.enter_context(
            closing(
                StreamGate(
                    to,
                    (method.aims_at, *method.further),
                    Recipe(method.name, method.parameters),
                    "csv" if file_format == "csv" else "parquet",
                    n_withheld=len(columns.withheld),
                    n_published=stream.published,
                )
            )
        )
        delivery: Delivery | None = None
        open_source = partial(
            _open_source, source, arrivals, stream.client, follow=follow, goes_on=goes_on, flush=flush, tell=tell
        )
        sources: list[Source] = []

        def acknowledge(block: Block) -> None:
            for reader in sources:
                reader.acknowledge(block)

        with Publisher(to, private, gate, acknowledge) as publisher:
            if kept is not None and private is not None and not stream.finished:
                stream.take_again(BlockLog(private, kept.number).read(arrivals.columns), publisher)
            if stream.finished:
                if not isinstance(source, Topic) and any(len(block) for block in open_source().blocks(stop)):
                    raise InputError(
                        "This stream is finished, so nothing can be added. Start a new one in new folders."
                    )
                publisher.wait()
                tell(complete_summary(to, stream.summary()))
                _deliver(to, stream, send, gate)
                return stream.summary()
            if private is None:
                tell("Without --private no state is kept: a stopped stream cannot be resumed.")
            stream.keep(publisher)  # before a broker knows the stream by its name
            delivery = _start_delivery(to, stream, send, gate)
            publisher.on_commit = None if delivery is None else delivery.advance
            sources.append(open_source())
            stream.run(sources[0], publisher, stop, flush=flush, steps=steps)
            publisher.wait()
            sources[0].close()
        if delivery is not None:
            delivery.finish()
        stream.tell_of_suppression(tell)
        return stream.summary() | {"latency": publisher.latency.facts()}


def _name_of(source: int | Path | Topic) -> str:
    if isinstance(source, Topic):
        return source.text
    return "standard input" if isinstance(source, int) else str(source.resolve())


def _open_source(
    source: int | Path | Topic,
    arrivals: Arrivals,
    client: str,
    *,
    follow: bool,
    goes_on: bool,
    flush: bool,
    tell: Callable[[str], None],
) -> Source:
    """The source at the position of the stream."""
    columns, position = arrivals.columns, arrivals.position
    if isinstance(source, Path):
        return Folder(source, columns, position, follow=follow, tell=tell)
    if isinstance(source, int):
        return Lines(source, columns, position, skip=not goes_on, goes_on=not flush)
    if source.kind == "kafka":
        return KafkaSource(source, columns, position, follow=follow)
    return MqttSource(source, f"{client}-in", columns, position, follow=follow)


def _start_delivery(to: Path, stream: _Stream, send: Topic | None, gate: StreamGate) -> Delivery | None:
    """Start sending what is published, after what was sent before."""
    if send is None:
        return None
    receiver = (KafkaDelivery if send.kind == "kafka" else MqttDelivery)(send, f"{stream.client}-out")
    return Delivery(receiver, to, stream.client, gate.first_number)


def _deliver(to: Path, stream: _Stream, send: Topic | None, gate: StreamGate) -> None:
    """Send what a finished stream has not sent yet."""
    delivery = _start_delivery(to, stream, send, gate)
    if delivery is not None:
        delivery.advance(stream.published)
        delivery.finish()


class _Stream:
    """A stream between its source and its publisher."""

    def __init__(
        self, method: Reposition, arrivals: Arrivals, settings: Mapping[str, Any], kept: Checkpoint | None
    ) -> None:
        # Drawn and stored before anything is published: a snapshot that is written again must have the same groups.
        seed = secrets.randbits(128) if method.seed is None else method.seed
        self._method = dataclasses.replace(method, seed=seed)
        self._arrivals, self._settings = arrivals, dict(settings)
        self._operator: RepositionStream | None = None
        self._totals = PublishedTotals()
        self._number = 0
        self.finished = False
        self.client = f"shoal-{secrets.token_hex(8)}"
        """The name by which brokers know the stream."""
        if kept is not None:
            self._restore(kept)

    def _restore(self, kept: Checkpoint) -> None:
        facts = kept.facts
        if names := different(facts["settings"], self._settings):
            raise ParameterError(
                f"The stream was started with other settings: {', '.join(names)}. Give the same, or start a new one "
                "in new folders."
            )
        self._method = dataclasses.replace(self._method, seed=facts["seed"])
        self._arrivals.restore(kept.tables.get("open"), facts["arrivals"])
        self._totals, self.finished = PublishedTotals.restored(facts["totals"]), facts["finished"]
        self._number, self.client = kept.number, facts["client"]
        if not isinstance(self.finished, bool) or not isinstance(self.client, str) or not facts["seed"] >= 0:
            raise ValueError("not the state of a stream")
        if facts["operator"] is not None:
            self._operator = RepositionStream.restored(
                self._method, kept.tables["window"], facts["operator"], self._arrivals.no_events()
            )

    @property
    def published(self) -> int:
        """Snapshots published so far."""
        return self._totals.snapshots

    @property
    def number(self) -> int:
        """That of the last checkpoint."""
        return self._number

    def take_again(self, blocks: Sequence[Block | None], publisher: Publisher) -> None:
        """Replay the log: it returns what is already published, or was about to be."""
        for block in blocks:
            if block is None:
                self._end(publisher)
            else:
                self._take(block, publisher, None)

    def keep(self, publisher: Publisher) -> None:
        """Save the whole state: from now on the folder belongs to it."""
        publisher.submit(Commit([], self.summary(), checkpoint=self._checkpoint() if publisher.durable else None))

    def run(self, source: Source, publisher: Publisher, stop: Stop, *, flush: bool, steps: Watcher) -> None:
        """Publish until the input ends or a stop is requested."""
        steps.start("publishing snapshots")
        with prefetched(source.blocks(stop)) as blocks:
            for block in blocks:
                self._take(block, publisher, publisher.keep(block))
                steps.advance(self._totals.snapshots, self._arrivals.n_closed)
                if publisher.log is not None and publisher.log.size > LOG_BYTES:
                    self.keep(publisher)
        if flush and not (stop.asked and publisher.durable):
            logged = publisher.keep(None)
            if logged is not None:
                logged.result()  # later events no longer belong to the stream
            self._end(publisher)
        elif publisher.durable:
            self.keep(publisher)

    def _take(self, block: Block, publisher: Publisher, logged: Future[None] | None) -> None:
        closed: list[pl.DataFrame] = []
        try:
            closed.extend(self._arrivals.take(block))
        finally:  # if the input cannot be read further, what came before is published
            publisher.submit(Commit(self._push(closed), self.summary(), block), logged)

    def _end(self, publisher: Publisher) -> None:
        published = self._push(list(self._arrivals.finish()))
        rest: list[PublishedSnapshot] = []
        if self._operator is not None:
            rest = self._operator.flush()
            self._totals = self._totals.after(rest, self._operator.figures)
        self.finished = True
        checkpoint = self._checkpoint() if publisher.durable else None
        publisher.submit(Commit([*published, *rest], self.summary(), checkpoint=checkpoint))

    def _push(self, closed: Sequence[pl.DataFrame]) -> list[PublishedSnapshot]:
        published: list[PublishedSnapshot] = []
        for start in range(0, len(closed), AT_ONCE):
            if self._operator is None:
                arrivals = self._arrivals
                self._operator = RepositionStream(
                    self._method,
                    time=arrivals.time,
                    sensitive=arrivals.sensitive,
                    quasi=arrivals.quasi,
                    subject=arrivals.subject,
                    known=arrivals.known_values(),
                )
            published += self._operator.push(*closed[start : start + AT_ONCE])
        if self._operator is not None:
            self._totals = self._totals.after(published, self._operator.figures)
        return published

    def _checkpoint(self) -> Checkpoint:
        self._number += 1
        tables: dict[str, pl.DataFrame] = {}
        events, arrived = self._arrivals.state()
        if events is not None:
            tables["open"] = events
        operator = None
        # After the flush nothing waits any more.
        if self._operator is not None and not self.finished:
            tables["window"], operator = self._operator.state()
        facts = {
            "arrivals": arrived,
            "totals": self._totals.facts(),
            "finished": self.finished,
            "settings": self._settings,
            "seed": self._method.seed,
            "operator": operator,
            "client": self.client,
        }
        return Checkpoint(self._number, facts, tables)

    def tell_of_suppression(self, tell: Callable[[str], None]) -> None:
        """Tell the publisher what was lost so far, by value; the summary next to the release only says how much."""
        recipe = Recipe(self._method.name, self._method.parameters)
        for sentence in said(LOSS, Streamed(self._totals.suppression, recipe, self.finished)):
            tell(sentence)

    def summary(self) -> dict[str, Any]:
        """The figures so far: counts only."""
        return summarise(self._method, self._arrivals, self._totals, finished=self.finished)
