"""The step *Release*: the gate runs as a job; what it wrote is shown, verified again, and offered as one file.

If the gate refuses, nothing is written, and the page of the job says why.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Form, HTTPException, Path
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from pydantic import BaseModel

from shoal.errors import ParameterError, ShoalError
from shoal.model.sentence import said
from shoal.process.policy_run import refuse_unapproved, run_policy
from shoal.release import load_release, verify
from shoal.release.facts import Facts
from shoal.release.sentences import WHO_CAN_CHECK
from shoal.report.page import render_sheet
from shoal.report.words import marked
from shoal.studio.context import InStudio, OfDraft, Publisher, Studio
from shoal.studio.hidden import protecting, refuse_renamed
from shoal.studio.jobs import Progress, job_kind
from shoal.studio.names import SLUG
from shoal.studio.pages import page
from shoal.studio.review_step import approval_of
from shoal.studio.sentences import FOLDER, GROUPED, VERDICT
from shoal.studio.step_list import draft_page

router = APIRouter()

Name = Annotated[str, Path(pattern=SLUG)]
WRITING = "checking and writing"
"""The step of a policy's run after which it cannot be stopped."""
_CHUNK = 1 << 18


class GoAhead(BaseModel):
    """The publisher's answer about series that appear again under other names."""

    alike: Literal["refuse", "others"] = "refuse"


@router.get("/drafts/{draft}/release")
def show_draft_release(draft: OfDraft, studio: InStudio, session: Publisher) -> Response:
    """The button, or why it is not offered; after the release, where it is."""
    needed = draft.policy.release.review == "required"
    waits = "" if draft.chosen is not None else "choice"
    if not waits and needed and not draft.is_released and approval_of(studio, draft) is None:
        waits = "approval"
    return draft_page(
        "draft_release.html.j2",
        studio,
        session,
        draft,
        "release",
        waits=waits,
        needed=needed,
        target=str(draft.target.resolve()),
        release=draft.policy.release,
    )


@router.post("/drafts/{draft}/release")
def release_draft(draft: OfDraft, studio: InStudio, session: Publisher, form: Annotated[GoAhead, Form()]) -> Response:
    """Let the gate decide, in the background."""
    if draft.chosen is None:
        raise ParameterError("No point is chosen. Choose one under Explore.")
    refuse_unapproved(draft.policy, approval_of(studio, draft))
    arguments = {"draft": draft.name, "alike": form.alike}
    job = studio.jobs.start(f"Releasing {draft.title}", "release", arguments, back=f"/drafts/{draft.name}/release")
    return RedirectResponse(f"/jobs/{job}", 303)


class UntilWriting:
    """Steps of a run that can be stopped until it starts to write."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def start(self, name: str) -> None:
        """Start a step."""
        self._progress.start(name)
        self._progress.may_stop = self._progress.may_stop and name != WRITING

    def advance(self, done: int, total: int) -> None:
        """Report progress within the step."""
        self._progress.advance(done, total)

    def say(self, text: str) -> None:
        """Pass on a note."""
        self._progress.say(text)


@job_kind("release")
def release_job(studio: Studio, arguments: dict[str, Any], progress: Progress) -> str:
    """Run the policy of the chosen point; the table becomes private, unless the release is refused."""
    draft = studio.drafts.get(arguments["draft"])
    here = f"/drafts/{draft.name}/release"
    if draft.is_released:
        return here
    policy, approval = draft.chosen_policy, approval_of(studio, draft)
    progress.start("reading the table")
    reading = studio.project.reading(draft.table)
    panel = studio.project.panel(draft.table)
    if arguments["alike"] == "refuse":
        refuse_renamed(studio.project, draft.table, panel)
    if policy.release.ledger is None and studio.project.shown_groups(panel):
        raise ParameterError(
            f"Analysts were shown means of subjects in {draft.table}, which the project's ledger records: a release "
            "of these subjects is judged together with them. Tick the check against earlier releases under Purpose."
        )
    changes: dict[str, Any] = {"to": str(draft.target.resolve())}
    if policy.release.model == "agreement" and policy.release.private is None:
        changes["private"] = str((draft.base / "private" / draft.name).resolve())
    policy = policy.model_copy(update={"release": policy.release.model_copy(update=changes)})
    with protecting(studio.project, draft.table, panel, reading):
        run_policy(policy, base=draft.base, steps=UntilWriting(progress), approval=approval)
    return here


@router.get("/releases/{release}")
def show_release(release: Name, studio: InStudio, session: Publisher) -> HTMLResponse:
    """A release and its promises, verified again now."""
    folder = _known(studio, release)
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
        sheet=None if certificate is None else render_sheet(certificate),
        guarantees=[
            {
                "verdict": " ".join(said(VERDICT, facts.about(part))),
                "statement": part["statement"],
                "checked": marked(" ".join(said(WHO_CAN_CHECK, facts.about(part)))),
            }
            for part in facts.guarantees
        ],
        grouped=said(GROUPED, facts),
        about_folder=" ".join(said(FOLDER, facts)),
        session=session,
    )


@router.get("/releases/{release}/release.zip")
def download_release(release: Name, studio: InStudio, session: Publisher) -> Response:
    """The folder as a zip file, if it still verifies."""
    folder = _known(studio, release)
    try:
        findings: tuple[str, ...] = verify(folder).findings
    except ShoalError as error:
        findings = (str(error),)
    if findings:
        raise HTTPException(409, f"The release does not verify, so you cannot download it: {findings[0]}")
    return StreamingResponse(
        _pieces(zip_folder(folder, release)),
        media_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{release}.zip"'},
    )


def zip_folder(folder: FilePath, name: str) -> IO[bytes]:
    """The files of a folder in one archive, by name, without dates or owners."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by its reader
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(f"{name}/{path.relative_to(folder).as_posix()}")
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
                while piece := source.read(_CHUNK):
                    target.write(piece)
    file.seek(0)
    return file


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(_CHUNK):
            yield piece


def _known(studio: Studio, release: str) -> FilePath:
    if release not in studio.project.releases():
        raise HTTPException(404, "There is no such release.")
    return studio.project.release(release)
