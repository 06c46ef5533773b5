"""What is on the screen of Explore: limits as people type them, points as people read them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import FormData, QueryParams

from shoal.errors import ParameterError
from shoal.model.words import number, percent, title
from shoal.report.units import duration
from shoal.studio.drafts import Draft

UTILITY = "utility."
"""Prefix of form fields for limits on measures, such as utility.information-loss."""


@dataclass(frozen=True)
class ScreenLimit:
    """A limit on a measure, as shown on the screen."""

    measure: str
    bound: str
    """`at_most` or `at_least`."""
    value: float | None
    unit: str

    @property
    def title(self) -> str:
        """The measure, for people."""
        return measure_title(self.measure)

    @property
    def field(self) -> str:
        """Its value as people type it."""
        return typed(self.value, self.unit)

    def keeps(self, value: float | None) -> bool:
        """Whether a figure is within it; a missing figure is not."""
        if self.value is None:
            return True
        if value is None:
            return False
        return value <= self.value if self.bound == "at_most" else value >= self.value


@dataclass(frozen=True)
class Screen:
    """The state of the screen: the limits, and the points that are open."""

    risk: float
    utility: tuple[ScreenLimit, ...]
    """The first is that of the purpose."""
    point: int | None
    compared: tuple[int, ...]

    def misses(self, point: Mapping[str, Any]) -> list[str]:
        """The limits that a point exceeds: `risk` and names of measures."""
        found = [] if point["risk"] is not None and point["risk"] <= self.risk else ["risk"]
        return found + [b.measure for b in self.utility if not b.keeps(value_of(point, b.measure))]

    def best(self, points: list[dict[str, Any]], goal: str) -> int | None:
        """Number of the most useful point within all limits; among equals the one with the lower risk, then the
        first."""
        sign = -1.0 if goal == "higher" else 1.0
        measure = self.utility[0].measure
        good = [
            (sign * loss, point["risk"], point["number"])
            for point in points
            if point["refused"] is None and (loss := value_of(point, measure)) is not None and not self.misses(point)
        ]
        return min(good)[2] if good else None

    @property
    def limits(self) -> dict[str, Any]:
        """The limits as `Exploration.policy_at` and `Draft.choose` take them."""
        return {"risk": self.risk, "utility": {b.measure: b.value for b in self.utility if b.value is not None}}

    @property
    def fields(self) -> dict[str, str]:
        """The limits as fields of a form or an address."""
        return {"risk": typed(self.risk, "share")} | {UTILITY + b.measure: b.field for b in self.utility}


def screen_of(
    given: QueryParams | FormData, draft: Draft, points: Sequence[Mapping[str, Any]], purpose: Mapping[str, Any]
) -> Screen:
    """Limits and points from an address or a form; anything missing is taken from the draft."""
    require = draft.policy.require
    kept = draft.chosen_at if draft.chosen is not None and draft.chosen_at is not None else {}
    risk = require.risk.at_most if kept.get("risk") is None else float(kept["risk"])
    bounds = [_bound(purpose["measure"], purpose, require.utility.get(purpose["measure"]), kept)]
    scores = {name: score for point in points for name, score in (point.get("scores") or {}).items()}
    for name, limit in require.utility.items():
        if name != purpose["measure"]:
            bounds.append(_bound(name, scores.get(name, {}), limit, kept))
    if "risk" in given:
        read = _typed(given.get("risk"), "share", "risk")
        if read is None or not 0 <= read <= 1:
            raise ParameterError("The risk limit is a share from 0 to 100 %.")
        risk = read
        bounds = [
            ScreenLimit(b.measure, b.bound, _typed(given.get(UTILITY + b.measure), b.unit, b.measure), b.unit)
            for b in bounds
        ]
    numbers = [str(one) for one in given.getlist("compared")][:2]
    point = str(given.get("point", ""))
    return Screen(
        risk,
        tuple(bounds),
        int(point) if point.isdecimal() else None,
        tuple(int(one) for one in numbers if one.isdecimal()),
    )


def _bound(measure: str, score: Mapping[str, Any], limit: Any, kept: Mapping[str, Any]) -> ScreenLimit:
    """The limit on a measure, as last chosen or as the policy states it."""
    usual = "at_least" if score.get("goal") == "higher" else "at_most"
    bound = (
        usual if limit is None or getattr(limit, usual) is not None else {"at_most": "at_least"}.get(usual, "at_most")
    )
    value = (kept.get("utility") or {}).get(measure, None if limit is None else getattr(limit, bound))
    return ScreenLimit(measure, bound, value, str(score.get("unit") or "number"))


def limit_shown(bound: ScreenLimit, purpose: Mapping[str, Any]) -> dict[str, Any]:
    """A limit for the page's script."""
    return {
        "measure": bound.measure,
        "bound": bound.bound,
        "value": bound.value,
        "unit": bound.unit,
        "title": bound.title,
        "short": purpose["short"],
    }


def _typed(given: Any, unit: str, name: str) -> float | None:
    """A limit as typed, shares in per cent; None if the field is empty."""
    text = "" if given is None else str(given).strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ParameterError(f"The limit for {measure_title(name)} is not a number.")
    # 10 % must be exactly 0.1.
    return float(f"{value / 100:.10g}") if unit == "share" else value


def typed(value: float | None, unit: str) -> str:
    """A limit as a field shows it.

    Examples
    --------
    >>> typed(0.07, "share"), typed(0.5, "kWh"), typed(None, "kWh")
    ('7', '0.5', '')
    """
    if value is None:
        return ""
    return f"{100 * value:.10g}" if unit == "share" else f"{value:.10g}"


def value_of(point: Mapping[str, Any], measure: str) -> float | None:
    """A point's figure of a measure."""
    score = (point.get("scores") or {}).get(measure)
    value = None if score is None else score["value"]
    return value if value is not None and math.isfinite(value) else None


def amount(value: float | None, unit: str) -> str:
    """A figure with its unit.

    Examples
    --------
    >>> amount(0.1234, "share"), amount(0.1812, "kWh"), amount(0.5, "hours"), amount(None, "share")
    ('12.3 %', '0.181 kWh', '30 min', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if unit == "share":
        return percent(value)
    if unit == "hours":
        return duration(value)
    text = number(float(f"{value:.3g}"))
    return text if unit in ("", "number", "data") else f"{text} {unit}"


def shown_point(point: Mapping[str, Any], purpose: Mapping[str, Any]) -> dict[str, Any]:
    """A point for the page: figures as text, and nothing the page does not need."""
    kept = ("number", "method", "label", "refused", "on", "risk", "risk_interval", "lights", "guarantee")
    found = {name: point.get(name) for name in kept}
    found |= {
        "title": method_title(point["method"]),
        # A point may be sent again after being tried on more subjects.
        "version": f"{point['number']}.{point.get('n_subjects', 0)}",
        "scores": {
            name: {key: score[key] for key in ("value", "unit", "goal")} | {"title": measure_title(name)}
            for name, score in (point.get("scores") or {}).items()
        },
    }
    if point["refused"] is None:
        low, high = point["risk_interval"] or (0.0, 0.0)
        found["risk_text"] = amount(point["risk"], "share")
        found["interval_text"] = "" if low == high else f"{percent(low)} to {percent(high)}"
        found["loss_text"] = amount(value_of(point, purpose["measure"]), str(purpose["unit"] or ""))
    return dict(without_infinities(found))


def measure_title(name: str) -> str:
    """The name of a measure with its settings, for people.

    Examples
    --------
    >>> measure_title("window-error"), measure_title("interest-loss:interest=window:17:00-20:00")
    ('window error', 'interest loss (window 17:00-20:00)')
    """
    base, _, settings = name.partition(":")
    settings = settings.removeprefix("interest=").replace("=", " ").replace(":", " ", 1)
    return base.replace("-", " ") + (f" ({settings})" if settings else "")


def method_title(name: str) -> str:
    """The name of a method, or of steps, for people; short names are abbreviations.

    Examples
    --------
    >>> method_title("kp"), method_title("slices + additive-noise")
    ('KP', 'Slices + additive noise')
    """
    parts = [part.upper() if len(part) <= 3 else title(part) for part in name.split(" + ")]
    return " + ".join([parts[0], *(part if part.isupper() else part[:1].lower() + part[1:] for part in parts[1:])])


def state_of(point: Mapping[str, Any], screen: Screen, best: int | None) -> str:
    """The limits that a point exceeds, in words."""
    misses = screen.misses(point)
    if misses:
        return "beyond the limit for " + " and ".join(measure_title(name) for name in misses)
    return "best within the limits" if point["number"] == best else "within the limits"


def without_infinities(found: Any) -> Any:
    """The same without infinities and NaN, which JSON cannot express."""
    if isinstance(found, Mapping):
        return {name: without_infinities(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [without_infinities(value) for value in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found
