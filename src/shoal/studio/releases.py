"""Releases: through the same gate as everywhere. What it refuses is not written, and the page says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, HTTPException, Path
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field

from shoal.errors import ParameterError, ShoalError
from shoal.methods import Microaggregation
from shoal.model.sentence import said
from shoal.process import publish
from shoal.process.keep import apply_keep, kept_measures
from shoal.release import check_target, load_release, verify
from shoal.release.facts import Facts
from shoal.release.sentences import WHO_CAN_CHECK
from shoal.report.words import marked
from shoal.studio.context import InStudio, Publisher
from shoal.studio.hidden import protecting, refuse_renamed
from shoal.studio.jobs import Progress
from shoal.studio.names import SLUG, Slug, TableName
from shoal.studio.pages import page
from shoal.studio.sentences import FOLDER, GROUPED, VERDICT

router = APIRouter()

Name = Annotated[str, Path(pattern=SLUG)]


class NewRelease(BaseModel):
    """What is released, by which metric, under which name."""

    name: Slug
    table: TableName
    k: int = Field(10, ge=2, le=1_000_000)
    metric: str = Field("generic", pattern=r"^(generic|[A-Za-z0-9_-]{1,64}\.(linear|deep))$")
    keep: str = Field("", max_length=200)
    ledger: Literal["check", "skip"] = "check"
    alike: Literal["refuse", "others"] = "refuse"
    accept: str = Field("", max_length=500)


@router.get("/releases/new")
def show_new_release(studio: InStudio, session: Publisher, metric: str = "generic") -> HTMLResponse:
    """The form for a release."""
    metrics = studio.project.all_metrics()
    chosen = metric if metric in metrics else "generic"
    task = chosen.partition(".")[0]
    return page(
        "new_release.html.j2",
        tables=studio.project.tables(),
        table=studio.project.table_of(task),
        metrics=metrics,
        chosen=chosen,
        session=session,
    )


@router.post("/releases")
def make_release(studio: InStudio, session: Publisher, form: Annotated[NewRelease, Form()]) -> Response:
    """Group, check and publish in the background."""
    target = studio.project.release(form.name)
    if target.exists():
        raise ParameterError(f"The project has a release {form.name}. Choose another name.")
    check_target(target, overwrite=False)
    studio.project.table(form.table)
    if form.metric != "generic" and form.metric not in studio.project.all_metrics():
        raise ParameterError("The project has no such metric. Learn it first.")
    if form.keep and form.metric != "generic":
        raise ParameterError("A learned metric says already what similar means. Keep the generic one, or keep nothing.")
    plain = apply_keep(Microaggregation(k=form.k), form.keep or None)  # refuses a wrong word before anything is read

    def work(progress: Progress) -> str:
        progress.start("reading the table")
        reading = studio.project.reading(form.table)
        panel = studio.project.panel(form.table)
        if form.alike == "refuse":
            refuse_renamed(studio.project, form.table, panel)
        within = tuple(studio.project.shown_groups(panel)) or None
        if form.ledger == "skip" and within:
            raise ParameterError(
                f"Analysts were shown means of people in {form.table}, which is in the ledger of the project: a "
                "release of them is judged beside that. Check against earlier releases."
            )
        features: Any = plain.features
        if form.metric != "generic":
            task, _, kind = form.metric.partition(".")
            features = studio.project.metrics(task)[kind]
        progress.start("grouping the series")
        method = replace(plain, features=features, within=within)
        candidate = method.anonymize(panel)
        progress.start("checking and writing")
        ledger = studio.project.ledger if form.ledger == "check" else None
        with protecting(studio.project, form.table, panel, reading):
            kept = kept_measures(method, panel)
            publish(candidate, target, measures=kept, ledger=ledger, accept=form.accept.replace(",", " ").split())
        return f"/releases/{form.name}"

    job = studio.jobs.start(f"Releasing {form.name}", work, back="/releases/new")
    return RedirectResponse(f"/jobs/{job}", 303)


@router.get("/releases/{release}")
def show_release(release: Name, studio: InStudio, session: Publisher) -> HTMLResponse:
    """What a release promises, checked again now."""
    if release not in studio.project.releases():
        raise HTTPException(404, "There is no such release.")
    folder = studio.project.release(release)
    certificate: dict[str, Any] | None = None
    try:
        findings: tuple[str, ...] = verify(folder).findings
        certificate = load_release(folder).certificate if not findings else None
    except ShoalError as error:
        findings = (str(error),)
    facts = Facts(certificate or {})
    return page(
        "release.html.j2",
        name=release,
        folder=str(folder.resolve()),
        findings=findings,
        certificate=certificate,
        guarantees=[
            {
                "verdict": " ".join(said(VERDICT, facts.about(part))),
                "statement": part["statement"],
                "checked": marked(" ".join(said(WHO_CAN_CHECK, facts.about(part)))),
            }
            for part in facts.guarantees
        ],
        counts=[(key, facts.counts[key]) for key in _COUNTS if facts.counts.get(key) and _is_meant(key, facts)],
        grouped=said(GROUPED, facts),
        about_folder=" ".join(said(FOLDER, facts)),
        session=session,
    )


_COUNTS = ("series", "subjects", "instants", "events", "snapshots", "groups")


def _is_meant(key: str, facts: Facts) -> bool:
    """Whether a count says something: where nothing is promised, rows that happen to be equal are no groups."""
    return key != "groups" or not facts.promises("none")
