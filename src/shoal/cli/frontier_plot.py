"""A text plot of risk against utility for the points a search tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any

NARROWEST, WIDEST = 40, 120
HEIGHT = 14
_NUMBER = 9  # characters of a figure beside the vertical axis


def frontier_plot(process: Mapping[str, Any], width: int) -> list[str]:
    """Return the lines of a plot no wider than the terminal; none if fewer than two points can be drawn.

    A star marks the chosen point. If one method was tried, `o` is a point within both limits and `.` one beyond. If
    several were, each has a letter, a capital within both limits. Lines mark the limits.
    """
    measure = process["measure"]
    points = [point for point in process["points"] if measure in point.get("utility", {})]
    if len(points) < 2:
        return []
    limit = process["limits"]["risk"]
    bounds = list(process["limits"]["utility"].get(measure, {}).values())
    columns = min(max(width, NARROWEST), WIDEST) - _NUMBER - 2
    risks = [point["risk"] for point in points]
    uses = [point["utility"][measure] for point in points]
    across = _Scale([*risks, limit], columns)
    up = _Scale([*uses, *bounds], HEIGHT)
    canvas = [[" "] * columns for _ in range(HEIGHT)]
    for row in canvas:
        row[across.at(limit)] = "|"
    for bound in bounds:
        row = canvas[HEIGHT - 1 - up.at(bound)]
        row[:] = ["+" if mark == "|" else "-" for mark in row]
    letters = _letters(points)
    for rank in range(3):  # what matters most is drawn last
        for point, risk, use in zip(points, risks, uses, strict=True):
            mark, its_rank = _mark(point, process["chosen"], letters)
            if its_rank == rank:
                canvas[HEIGHT - 1 - up.at(use)][across.at(risk)] = mark
    labels = {0: f"{up.high:.3g}", HEIGHT - 1: f"{up.low:.3g}"}
    lines = [f"{measure}, risk to the right"[:width]]
    lines += [f"{labels.get(at, ''):>{_NUMBER}} |{''.join(row)}".rstrip() for at, row in enumerate(canvas)]
    left, right = f"{across.low:.3g}", f"{across.high:.3g}"
    lines.append(" " * (_NUMBER + 1) + "+" + "-" * columns)
    lines.append(" " * (_NUMBER + 2) + left + right.rjust(columns - len(left)))
    return [*lines, *_folded(_legend(letters, process, limit, bounds, measure), width)]


class _Scale:
    """Return the position of a figure among so many places."""

    def __init__(self, figures: Sequence[float], places: int) -> None:
        self.low, self.high, self.places = min(figures), max(figures), places

    def at(self, figure: float) -> int:
        span = self.high - self.low
        return 0 if span <= 0 else round((figure - self.low) / span * (self.places - 1))


def _letters(points: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Assign a letter to each method if several were tried; from the 27th on, letters repeat."""
    methods = dict.fromkeys(point["parameters"].get("method", "") for point in points)
    if len(methods) < 2:
        return {}
    return {method: ascii_lowercase[at % 26] for at, method in enumerate(methods)}


def _mark(point: Mapping[str, Any], chosen: Any, letters: Mapping[str, str]) -> tuple[str, int]:
    if point["meets"] and point["parameters"] == chosen:
        return "*", 2
    letter = letters.get(point["parameters"].get("method", ""))
    if point["meets"]:
        return letter.upper() if letter else "o", 1
    return letter or ".", 0


def _legend(
    letters: Mapping[str, str], process: Mapping[str, Any], limit: float, bounds: Sequence[float], measure: str
) -> list[str]:
    parts = ["* chosen"] if process["chosen"] is not None else []
    if letters:
        parts += [f"{letter} {method}" for method, letter in letters.items()] + ["capital letter: within both limits"]
    else:
        parts += ["o within both limits", ". beyond a limit"]
    parts.append(f"| risk at most {limit:.3g}")
    if bounds:
        sides = process["limits"]["utility"][measure]
        parts.append("- " + ", ".join(f"{side.replace('_', ' ')} {bound:.3g}" for side, bound in sides.items()))
    return parts


def _folded(parts: Sequence[str], width: int) -> list[str]:
    """Put the parts side by side, on as many lines as needed."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 3 + len(part) <= width:
            lines[-1] += f"   {part}"
        else:
            lines.append(f"  {part}"[:width])
    return lines
