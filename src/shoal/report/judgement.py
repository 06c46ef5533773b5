"""The page of a judgement: three lights, what cannot be shown, and what the table is good for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.release.facts import Facts
from shoal.report import words
from shoal.report.lights import lights, questions_of
from shoal.report.page import template
from shoal.report.units import score_text

HOW = {
    "ids": "Published series are compared with the originals of the same name.",
    "map": "Published series are compared with the originals that a list of names assigns to them.",
    "order": "Published series are compared with the originals in the same row.",
    "private": "Published series are compared with the originals that the private folder assigns to them.",
    None: "Nothing says which published series belongs to which original: the table is judged as a whole.",
}
NOT_TRIED = "No attack that answers this question could be run on these tables."

COPIES = (
    "A copy exposes the readings of the person it repeats, however small their share is. Remove copies before you "
    "publish."
)


def undecided(n_control: int) -> str:
    """Say why neither side of the limit is shown, if only the interval of a figure is above it."""
    more = f", or a control of {n_control}," if n_control else ""
    return f"within the limit, but its interval is not: the targets{more} are too few to decide"


def render_judgement(figures: Mapping[str, Any]) -> str:
    """Render the whole page from the output of `Judgement.to_dict`."""
    counts = figures["counts"]
    facts = Facts({"risk": figures["risk"]})
    purposes: dict[str, list[dict[str, str]]] = {}
    for one in figures["utility"]:
        if one["value"] is not None:
            name, meaning = words.measure_name(one["name"]), one["meaning"]
            row = {"meaning": f"{name}: {meaning}", "figure": score_text(one, facts), "goal": one["goal"]}
            purposes.setdefault(words.title(one["purpose"]), []).append(row)
    parts = [("original", "original"), ("published", "published"), ("control", "control")]
    return template("judgement.html.j2").render(
        counts=" · ".join(f"{words.number(counts[name])} {word} series" for name, word in parts if counts[name]),
        state=_state(figures),
        compared=HOW[figures["matched"]],
        lights=[_light(one, figures) for one in lights(facts)],
        absent=figures["absent"],
        purposes=list(purposes.items()),
        sentences=[risk["sentence"] for risk in figures["risk"].values()],
    )


def _state(figures: Mapping[str, Any]) -> dict[str, str]:
    if figures["at_most"] is None and all(one.get("met") is not False for one in figures["utility"]):
        return {"kind": "open", "text": "No limit was stated"}
    if figures["met"]:
        if figures["copies"]:
            return {"kind": "open", "text": "Within the limits, but with copies"}
        return {"kind": "within", "text": "Within the limits"}
    missed = any(one.get("met") is False for one in figures["utility"])
    above = [name for name, risk in figures["risk"].items() if risk["held"] > (figures["at_most"] or 1.0)]
    if above and not missed and set(above) <= set(figures["undecided"]):
        return {"kind": "open", "text": "Undecided"}
    return {"kind": "above", "text": "Above a limit"}


def _light(light: dict[str, Any], figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the light: what attacks gain from the table, beyond what they achieve without it, against the limit."""
    if not light["figure"]:
        return light | {"sentence": NOT_TRIED, "none": "Not measured"}
    question, limit = light["name"].lower(), figures["at_most"]
    tried = [name for name in figures["risk"] if question in questions_of(name)]
    held = [figures["risk"][name]["held"] for name in tried]
    copies = question in questions_of("copies") and figures["copies"]
    if copies:
        light = light | {"sentence": f"{light['sentence']} {COPIES}"}
    if limit is None or not held:
        return light
    told = f"counts as {words.percent(float(f'{max(held):.2g}'))} against your limit of {words.percent(limit)}"
    above = {name for name in tried if figures["risk"][name]["held"] > limit}
    if not above:
        return light | {"state": "open" if copies else "within", "limit_text": told}
    if above <= set(figures["undecided"]):
        told = f"{told} ({undecided(figures['counts']['control'])})"
        return light | {"state": "open", "limit_text": told}
    return light | {"state": "above", "limit_text": told}
