"""The step *Review*: the decision sheet of the chosen point before anything is released, and a link for an officer.

The gate itself makes the sheet, in a folder of the draft that is never served: its statements were checked, and nothing
has been published. An officer sees the sheet of one draft, approves or refuses it, and can change nothing else.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, HTTPException, Path, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field

from shoal.errors import ParameterError
from shoal.process.policy_run import run_policy
from shoal.release.certificate import ApprovalPart, digest_file
from shoal.release.private import write_privately
from shoal.report.page import render_sheet
from shoal.studio.context import InStudio, OfDraft, Officer, Publisher, Studio
from shoal.studio.drafts import Draft
from shoal.studio.jobs import Progress, job_kind
from shoal.studio.names import Slug
from shoal.studio.pages import page
from shoal.studio.reviews import Decision, decide, digest_of, sheet_key, standing
from shoal.studio.sessions import Session
from shoal.studio.step_list import draft_page
from shoal.studio.tokens import REVIEW

router = APIRouter()

SOME, ALL = "Some figures", "Figures of risk and loss"
"""What an officer sees in addition to what a small release reveals."""


class NewReview(BaseModel):
    """The recipient of a link, and how long it is valid."""

    officer: Slug
    days: int = Field(14, ge=1, le=365)


class OfficerDecision(BaseModel):
    """An officer's decision about the sheet they saw."""

    decision: Literal["approved", "refused"]
    name: str = Field("", max_length=100)
    reason: str = Field("", max_length=500)
    digest: str = Field(pattern=r"^[0-9a-f]{64}$")


@router.get("/drafts/{draft}/review")
def show_review(draft: OfDraft, studio: InStudio, session: Publisher) -> Response:
    """The decision sheet, made first if the current draft has none."""
    if draft.chosen is None:
        return draft_page("review.html.j2", studio, session, draft, "review", **_facts(studio, draft))
    if not standing(studio.project.store, draft).is_shown:
        job = studio.jobs.of("sheet", draft=draft.name, key=_key(draft))
        if job is None or job.status == "done":
            started = studio.jobs.start(
                f"Decision sheet of {draft.title}",
                "sheet",
                {"draft": draft.name, "key": _key(draft)},
                back=f"/drafts/{draft.name}/explore",
            )
            return RedirectResponse(f"/jobs/{started}", 303)
        return RedirectResponse(f"/jobs/{job.job}", 303)
    return draft_page("review.html.j2", studio, session, draft, "review", **_facts(studio, draft))


@router.post("/drafts/{draft}/review/links")
def make_link(
    draft: OfDraft, request: Request, studio: InStudio, session: Publisher, form: Annotated[NewReview, Form()]
) -> HTMLResponse:
    """Create a link for an officer, shown on this page only once."""
    if not standing(studio.project.store, draft).is_shown:
        raise ParameterError("There is no decision sheet for the current draft. Open Review first.")
    token = studio.links.create(f"{REVIEW}{draft.name}", form.officer, form.days)
    base = studio.settings.public_url or f"{request.url.scheme}://{request.headers['host']}"
    more = {"new_link": f"{base.rstrip('/')}/open/{token}", "link_for": form.officer}
    return draft_page("review.html.j2", studio, session, draft, "review", **_facts(studio, draft) | more)


@router.post("/drafts/{draft}/review/links/{link}/revoke")
def revoke_link(
    draft: OfDraft, link: Annotated[int, Path(ge=1, le=2**62)], studio: InStudio, session: Publisher
) -> Response:
    """Revoke a link and every session it opened. Decisions stay."""
    if not studio.links.revoke(f"{REVIEW}{draft.name}", link):
        raise HTTPException(404, "There is no such link.")
    return RedirectResponse(f"/drafts/{draft.name}/review#links", 303)


@router.get("/review")
def show_sheet(studio: InStudio, session: Officer) -> Response:
    """The officer's page: the sheet, earlier decisions, and the form."""
    return _officers_page(studio, session)


def _officers_page(
    studio: Studio, session: Session, name: str = "", reason: str = "", errors: Mapping[str, str] | None = None
) -> Response:
    draft = _of(studio, session)
    found = standing(studio.project.store, draft)
    return page(
        "officer.html.j2",
        400 if errors else 200,
        typed={"name": name, "reason": reason, "errors": {"name": "", "reason": ""} | dict(errors or {})},
        title=draft.title,
        sheet=_sheet(draft) if found.is_shown else None,
        found=found,
        left_out=_left_out(draft),
        is_released=draft.is_released,
        until=session.link.expires if session.link else None,
        csrf=session.csrf,
    )


@router.post("/review")
def decide_sheet(studio: InStudio, session: Officer, form: Annotated[OfficerDecision, Form()]) -> Response:
    """Approve or refuse what was shown on the page."""
    draft = _of(studio, session)
    found = standing(studio.project.store, draft)
    if not found.is_shown or found.digest != form.digest:
        raise HTTPException(409, "The publisher has changed the draft since you saw it. Reload the page.")
    if draft.is_released:
        raise HTTPException(409, "The release has been made. You can no longer decide about it here.")
    assert session.link is not None
    name, reason = " ".join(form.name.split()), " ".join(form.reason.split())
    errors = {} if name else {"name": "Give your name: it appears in the certificate."}
    if form.decision == "refused" and not reason:
        errors["reason"] = "Give the reason for your refusal, so that the publisher can change the draft."
    if errors:
        return _officers_page(studio, session, name, reason, errors)
    said = Decision(form.decision, name, reason, studio.clock())
    decide(studio.project.store, draft.name, session.link.link, form.digest, said)
    return RedirectResponse("/review", 303)


@job_kind("sheet")
def make_sheet(studio: Studio, arguments: dict[str, Any], progress: Progress) -> str:
    """Make, check, attack and measure the chosen point; keep its certificate and discard the rest."""
    draft = studio.drafts.get(arguments["draft"])
    if _key(draft) != arguments["key"]:
        raise ParameterError("The draft was changed while its sheet was being made. Open Review again.")
    policy = draft.chosen_policy
    folder = draft.folder / "sheet"
    draft.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    plain = policy.release.model_copy(
        update={"model": "publish", "to": str(folder), "ledger": None, "private": None, "review": "none"}
    )
    # Nothing of this copy is published, and its pseudonyms cannot be joined with others.
    release = plain.model_copy(update={"pseudonyms": "random", "overwrite": False})
    made = run_policy(policy.model_copy(update={"release": release}), base=draft.base, steps=progress).release
    progress.may_stop = False
    shutil.rmtree(folder)
    certificate = dict(made.certificate)
    # A small release leaves figures out, because recipients could infer readings from them. An officer needs them.
    left_out = {name: made.measured[name] for name in ("utility", "risk") if made.measured.get(name)}
    if left_out:
        shown = {name: figure for name, figure in certificate["figures"].items() if name != "left_out"}
        certificate |= left_out | {"figures": shown}
    certificate |= {name: made.measured[name] for name in ("dominance",) if name in made.measured}
    write_privately(draft.folder / "sheet.json", json.dumps(certificate).encode())
    key = sheet_key(draft)
    assert key is not None
    digest = decision_digest(studio, draft)
    told = "" if not left_out else SOME if made.certificate["risk"] else ALL
    studio.drafts.set_sheet(draft.name, key | {"digest": digest, "left_out": told})
    return f"/drafts/{draft.name}/review"


def decision_digest(studio: Studio, draft: Draft) -> str:
    """What a decision about a draft refers to."""
    return digest_of(draft.chosen_policy, digest_file(studio.project.table(draft.table)).sha256)


def approval_of(studio: Studio, draft: Draft) -> ApprovalPart | None:
    """The approval of exactly what would be released now; None if there is none."""
    found = standing(studio.project.store, draft)
    if found.approved is None or found.digest != decision_digest(studio, draft):
        return None
    return ApprovalPart.model_validate(found.approved.approval)


def _facts(studio: Studio, draft: Draft) -> dict[str, Any]:
    found = standing(studio.project.store, draft)
    return {
        "found": found,
        "sheet": _sheet(draft) if found.is_shown else None,
        "left_out": _left_out(draft),
        "needed": draft.policy.release.review == "required",
        "links": studio.links.of_task(f"{REVIEW}{draft.name}"),
        "now": studio.clock(),
        "new_link": "",
        "link_for": "",
        "loopback": studio.settings.loopback and studio.settings.public_url is None,
    }


def _left_out(draft: Draft) -> str:
    """What the sheet shows but the release does not, to begin a sentence; empty if nothing."""
    found = (draft.sheet or {}).get("left_out") or ""
    return found if isinstance(found, str) else SOME  # earlier studios recorded only that there was something


def _sheet(draft: Draft) -> Any:
    return render_sheet(json.loads((draft.folder / "sheet.json").read_bytes()))


def _key(draft: Draft) -> str:
    found = sheet_key(draft)
    return "" if found is None else str(found["policy"])


def _of(studio: Studio, session: Session) -> Draft:
    assert session.link is not None
    return studio.drafts.get(session.link.draft)
