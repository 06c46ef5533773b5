"""The figures of one tried point, as plain JSON for a page."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shoal.model import Candidate, Risk
from shoal.model.attack import QUESTIONS
from shoal.model.risk import Interval
from shoal.process.assessment import bound_of, view
from shoal.process.search import Point, SearchTask


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
