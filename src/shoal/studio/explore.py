"""Explore: every point of a draft's search, risk against loss, and the limits that decide between them.

A point is a release that was made, checked and attacked. The page holds all points, so moving a limit needs no request;
the curves of a point are fetched when someone looks at it. Without script, the limits are a form and the points a
table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Path, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from shoal.errors import ParameterError
from shoal.model.words import clipped
from shoal.process.exploration import Exploration
from shoal.process.policy import policy_text
from shoal.studio.context import InStudio, OfDraft, Publisher, Studio
from shoal.studio.drafts import Draft
from shoal.studio.explore_screen import limit_shown, measure_title, screen_of, shown_point, state_of, without_infinities
from shoal.studio.jobs import Progress, job_kind
from shoal.studio.step_list import draft_page

JOB = "explore"
ASKED = "application/json"
MOST_OPEN = 2

router = APIRouter(prefix="/drafts/{draft}/explore")

Number = Annotated[int, Path(ge=0, le=2**31)]

_lock = threading.Lock()
_opened: dict[tuple[str, str, str], Exploration] = {}


@router.get("")
def show_explore(request: Request, studio: InStudio, session: Publisher, draft: OfDraft) -> HTMLResponse:
    """The points of a draft's search."""
    progress, tried = _progress(studio, draft)
    purpose = _purpose(draft)
    points = [shown_point(point, purpose) for point in tried]
    screen = screen_of(request.query_params, draft, tried, purpose)
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
        said={point["number"]: state_of(point, screen, best) for point in points if point["refused"] is None},
        best=best,
        # Without script, the best point is shown as the selected one.
        selected=next((p for p in points if p["number"] == (best if selected is None else selected)), None),
        address=urlencode({name: value for name, value in screen.fields.items() if value}),
        progress=progress,
        start={
            "base": base,
            "points": points,
            "purpose": purpose,
            "limits": {"risk": screen.risk, "utility": [limit_shown(bound, purpose) for bound in screen.utility]},
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
    """Points that are new or have changed, and the progress of the search."""
    progress, points = _progress(studio, draft)
    purpose, seen = _purpose(draft), set(known.split(","))
    shown = [shown_point(point, purpose) for point in points]
    return JSONResponse(progress | {"points": [point for point in shown if point["version"] not in seen]})


@router.get("/points/{number}")
def show_point(number: Number, session: Publisher, draft: OfDraft) -> JSONResponse:
    """Curves and attacks of a point, computed when first requested."""
    point = _find(draft, number)
    return JSONResponse(without_infinities(opened(draft).detail(number) | {"risks": point["risks"]}))


@router.get("/points/{number}/policy.yaml")
def download_policy(number: Number, request: Request, session: Publisher, draft: OfDraft) -> Response:
    """The policy that produces this point, with the limits on the screen."""
    _find(draft, number)
    screen = screen_of(request.query_params, draft, _points(draft), _purpose(draft))
    text = policy_text(opened(draft).policy_at(number, **screen.limits))
    headers = {"Content-Disposition": f'attachment; filename="{draft.name}-{number}.yaml"'}
    return Response(text, media_type="application/yaml", headers=headers)


@router.post("/choice")
async def choose_point(request: Request, session: Publisher, draft: OfDraft) -> Response:
    """Choose the point and the limits on the screen, and continue to the review."""
    form = await request.form()
    given = form.get("number")
    if not isinstance(given, str) or not given.isdecimal():
        raise ParameterError("No point is selected. Select one, then review it.")
    _find(draft, int(given))
    draft.choose(int(given), **screen_of(form, draft, _points(draft), _purpose(draft)).limits)
    return RedirectResponse(f"/drafts/{draft.name}/review", 303)


@router.post("/search")
def start_search(request: Request, studio: InStudio, session: Publisher, draft: OfDraft) -> Response:
    """Start the search, or continue where it stopped."""
    start(studio, draft)
    return _answer_search(request, studio, draft)


@router.post("/stop")
def stop_search(request: Request, studio: InStudio, session: Publisher, draft: OfDraft) -> Response:
    """Stop the search after the current point; what was found is kept."""
    job = studio.jobs.of(JOB, draft=draft.name)
    if job is not None:
        studio.jobs.stop(job.job)
    return _answer_search(request, studio, draft)


def start(studio: Studio, draft: Draft) -> str:
    """Queue the search of a draft; returns the name of the job."""
    return studio.jobs.start(f"Exploring {draft.title}", JOB, {"draft": draft.name}, back=_base(draft))


@job_kind(JOB)
def _explore(studio: Studio, arguments: dict[str, Any], progress: Progress) -> str:
    """Search with the current settings of a draft; if they change meanwhile, with the new ones."""
    name = arguments["draft"]
    # Finish a point that was started: stopping inside a step would lose it.
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
    """The exploration of a draft, kept open so that the table is read only once."""
    with _lock:
        key = (str(draft.folder), draft.name, draft.tried_for)
        found = _opened.pop(key, None)
        # Its folder may have been removed or restored from a backup since.
        if found is None or not draft.is_explored:
            found = draft.exploration
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
    """The progress of the search, and its points."""
    # State first, then points: a client that hears "complete" has then received all points.
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
    """The measure that serves as the loss: that of the purpose."""
    found = dict(opened(draft).purpose)
    short = "loss" if found["goal"] == "lower" else "utility"
    return found | {"title": measure_title(found["measure"]), "short": short}
