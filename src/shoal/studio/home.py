"""The publisher's start page, and the page of a job."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from shoal.studio.context import InStudio, Publisher, Studio
from shoal.studio.pages import page

router = APIRouter()


@router.get("/")
def home(studio: InStudio, session: Publisher) -> HTMLResponse:
    """Tables, tasks, releases."""
    project = studio.project
    return page(
        "home.html.j2",
        project=project.folder.resolve().name,
        tables=project.tables(),
        tasks=[_task_row(studio, name) for name in reversed(project.tasks())],
        releases=project.releases(),
        jobs=studio.jobs.under_way(),
        megabytes=studio.settings.upload_bytes // 1_000_000,
        session=session,
    )


def _task_row(studio: Studio, name: str) -> dict[str, Any]:
    labels = studio.answers.labels(name)
    links = [link for link in studio.links.of_task(name) if link.opens(studio.clock())]
    return {
        "name": name,
        "table": studio.project.table_of(name),
        "labels": len(labels),
        "analysts": len({*labels.analysts, *(link.analyst for link in links)}),
        "metrics": sorted(studio.project.metrics(name)),
    }


@router.get("/jobs/{job}")
def show_job(job: Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")], studio: InStudio, session: Publisher) -> Response:
    """How far a job is; the page reloads itself until it has ended, then leads on."""
    found = studio.jobs.find(job)
    if found is None:
        raise HTTPException(404, "There is no such job; it may be from before the studio was last started.")
    if found.status == "done":
        return RedirectResponse(found.leads_to, 303)
    status = {"refused": 409, "failed": 400}.get(found.status, 200)
    return page("job.html.j2", status, job=found, session=session)


@router.get("/openapi.json")
def description(request: Request, session: Publisher) -> JSONResponse:
    """The HTTP surface as OpenAPI."""
    return JSONResponse(request.app.openapi())
