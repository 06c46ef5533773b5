"""How messages travel: in memory, through a folder, or through an MQTT broker (`shoal.edge.mqtt`)."""

from __future__ import annotations

import itertools
import os
from collections import defaultdict, deque
from pathlib import Path
from typing import Protocol

from shoal.edge.messages import COLLECTOR
from shoal.errors import InputError


class DeviceLink(Protocol):
    """Mailboxes by place. Delivery is at most once, in any order; messages protect themselves."""

    def send(self, receiver: int, content: bytes) -> None:
        """Put a message into the box of a meter, or of the collector."""

    def fetch(self, receiver: int) -> list[bytes]:
        """Take what is in a box."""

    def close(self) -> None:
        """Close the link."""


class MemoryLink:
    """Boxes of one process."""

    def __init__(self) -> None:
        self._boxes: dict[int, deque[bytes]] = defaultdict(deque)

    def send(self, receiver: int, content: bytes) -> None:
        """Put a message into a box."""
        self._boxes[receiver].append(content)

    def fetch(self, receiver: int) -> list[bytes]:
        """Take what is in a box."""
        box, self._boxes[receiver] = self._boxes[receiver], deque()
        return list(box)

    def close(self) -> None:
        """Nothing to do."""


class FolderLink:
    """A folder for each box, a file for each message, which appears atomically.

    Parameters
    ----------
    folder
        Where the boxes are; all who use it may read and write there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"The folder for messages cannot be used: {error.strerror}.") from None

    def send(self, receiver: int, content: bytes) -> None:
        """Write a temporary file and rename it into the box."""
        box = self._box(receiver)
        name = f"{os.getpid():010d}-{next(self._numbers):012d}-{os.urandom(4).hex()}"
        aside = box / f".{name}"
        aside.write_bytes(content)
        aside.rename(box / name)

    def fetch(self, receiver: int) -> list[bytes]:
        """Read and remove the files of a box."""
        messages = []
        for path in sorted(self._box(receiver).iterdir()):
            if not path.name.startswith("."):
                messages.append(path.read_bytes())
                path.unlink()
        return messages

    def close(self) -> None:
        """Nothing to do."""

    def _box(self, receiver: int) -> Path:
        box = self._folder / ("collector" if receiver == COLLECTOR else f"meter-{receiver:07d}")
        box.mkdir(exist_ok=True)
        return box
