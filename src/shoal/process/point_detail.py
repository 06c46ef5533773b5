"""What a tried point looks like: curves before and after, its groups, attacks with more knowledge.

The originals appear only as means over at least as many subjects as the guarantee asks for, and never fewer than five.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.model import Candidate, Panel
from shoal.process.assessment import curve_of
from shoal.process.search import Point, SearchTask
from shoal.process.search.frontier import rough
from shoal.process.search.trials import Sample
from shoal.report import summarise
from shoal.report.charts import group_curves
from shoal.report.units import unit_of
from shoal.utility.days import days_of
from shoal.utility.peak_time_error import peak_times

FEWEST = 5
"""Smallest number of subjects behind every figure of the originals, whatever a method promises."""

N_WORST = 5

MOST_TARGETS = 200
"""Number of series attacked for a curve over more knowledge: it is drawn, but nothing is decided by it."""


def detail_of(task: SearchTask, candidate: Candidate, point: Point, sample: Sample) -> dict[str, Any]:
    """Curves, groups, attacks over more knowledge, and the worst-off by position."""
    original, curves = candidate.originals, candidate.curves
    crowd = max(FEWEST, int(candidate.guarantee.parameters.get("k", 0)))
    summary = summarise(original, curves, crowd)
    first = summary["channels"][0]
    units = {unit_of(name) for name in original.channels[:1]}
    unit = units.pop() if units else ""
    axis, duration = summary["axis"], first["duration"]
    return {
        "day": {
            "axis": axis["kind"],
            "minutes": axis["at"],
            "before": first["profile"]["original"],
            "published": first["profile"]["published"],
            "unit": unit,
        },
        "duration": {
            "share": np.linspace(0, 1, len(duration["original"])).round(4).tolist(),
            "before": duration["original"],
            "published": duration["published"],
            "unit": unit,
        },
        "peaks": _peaks(original, curves, crowd),
        "groups": [
            {"members": members, "published": curve} for members, curve in group_curves(original, curves, crowd)
        ],
        "crowd": crowd,
        "curves": _attack_curves(task, candidate, sample),
        "worst": _worst(task, candidate, point, sample),
    }


def _peaks(original: Panel, curves: Panel, crowd: int) -> dict[str, Any] | None:
    """The share of daily peaks in each hour of the day; None without days, and for hours with too few subjects."""
    if original.times.dtype.kind != "M" or curves.times.dtype.kind != "M":
        return None
    try:
        before, after = (_peak_hours(panel) for panel in (original, curves))
    except (InputError, ParameterError):
        return None
    return {
        "hours": list(range(24)),
        "before": _shares(before, original.subject_codes, crowd),
        "published": _shares(after, curves.subject_codes, 1),
    }


def _peak_hours(panel: Panel) -> NDArray[np.float64]:
    """The hour of the peak of each series and day, of the first channel."""
    values = panel.values.reshape(panel.n_series, panel.n_instants, panel.n_channels)[:, :, :1]
    return peak_times(values, days_of(panel, None, name="peaks"))[:, :, 0]


def _shares(hours: NDArray[np.float64], subjects: NDArray[np.int64], crowd: int) -> list[float | None]:
    """The share of all peaks in each hour; None if only a few subjects have one."""
    total = int((~np.isnan(hours)).sum())
    shares: list[float | None] = []
    for hour in range(24):
        here = np.floor(hours) == hour
        n_subjects = len(np.unique(subjects[here.any(axis=1)]))
        # Zero peaks is a figure about everyone.
        shares.append(rough(here.sum() / total) if total and (n_subjects == 0 or n_subjects >= crowd) else None)
    return shares


def _attack_curves(task: SearchTask, candidate: Candidate, sample: Sample) -> dict[str, Any]:
    targets = np.flatnonzero(np.isin(candidate.private.original.subject_codes, sample.targets))[:MOST_TARGETS]
    found = {name: curve_of(attack, candidate, targets) for name, attack in task.attacks_on(candidate).items()}
    return {
        name: {"along": curve.along, "at": list(curve.at), "success": [rough(chance) for chance in curve.success]}
        for name, curve in found.items()
        if curve is not None
    }


def _worst(task: SearchTask, candidate: Candidate, point: Point, sample: Sample) -> list[dict[str, Any]]:
    """The subjects the strongest attack finds most surely: positions in the table as read, and the chance."""
    name = max(point.risks, key=lambda one: point.risks[one].success)
    attack = task.attacks[name]
    if not attack.draws_targets or (sample.positions is not None and (sample.positions < 0).any()):
        return []  # for a sample of shards, the positions of its series in the table are unknown
    found = []
    for position in point.risks[name].worst[:N_WORST]:
        risk = candidate.attack(attack, np.array([position]))
        at = position if sample.positions is None else int(sample.positions[position])
        found.append({"position": at, "attack": name, "success": rough(risk.success)})
    return found
