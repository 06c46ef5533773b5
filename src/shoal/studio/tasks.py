"""The publisher's label tasks: creating them, watching progress, sending and revoking links."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, HTTPException, Path, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field

from shoal.errors import ParameterError
from shoal.labels import (
    CURVES,
    DEFAULT_QUESTION,
    MULTIPLE,
    PAIRS,
    Labels,
    LabelTask,
    agreement,
    consistency,
)
from shoal.model.sentence import said
from shoal.studio.charts import draw_lines
from shoal.studio.context import InStudio, Publisher, Studio
from shoal.studio.drafts import USUAL
from shoal.studio.hidden import hidden_panels, protecting, refuse_closed, refuse_hidden, refuse_renamed
from shoal.studio.jobs import Progress, job_kind
from shoal.studio.names import SLUG, Slug, TableName
from shoal.studio.pages import page
from shoal.studio.sessions import Session

router = APIRouter()

Name = Annotated[str, Path(pattern=SLUG)]


class NewTask(BaseModel):
    """The question, and the series it is about."""

    name: Slug
    table: TableName
    source: Literal["presanitised", "public"] = "presanitised"
    k: int = Field(10, ge=2, le=1_000_000)
    multiple: int = Field(MULTIPLE, ge=1, le=1000)
    statement: str = Field("", max_length=2000)
    confirmed: Literal["yes", ""] = ""
    alike: Literal["refuse", "others"] = "refuse"
    pairs: int = Field(200, ge=1, le=20_000)
    choice: Literal["uniform", "active"] = "uniform"
    question: str = Field(DEFAULT_QUESTION, min_length=1, max_length=200)


class Further(BaseModel):
    """Number of additional pairs for every analyst."""

    pairs: int = Field(100, ge=1, le=20_000)


class ByMetric(BaseModel):
    """Which metric learned from a task."""

    metric: Literal["linear", "deep"]


class NewLink(BaseModel):
    """The recipient of a link, and how long it is valid."""

    analyst: Slug
    days: int = Field(14, ge=1, le=365)


@router.get("/tasks/new")
def show_new_task(studio: InStudio, session: Publisher, table: str = "") -> HTMLResponse:
    """The form for a new task, with the table it was opened from."""
    return page(
        "new_task.html.j2",
        tables=studio.project.tables(),
        table=table,
        step="labels",
        question=DEFAULT_QUESTION,
        multiple=str(MULTIPLE),
        session=session,
    )


@router.post("/tasks")
def make_task(studio: InStudio, session: Publisher, form: Annotated[NewTask, Form()]) -> Response:
    """Make a task in the background: grouping many series takes a while."""
    studio.project.refuse_task(form.name)
    studio.project.table(form.table)
    if form.source == "public" and not form.statement.strip():
        raise ParameterError("Give the reason why these series are public. The sentence is recorded with the task.")
    if form.source == "public":
        if not form.confirmed:
            raise ParameterError(
                "Confirm that these series are public and that anyone may see them as they are, or choose means of "
                "groups."
            )
        refuse_hidden(studio.project, form.table)

    back = f"/tasks/new?table={form.table}"
    job = studio.jobs.start(f"Making the task {form.name}", "task", form.model_dump(), back=back)
    return RedirectResponse(f"/jobs/{job}", 303)


@job_kind("task")
def task_job(studio: Studio, arguments: dict[str, Any], progress: Progress) -> str:
    """Read, group, check and save, unless the job of a killed studio has already saved the task."""
    form, project = NewTask.model_validate(arguments), studio.project
    if form.name in project.tasks():
        return f"/tasks/{form.name}"
    progress.start("reading the table")
    reading, panel = project.reading(form.table), project.panel(form.table)
    # Two tasks on one table should not ask the same questions.
    asking: dict[str, Any] = {
        "n_pairs": form.pairs,
        "choice": form.choice,
        "question": form.question,
        "seed": len(project.tasks()),
    }
    if form.source == "public":
        # Checked again, because of what was made while this job waited.
        refuse_hidden(project, form.table)
        private = hidden_panels(project, form.table)
        task = LabelTask.public(panel, statement=form.statement.strip(), private=private, **asking)
        progress.may_stop = False
        project.add_task(form.name, task, form.table, studio.clock())
        return f"/tasks/{form.name}"
    if form.alike == "refuse":
        refuse_renamed(project, form.table, panel)
    progress.start(f"grouping the series, at least {form.multiple * form.k} subjects to a curve, and checking it")
    # From here on, it is in the ledger.
    progress.may_stop = False
    with protecting(project, form.table, panel, reading):
        task = LabelTask.presanitised(panel, k=form.k, multiple=form.multiple, ledger=project.ledger, **asking)
        project.add_task(form.name, task, form.table, studio.clock())
    return f"/tasks/{form.name}"


@router.get("/tasks/{task}")
def show_task(task: Name, studio: InStudio, session: Publisher) -> HTMLResponse:
    """The analysts' progress, their agreement, and what their labels contribute."""
    return _task_page(task, studio, session)


@router.post("/tasks/{task}/pairs")
def ask_further(task: Name, studio: InStudio, session: Publisher, form: Annotated[Further, Form()]) -> Response:
    """Ask every analyst of a task about more pairs; links and answers stay."""
    _task(studio, task)
    studio.answers.ask_further(task, form.pairs)
    return RedirectResponse(f"/tasks/{task}", 303)


@router.post("/tasks/{task}/draft")
def begin_draft(task: Name, studio: InStudio, session: Publisher, form: Annotated[ByMetric, Form()]) -> Response:
    """Create a draft whose groups are formed by a learned metric."""
    _task(studio, task)
    table = studio.project.table_of(task)
    path = studio.project.metric_path(task, form.metric)
    if table is None or not path.is_file():
        raise ParameterError("The project has no such metric, or lacks the table it was learned for.")
    method = {"name": "microaggregation", "k": {"search": [4, 8, 12, 16]}, "features": str(path.resolve())}
    draft = studio.drafts.add(table, {"method": method, **USUAL})
    return RedirectResponse(f"/drafts/{draft}/purpose", 303)


@router.post("/tasks/{task}/links")
def make_link(
    task: Name, request: Request, studio: InStudio, session: Publisher, form: Annotated[NewLink, Form()]
) -> HTMLResponse:
    """Create a link for an analyst, shown on this page only once."""
    if _task(studio, task).source == "public":
        refuse_closed(studio.project, task)
    token = studio.links.create(task, form.analyst, form.days)
    base = studio.settings.public_url or f"{request.url.scheme}://{request.headers['host']}"
    return _task_page(task, studio, session, new_link=f"{base.rstrip('/')}/open/{token}", link_for=form.analyst)


@router.post("/tasks/{task}/links/{link}/revoke")
def revoke_link(
    task: Name, link: Annotated[int, Path(ge=1, le=2**62)], studio: InStudio, session: Publisher
) -> Response:
    """Revoke a link and every session it opened."""
    _task(studio, task)
    if not studio.links.revoke(task, link):
        raise HTTPException(404, "There is no such link.")
    return RedirectResponse(f"/tasks/{task}#links", 303)


def _task(studio: Studio, name: str) -> LabelTask:
    if name not in studio.project.tasks():
        raise HTTPException(404, "There is no such task.")
    return studio.answers.task(name)


def _task_page(name: str, studio: Studio, session: Session, *, new_link: str = "", link_for: str = "") -> HTMLResponse:
    task = _task(studio, name)
    labels = studio.answers.labels(name)
    links = studio.links.of_task(name)
    found = studio.project.result(name, "curve")
    return page(
        "task.html.j2",
        name=name,
        task=task,
        table=studio.project.table_of(name),
        curves=" ".join(said(CURVES, task)),
        pairs=" ".join(said(PAIRS, task)),
        closed=studio.project.closed_by(name),
        analysts=_analysts(labels, [link.analyst for link in links], studio.answers.n_pairs(name)),
        n_pairs=studio.answers.n_pairs(name),
        n_left=studio.answers.n_left(name),
        counts=labels.counts(),
        consistency=consistency(labels),
        agreement=agreement(labels),
        curve=found,
        drawing=_curve_drawing(found) if found else "",
        n_decided=labels.n_decided,
        metrics=studio.project.metrics(name),
        links=links,
        now=studio.clock(),
        new_link=new_link,
        link_for=link_for,
        loopback=studio.settings.loopback and studio.settings.public_url is None,
        step="labels",
        session=session,
    )


def _analysts(labels: Labels, invited: list[str], total: int) -> list[dict[str, Any]]:
    """Progress of everyone who has a link or has answered."""
    rows = []
    for analyst in sorted({*invited, *labels.analysts}):
        theirs = labels.of(analyst)
        rows.append(
            {
                "name": analyst,
                "done": len(theirs),
                "total": total,
                "counts": theirs.counts(),
                "consistency": consistency(theirs),
            }
        )
    return rows


def _curve_drawing(found: dict[str, Any]) -> str:
    points = found["points"]
    lowest = min((p[name] for p in points for name in ("learned", "euclidean")), default=0.5)
    return draw_lines(
        [
            ("euclidean", [(p["n_labels"], p["euclidean"]) for p in points]),
            ("learned", [(p["n_labels"], p["learned"]) for p in points]),
        ],
        x_title="labels",
        about="Score on held-out pairs of the learned and of the Euclidean distance, by number of labels.",
        unit=(0.5 if lowest >= 0.5 else 0.0, 1.0),  # 0.5 is guessing
    )
