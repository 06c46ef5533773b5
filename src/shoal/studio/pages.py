"""Pages from templates, everything escaped."""

from __future__ import annotations

import datetime as dt
from functools import cache
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps

from shoal.report.words import number
from shoal.studio.assets import address_of


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("shoal.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        moment=moment, json=htmlsafe_json_dumps, percent=percent, number=number, choices=_as_choices
    )
    environment.globals.update(asset=address_of)
    return environment


def _as_choices(names: list[str]) -> list[tuple[str, str]]:
    """Entries of a list to choose from: value and text."""
    return [(name, name) for name in names]


def page(template: str, status: int = 200, **facts: Any) -> HTMLResponse:
    """A page as a response."""
    return HTMLResponse(_environment().get_template(template).render(facts), status_code=status)


def plain_page(title: str, text: str, status: int, **facts: Any) -> HTMLResponse:
    """A page with a sentence and no links into the studio."""
    return page("plain.html.j2", status, title=title, text=text, **({"back": None} | facts))


def moment(at: float | None) -> str:
    """A point in time in UTC, to the minute.

    Examples
    --------
    >>> moment(0.0), moment(None)
    ('1970-01-01 00:00 UTC', 'never')
    """
    return "never" if at is None else dt.datetime.fromtimestamp(at, dt.UTC).strftime("%Y-%m-%d %H:%M UTC")


def percent(share: float) -> str:
    """A share in per cent.

    Examples
    --------
    >>> percent(0.123)
    '12 %'
    """
    return f"{100 * share:.0f} %"
