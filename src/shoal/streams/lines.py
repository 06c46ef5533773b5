"""Events from a pipe: one JSON object per line, taken as they come."""

from __future__ import annotations

import fcntl
import os
import select
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from shoal.streams.blocks import Block, Position, Source, parse_lines
from shoal.streams.stop_request import Stop

_BLOCK = 1 << 20
"""Bytes per block if more are waiting than that."""
_LINGER = 0.005
"""Seconds for which a block waits for more: a pipe holds less than a block, and larger blocks cost less."""
_MOST_LINGER = 0.05
LONGEST = 1 << 24
"""Bytes of the longest line that is read; a longer one is malformed."""


class Lines(Source):
    """NDJSON from a file descriptor.

    Parameters
    ----------
    descriptor
        Where to read.
    columns
        The columns to read.
    position
        How many lines are consumed already.
    skip
        Whether the input starts from the beginning, so that these lines are repeated and must be skipped.
    goes_on
        Whether the input will continue later: then a last line without a line end is not consumed, because it may be
        incomplete.
    """

    def __init__(
        self, descriptor: int, columns: Sequence[str], position: Position, *, skip: bool = True, goes_on: bool = False
    ) -> None:
        self._descriptor = descriptor
        with suppress(OSError, AttributeError):  # not a pipe, or not on Linux
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _BLOCK)
        self._columns = list(columns)
        self._position = position
        self._to_skip = position.number if skip else 0
        self._goes_on = goes_on
        self._arrived = time.monotonic()

    def blocks(self, stop: Stop) -> Iterator[Block]:
        """Yield what has arrived, repeatedly, until the input ends or a stop is requested."""
        rest: list[bytes] = []  # pieces of a line whose end has not come
        n_rest = 0
        while True:
            piece = self._read(stop)
            if piece is None:
                return
            cut = piece.rfind(b"\n") + 1
            if cut or not piece:
                whole = b"".join([*rest, piece[:cut]])
                rest, n_rest = [], 0
                if whole and not (self._goes_on and not piece):
                    yield from self._parse(whole)
            if not piece:
                return
            if cut < len(piece):
                # Only enough of an overlong line is kept to recognise it.
                n_rest += len(piece) - cut
                if n_rest <= LONGEST + len(piece):
                    rest.append(piece[cut:])

    def _read(self, stop: Stop) -> bytes | None:
        """What is available now, at least a byte; nothing at the end; None if a stop is requested."""
        pieces: list[bytes] = []
        size = 0
        until = 0.0
        while size < _BLOCK:
            wait = max(0.0, min(_LINGER, until - time.monotonic())) if pieces else None
            ready, _, _ = select.select([self._descriptor, stop.descriptor], [], [], wait)
            if stop.asked:
                # What was read from the pipe but not consumed is not part of the position.
                return None
            if self._descriptor not in ready:
                break
            piece = os.read(self._descriptor, _BLOCK - size)
            if not piece:
                break
            if not pieces:
                self._arrived = time.monotonic()
                until = self._arrived + _MOST_LINGER
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def _parse(self, raw: bytes) -> Iterator[Block]:
        if self._to_skip:
            n_lines = raw.count(b"\n") + (not raw.endswith(b"\n"))
            if n_lines <= self._to_skip:
                self._to_skip -= n_lines
                return
            raw = raw.split(b"\n", self._to_skip)[-1]
            self._to_skip = 0
        if len(raw) > LONGEST:
            raw = b"\n".join(line if len(line) <= LONGEST else b"-" for line in raw.split(b"\n"))
        block = replace(parse_lines(raw, self._columns, self._position), arrived=self._arrived)
        self._position = block.after
        yield block
