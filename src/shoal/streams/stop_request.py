"""Stopping on request: after SIGINT or SIGTERM, the stream ends where its state is complete."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType


@dataclass
class Stop:
    """Whether a stop was requested, and a descriptor that then becomes readable.

    The descriptor lets a reader wait for its input and for the signal at once: Python resumes an interrupted read.
    """

    descriptor: int
    asked: bool = field(default=False)

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than until a stop is requested."""
        if not self.asked:
            select.select([self.descriptor], [], [], seconds)


@contextmanager
def stopping() -> Iterator[Stop]:
    """Turn SIGINT and SIGTERM into a request while the block runs."""
    receiver, sender = os.pipe()
    stop = Stop(receiver)

    def ask(number: int, frame: FrameType | None) -> None:
        if not stop.asked:
            stop.asked = True
            os.write(sender, b"x")

    # Only the main thread may handle signals; elsewhere no stop is requested.
    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    earlier = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
        os.close(receiver)
        os.close(sender)
