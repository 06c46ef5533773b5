"""The decision sheet: the first screen of a report, and one page of paper.

What an officer needs to say yes or no: each figure with its unit and its limit, and nothing they cannot use. All of it
follows from the certificate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from shoal.model.sentence import said
from shoal.release.facts import Facts, is_finite, listed, mapping
from shoal.report import words
from shoal.report.conclusions import conclusions
from shoal.report.figure_sentences import LEFT_OUT
from shoal.report.lights import lights
from shoal.report.sentences import COLUMNS, IDENTIFIERS
from shoal.report.sheet_sentences import DONE, HEAD, NO_LOSS, READ, TELL, reading_account
from shoal.report.typical_errors import typical_error
from shoal.report.units import IN_UNIT_OF_DATA, amount, data_unit, score_text
from shoal.report.words import measure_named, number

MOST_GUARANTEES = 3
MOST_LINES, MOST_DONE = 7, 9
MOST_WINDOWS = 2
FULL, DENSE = 3_400, 4_050
"""Number of characters that fill a printed page in the usual size, and in the next smaller one."""
MOST_MEASURES = 4
MOST_CATEGORIES = 6
_WINDOW = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)")
USUAL = ("information-loss", "normalized-divergence", "value-loss", "pattern-loss", "window-error")
"""Shown for a release if nobody said what must be kept."""


Parts = Sequence[Mapping[str, Any]]


def sheet(facts: Facts, guarantees: Parts, channels: Parts) -> dict[str, Any]:
    """Return everything on the sheet, as text."""
    holds = bool(guarantees) and all(g["holds"] for g in guarantees)
    three = lights(facts)
    unit = data_unit(facts)
    rows = _before_and_after(facts, channels, unit)
    measures = _measures(facts)
    found: dict[str, Any] = {
        "title": _line(facts, "title") or _neutral_title(facts),
        "publisher": _line(facts, "publisher"),
        "purpose": _line(facts, "purpose"),
        "head": said(HEAD, facts),
        "state": _state(facts, holds, three),
        "guarantees": guarantees[:MOST_GUARANTEES],
        "n_further": max(0, len(guarantees) - MOST_GUARANTEES),
        "holds": holds,
        "promises": all(g["promises"] for g in guarantees),
        "lights": three,
        "rows": rows,
        "unit_note": "" if unit or not rows else f"Amounts are {IN_UNIT_OF_DATA}.",
        "measures": measures,
        "sketch": sketch(channels, unit),
        "left_out": " ".join(said(LEFT_OUT, facts)),
        "no_loss": "" if rows or measures else " ".join(said(NO_LOSS, facts)),
        "done": _first(_done(facts), MOST_DONE),
        "may": _first(conclusions("may", facts)),
        "may_not": _first(conclusions("may not", facts)),
        "tell": _first(said(TELL, facts)),
        "approval": _approval(facts),
        "certificate": words.clipped(facts.certificate.get("seal") or "", 16),
        "shoal": words.clipped(facts.certificate.get("shoal") or "", 20),
    }
    length = _length(found) + 2 * len(found["title"])  # in large letters
    return found | {"density": "dense" if length > DENSE else "full" if length > FULL else ""}


def _length(part: Any) -> int:
    """Characters of all texts."""
    if isinstance(part, Mapping):
        return sum(_length(one) for name, one in part.items() if name != "sketch")
    if isinstance(part, list | tuple):
        return sum(map(_length, part))
    return len(part) if isinstance(part, str) else 0


def _done(facts: Facts) -> list[str]:
    """Say what happened to rows, readings, columns and names, in this order."""
    names = " ".join(said(IDENTIFIERS, facts))
    named = [f"Identifiers: {names[:1].lower()}{names[1:]}"] if names else []
    return [*said(READ, facts), *reading_account(facts), *said((*DONE, *COLUMNS), facts), *named]


def _line(facts: Facts, name: str) -> str:
    found = facts.certificate.get(name)
    return words.clipped(found, 200) if isinstance(found, str) else ""


def _approval(facts: Facts) -> str:
    """Say in one line who approved it and when."""
    found = mapping(facts.certificate.get("approval"))
    return words.clipped(", ".join(str(found[name]) for name in ("by", "on") if found.get(name)), 120)


def _neutral_title(facts: Facts) -> str:
    """Describe the release if nobody gave it a name."""
    if facts.form == "events":
        return "Anonymized events"
    if facts.form == "profiles":
        return "Profiles of groups of time series"
    if facts.form == "scenarios":
        return "Distributions of groups of time series"
    return "Anonymized time series"


def _first(lines: Sequence[str], most: int = MOST_LINES) -> list[str]:
    """Return as many lines as the page has room for; the details have all of them."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"{len(lines) - most + 1} more below, under Details."]


def _state(facts: Facts, holds: bool, three: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the answer in three words. It is never better than its weakest part."""
    if not holds:
        return {"kind": "above", "text": "Does not hold"}
    states = [light["state"] for light in three]
    if "above" in states:
        return {"kind": "above", "text": "A risk is above the limit"}
    first = "No guarantee" if facts.promises("none") else "Guarantee holds"
    if states.count("within") == len(states):
        return {"kind": "within", "text": f"{first}, all limits met" if facts.promises("none") else "All limits met"}
    n = sum(light["figure"] == "" for light in three)
    if n:
        return {"kind": "open", "text": f"{first}; {n} of 3 risks have no figure"}
    return {"kind": "open", "text": f"{first}; not every risk has a limit"}


def _before_and_after(facts: Facts, channels: Parts, unit: str) -> list[dict[str, Any]]:
    """Give the figures of the drawn curves, for the first channel, if both sides are shown."""
    plots = [plot for plot in (channels[0]["plots"] if channels else ()) if plot["data"]]
    compared = [row for plot in plots for row in plot.get("compared", ())]
    if compared:
        compared[:0] = _windows(facts, plots[0])
    return [{"what": what, "before": _said(one, unit), "after": _said(other, unit)} for what, one, other in compared]


def _windows(facts: Facts, profile: Mapping[str, Any]) -> list[Any]:
    """Return the mean reading in every window of the day that must be kept."""
    axis = mapping(facts.figures.get("axis"))
    rows = []
    kept = [_WINDOW.search(str(name)) for name in listed(mapping(facts.figures.get("process")).get("kept"))]
    for window in [found for found in kept if found and axis.get("kind") == "clock"][:MOST_WINDOWS]:
        start, end = (60 * int(hour) + int(minute) for hour, minute in (window[1].split(":"), window[2].split(":")))
        inside = [(start <= at < end) if start < end else not end <= at < start for at in listed(axis.get("at"))]
        means = [_mean_of(profile["data"][side], inside) for side in ("original", "published")]
        if all(mean is not None for mean in means):
            rows.append((f"Mean reading from {window[1]} to {window[2]}", ("", means[0]), ("", means[1])))
    return rows


def _mean_of(curve: Sequence[float | None], inside: Sequence[bool]) -> float | None:
    seen = [value for value, there in zip(curve, inside, strict=False) if there and value is not None]
    return sum(seen) / len(seen) if seen else None


def _said(found: tuple[str, float], unit: str) -> tuple[str, str]:
    where, value = found
    return amount(value, unit), where


def _measures(facts: Facts) -> list[dict[str, str]]:
    """Return the figures for what must be kept, else those with a limit, else the usual ones; each with unit and
    limit."""
    utility = mapping(facts.certificate.get("utility"))
    process = mapping(facts.figures.get("process"))
    limits = mapping(mapping(process.get("limits")).get("utility"))
    wanted = [*(str(name) for name in listed(process.get("kept"))), *map(str, limits)]
    found = [name for name in dict.fromkeys(wanted) if name in utility] or [name for name in USUAL if name in utility]
    rows = []
    for name in found[:MOST_MEASURES]:
        score = mapping(utility[name])
        limit = mapping(limits.get(name))
        typical = typical_error(name, facts)
        tell = partial(_told, score, 1.0 if typical is None else typical.divisor, facts)
        bounds = [
            f"{text} {tell(limit[key])}"
            for key, text in (("at_most", "limit"), ("at_least", "at least"))
            if is_finite(limit.get(key))
        ]
        what = _plainly(name, score) if typical is None else typical.what
        by_category = _by_category(name, facts, tell)
        rows.append(
            {"what": what, "figure": tell(score.get("value")), "limit": ", ".join(bounds), "by_category": by_category}
        )
    return rows


def _told(score: Mapping[str, Any], divisor: float, facts: Facts, value: Any) -> str:
    """Return the value of a score with its unit."""
    return score_text({**score, "value": value / divisor if is_finite(value) else value}, facts)


def _by_category(name: str, facts: Facts, tell: Callable[[Any], str]) -> str:
    """Return the same figure in each category of a published column; empty if it was not measured that way."""
    found = mapping(facts.figures.get("categories"))
    told = []
    for row in [mapping(one) for one in listed(found.get("rows"))[:MOST_CATEGORIES]]:
        value = mapping(mapping(row.get("scores")).get(name)).get("value")
        if not is_finite(value):
            return ""
        told.append(f"{words.clipped(row.get('category', ''), 30)} {tell(value)}")
    return f"by {words.clipped(found.get('column', ''), 40)}: {', '.join(told)}" if told else ""


def _plainly(name: str, score: Mapping[str, Any]) -> str:
    """Explain a figure to a reader who does not know the measure."""
    measure, (_, _, settings) = measure_named(name), name.partition(":")
    plain = (measure.plain if measure is not None else "") or words.sentence_case(score.get("meaning", name))
    settings = settings.removeprefix("interest=").replace("=", " ").replace(":", " ", 1)
    how = f" ({settings})" if settings else ""
    return words.clipped(plain.replace("{}", how) if "{}" in plain else plain + how, 200)


WIDTH, HEIGHT = 340.0, 110.0


def sketch(channels: Sequence[Mapping[str, Any]], unit: str) -> dict[str, Any] | None:
    """Return lines, ticks and words of the first channel's mean curve, or None if nothing of the originals is drawn."""
    plot = channels[0]["plots"][0] if channels else {}
    data = plot.get("data")
    if not data or not plot.get("compared"):
        return None
    seen = [v for side in ("original", "published") for v in data[side] if v is not None]
    low, high = min(0.0, *seen), max(seen)
    if not high > low or len(data["original"]) < 2:
        return None
    lines = {side: _points(data[side], low, high) for side in ("original", "published")}
    heights = [(share, number(_two(low + share * (high - low)))) for share in (0, 0.5, 1)]
    ticks = [{"y": round(HEIGHT * (1 - share), 1), "text": text} for share, text in heights]
    words = {name: plot[name] for name in ("ends", "title", "sentence")}
    return {"lines": lines, "ticks": ticks, "unit": unit, **words}


def _points(curve: Sequence[float | None], low: float, high: float) -> list[str]:
    """Return one line for each unbroken stretch."""
    stretches: list[list[str]] = [[]]
    for place, value in enumerate(curve):
        if value is None:
            stretches.append([])
            continue
        x, y = WIDTH * place / (len(curve) - 1), HEIGHT * (1 - (value - low) / (high - low))
        stretches[-1].append(f"{x:.1f},{y:.1f}")
    return [" ".join(stretch) for stretch in stretches if len(stretch) > 1]


def _two(value: float) -> float:
    return float(f"{value:.2g}")
