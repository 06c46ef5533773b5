"""What a person sees on a terminal, and what a program gets."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def print_json(content: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def write_new(path: Path, text: str) -> None:
    """Write a file, over nothing."""
    from shoal.errors import ReleaseError

    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ReleaseError(f"{str(path)!r} exists. Choose another name or remove it.") from None
    except OSError as error:
        raise ReleaseError(f"Cannot write {str(path)!r}: {error.strerror}.") from None


def print_table(rows: Sequence[tuple[str, str]]) -> None:
    """Names and figures, aligned; as plain text in a pipe. Text from a folder may not steer the terminal."""
    rows = [(_printable(name), _printable(figure)) for name, figure in rows]
    if not sys.stdout.isatty():
        width = max(len(name) for name, _ in rows)
        for name, figure in rows:
            print(f"{name:<{width}}  {figure}")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, figure in rows:
        table.add_row(Text(name), Text(figure))
    Console().print(table)


def _printable(text: str) -> str:
    return (
        text
        if text.isprintable()
        else "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    )


class Steps:
    """Where long work tells how far it is."""

    def __init__(self, show: Callable[[str, int | None, int | None], None]) -> None:
        self._show = show
        self._name = ""
        self.said: list[str] = []

    def start(self, name: str) -> None:
        """Begin a step of unknown length."""
        self._name = name
        self._show(name, None, None)

    def advance(self, done: int, total: int) -> None:
        """Say how far the step is."""
        self._show(self._name, done, total)

    def say(self, text: str) -> None:
        """Keep what must be said with the result."""
        if text not in self.said:
            self.said.append(text)

    @property
    def rows(self) -> list[tuple[str, str]]:
        """What was said, for a table of results."""
        return [("read", text) for text in self.said]


@contextmanager
def steps() -> Iterator[Steps]:
    """A progress bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield Steps(lambda name, done, total: None)
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

        yield Steps(show)
