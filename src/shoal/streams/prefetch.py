"""Reading ahead: the next blocks are read and parsed while those before go through the stream."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
_AHEAD = 2


@contextmanager
def prefetched(items: Iterator[T]) -> Iterator[Iterator[T]]:
    """The same items, read at most two ahead; an error from reading is raised at its position."""
    ahead: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(_AHEAD)
    left = threading.Event()

    def put(item: tuple[T] | BaseException | None) -> None:
        while not left.is_set():
            try:
                ahead.put(item, timeout=0.1)
            except queue.Full:
                continue
            return

    def read() -> None:
        try:
            for item in items:
                put((item,))
                if left.is_set():
                    return
            put(None)
        except BaseException as error:
            put(error)

    def take() -> Iterator[T]:
        while (item := ahead.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item[0]

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield take()
    finally:
        left.set()
        # A reader that is waiting for input is abandoned: as a daemon, it ends with the process.
        thread.join(timeout=0.5)
