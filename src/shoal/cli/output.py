"""Output for a person at a terminal, and for a program."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.process.progress import ProgressBar


def print_json(content: Any) -> None:
    """Print one JSON document on standard output."""
    print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def write_new(path: Path, text: str) -> None:
    """Write a new file; an existing one is not replaced."""
    from shoal.errors import ReleaseError

    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ReleaseError(f"{str(path)!r} exists. Choose another name or remove it.") from None
    except OSError as error:
        raise ReleaseError(f"Cannot write {str(path)!r}: {error.strerror}.") from None


def print_table(rows: Sequence[tuple[str, str]]) -> None:
    """Print names and figures, aligned; as plain text in a pipe. Text from a folder cannot control the terminal."""
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


def steps() -> AbstractContextManager[ProgressBar]:
    """Show a progress bar on a terminal, nothing in a pipe."""
    from shoal.process import progress  # late, because --help must stay quick

    return progress.steps()
