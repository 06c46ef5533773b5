"""Small SVG drawings for pages without script. Colours and fonts come from the style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.read.zones import local_times

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 14, 44
Point = tuple[float, float]


def axis_of(times: NDArray[Any], timezone: str | None, values: NDArray[np.float64] | None = None) -> dict[str, Any]:
    """The instants of a task for a plot: local times as text, or numbers; `day` if all are within one day.

    With `values`, also the range of all curves: a common scale, so that small differences look small in every pair.

    Examples
    --------
    >>> axis_of(np.array(["2024-01-01T08:00", "2024-01-01T09:00"], dtype="datetime64[us]"), None)
    {'kind': 'time', 'day': True, 'at': ['2024-01-01T08:00:00', '2024-01-01T09:00:00']}
    >>> axis_of(np.array([0, 1]), None)
    {'kind': 'number', 'day': False, 'at': [0, 1]}
    """
    more = {} if values is None else {"range": list(_roomy(values))}
    if times.dtype.kind != "M":
        return {"kind": "number", "day": False, "at": [int(t) for t in times], **more}
    at = np.datetime_as_string(local_times(times.astype("datetime64[us]"), timezone), unit="s").tolist()
    day = bool(times[-1] - times[0] < np.timedelta64(1, "D"))
    return {"kind": "time", "day": day, "at": at, **more}


def _roomy(values: NDArray[np.float64]) -> tuple[float, float]:
    """A range slightly wider than the values."""
    finite = values[np.isfinite(values)]
    low, high = _span(finite.tolist() or [0.0])
    return low - 0.02 * (high - low), high + 0.04 * (high - low)


def draw_pair(left: Sequence[float | None], right: Sequence[float | None], axis: dict[str, Any]) -> str:
    """Two curves, one solid, one dashed, as the label page shows them without script."""
    n = len(left)
    curves = [("curve-a", left), ("curve-b", right)]
    seen = [y for _, ys in curves for y in ys if y is not None] or [0.0]
    low, high = axis.get("range") or _span(seen)
    places = sorted({0, n // 4, n // 2, 3 * n // 4, n - 1}) if n > 1 else [0]
    body = _frame(low, high, [(i, _moment(axis, i)) for i in places], (0, max(1, n - 1)), "")
    for name, ys in curves:
        body += _line([(i, y) for i, y in enumerate(ys)], name, (0, max(1, n - 1)), (low, high))
    return _svg(body, "Two curves over time, one solid, one dashed.")


def draw_lines(
    lines: Sequence[tuple[str, Sequence[Point]]], *, x_title: str, about: str, unit: tuple[float, float] | None = None
) -> str:
    """Lines through points, such as a learning curve; each is (class of the style sheet, points)."""
    xs = [x for _, points in lines for x, _ in points] or [0.0]
    ys = [y for _, points in lines for _, y in points] or [0.0]
    low, high = unit if unit is not None else _span(ys)
    first, last = min(xs), max(xs) if max(xs) > min(xs) else min(xs) + 1.0
    marks = sorted({x for _, points in lines for x, _ in points})
    body = _frame(low, high, [(x, f"{x:g}") for x in _thin(marks, first, last)], (first, last), x_title)
    for name, points in lines:
        body += _line(list(points), name, (first, last), (low, high), dots=True)
    return _svg(body, about)


def draw_bars(bars: Sequence[tuple[str, float]], *, about: str) -> str:
    """Horizontal bars, each with its name on the left and its figure on the right."""
    largest = max((value for _, value in bars), default=0.0) or 1.0
    row, before, behind = 44, 92, 64
    body = ""
    for i, (name, value) in enumerate(bars):
        y = 8 + i * row
        width = max(1.0, (WIDTH - before - behind) * value / largest)
        body += (
            f'<text class="tick" x="{before - 10}" y="{y + 19}" text-anchor="end">{escape(name)}</text>'
            f'<rect class="bar bar-{escape(name)}" x="{before}" y="{y}" width="{width:.1f}" height="28" rx="3"/>'
            f'<text class="figure" x="{before + width + 8:.1f}" y="{y + 19}">{value:.3g}</text>'
        )
    return _svg(body, about, height=8 + row * len(bars))


def _svg(body: str, about: str, height: int = HEIGHT) -> str:
    return f'<svg class="drawing" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(about)}">{body}</svg>'


def _frame(low: float, high: float, marks: Sequence[tuple[float, str]], span: tuple[float, float], x_title: str) -> str:
    body = ""
    for value in _ticks(low, high):
        y = _y(value, low, high)
        body += f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        body += f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.6g}</text>'
    for at, text in marks:
        x = _x(at, span)
        anchor = "start" if at == span[0] else "end" if at == span[1] else "middle"
        body += (
            f'<text class="tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="{anchor}">{escape(text)}</text>'
        )
    if x_title:
        middle = (LEFT + WIDTH - RIGHT) / 2
        body += f'<text class="tick" x="{middle:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_title)}</text>'
    return body


def _line(
    points: Sequence[tuple[float, float | None]],
    name: str,
    span: tuple[float, float],
    reach: tuple[float, float],
    *,
    dots: bool = False,
) -> str:
    path, pen, marks = "", "M", ""
    for x, y in points:
        if y is None or not math.isfinite(y):
            pen = "M"
            continue
        at = f"{_x(x, span):.1f} {_y(y, *reach):.1f}"
        path += f"{pen}{at}"
        pen = "L"
        if dots:
            cx, cy = at.split()
            marks += f'<circle class="dot {escape(name)}" cx="{cx}" cy="{cy}" r="4"/>'
    return f'<path class="line {escape(name)}" d="{path}"/>{marks}'


def _x(value: float, span: tuple[float, float]) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (value - span[0]) / (span[1] - span[0])


def _y(value: float, low: float, high: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    low = 0.0 if 0.0 <= low <= 0.5 * high else low
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from low to high, four to seven of them.

    Examples
    --------
    >>> _ticks(0.5, 1.0)
    [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    """
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step *= next(factor for factor in (1.0, 2.0, 5.0, 10.0) if (high - low) / (factor * step) <= 6.0001)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _thin(marks: Sequence[float], first: float, last: float) -> list[float]:
    """Tick marks that do not overlap."""
    kept: list[float] = []
    for mark in marks:
        if not kept or mark - kept[-1] >= (last - first) / 9:
            kept.append(mark)
    return kept


def _moment(axis: dict[str, Any], i: int) -> str:
    at = axis["at"][i]
    if axis["kind"] != "time":
        return str(at)
    return str(at[11:16] if axis["day"] else f"{at[:10]} {at[11:16]}")
