"""What the page's plots show and say: checked numbers from a certificate's figures, and a sentence for each plot."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.release.facts import is_finite
from shoal.report.figures import FIFTHS, MAX_CHANNELS, MAX_POINTS, MAX_SHARES, Curve
from shoal.report.words import clipped, clock, moment, number, percent, plural

MAX_BARS = 40

Compared = tuple[str, tuple[str, float], tuple[str, float]]
"""What is compared; where it is and how large, of the originals and of the release."""

_TABLE_ROWS = 12
_DATE = re.compile(r"-?\d{4,6}-\d\d-\d\dT\d\d:\d\d(:\d\d)?")


def group_bars(counts: Mapping[str, Any]) -> dict[str, Any] | None:
    """The number of groups of each size, in at most 40 bars."""
    found = counts.get("group_sizes")
    sizes = {}
    for size, n_groups in found.items() if isinstance(found, Mapping) else ():
        if str(size).isdecimal() and len(str(size)) < 16 and is_finite(n_groups) and n_groups > 0:
            sizes[int(size)] = int(n_groups)
    if not sizes:
        return None
    smallest, largest = min(sizes), max(sizes)
    width = -(-(largest - smallest + 1) // MAX_BARS)
    bars = [0] * ((largest - smallest) // width + 1)
    for size, n_groups in sizes.items():
        bars[(size - smallest) // width] += n_groups
    starts = [smallest + i * width for i in range(len(bars))]
    labels = [number(s) if width == 1 else f"{number(s)}–{number(s + width - 1)}" for s in starts]
    n_groups = sum(sizes.values())
    usual = max(sizes, key=lambda size: (sizes[size], -size))
    if n_groups == 1:
        sentence = f"There is 1 group, with {plural(smallest, 'member')}."
    elif smallest == largest:
        sentence = f"All {number(n_groups)} groups have {plural(smallest, 'member')}."
    else:
        sentence = (
            f"{number(n_groups)} groups: the smallest has {plural(smallest, 'member')}, the largest {number(largest)}. "
            f"The most frequent size is {number(usual)} ({plural(sizes[usual], 'group')})."
        )
    return {"labels": labels, "bars": bars, "sentence": sentence, "width": width}


def channel_plots(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the curves of each channel with title, sentence and a short table; empty if the certificate has none."""
    axis = checked_axis(figures)
    channels = figures.get("channels")
    if axis is None or not isinstance(channels, Sequence) or isinstance(channels, str):
        return []
    crowd = figures["crowd"] if is_finite(figures.get("crowd")) else 0
    result = []
    for channel in channels[:MAX_CHANNELS]:
        if isinstance(channel, Mapping):
            plots = [_profile(channel, axis, crowd), _duration(channel, crowd), _bands(channel, axis, crowd)]
            result.append(
                {"name": clipped(channel.get("name", ""), 60), "plots": plots, "table": _table(plots[0], axis)}
            )
    return result


def checked_axis(figures: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the shared axis, or None if it is invalid."""
    axis = figures.get("axis")
    if not isinstance(axis, Mapping) or not isinstance(axis.get("at"), Sequence):
        return None
    kind, at = axis.get("kind"), list(axis["at"][:MAX_POINTS])
    dates = kind == "time" and all(isinstance(a, str) and len(a) < 24 and _DATE.fullmatch(a) for a in at)
    numbers = kind in ("clock", "index") and all(is_finite(a) for a in at)
    if not (at and (dates or numbers)):
        return None
    return {"kind": kind, "at": at, "timezone": axis.get("timezone"), "width": axis.get("width")}


def _profile(channel: Mapping[str, Any], axis: Mapping[str, Any], crowd: float) -> dict[str, Any]:
    original, published = _pair(channel.get("profile"), len(axis["at"]))
    is_day = axis["kind"] == "clock"
    sentence = _reason(channel) or f"Not shown: no point has a crowd of {number(crowd)} subjects."
    if high := _peak(original):
        sentence = f"The original peaks at {_where(axis, high[0])} with {number(high[1])}"
        if other := _peak(published):
            sentence += f", the release at {_where(axis, other[0])} with {number(other[1])}"
            if (apart := _apart(original, published)) is not None:
                close = apart < 0.0005
                sentence += "; the two curves coincide" if close else f"; on average they lie {percent(apart)} apart"
        sentence += "."
    elif other := _peak(published):
        sentence = f"The release peaks at {_where(axis, other[0])} with {number(other[1])}. {sentence}"
    return {
        "kind": "profile",
        "title": "Mean day" if is_day else "Mean curve",
        "about": "Mean reading at each time of day, over all series and days, in the unit of the data."
        if is_day
        else "Mean reading at each instant, over all series, in the unit of the data.",
        "sentence": sentence,
        "data": {"original": original, "published": published} if high or _peak(published) else None,
        "compared": _compared_profile(original, published, axis),
        "ends": [_where(axis, 0), _where(axis, len(axis["at"]) - 1)],
    }


def _duration(channel: Mapping[str, Any], crowd: float) -> dict[str, Any]:
    duration = channel.get("duration")
    figures: Mapping[str, Any] = duration if isinstance(duration, Mapping) else {}
    original, published = _pair(figures, MAX_SHARES)
    sentence = _reason(channel) or f"Not shown: no instant has a crowd of {number(crowd)} subjects."
    if high := _peak(original):
        low = min(v for v in original if v is not None)
        sentence = f"The highest total is {number(high[1])} and the lowest {number(low)} in the original"
        if other := _peak(published):
            low = min(v for v in published if v is not None)
            sentence += f", {number(other[1])} and {number(low)} in the release"
        sentence += "."
        if is_finite(figures.get("left_out")) and figures["left_out"] > 0:
            sentence += f" Left out because the crowd is too small: {plural(figures['left_out'], 'instant')}."
    return {
        "kind": "duration",
        "title": "Load duration curve",
        "about": "Total over all series at each instant, sorted from highest to lowest. "
        + clipped(figures.get("note", "")),
        "sentence": sentence,
        "data": {"original": original, "published": published} if high else None,
        "compared": [("Highest total of all series at one time", ("", high[1]), ("", other[1]))]
        if high and (other := _peak(published))
        else [],
    }


def _compared_profile(original: Curve, published: Curve, axis: Mapping[str, Any]) -> list[Compared]:
    """Return mean and peak of both sides, if both are drawn."""
    high, other = _peak(original), _peak(published)
    level, other_level = _mean(original), _mean(published)
    if high is None or other is None or level is None or other_level is None:
        return []
    curve = "day" if axis["kind"] == "clock" else "curve"
    peaks = tuple((f"at {_where(axis, at)}", value) for at, value in (high, other))
    return [
        ("Mean reading", ("", round4(level)), ("", round4(other_level))),
        (f"Peak of the mean {curve}", peaks[0], peaks[1]),
    ]


def _bands(channel: Mapping[str, Any], axis: Mapping[str, Any], crowd: float) -> dict[str, Any]:
    bands = channel.get("bands")
    figures: Mapping[str, Any] = bands if isinstance(bands, Mapping) else {}
    sides = {}
    for side in ("original", "published"):
        found = figures.get(side)
        if isinstance(found, Mapping):
            sides[side] = {f"p{q}": _curve(found.get(f"p{q}"), len(axis["at"])) for q in FIFTHS}
    ends = {side: [_mean(curves["p10"]), _mean(curves["p90"])] for side, curves in sides.items()}
    spans = {side: (low, high) for side, (low, high) in ends.items() if low is not None and high is not None}
    sentence = "Not shown. " + clipped(
        figures.get("reason")
        or (
            f"At no point were there five crowds of {number(crowd)} subjects, none with one subject that makes up most "
            "of it."
        )
    )
    if spans:
        sentence = (
            "Averaged over "
            + ("the day" if axis["kind"] == "clock" else "all instants")
            + ", the lowest fifth of the subjects averages "
            + ", ".join(
                f"{number(round4(low))} and {'' if place else 'the highest '}{number(round4(high))} in the "
                + ("release" if side == "published" else side)
                for place, (side, (low, high)) in enumerate(spans.items())
            )
            + "."
        )
    return {
        "kind": "bands",
        "title": "Spread between subjects",
        "about": "Mean of each fifth of the subjects, from the lowest to the highest, at each "
        + ("time of day" if axis["kind"] == "clock" else "instant")
        + "; the originals are blurred a little so that nobody's reading can be worked out by subtraction.",
        "sentence": sentence,
        "data": {side: sides[side] for side in spans} or None,
    }


def _reason(channel: Mapping[str, Any]) -> str:
    """Return the reason why no originals are drawn, if one applies to all of them."""
    return clipped(channel.get("reason") or "")


def _table(profile: Mapping[str, Any], axis: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return a dozen points of the profile, for readers without scripts."""
    if profile["data"] is None:
        return []
    n = len(axis["at"])
    rows = range(0, n, -(-n // _TABLE_ROWS))
    data = profile["data"]
    return [(_where(axis, i), number(data["original"][i]), number(data["published"][i])) for i in rows]


def _pair(sides: Any, longest: int) -> tuple[Curve, Curve]:
    figures: Mapping[str, Any] = sides if isinstance(sides, Mapping) else {}
    original, published = (_curve(figures.get(side), longest, pad=False) for side in ("original", "published"))
    n = max(len(original), len(published))
    return original + [None] * (n - len(original)), published + [None] * (n - len(published))


def _curve(found: Any, longest: int, pad: bool = True) -> Curve:
    listed = found[:longest] if isinstance(found, list | tuple) else []
    curve: Curve = [round4(v) if is_finite(v) else None for v in listed]
    return curve + [None] * (longest - len(curve)) if pad else curve


def _where(axis: Mapping[str, Any], position: int) -> str:
    at = axis["at"][min(position, len(axis["at"]) - 1)]
    if axis["kind"] == "clock":
        return clock(at)
    return moment(at) if axis["kind"] == "time" else number(at)


def _peak(curve: Curve) -> tuple[int, float] | None:
    seen = [(value, -i) for i, value in enumerate(curve) if value is not None]
    return (-max(seen)[1], max(seen)[0]) if seen else None


def _mean(curve: Curve) -> float | None:
    seen = [value for value in curve if value is not None]
    return sum(seen) / len(seen) if seen else None


def _apart(original: Curve, published: Curve) -> float | None:
    both = [(o, p) for o, p in zip(original, published, strict=True) if o is not None and p is not None]
    level = sum(abs(o) for o, _ in both)
    return sum(abs(o - p) for o, p in both) / level if level > 0 and math.isfinite(level) else None


def round4(value: float) -> float:
    """Four significant digits."""
    return float(f"{value:.4g}")
