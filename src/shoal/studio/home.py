"""The publisher's start page: tables first, then the work on them and its progress."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse

from shoal.studio.context import InStudio, Publisher, Studio
from shoal.studio.looks import kept_look, summary
from shoal.studio.names import ENDINGS
from shoal.studio.pages import page
from shoal.studio.step_list import steps_of

router = APIRouter()


@router.get("/")
def home(studio: InStudio, session: Publisher) -> HTMLResponse:
    """Tables, drafts, releases, label tasks."""
    project = studio.project
    return page(
        "home.html.j2",
        project=project.folder.resolve().name,
        tables=[_table_row(studio, table) for table in project.tables()],
        drafts=[{"draft": draft, "steps": steps_of(studio, draft)} for draft in studio.drafts.all()],
        tasks=[_task_row(studio, name) for name in reversed(project.tasks())],
        releases=project.releases(),
        jobs=studio.jobs.under_way(),
        accept=",".join(f".{ending}" for ending in ENDINGS),
        megabytes=studio.settings.upload_bytes // 1_000_000,
        session=session,
    )


def _table_row(studio: Studio, name: str) -> dict[str, Any]:
    found = kept_look(studio.project, name, as_read=False)
    return {"name": name, "found": "not looked at yet" if found is None else summary(found)}


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


@router.get("/openapi.json")
def description(request: Request, session: Publisher) -> JSONResponse:
    """The HTTP surface as OpenAPI."""
    return JSONResponse(request.app.openapi())
