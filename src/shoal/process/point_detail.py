"""What a tried point looks like: its figures, curves before and after, its groups, attacks with more knowledge.

The originals appear only as means over at least as many subjects as the guarantee asks for, and never fewer than five.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.model import Candidate, Panel, Risk
from shoal.model.attack import QUESTIONS
from shoal.model.risk import Interval
from shoal.process.assessment import attack_curves, bound_of, view
from shoal.process.search import Point, SearchTask
from shoal.process.search.trials import Sample
from shoal.release.publishers_word import rough
from shoal.report import summarise
from shoal.report.charts import group_curves
from shoal.report.units import unit_of
from shoal.utility.days import days_of
from shoal.utility.peak_time_error import PeakTimeError


def figures_of(task: SearchTask, candidate: Candidate, point: Point, unit: Callable[[str], str]) -> dict[str, Any]:
    """Risk, risks by attack, the three lights, scores, and what is promised."""
    bound = bound_of(candidate)
    worst = max(point.risks, key=lambda name: view(point.risks[name], task.policy.adversary.scenario, bound))
    interval = point.risks[worst].interval
    return {
        "risk": point.risk,
        "risk_interval": [min(interval.low, point.risk), max(min(interval.high, bound), point.risk)],
        "risk_by": worst,
        "risks": {name: _risk(task, name, risk, bound) for name, risk in point.risks.items()},
        "lights": lights_of(task, point, bound),
        "scores": {
            name: {
                "value": score.value if math.isfinite(score.value) else None,
                "unit": unit(score.unit),
                "goal": score.goal,
                "meaning": candidate.meaning_of(task.measures[name]),
            }
            for name, score in point.scores.items()
        },
        "loss": point.scores[task.limits.first].value if math.isfinite(point.scores[task.limits.first].value) else None,
        "guarantee": " ".join(guarantee.statement for guarantee in candidate.guarantees),
    }


def no_figures() -> dict[str, Any]:
    """The same for a point that gave no result."""
    return {
        "risk": None,
        "risk_interval": None,
        "risk_by": None,
        "risks": {},
        "lights": {},
        "scores": {},
        "loss": None,
        "guarantee": "",
    }


def _risk(task: SearchTask, name: str, risk: Risk, bound: float) -> dict[str, Any]:
    answers = task.attacks[name].answers
    return {
        "success": risk.success,
        "interval": [risk.interval.low, risk.interval.high],
        "baseline": risk.baseline,
        "held": view(risk, task.policy.adversary.scenario, bound),
        "targets": risk.n_targets,
        "sentence": risk.sentence,
        "answers": next((question for question in QUESTIONS if answers.get(question) == "success"), None),
    }


def lights_of(task: SearchTask, point: Point, bound: float) -> dict[str, dict[str, Any] | None]:
    """Singling out, linkability and inference: for each, the highest figure of any attack; None without one.

    "within" if the upper end of the figure is at most the risk limit.
    """
    lights: dict[str, dict[str, Any] | None] = dict.fromkeys(QUESTIONS)
    for name, risk in point.risks.items():
        for question, figure in task.attacks[name].answers.items():
            share = getattr(risk, figure, None)
            if share is None or not math.isfinite(share):
                continue
            if figure == "success":
                upper = view(risk, task.policy.adversary.scenario, bound)
            else:
                upper = Interval.wilson(share, risk.n_targets).high
            guess = getattr(risk, "baseline" if figure == "success" else f"{figure}_baseline", None)
            so_far = lights[question]
            if so_far is None or upper > so_far["upper"]:
                state = "within" if upper <= task.limits.risk else "above"
                lights[question] = {"attack": name, "share": share, "upper": upper, "guess": guess, "state": state}
    return lights


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
    targets = np.flatnonzero(np.isin(candidate.private.original.subject_codes, sample.targets))[:MOST_TARGETS]
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
        "curves": attack_curves(task.attacks_on(candidate), candidate, targets),
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
    return PeakTimeError().of_days(values, days_of(panel, None, name="peaks"))[:, :, 0]


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
