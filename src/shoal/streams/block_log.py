"""What has arrived since the last checkpoint, on disk before anything of it is published.

A stream is a function of its state and of the events after it, so that blocks taken in again publish the same bytes
under the same names. One record per block and one sync per record: whatever a block causes is covered by it.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from shoal.files.durable import sync
from shoal.streams.blocks import Block
from shoal.streams.checkpoint import UNREADABLE, damaged

_NAME = "stream.log-"
_HEAD = struct.Struct("<QI")  # bytes and CRC-32 of the content


class BlockLog:
    """A file of blocks after one checkpoint, for its owner alone. An empty record is the end of the input.

    Parameters
    ----------
    folder
        The private folder.
    number
        The checkpoint that the blocks come after.
    """

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._path = folder / f"{_NAME}{number:012d}"
        self._number = number
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self.size = os.fstat(self._descriptor).st_size
        sync(folder)

    def append(self, block: Block | None) -> None:
        """Bring a block to disk, or None for the end of the input."""
        content = b"" if block is None else block.to_bytes()
        left = memoryview(_HEAD.pack(len(content), zlib.crc32(content)) + content)
        self.size += len(left)
        while left:
            left = left[os.write(self._descriptor, left) :]
        os.fdatasync(self._descriptor)

    def read(self) -> list[Block | None]:
        """Every whole record; what a killed process or a lost disk left of the last one is cut off."""
        content = self._path.read_bytes()
        found: list[Block | None] = []
        start = 0
        while start + _HEAD.size <= len(content):
            length, check = _HEAD.unpack_from(content, start)
            end = start + _HEAD.size + length
            record = content[start + _HEAD.size : end]
            if end > len(content) or zlib.crc32(record) != check:
                if end < len(content):
                    raise damaged(self._folder)
                break
            try:
                found.append(Block.from_bytes(record) if record else None)
            except UNREADABLE:
                raise damaged(self._folder) from None
            start = end
        os.ftruncate(self._descriptor, start)
        self.size = start
        return found

    def remove_others(self) -> None:
        """Remove the logs that come before other checkpoints."""
        for path in self._folder.glob(f"{_NAME}*"):
            if path != self._path:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Give the file back."""
        os.close(self._descriptor)
