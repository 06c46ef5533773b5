"""Form fields as text by name, for forms whose fields depend on the data or on lists of methods."""

from __future__ import annotations

from fastapi import Request

Given = dict[str, list[str]]
"""What was sent, by field; empty fields are omitted."""

LONGEST = 500
"""Maximum number of characters in a field."""


async def read_form(request: Request) -> Given:
    """The fields of a form that were filled in."""
    form = await request.form(max_fields=2000)
    texts = {name: [text for text in form.getlist(name) if isinstance(text, str)] for name in form}
    filled = {name: [text.strip()[:LONGEST] for text in some if text.strip()] for name, some in texts.items()}
    return {name: some for name, some in filled.items() if some}


def one(given: Given, name: str, otherwise: str = "") -> str:
    """The text of a field."""
    return given.get(name, [otherwise])[0]
