"""How the parameters were found: the points tried, their risk against their utility, and what decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.model.words import setting
from shoal.release.facts import is_finite
from shoal.report.words import clipped, number, percent, title

MOST_POINTS = 200
MOST_CURVES = 8


def search_part(figures: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the table, plot and sentence of a search, or None if the parameters were simply given."""
    process = figures.get("process")
    if not isinstance(process, Mapping) or not isinstance(process.get("points"), list):
        return None
    measure = clipped(process.get("measure", ""), 80)
    listed = [point for point in process["points"][:MOST_POINTS] if isinstance(point, Mapping)]
    points = [_point(point, measure, process.get("chosen")) for point in listed]
    if not points:
        return None
    limits = process["limits"] if isinstance(process.get("limits"), Mapping) else {}
    drawn = [point for point in points if point["drawn"]]
    scenario = "prosecutor" if process.get("scenario") == "prosecutor" else "journalist"
    return {
        "measure": title(measure),
        "sentence": clipped(process.get("sentence", ""), 800),
        "scenario": {
            "prosecutor": "The figure is the chance for the target the adversary may be surest of, the highest of all "
            "attacks.",
            "journalist": "The figure is the share of all targets, at the upper end of its interval, the highest of "
            "all attacks.",
        }[scenario],
        "points": points,
        "limit": limits.get("risk") if is_finite(limits.get("risk")) else None,
        "bounds": _bounds(limits.get("utility"), measure),
        "plot": {
            "x": [point["risk"] for point in drawn],
            "y": [point["use"] for point in drawn],
            "names": [point["name"] for point in drawn],
            "kinds": [point["kind"] for point in drawn],
            "limit": limits.get("risk") if is_finite(limits.get("risk")) else None,
            "bounds": _bounds(limits.get("utility"), measure),
            "measure": title(measure),
        }
        if len(drawn) > 1
        else None,
    }


def attack_curves(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """For each attack that has one, return its success as a function of what is known."""
    process = figures.get("process")
    found = process.get("curves") if isinstance(process, Mapping) else None
    curves = []
    for name, curve in list(found.items())[:MOST_CURVES] if isinstance(found, Mapping) else ():
        if not isinstance(curve, Mapping):
            continue
        at, success = (_listed(curve.get(key)) for key in ("at", "success"))
        numbers = all(is_finite(value) for value in (*at, *success))
        if numbers and 1 < len(at) == len(success) <= MOST_POINTS and all(0 <= value <= 1 for value in success):
            along = clipped(curve.get("along", ""), 80)
            ends = [f"{percent(success[end])} at {number(at[end])}" for end in (0, -1)]
            sentence = f"The chance is {ends[0]}, {ends[1]}."
            curves.append({"name": title(name), "along": along, "at": at, "success": success, "sentence": sentence})
    return curves


def _point(point: Mapping[str, Any], measure: str, chosen: Any) -> dict[str, Any]:
    parameters = point["parameters"] if isinstance(point.get("parameters"), Mapping) else {}
    name = clipped(setting(parameters) or "as given", 80)
    method = clipped(parameters.get("method", ""), 80)
    if point.get("refused"):
        return {
            "name": name,
            "method": method,
            "kind": "refused",
            "drawn": False,
            "text": clipped(point["refused"], 200),
        }
    utility = point["utility"] if isinstance(point.get("utility"), Mapping) else {}
    risk, use = point.get("risk"), utility.get(measure)
    kind = "good" if point.get("meets") is True else "beyond"
    if kind == "good" and chosen == parameters:
        kind = "chosen"
    return {
        "name": name,
        "method": method,
        "kind": kind,
        "drawn": is_finite(risk) and is_finite(use),
        "risk": risk if is_finite(risk) else None,
        "use": use if is_finite(use) else None,
        "risk_text": percent(float(risk)) if is_finite(risk) and risk is not None else "–",
        "use_text": number(use),
        "text": {"chosen": "chosen", "good": "within both limits", "beyond": "beyond a limit"}[kind],
    }


def _bounds(utility: Any, measure: str) -> list[float]:
    found = utility.get(measure) if isinstance(utility, Mapping) else None
    limits = found if isinstance(found, Mapping) else {}
    return [limits[name] for name in ("at_most", "at_least") if is_finite(limits.get(name))]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
