"""How long work reports its progress, and a stop signal that never comes."""

from typing import Any, Protocol


class Watcher(Protocol):
    """A receiver of progress: a progress bar, a log, or none."""

    def start(self, name: str) -> None:
        """A step begins."""

    def advance(self, done: int, total: int) -> None:
        """The step has come this far."""

    def say(self, text: str) -> None:
        """Something the publisher must know, such as what was taken for a subject."""


class _Silent:
    def __repr__(self) -> str:
        return "silent"

    def start(self, name: str) -> None:
        pass

    def advance(self, done: int, total: int) -> None:
        pass

    def say(self, text: str) -> None:
        pass


def tell(steps: Watcher, data: Any) -> None:
    """Report what reading says about the data: what a subject is, and which names were respelt."""
    if data.origin is not None:
        for text in data.origin.notes:
            steps.say(text)


silent: Watcher = _Silent()


class _Never:
    """A stop signal that never comes."""

    def __repr__(self) -> str:
        return "never"

    def __call__(self) -> bool:
        return False


never = _Never()
