"""Progress of long work: a bar on a terminal or in a notebook, nothing in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module

Show = Callable[[str, int | None, int | None], None]
"""Receives the name of a step, how much of it is done, and its total."""


class ProgressBar:
    """Where long work reports its progress."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self.name = ""
        """The current step."""
        self.said: list[str] = []

    def start(self, name: str) -> None:
        """Begin a step of unknown length."""
        self.name = name
        self._show(name, None, None)

    def advance(self, done: int, total: int) -> None:
        """Report the progress of the step."""
        self._show(self.name, done, total)

    def say(self, text: str) -> None:
        """Keep what must be said with the result."""
        if text not in self.said:
            self.said.append(text)

    @property
    def rows(self) -> list[tuple[str, str]]:
        """What was said, for a table of results."""
        return [("read", text) for text in self.said]


@contextmanager
def steps() -> Iterator[ProgressBar]:
    """A progress bar on a terminal or in a notebook, nothing in a pipe."""
    if _in_notebook():
        with _notebook_bar() as show:
            yield ProgressBar(show)
        return
    if not sys.stderr.isatty():
        yield ProgressBar(lambda name, done, total: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        current = ""

        def show(name: str, done: int | None, total: int | None) -> None:
            nonlocal current
            if name != current:
                bar.reset(task, description=name, total=total)
                current = name
            bar.update(task, completed=done or 0, total=total)

        yield ProgressBar(show)


def _in_notebook() -> bool:
    """Whether this runs in a notebook kernel; IPython on a terminal does not count."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def _notebook_bar() -> Iterator[Show]:
    """A bar below the cell that disappears when the work is done; drawn by the browser, without widgets."""
    display = import_module("IPython.display")
    place = display.display(display.HTML(""), display_id=True)
    drawn = 0.0

    def show(name: str, done: int | None, total: int | None) -> None:
        nonlocal drawn
        if time.monotonic() - drawn < 0.1 and done:
            return
        drawn = time.monotonic()
        how_far = f' value="{done}" max="{total}"' if done is not None and total else ""
        place.update(display.HTML(f"<progress{how_far}></progress> {escape(name)}"))

    try:
        yield show
    finally:
        place.update(display.HTML(""))
