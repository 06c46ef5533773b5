"""Small tables for notebooks: names and figures, escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_CELL = "text-align:left;vertical-align:top;white-space:normal"


def html_table(caption: str, rows: Sequence[tuple[str, str]]) -> str:
    """Names next to figures."""
    return _table(caption, "", "".join(_row([name, figure]) for name, figure in rows))


def html_grid(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a heading."""
    titles = "".join(f'<th scope="col" style="{_CELL}">{escape(title)}</th>' for title in head)
    return _table(caption, f"<thead><tr>{titles}</tr></thead>", "".join(_row(row) for row in rows))


def _table(caption: str, head: str, rows: str) -> str:
    title = f'<caption style="caption-side:top;text-align:left;font-weight:bold">{escape(caption)}</caption>'
    return f"<table>{title}{head}<tbody>{rows}</tbody></table>"


def _row(cells: Sequence[str]) -> str:
    first, *others = (escape(str(cell)) for cell in cells)
    rest = "".join(f'<td style="{_CELL}">{cell}</td>' for cell in others)
    return f'<tr><th scope="row" style="{_CELL}">{first}</th>{rest}</tr>'
