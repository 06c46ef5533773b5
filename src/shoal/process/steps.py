"""How long work tells the outside where it is."""

from typing import Protocol


class Steps(Protocol):
    """Somebody who wants to know: a progress bar, a log, nobody."""

    def start(self, name: str) -> None:
        """A step begins."""

    def advance(self, done: int, total: int) -> None:
        """The step is that far."""


class _Silent:
    def start(self, name: str) -> None:
        pass

    def advance(self, done: int, total: int) -> None:
        pass


silent: Steps = _Silent()
