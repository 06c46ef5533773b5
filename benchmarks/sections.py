"""Pages of results that several scripts write: each owns one section."""

from __future__ import annotations

import re
from pathlib import Path

OPENINGS = {
    "Microaggregation": "See how much information microaggregation loses with each algorithm, how close to the optimum "
    "it comes, and how long it takes at any size.",
}
"""What a page that begins with a section tells its reader first."""


def put_section(page: Path, title: str, heading: str, body: str) -> None:
    """Write a section of a page, in place of the one with the same heading if there is one."""
    page.parent.mkdir(parents=True, exist_ok=True)
    text = page.read_text(encoding="utf-8") if page.exists() else _head(title)
    section = f"## {heading}\n\n{body.strip()}\n"
    pattern = re.compile(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", re.M | re.S)
    replaced, found = pattern.subn(lambda _: section + "\n", text)
    text = replaced if found else f"{text.rstrip()}\n\n{section}"
    page.write_text(text.rstrip() + "\n", encoding="utf-8")


def _head(title: str) -> str:
    opening = OPENINGS.get(title)
    return f"# {title}\n" if opening is None else f"# {title}\n\n{opening}\n"
