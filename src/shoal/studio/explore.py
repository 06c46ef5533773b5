"""Explore: every point of a draft's search, risk against loss, and the limits that decide between them.

A point is a release that was made, checked and attacked. The page holds all of them, so moving a limit asks nobody;
a point's curves are fetched when somebody looks at it. Without script the limits are a form and the points a table.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Path, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.datastructures import FormData, QueryParams

from shoal.errors import ParameterError
from shoal.model.words import clipped, number, percent, title
from shoal.process.exploration import Exploration
from shoal.process.policy import policy_text
from shoal.report.units import duration
from shoal.studio.context import InStudio, OfDraft, Publisher, Studio
from shoal.studio.drafts import Draft
from shoal.studio.jobs import Progress, job_kind
from shoal.studio.step_list import draft_page

JOB = "explore"
UTILITY = "utility."
"""How fields of a form name a limit on a measure: utility.information-loss."""
ASKED = "application/json"
MOST_OPEN = 2

router = APIRouter(prefix="/drafts/{draft}/explore")

Number = Annotated[int, Path(ge=0, le=2**31)]

_lock = threading.Lock()
_opened: dict[tuple[str, str, str], Exploration] = {}


@dataclass(frozen=True)
class Bound:
    """A limit on a measure, as it is on the screen."""

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
        """Whether a figure is within it; no figure is not."""
        if self.value is None:
            return True
        if value is None:
            return False
        return value <= self.value if self.bound == "at_most" else value >= self.value


@dataclass(frozen=True)
class Screen:
    """What is on the screen: the limits, and which points are looked at."""

    risk: float
    utility: tuple[Bound, ...]
    """The first is that of the purpose."""
    point: int | None
    compared: tuple[int, ...]

    def misses(self, point: Mapping[str, Any]) -> list[str]:
        """Which limits a point is beyond: `risk` and names of measures."""
        found = [] if point["risk"] is not None and point["risk"] <= self.risk else ["risk"]
        return found + [b.measure for b in self.utility if not b.keeps(value_of(point, b.measure))]

    def best(self, points: list[dict[str, Any]], goal: str) -> int | None:
        """Number of the most useful point within all limits; of equals the one that hides better, then the first."""
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


@router.get("")
def show_explore(request: Request, studio: InStudio, session: Publisher, draft: OfDraft) -> HTMLResponse:
    """The points of a draft's search."""
    progress, tried = _progress(studio, draft)
    purpose = _purpose(draft)
    points = [_shown(point, purpose) for point in tried]
    screen = _screen(request.query_params, draft, purpose)
    best = screen.best(points, purpose["goal"])
    selected = screen.point if screen.point is not None else draft.chosen
    if selected is not None and not any(p["number"] == selected and p["refused"] is None for p in points):
        selected = None
    base = _base(draft)
    return draft_page(
        "explore.html.j2",
        studio,
        session,
        draft,
        "explore",
        base=base,
        purpose=purpose,
        screen=screen,
        points=points,
        tried=[point for point in points if point["refused"] is None],
        refused=[point for point in points if point["refused"] is not None],
        said={point["number"]: _said(point, screen, best) for point in points if point["refused"] is None},
        best=best,
        # Without script the best point stands for the selected one.
        selected=next((p for p in points if p["number"] == (best if selected is None else selected)), None),
        address=urlencode({name: value for name, value in screen.fields.items() if value}),
        progress=progress,
        start={
            "base": base,
            "points": points,
            "purpose": purpose,
            "limits": {"risk": screen.risk, "utility": [_limit(bound, purpose) for bound in screen.utility]},
            "point": selected,
            "compared": screen.compared,
            "state": progress["state"],
            "progress": progress,
        },
    )


@router.get("/points")
def list_points(
    studio: InStudio, session: Publisher, draft: OfDraft, known: Annotated[str, Query(max_length=20_000)] = ""
) -> JSONResponse:
    """The points whose versions are not among those known, and how far the search is."""
    progress, points = _progress(studio, draft)
    purpose, seen = _purpose(draft), set(known.split(","))
    shown = [_shown(point, purpose) for point in points]
    return JSONResponse(progress | {"points": [point for point in shown if point["version"] not in seen]})


@router.get("/points/{number}")
def show_point(number: Number, session: Publisher, draft: OfDraft) -> JSONResponse:
    """Curves and attacks of a point; made when first asked for."""
    point = _find(draft, number)
    return JSONResponse(_finite(opened(draft).detail(number) | {"risks": point["risks"]}))


@router.get("/points/{number}/policy.yaml")
def download_policy(number: Number, request: Request, session: Publisher, draft: OfDraft) -> Response:
    """The policy that gives this point, with the limits on the screen."""
    _find(draft, number)
    screen = _screen(request.query_params, draft, _purpose(draft))
    text = policy_text(opened(draft).policy_at(number, **screen.limits))
    headers = {"Content-Disposition": f'attachment; filename="{draft.name}-{number}.yaml"'}
    return Response(text, media_type="application/yaml", headers=headers)


@router.post("/choice")
async def choose_point(request: Request, session: Publisher, draft: OfDraft) -> Response:
    """Choose the point and the limits on the screen, and go on to the review."""
    form = await request.form()
    given = form.get("number")
    if not isinstance(given, str) or not given.isdecimal():
        raise ParameterError("No point is selected. Select one, then review it.")
    _find(draft, int(given))
    draft.choose(int(given), **_screen(form, draft, _purpose(draft)).limits)
    return RedirectResponse(f"/drafts/{draft.name}/review", 303)


@router.post("/search")
def start_search(request: Request, studio: InStudio, session: Publisher, draft: OfDraft) -> Response:
    """Begin the search, or go on where it was stopped."""
    start(studio, draft)
    return _answer_search(request, studio, draft)


@router.post("/stop")
def stop_search(request: Request, studio: InStudio, session: Publisher, draft: OfDraft) -> Response:
    """Stop the search after the point it is at; what was found is kept."""
    job = studio.jobs.of(JOB, draft=draft.name)
    if job is not None:
        studio.jobs.stop(job.job)
    return _answer_search(request, studio, draft)


def start(studio: Studio, draft: Draft) -> str:
    """Put the search of a draft in line; gives the job's name."""
    return studio.jobs.start(f"Exploring {draft.title}", JOB, {"draft": draft.name}, back=_base(draft))


@job_kind(JOB)
def _explore(studio: Studio, arguments: dict[str, Any], progress: Progress) -> str:
    """Search for a draft as it stands; where its settings change meanwhile, for those instead."""
    name = arguments["draft"]
    # A point that was begun is finished: stopping inside a step would lose it.
    progress.may_stop = False
    sought = None
    while not progress.stopping() and (draft := studio.drafts.get(name)).tried_for != sought:
        sought = draft.tried_for
        opened(draft).run(steps=progress, stop=_until_changed(studio, name, sought, progress))
    progress.may_stop = True
    return f"/drafts/{name}/explore"


def _until_changed(studio: Studio, name: str, sought: str, progress: Progress) -> Callable[[], bool]:
    return lambda: progress.stopping() or studio.drafts.get(name).tried_for != sought


def _answer_search(request: Request, studio: Studio, draft: Draft) -> Response:
    if request.headers.get("accept") == ASKED:
        return JSONResponse(_progress(studio, draft)[0])
    return RedirectResponse(_base(draft), 303)


def _base(draft: Draft) -> str:
    return f"/drafts/{draft.name}/explore"


def opened(draft: Draft) -> Exploration:
    """The exploration of a draft; kept open, because it reads its table once."""
    with _lock:
        key = (str(draft.folder), draft.name, draft.tried_for)
        found = _opened.pop(key, None) or draft.exploration
        _opened[key] = found
        while len(_opened) > MOST_OPEN:
            _opened.pop(next(iter(_opened)))
        return found


def _points(draft: Draft) -> list[dict[str, Any]]:
    return opened(draft).points() if draft.is_explored else []


def _find(draft: Draft, wanted: int) -> dict[str, Any]:
    """A point with figures."""
    for point in _points(draft):
        if point["number"] == wanted and point["refused"] is None:
            return point
    raise HTTPException(404, "There is no such point.")


def _progress(studio: Studio, draft: Draft) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How far the search is, and its points."""
    # The state before the points: whoever hears that it is complete has heard of all of them.
    job = studio.jobs.of(JOB, draft=draft.name)
    is_running = job is not None and not job.ended
    state: str = opened(draft).state if draft.is_explored else "new"
    points = _points(draft)
    if state != "complete":
        state = "running" if is_running else "stopped" if points else "new"
    failed = job is not None and job.status in ("failed", "refused") and state != "complete"
    return {
        "state": state,
        "done": len(points),
        "total": max(len(points), opened(draft).n_points) if draft.is_explored else None,
        "step": job.step if job is not None and is_running else "",
        "problem": clipped(job.message, 400) if job is not None and failed else "",
    }, points


def _purpose(draft: Draft) -> dict[str, Any]:
    """What loss is: the measure of the purpose."""
    found = dict(opened(draft).purpose)
    short = "loss" if found["goal"] == "lower" else "utility"
    return found | {"title": measure_title(found["measure"]), "short": short}


def _screen(given: QueryParams | FormData, draft: Draft, purpose: Mapping[str, Any]) -> Screen:
    """Limits and points from an address or a form; what is not given is as the draft has it."""
    require = draft.policy.require
    kept = draft.chosen_at if draft.chosen is not None and draft.chosen_at is not None else {}
    risk = require.risk.at_most if kept.get("risk") is None else float(kept["risk"])
    bounds = [_bound(purpose["measure"], purpose, require.utility.get(purpose["measure"]), kept)]
    scores = {name: score for point in _points(draft) for name, score in (point.get("scores") or {}).items()}
    for name, limit in require.utility.items():
        if name != purpose["measure"]:
            bounds.append(_bound(name, scores.get(name, {}), limit, kept))
    if "risk" in given:
        read = _typed(given.get("risk"), "share", "risk")
        if read is None or not 0 <= read <= 1:
            raise ParameterError("The risk limit is a share from 0 to 100 %.")
        risk = read
        bounds = [
            Bound(b.measure, b.bound, _typed(given.get(UTILITY + b.measure), b.unit, b.measure), b.unit) for b in bounds
        ]
    numbers = [str(one) for one in given.getlist("compared")][:2]
    point = str(given.get("point", ""))
    return Screen(
        risk,
        tuple(bounds),
        int(point) if point.isdecimal() else None,
        tuple(int(one) for one in numbers if one.isdecimal()),
    )


def _bound(measure: str, score: Mapping[str, Any], limit: Any, kept: Mapping[str, Any]) -> Bound:
    """A limit of the policy by what the measure is for, as it was chosen last."""
    usual = "at_least" if score.get("goal") == "higher" else "at_most"
    bound = (
        usual if limit is None or getattr(limit, usual) is not None else {"at_most": "at_least"}.get(usual, "at_most")
    )
    value = (kept.get("utility") or {}).get(measure, None if limit is None else getattr(limit, bound))
    return Bound(measure, bound, value, str(score.get("unit") or "number"))


def _limit(bound: Bound, purpose: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "measure": bound.measure,
        "bound": bound.bound,
        "value": bound.value,
        "unit": bound.unit,
        "title": bound.title,
        "short": purpose["short"],
    }


def _typed(given: Any, unit: str, name: str) -> float | None:
    """A limit as somebody typed it, shares in per cent; None where the field is empty."""
    text = "" if given is None else str(given).strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ParameterError(f"The limit for {measure_title(name)} is no number.")
    # 10 % is 0.1, not a hair beside it.
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


def _shown(point: Mapping[str, Any], purpose: Mapping[str, Any]) -> dict[str, Any]:
    """A point as the page has it: figures in words, and nothing it has no use for."""
    kept = ("number", "method", "label", "refused", "on", "risk", "risk_interval", "lights", "guarantee")
    found = {name: point.get(name) for name in kept}
    found |= {
        "title": method_title(point["method"]),
        # A point may come again, tried on more subjects.
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
    return dict(_finite(found))


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


def _said(point: Mapping[str, Any], screen: Screen, best: int | None) -> str:
    """Which limits a point is beyond."""
    misses = screen.misses(point)
    if misses:
        return "beyond the limit for " + " and ".join(measure_title(name) for name in misses)
    return "best within the limits" if point["number"] == best else "within the limits"


def _finite(found: Any) -> Any:
    """The same without infinities and NaN, which JSON has no word for."""
    if isinstance(found, Mapping):
        return {name: _finite(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [_finite(value) for value in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found
