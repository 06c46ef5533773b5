"""The list of jobs, and the page of a job: its progress, and how to stop or continue it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from shoal.studio.context import InStudio, Publisher, Studio
from shoal.studio.jobs import Job
from shoal.studio.pages import page

router = APIRouter()

Name = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]


@router.get("/jobs")
def show_jobs(studio: InStudio, session: Publisher) -> HTMLResponse:
    """All jobs, newest first; the page reloads itself while one is running."""
    jobs = studio.jobs.listed()
    return page("jobs.html.j2", jobs=jobs, busy=any(not job.ended for job in jobs), session=session, step="jobs")


@router.get("/jobs/{job}")
def show_job(job: Name, studio: InStudio, session: Publisher) -> Response:
    """The progress of a job; the page reloads itself until the job ends, then moves on to the result."""
    found = _find(studio, job)
    if found.status == "done":
        return RedirectResponse(found.leads_to, 303)
    status = {"refused": 409, "failed": 400}.get(found.status, 200)
    return page("job.html.j2", status, job=found, session=session, step="jobs")


@router.post("/jobs/{job}/stop")
def stop_job(job: Name, studio: InStudio, session: Publisher) -> Response:
    """Stop a job at its next step."""
    studio.jobs.stop(_find(studio, job).job)
    return RedirectResponse("/jobs", 303)


@router.post("/jobs/{job}/again")
def begin_again(job: Name, studio: InStudio, session: Publisher) -> Response:
    """Run a finished job again; work that can resume does."""
    found = _find(studio, job)
    again = studio.jobs.start(found.title, found.kind, found.arguments, back=found.back)
    return RedirectResponse(f"/jobs/{again}", 303)


def _find(studio: Studio, job: str) -> Job:
    found = studio.jobs.find(job)
    if found is None:
        raise HTTPException(404, "There is no such job; only the latest ones are listed.")
    return found
