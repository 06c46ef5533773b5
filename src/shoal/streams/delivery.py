"""Delivery of published snapshots to a topic: each once and in order, from the published files.

The files are the outbox, and the topic itself records what was sent: its last message has the number of its snapshot.
So no state of sending is kept, and a killed stream continues after the last snapshot that arrived.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Protocol

import polars as pl

from shoal.errors import ReleaseError
from shoal.model.event_kinds import as_text


class Receiver(Protocol):
    """A topic that takes messages."""

    def last(self) -> bytes | None:
        """The last message sent, if any."""

    def send(self, content: bytes) -> None:
        """Send a message and wait until the broker has it."""

    def close(self) -> None:
        """Leave the broker."""


class Delivery:
    """Sends snapshots while the stream continues.

    Parameters
    ----------
    receiver
        Where to send.
    folder
        Where snapshots are published, as Parquet.
    stream
        The name of the stream, which reveals a topic that another stream sends to.
    first
        The number of the first snapshot that the folder has, from 1.
    """

    def __init__(self, receiver: Receiver, folder: Path, stream: str, first: int) -> None:
        self._receiver, self._folder, self._stream = receiver, folder, stream
        self._sent = self._find_sent()
        if self._sent < first - 1:
            raise ReleaseError(
                f"Snapshots {self._sent + 1} to {first - 1} were not sent and are no longer in {str(folder)!r}."
            )
        self._published = 0
        self._ended = False
        self._error: BaseException | None = None
        self._more = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _find_sent(self) -> int:
        last = self._receiver.last()
        if last is None:
            return 0
        try:
            message = json.loads(last)
            stream, number = message["stream"], int(message["number"])
        except (ValueError, KeyError, TypeError):
            stream, number = None, 0
        if stream != self._stream:
            raise ReleaseError("The topic to send to has messages from elsewhere. Give the stream a new topic.")
        return number

    def advance(self, n_published: int) -> None:
        """Report how many snapshots are in place. Raises errors from sending."""
        with self._more:
            if self._error is not None:
                raise self._error
            self._published = n_published
            self._more.notify()

    def finish(self) -> None:
        """Wait until everything is sent."""
        with self._more:
            self._ended = True
            self._more.notify()
        self._thread.join()
        self._receiver.close()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            while True:
                with self._more:
                    self._more.wait_for(lambda: self._ended or self._sent < self._published)
                    if self._sent >= self._published:
                        return
                self._receiver.send(self._message(self._sent + 1))
                self._sent += 1
        except OSError as error:
            self._error = ReleaseError(f"A snapshot cannot be read to be sent: {error.strerror}.")
        except BaseException as error:
            self._error = error

    def _message(self, number: int) -> bytes:
        tables = {}
        for name in ("data", "sensitive"):
            path = self._folder / f"{name}-{number:08d}.parquet"
            if name == "data" or path.exists():
                frame = pl.read_parquet(path, glob=False)
                tables[name] = frame.with_columns(as_text(column) for column in frame).to_dicts()
        return json.dumps({"stream": self._stream, "number": number, **tables}, allow_nan=False).encode()
