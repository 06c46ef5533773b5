"""The page of a look at a table: figures of `Look.to_dict` alone, drawn as SVG in one file that loads nothing."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from shoal.report.page import template
from shoal.report.words import number

_WIDTH, _HEIGHT = 640, 200
_COLOUR = "#2b9a92"
"""Used if no style sheet says otherwise, as in a notebook."""
_LEVELS = 5
"""Shades of the coverage chart."""


def render_look(look: Mapping[str, Any], source: str | None) -> str:
    """The whole page.

    Parameters
    ----------
    look
        What `Look.to_dict` gives.
    source
        How the publisher named the table.
    """
    return template("look.html.j2").render(_facts(look), source=source or "a table")


def look_parts(look: Mapping[str, Any]) -> dict[str, Any]:
    """Return its tables and charts one by one, for a page that has a place for each."""
    return _facts(look)


def notebook_look(look: Mapping[str, Any]) -> str:
    """Render its tables and charts without a page around them, for a notebook."""
    return f'<div style="max-width: 46rem">{template("look_cell.html.j2").render(_facts(look))}</div>'


def _facts(look: Mapping[str, Any]) -> dict[str, Any]:
    drawn = look["pictures"]
    return {
        "note": look["note"],
        "problems": look["problems"],
        "rows": look["rows"],
        "columns": look["columns"],
        "command": look["command"],
        "policy": look["policy"],
        "coverage": _coverage(drawn["coverage"]),
        "span": look["span"],
        "quantiles": list(drawn.get("quantiles", {}).items()),
        "mean_day": _curve(drawn["mean_day"]) if _some(drawn.get("mean_day")) else None,
        "distribution": _bars(drawn["distribution"]) if drawn.get("distribution") else None,
    }


def _some(curve: Sequence[float | None] | None) -> bool:
    return curve is not None and sum(value is not None for value in curve) > 1


def _coverage(lines: Sequence[Sequence[float]]) -> Markup:
    """Draw a line for each series, or for several similar ones, darker where there are more readings."""
    if not lines or not lines[0]:
        return Markup("")
    width, height = _WIDTH / len(lines[0]), _HEIGHT / len(lines)
    drawn = []
    for row, line in enumerate(lines):
        start = 0
        shades = [round(share * _LEVELS) for share in line]
        for shade, cells in itertools.groupby(shades):
            n = len(list(cells))
            if shade:
                drawn.append(
                    f'<rect x="{start * width:.1f}" y="{row * height:.2f}" width="{n * width + 0.3:.1f}" '
                    f'height="{height + 0.2:.2f}" opacity="{shade / _LEVELS:g}"/>'
                )
            start += n
    return _svg("".join(drawn), "Coverage over time", "cover")


def _curve(values: Sequence[float | None]) -> Markup:
    """Draw the mean day as a line, broken if there is no crowd."""
    known = [value for value in values if value is not None]
    low, high = min(0.0, *known), max(known)
    top = high if high > low else low + 1.0
    places = [
        None if value is None else f"{i * _WIDTH / (len(values) - 1):.1f},{_down(value, low, top):.1f}"
        for i, value in enumerate(values)
    ]
    lines = "".join(
        f'<polyline fill="none" stroke="{_COLOUR}" stroke-width="3" points="{" ".join(str(p) for p in part)}"/>'
        for there, part in itertools.groupby(places, key=lambda place: place is not None)
        if there
    )
    hours = [(hour * _WIDTH / 24, f"{hour:02d}:00") for hour in range(0, 24, 6)]
    return _svg(lines + _axis(hours, [(_down(v, low, top), number(v)) for v in (low, top)]), "Mean day", "line")


def _bars(found: Mapping[str, Any]) -> Markup:
    shares = found["shares"]
    top, width = max(shares) or 1.0, _WIDTH / len(shares)
    bars = "".join(
        f'<rect x="{i * width + 0.5:.1f}" y="{_down(share, 0, top):.1f}" width="{width - 1:.1f}" '
        f'height="{_HEIGHT - _down(share, 0, top):.1f}"/>'
        for i, share in enumerate(shares)
    )
    ends = [(0, number(found["low"])), (_WIDTH, number(found["high"]))]
    return _svg(bars + _axis(ends, []), "Distribution of the readings", "bars")


def _down(value: float, low: float, high: float) -> float:
    return _HEIGHT * (1 - (value - low) / (high - low))


def _axis(below: Sequence[tuple[float, str]], aside: Sequence[tuple[float, str]]) -> str:
    ends = {0: "start", _WIDTH: "end"}
    text = [
        f'<text x="{x:.1f}" y="{_HEIGHT + 18}" text-anchor="{ends.get(int(x), "middle")}">{word}</text>'
        for x, word in below
    ]
    text += [f'<text x="-6" y="{y + 4:.1f}" text-anchor="end">{word}</text>' for y, word in aside]
    return f'<path stroke="#9aa" d="M0 {_HEIGHT}H{_WIDTH}"/><g fill="#777" font-size="13">{"".join(text)}</g>'


def _svg(inside: str, label: str, kind: str) -> Markup:
    left = 44 if kind == "line" else 4
    box = f"{-left} -8 {_WIDTH + left + 4} {_HEIGHT + (30 if kind != 'cover' else 10)}"
    extra = ' preserveAspectRatio="none"' if kind == "cover" else ""
    return Markup(
        f'<svg class="{kind}" fill="{_COLOUR}" viewBox="{box}" role="img" aria-label="{label}"{extra}>{inside}</svg>'
    )
